"""Makes the KEDA ScaledObject and the HPA that read the recommended number; writes no file, talks to no cluster."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

import yaml

from analytics.scaling.pool import Pool

#: A recommendation is this fresh; polling faster reads the same number again.
POLL_SECONDS = 15


def manifests(pools: Sequence[Pool], url: str, namespace: str = "default") -> str:
    """Return the ScaledObjects of pools as one YAML stream; each drives the Deployment named like its pool."""
    return yaml.safe_dump_all(
        [scaled_object(pool, _label(pool.name), url, namespace) for pool in pools], sort_keys=False, explicit_start=True
    )


def scaled_object(pool: Pool, target: str, url: str, namespace: str = "default") -> dict[str, object]:
    """Return a ScaledObject for a pool's Deployment `target`; `url` is where the server answers.

    Reads one number per pool with target 1, so the number is the replicas. While the server says 503 (blind) or is
    away, the current replicas are kept. The recommender slows scale-down itself, so the HPA behind must not again.
    """
    name = f"sloscope-{_label(pool.name)}"
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "scaleTargetRef": {"name": target},
            "pollingInterval": POLL_SECONDS,
            "minReplicaCount": max(pool.min, 1),
            "maxReplicaCount": pool.max if pool.max is not None else 100,
            "fallback": {"failureThreshold": 3, "replicas": max(pool.min, 1), "behavior": "currentReplicasIfHigher"},
            "advanced": {"horizontalPodAutoscalerConfig": {"behavior": _behavior()}},
            "triggers": [
                {
                    "type": "metrics-api",
                    "metricType": "AverageValue",
                    "metadata": {
                        "url": f"{url.rstrip('/')}/api/v1/scaling/keda?pool={_quoted(pool.name)}",
                        "valueLocation": "replicas",
                        "targetValue": "1",
                    },
                }
            ],
        },
    }


def horizontal_pod_autoscaler(pool: Pool, target: str, namespace: str = "default") -> dict[str, object]:
    """Return an HPA that reads the external metric `sloscope_desired_replicas` of a pool."""
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": f"sloscope-{_label(pool.name)}", "namespace": namespace},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": target},
            "minReplicas": max(pool.min, 1),
            "maxReplicas": pool.max if pool.max is not None else 100,
            "behavior": _behavior(),
            "metrics": [
                {
                    "type": "External",
                    "external": {
                        "metric": {
                            "name": "sloscope_desired_replicas",
                            "selector": {"matchLabels": {"pool": pool.name}},
                        },
                        "target": {"type": "AverageValue", "averageValue": "1"},
                    },
                }
            ],
        },
    }


def _behavior() -> dict[str, object]:
    """Follow the number at once in both directions, with no tolerance around it.

    `tolerance` is alpha in Kubernetes 1.33 (feature gate HPAConfigurableTolerance); older servers drop it.
    """
    return {side: _at_once() for side in ("scaleUp", "scaleDown")}


def _at_once() -> dict[str, object]:
    return {
        "stabilizationWindowSeconds": 0,
        "tolerance": "0",
        "selectPolicy": "Max",
        "policies": [
            {"type": "Percent", "value": 100, "periodSeconds": 15},
            {"type": "Pods", "value": 8, "periodSeconds": 15},
        ],
    }


def _label(name: str) -> str:
    """Return the name as Kubernetes allows it: lower case, digits and dashes, at most 50 characters."""
    kept = "".join(letter if letter.isalnum() else "-" for letter in name.lower())
    return "-".join(part for part in kept.split("-") if part)[:50].rstrip("-")


def _quoted(name: str) -> str:
    return quote(name, safe="")
