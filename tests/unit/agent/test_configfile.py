"""Settings from YAML: every fault at once, the nearest key, values from the environment."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from agent.config import Config, TargetConfig
from agent.configcheck import check
from agent.configdoc import page
from agent.configfile import load
from agent.configshow import listing
from signals.errors import ConfigError

ROOT = Path(__file__).parents[3]


def read(text: str, **env: str) -> Config:
    return load(Config, text, "agent.yaml", env).config


def test_an_empty_file_is_all_defaults() -> None:
    assert read("") == Config()


def test_people_write_durations_sizes_and_addresses() -> None:
    config = read(
        "agent: {listen: '[::1]:1', spool_max_bytes: 2GB, spool_max_age: 3h}\n"
        "targets: [{url: 'http://x', interval: 200ms}]"
    )
    assert config.agent.listen == ("::1", 1)
    assert config.agent.spool_max_bytes == 2_000_000_000
    assert config.agent.spool_max_age_seconds == 10_800.0
    assert config.targets == (TargetConfig("http://x", interval_seconds=0.2),)


def test_all_faults_are_reported_at_once_with_the_nearest_key() -> None:
    text = "colector: {}\nagent: {listen: nowhere, spol: x}\ntargets: [{url: 'http://x', interval: soon, role: boss}]"
    with pytest.raises(ConfigError) as caught:
        read(text)
    faults = "\n".join(caught.value.faults)
    assert "colector: unknown key; did you mean 'collector'?" in faults
    assert "agent.spol: unknown key; did you mean 'spool'?" in faults
    assert "agent.listen: expected an address such as 127.0.0.1:9464, found 'nowhere'" in faults
    assert "targets[0].interval: expected a duration such as 5s, 500ms or 2h, found 'soon'" in faults
    assert "targets[0].role: 'boss' is none of prefill, decode, both" in faults
    assert len(caught.value.faults) == 5


def test_a_variable_beats_the_file_and_is_named_as_the_source() -> None:
    text = "collector: {url: 'http://file'}\nspans: {listen: null}"
    loaded = load(
        Config, text, "agent.yaml", {"SLOSCOPE_COLLECTOR_URL": "http://env", "SLOSCOPE_HOST_ENABLED": "false"}
    )
    assert loaded.config.collector.url == "http://env"
    assert loaded.config.host.enabled is False
    assert loaded.config.spans.listen is None
    shown = listing(loaded)
    assert "collector.url = 'http://env'  # SLOSCOPE_COLLECTOR_URL" in shown
    assert "spans.listen = None  # agent.yaml" in shown
    assert "agent.listen = '127.0.0.1:9464'  # default" in shown


def test_text_that_is_no_yaml_is_a_clear_error() -> None:
    with pytest.raises(ConfigError, match="not YAML"):
        read("a: [")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("targets: [{url: ftp://x}]", "targets[0].url: expected http://"),
        ("targets: [{url: 'http://x', engine: vlm}]", "did you mean 'vllm'?"),
        ("targets: [{url: 'http://x:1'}, {url: 'http://x:1/other'}]", "'x:1' is taken by another target"),
        ("targets: [{url: 'http://x', interval: 0}]", "expected more than zero"),
        ("collector: {url: collector:8080}", "collector.url: expected http://"),
        ("requests: [{engine: sglang}]", "requests[0].path: expected a file or a pattern"),
        ("requests: [{path: a}, {path: a}]", "requests[1].path: 'a' is followed by another entry"),
        ("requests: [{path: a, engine: vllm}]", "requests[0].engine: 'vllm' is none of"),
        ("requests: [{path: a, engine: sglnag}]", "did you mean 'sglang'?"),
        ("requests: [{path: a, interval: 0}]", "requests[0].interval: expected more than zero"),
        ("requests: [{path: a, start: middle}]", "'middle' is none of beginning, end"),
    ],
)
def test_settings_of_the_right_type_may_still_be_wrong(text: str, fault: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check(read(text))
    assert fault in str(caught.value)


def test_the_sample_is_right() -> None:
    check(read((ROOT / "sample_data" / "agent.yaml").read_text(encoding="utf-8")))


def test_the_configuration_of_the_daemon_set_is_right() -> None:
    text = (ROOT / "deploy" / "kubernetes" / "agent.yaml").read_text(encoding="utf-8")
    parts = {part["kind"]: part for part in yaml.safe_load_all(text)}
    config = read(parts["ConfigMap"]["data"]["agent.yaml"])
    check(config)
    container = parts["DaemonSet"]["spec"]["template"]["spec"]["containers"][0]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert config.agent.listen == ("0.0.0.0", ports["metrics"])
    assert config.spans.listen == ("0.0.0.0", ports["spans"])
    assert config.host.root == "/host"
    assert {"/host/proc", "/host/sys"} <= {mount["mountPath"] for mount in container["volumeMounts"]}


def test_variables_in_the_deployments_are_settings() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "deploy").rglob("*agent*") if path.is_file())
    named = set(re.findall(r"SLOSCOPE_[A-Z_]+", text))
    assert named >= {"SLOSCOPE_AGENT_SPOOL"}
    for name in named:
        loaded = load(Config, "", "x", {name: "a-name"})
        assert name in loaded.sources.values(), name


def test_the_reference_names_every_setting_as_it_is() -> None:
    assert (ROOT / "docs" / "reference" / "agent-config.md").read_text(encoding="utf-8") == page()
