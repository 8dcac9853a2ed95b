"""What goes wrong in KEDA and HPA manifests is found, and the ones we ship are clean."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from analytics.scaling import Pool
from analytics.scaling.keda_lint import lint
from analytics.scaling.manifests import horizontal_pod_autoscaler, manifests, scaled_object
from analytics.scaling.tolerance import quantised
from signals.errors import InputError

DEPLOY = Path(__file__).parents[4] / "deploy"


def rules(text: str) -> set[str]:
    return {finding.rule for finding in lint(list(yaml.safe_load_all(text)))}


STOCK = """
kind: ScaledObject
metadata: {name: prod-stack}
spec:
  scaleTargetRef: {name: vllm}
  cooldownPeriod: 360
  minReplicaCount: 1
  triggers:
  - type: prometheus
    metadata: {query: "vllm:num_requests_waiting", threshold: "5"}
"""


def test_a_query_of_one_series_per_pod_breaks_with_the_second_pod() -> None:
    found = rules(STOCK)
    assert {"many-series", "nothing-is-zero", "no-fallback", "no-maximum", "cooldown-is-for-zero"} == found


@pytest.mark.parametrize(
    "query", ["sum(vllm:num_requests_waiting)", "max by () (a)", "avg(b)", "topk(1, c)", "scalar(d)"]
)
def test_an_aggregated_query_is_fine(query: str) -> None:
    assert "many-series" not in rules(STOCK.replace("vllm:num_requests_waiting", query))


def test_gpu_utilisation_is_no_load_signal() -> None:
    assert "gpu-utilisation" in rules(STOCK.replace("vllm:num_requests_waiting", "avg(DCGM_FI_DEV_GPU_UTIL)"))


def test_a_static_fallback_shrinks_exactly_when_nothing_is_seen() -> None:
    text = STOCK + "  fallback: {failureThreshold: 3, replicas: 2}\n"
    assert "fallback-shrinks" in rules(text)


OURS = """
kind: ScaledObject
metadata: {name: ours}
spec:
  scaleTargetRef: {name: vllm}
  maxReplicaCount: 40
  triggers:
  - type: metrics-api
    metricType: Value
    metadata: {url: "http://s/api/v1/scaling/keda", targetValue: "5"}
"""


def test_a_recommendation_read_wrongly_is_an_error_each() -> None:
    found = lint([yaml.safe_load(OURS)])
    errors = {finding.rule for finding in found if finding.severity == "error"}
    assert errors == {"no-value-location", "target-not-one", "value-not-average", "no-pool"}
    assert found[0].severity == "error"


def test_damping_twice_and_the_tolerance_trap_are_found() -> None:
    """llm-d 1352: an HPA's 300 s behind a controller of its own delayed every scale-down."""
    assert {"damped-twice", "within-tolerance"} <= rules(OURS)
    small = OURS.replace("maxReplicaCount: 40", "maxReplicaCount: 8")
    assert "within-tolerance" not in rules(small)


def test_two_scalers_on_one_target_are_rivals() -> None:
    assert "two-scalers" in rules(STOCK + "---" + STOCK.replace("prod-stack", "other"))


def test_a_short_grace_kills_streams() -> None:
    """volcano-sh/kthena 1589: 30 s of grace ended streams in flight."""
    text = """
kind: Deployment
metadata: {name: vllm}
spec: {template: {spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]}}}
"""
    assert rules(text) == {"short-grace"}
    assert rules(text.replace("containers", "terminationGracePeriodSeconds: 600, containers")) == set()


@pytest.mark.parametrize("document", [None, 3, [], {}, {"kind": "ScaledObject"}, {"kind": "ScaledObject", "spec": 4}])
def test_odd_documents_do_not_break_the_linter(document: object) -> None:
    lint([document])


@pytest.mark.parametrize("file", sorted(DEPLOY.glob("keda/*.yaml")) + sorted(DEPLOY.glob("hpa/*.yaml")), ids=str)
def test_shipped_manifests_are_clean(file: Path) -> None:
    assert lint(list(yaml.safe_load_all(file.read_text()))) == ()


def test_made_manifests_are_clean_and_shipped_as_made() -> None:
    pool = Pool("chat-eu", "llama-3-70b", region="eu", min=2, max=40)
    keda = scaled_object(pool, "vllm-chat", "http://sloscope.observability:8080", "inference")
    hpa = horizontal_pod_autoscaler(pool, "vllm-chat", "inference")
    assert lint([keda]) == lint([hpa]) == ()
    assert yaml.safe_load((DEPLOY / "keda" / "scaled-object.yaml").read_text()) == keda
    assert yaml.safe_load((DEPLOY / "hpa" / "autoscaler.yaml").read_text()) == hpa


def test_a_pool_with_a_slash_gets_a_lawful_name_and_a_quoted_url() -> None:
    made = scaled_object(Pool("meta/Llama-3@eu", "m"), "t", "http://s/")
    text = yaml.safe_dump(made)
    assert "sloscope-meta-llama-3-eu" in text
    assert "http://s/api/v1/scaling/keda?pool=meta%2FLlama-3%40eu" in text


@pytest.mark.parametrize(
    ("current", "wanted", "given"),
    [
        (20, 21, 23),
        (20, 22, 23),
        (20, 30, 30),
        (20, 19, 20),
        (20, 18, 20),
        (20, 17, 17),
        (5, 6, 6),
        (0, 3, 3),
        (9, 9, 9),
    ],
)
def test_numbers_leave_the_band_that_an_hpa_ignores(current: int, wanted: int, given: int) -> None:
    assert quantised(current, wanted) == given
    assert given == current or abs(given / max(current, 1) - 1) > 0.1 - 1e-9


def test_text_is_read_and_findings_read_as_sentences() -> None:
    found = lint(OURS)
    assert str(found[0]).startswith("error: ScaledObject/ours")
    with pytest.raises(InputError):
        lint("{")


def test_all_pools_make_one_clean_stream() -> None:
    text = manifests([Pool("a", "m", max=8), Pool("b/c", "m", max=8)], "http://s")
    assert [document["metadata"]["name"] for document in yaml.safe_load_all(text)] == ["sloscope-a", "sloscope-b-c"]
    assert lint(text) == ()
