"""Targets from files, pods and processes."""

from __future__ import annotations

import json
import socket
import struct
import threading
from pathlib import Path

import pytest

from agent import podresources
from agent.config import Config, FileDiscovery, KubernetesDiscovery, ProcessDiscovery, TargetConfig
from agent.configfile import load
from agent.podresources import parse_pods, pod_gpus
from agent.processes import ProcessTable
from agent.protobuf import block, text
from agent.targets.engines import EngineProcesses
from agent.targets.files import FileTargets
from agent.targets.kubernetes import Json, KubernetesTargets
from agent.targets.registry import DISCOVERIES, discoveries
from signals.errors import InputError
from tests.unit.agent.test_host import process


def test_files_in_prometheus_form_name_targets(tmp_path: Path) -> None:
    groups = [
        {"targets": ["a:1", "b:2"], "labels": {"pool": "chat", "sloscope_model": "m", "team": "x"}},
        {"targets": ["c:3"], "labels": {"__scheme__": "https", "__metrics_path__": "/m", "engine": "sglang"}},
    ]
    (tmp_path / "one.json").write_text(json.dumps(groups))
    template = TargetConfig(interval_seconds=2.0, region="eu")
    found = FileTargets(FileDiscovery((str(tmp_path / "*.json"),), template=template)).find()
    assert [one.config.url for one in found] == ["http://a:1", "http://b:2", "https://c:3/m"]
    assert found[0].config == TargetConfig("http://a:1", pool="chat", model="m", region="eu", interval_seconds=2.0)
    assert found[2].config.engine == "sglang"


@pytest.mark.parametrize("content", ["{a: [", "targets: [x]", "- labels: {}"])
def test_a_broken_file_says_so(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.yaml").write_text(content)
    with pytest.raises(InputError, match=r"x\.yaml"):
        FileTargets(FileDiscovery((str(tmp_path / "*.yaml"),))).find()


def pod(name: str, **changes: Json) -> dict[str, Json]:
    return {
        "metadata": {
            "name": name,
            "annotations": {"sloscope.io/scrape": "true", "sloscope.io/engine": "vllm", "sloscope.io/role": "decode"},
            "labels": {"app.kubernetes.io/name": "chat"},
            "deletionTimestamp": "2027-01-15T08:00:30Z",
        },
        "spec": {"nodeName": "node-a", "containers": [{"ports": [{"containerPort": 8000}]}]},
        "status": {
            "phase": "Running",
            "podIP": "10.0.0.5",
            "startTime": "2027-01-15T08:00:00Z",
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2027-01-15T08:00:20Z"}],
            "containerStatuses": [{"imageID": "registry/vllm@sha256:abc"}],
        },
        **changes,
    }


def test_annotated_running_pods_of_this_node_are_targets_with_lives() -> None:
    asked: list[str] = []

    def get(path: str) -> Json:
        asked.append(path)
        return {
            "items": [pod("a"), pod("b", status={"phase": "Pending"}), pod("c", metadata={"name": "c"}), "nonsense"]
        }

    config = KubernetesDiscovery(True, selector="tier=gpu")
    (found,) = KubernetesTargets(config, "node-a", get).find()
    assert asked == ["/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-a&labelSelector=tier%3Dgpu"]
    assert found.config == TargetConfig(
        "http://10.0.0.5:8000",
        engine="vllm",
        instance="a",
        role="decode",
        pool="chat",
        host="node-a",
        model_version="sha256:abc",
    )
    assert found.life is not None
    assert found.life.ready_at is not None
    assert found.life.started_at is not None
    assert (found.life.ready_at - found.life.started_at, found.life.draining_at) == (20.0, found.life.started_at + 30)


def test_an_answer_that_is_no_list_of_pods_is_an_error() -> None:
    with pytest.raises(InputError):
        KubernetesTargets(KubernetesDiscovery(True, namespaces=("a",)), None, lambda _path: {"kind": "Status"}).find()


def test_engines_are_found_by_their_command_lines(tmp_path: Path) -> None:
    process(tmp_path, 10, 1, "/usr/bin/python /usr/bin/vllm serve model --port 8001")
    process(tmp_path, 11, 10, "python -m vllm.entrypoints.openai.api_server --port 8001")
    process(tmp_path, 20, 1, "python -m sglang.launch_server --model m")
    process(tmp_path, 30, 1, "vim vllm.txt")
    found = EngineProcesses(ProcessDiscovery(True), ProcessTable(tmp_path)).find()
    assert [(one.config.url, one.config.engine) for one in found] == [
        ("http://127.0.0.1:8001", "vllm"),
        ("http://127.0.0.1:30000", "sglang"),
    ]


def test_only_what_is_turned_on_is_asked() -> None:
    assert discoveries(Config(), {}) == {}
    text_ = "discovery: {file: {files: [x]}, kubernetes: {enabled: true}, processes: {enabled: true}}"
    config = load(Config, text_, "x", {}).config
    assert list(discoveries(config, {"KUBERNETES_SERVICE_HOST": "fd00::1"})) == list(DISCOVERIES)


def answer_of(pods: dict[str, list[str]]) -> bytes:
    """Return a ListPodResourcesResponse."""

    def devices(names: list[str]) -> bytes:
        return text(1, "nvidia.com/gpu") + b"".join(text(2, name) for name in names)

    return b"".join(
        block(1, text(1, name) + text(2, "ns") + block(3, text(1, "main") + block(2, devices(gpus)) + b"\x18\x01"))
        for name, gpus in pods.items()
    )


def test_the_kubelets_answer_names_pods_and_gpus() -> None:
    assert dict(parse_pods(answer_of({"a": ["GPU-1", "GPU-2"], "b": []}))) == {"a": ["GPU-1", "GPU-2"]}


def test_the_kubelet_is_asked_over_its_socket_in_grpc(tmp_path: Path) -> None:
    path = tmp_path / "kubelet.sock"
    message = answer_of({"vllm-0": ["GPU-1"]})
    heard = bytearray()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(1)

    def kubelet() -> None:
        channel, _ = listener.accept()
        with channel:
            while b"\0\0\0\0\0" not in heard[-5:]:
                heard.extend(channel.recv(65536))
            body = b"\0" + struct.pack(">I", len(message)) + message
            frame = podresources._frame
            channel.sendall(frame(podresources.SETTINGS, 0, 0, b"") + frame(podresources.PING, 0, 0, b"12345678"))
            channel.sendall(frame(podresources.HEADERS, podresources.END_HEADERS, 1, b"\x88"))
            channel.sendall(frame(podresources.DATA, 0, 1, body[:7]) + frame(podresources.DATA, 0, 1, body[7:]))
            channel.sendall(frame(podresources.HEADERS, podresources.END_HEADERS | podresources.END_STREAM, 1, b"\x88"))
            channel.recv(65536)

    thread = threading.Thread(target=kubelet, daemon=True)
    thread.start()
    assert pod_gpus(path) == {"GPU-1": "vllm-0"}
    thread.join(5.0)
    listener.close()
    assert heard.startswith(podresources.PREFACE)
    assert b"/v1.PodResourcesLister/List" in heard


def test_a_machine_without_a_kubelet_has_no_pods(tmp_path: Path) -> None:
    assert pod_gpus(tmp_path / "nothing") == {}
    (tmp_path / "file").write_text("no socket")
    assert pod_gpus(tmp_path / "file") == {}
