"""Finds the engine pods of this node through the Kubernetes API; changes nothing there.

A pod is scraped when it runs and carries the annotation `sloscope.io/scrape: "true"`. Further annotations:
`sloscope.io/port`, `/path`, `/scheme`, and every plain setting of a target (`/engine`, `/model`, `/role`, `/pool`,
`/region`). Workers of a multi-node engine that serve no page are simply not annotated.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias, Union, cast
from urllib.parse import urlencode

from agent.config import KubernetesDiscovery, TargetConfig, Tls
from agent.fetch import Credentials, Fetcher
from agent.targets.form import TEXT_SETTINGS, Found, PodLife, filled
from signals.errors import InputError, UnreachableError

Json: TypeAlias = Union[dict[str, "Json"], list["Json"], str, int, float, bool, None]  # noqa: UP007 # recursive
PREFIX = "sloscope.io/"
LIMIT_SECONDS, LIMIT_BYTES = 10.0, 32_000_000


@dataclass(slots=True)
class KubernetesTargets:
    """Pods of one node. `get` fetches a path of the API server and returns its JSON."""

    config: KubernetesDiscovery
    node: str | None
    get: Callable[[str], Json]

    @property
    def refresh_seconds(self) -> float:
        return self.config.refresh_seconds

    def find(self) -> Sequence[Found]:
        """Return the annotated, running pods."""
        query = {}
        if self.node:
            query["fieldSelector"] = f"spec.nodeName={self.node}"
        if self.config.selector:
            query["labelSelector"] = self.config.selector
        suffix = f"pods?{urlencode(query)}"
        places = [f"namespaces/{name}/{suffix}" for name in self.config.namespaces] or [suffix]
        found = []
        for place in places:
            listing = self.get(f"/api/v1/{place}")
            if not isinstance(listing, dict) or not isinstance(listing.get("items"), list):
                raise InputError(f"the API server answers {place} with no list of pods")
            for pod in cast("list[Json]", listing["items"]):
                one = _pod(pod, self.config)
                if one is not None:
                    found.append(one)
        return found


def connect(config: KubernetesDiscovery, env: Mapping[str, str]) -> KubernetesTargets:
    """Return the discovery that asks the real API server."""
    host, port = env.get("KUBERNETES_SERVICE_HOST", "kubernetes.default.svc"), env.get("KUBERNETES_SERVICE_PORT", "443")
    api = config.api or (f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}")
    fetcher = Fetcher(Tls(ca_file=config.ca_file if api.startswith("https") else None))
    credentials = Credentials.of(config.token_file, None)

    def get(path: str) -> Json:
        answer = fetcher.get(
            api + path, credentials.headers() | {"Accept": "application/json"}, LIMIT_SECONDS, LIMIT_BYTES
        )
        if answer.status != 200:
            raise UnreachableError(f"{api}{path}: HTTP {answer.status}: is the service account allowed to list pods?")
        try:
            return cast("Json", json.loads(answer.body))
        except ValueError as error:
            raise InputError(f"{api}{path}: no JSON: {error}") from error

    return KubernetesTargets(config, config.node or env.get("NODE_NAME"), get)


def _pod(pod: Json, config: KubernetesDiscovery) -> Found | None:
    metadata, status, spec = _map(pod, "metadata"), _map(pod, "status"), _map(pod, "spec")
    annotations = _texts(metadata, "annotations")
    if annotations.get(f"{PREFIX}scrape") != "true" or status.get("phase") != "Running" or not status.get("podIP"):
        return None
    labels = _texts(metadata, "labels")
    texts = {name: annotations.get(PREFIX + name, "") for name in TEXT_SETTINGS}
    texts["instance"] = texts["instance"] or str(metadata.get("name", ""))
    texts["pool"] = texts["pool"] or labels.get(config.pool_label, "")
    texts["model_version"] = texts["model_version"] or labels.get(config.version_label) or _digest(status)
    texts["host"] = texts["host"] or str(spec.get("nodeName") or "")
    port = annotations.get(f"{PREFIX}port") or _first_port(spec)
    scheme = annotations.get(f"{PREFIX}scheme", "http")
    address = str(status["podIP"])
    host = f"[{address}]" if ":" in address else address
    url = f"{scheme}://{host}:{port}{annotations.get(PREFIX + 'path', '')}"
    target: TargetConfig = filled(config.template, url, texts)
    return Found(target, _life(metadata, status))


def _life(metadata: dict[str, Json], status: dict[str, Json]) -> PodLife:
    ready = None
    conditions = status.get("conditions")
    for condition in conditions if isinstance(conditions, list) else []:
        if isinstance(condition, dict) and condition.get("type") == "Ready" and condition.get("status") == "True":
            ready = _seconds(condition.get("lastTransitionTime"))
    return PodLife(_seconds(status.get("startTime")), ready, _seconds(metadata.get("deletionTimestamp")))


def _digest(status: dict[str, Json]) -> str:
    """Return the first container's image digest: what really runs, whatever its tag says."""
    containers = status.get("containerStatuses")
    for container in containers if isinstance(containers, list) else []:
        image = str(container.get("imageID", "")) if isinstance(container, dict) else ""
        if "sha256:" in image:
            return "sha256:" + image.rpartition("sha256:")[2]
    return ""


def _first_port(spec: dict[str, Json]) -> str:
    containers = spec.get("containers")
    for container in containers if isinstance(containers, list) else []:
        ports = container.get("ports") if isinstance(container, dict) else None
        for port in ports if isinstance(ports, list) else []:
            if isinstance(port, dict) and port.get("containerPort"):
                return str(port["containerPort"])
    return "8000"


def _map(node: Json, key: str) -> dict[str, Json]:
    found = node.get(key) if isinstance(node, dict) else None
    return found if isinstance(found, dict) else {}


def _texts(node: dict[str, Json], key: str) -> dict[str, str]:
    return {name: str(value) for name, value in _map(node, key).items()}


def _seconds(text: Json) -> float | None:
    if not isinstance(text, str):
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None
