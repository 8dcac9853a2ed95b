"""Objective files become objectives, or every fault is named at its line and key; nothing ever raises on bad text."""

from __future__ import annotations

import random
import re
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from analytics.slo import DIMENSIONS, METRICS, BurnRule, Threshold
from analytics.slo.openslo import PRESETS, read_documents
from analytics.slo.openslo.schema import ANNOTATIONS, SOURCE_SPEC
from collector.answers.objective_files import load_objectives, load_silences, read_objectives
from signals.errors import ConfigError, InputError
from signals.lengths import LENGTH_BUCKETS

ROOT = Path(__file__).parents[4]
SAMPLES = ROOT / "sample_data" / "objectives"
BROKEN = sorted((ROOT / "benchmarks" / "slo" / "broken").glob("*.yaml"))
BASE = (SAMPLES / "chat.yaml").read_text()


def faults(text: str) -> list[str]:
    return [str(fault) for fault in read_documents([("o.yaml", text)]).faults]


def test_the_samples_load_without_a_fault() -> None:
    names = {objective.name for objective in load_objectives(SAMPLES)}
    assert {"chat-ttft", "chat-goodput", "chat-availability", "mlperf-interactive-llama2-70b"} <= names


def test_thresholds_scope_and_exclusions_come_from_the_documents() -> None:
    found = {objective.name: objective for objective in load_objectives(SAMPLES)}
    ttft = found["chat-ttft"]
    assert ttft.thresholds[0].limit("64k-256k") == 60.0
    assert ttft.thresholds[0].limit("0-1k") == 2.0
    assert (ttft.by, ttft.min_events, ttft.service) == (("model", "length_bucket"), 50, "chat")
    assert [exclusion.name for exclusion in ttft.exclusions] == ["load-tests"]
    assert [threshold.metric for threshold in found["chat-goodput"].thresholds] == [
        "ttft_seconds",
        "tpot_seconds",
        "e2e_seconds",
    ]


def test_policies_by_reference_and_inline_become_rules_with_both_windows() -> None:
    (objective,) = (one for one in load_objectives(SAMPLES) if one.name == "chat-availability")
    assert objective.rules == (BurnRule("page", 3600, 300, 14.4), BurnRule("ticket", 259_200, 21_600, 1.0))


def test_a_preset_brings_both_limits_of_a_pair() -> None:
    assert PRESETS["mlperf-interactive/llama2-70b"] == (
        Threshold("ttft_seconds", 0.45),
        Threshold("tpot_seconds", 0.04),
    )


@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
def test_a_broken_document_is_named_exactly(path: Path) -> None:
    _, _, line, key, says = path.read_text().splitlines()[0].split(" ", 4)
    (fault,) = read_objectives(path).faults
    assert (fault.file, fault.line, fault.key) == (path.name, int(line), key)
    assert says in fault.message


def test_there_are_twenty_broken_documents() -> None:
    assert len(BROKEN) == 20


def test_every_fault_is_listed_not_only_the_first(tmp_path: Path) -> None:
    broken = (
        BASE.replace("target: 0.95", "target: 95")
        .replace("le: 0.1}", "le: 0}")
        .replace("service: chat", "service: cat")
    )
    (tmp_path / "a.yaml").write_text(broken)
    with pytest.raises(ConfigError) as caught:
        load_objectives(tmp_path)
    assert len([fault for fault in caught.value.faults if "AlertPolicy" not in fault]) == 5
    assert all(fault.startswith("a.yaml:") for fault in caught.value.faults)


def test_an_annotation_gives_multi_window_rules() -> None:
    text = BASE.replace('sloscope.io/min-events: "50"', "sloscope.io/burn-windows: page 2h/10m 7, ticket 1d/2h 2.5")
    (objective,) = (one for one in read_documents([("o", text)]).objectives if one.name == "chat-ttft")
    assert objective.rules == (BurnRule("page", 7200, 600, 7.0), BurnRule("ticket", 86_400, 7200, 2.5))


def test_the_named_workbook_is_refused_where_it_can_never_fire() -> None:
    text = BASE.replace('sloscope.io/min-events: "50"', "sloscope.io/burn-windows: workbook").replace(
        "target: 0.99\n", "target: 0.9\n"
    )
    assert any("burn rate 13.44 can never fire at target 90%" in fault for fault in faults(text))


def test_total_may_not_count_other_requests_than_good() -> None:
    text = BASE.replace("le: 2.0\n", "le: 2.0\n              filters: {tenant: acme}\n")
    assert faults(text)[0].endswith("must equal the filters of total: both count the same requests")


def test_a_threshold_metric_takes_its_limit_from_the_objective() -> None:
    text = """apiVersion: openslo/v1
kind: SLO
metadata: {name: ttft}
spec:
  service: chat
  indicator: {spec: {thresholdMetric: {metricSource: {type: sloscope, spec: {metric: ttft_seconds}}}}}
  timeWindow: [{duration: 4w, isRolling: true}]
  budgetingMethod: Occurrences
  objectives: [{op: lte, value: 1.5, targetPercent: 99.5}]
"""
    (objective,) = read_documents([("o", text)]).objectives
    assert objective.thresholds == (Threshold("ttft_seconds", 1.5),)
    assert (objective.target, objective.window_seconds) == (0.995, 28 * 86_400)


SILENCE = """apiVersion: sloscope/v1
kind: Silence
metadata: {name: known}
spec:
  match: {objective: chat-ttft, model: llama-70b}
  from: 2026-03-01T12:00:00Z
  to: 2026-03-01T18:00:00Z
  reason: Known, the fix is being rolled out
  decidedBy: on call
"""


def test_a_silence_stands_beside_objectives(tmp_path: Path) -> None:
    (tmp_path / "silences.yaml").write_text(SILENCE)
    (silence,) = load_silences(tmp_path)
    labels = {"objective": "chat-ttft", "model": "llama-70b", "severity": "page"}
    assert silence.covers(labels, datetime(2026, 3, 1, 13, tzinfo=UTC))
    assert not silence.covers(labels, datetime(2026, 3, 1, 18, tzinfo=UTC))
    assert not silence.covers({**labels, "model": "other"}, datetime(2026, 3, 1, 13, tzinfo=UTC))


@pytest.mark.parametrize(
    ("old", "new", "key", "says"),
    [
        ("model: llama", "modle: llama", "spec.match.modle", "'model'"),
        ("{objective: chat-ttft, model: llama-70b}", "{}", "spec.match", "everything"),
        ("T18:00:00Z", "T11:00:00Z", "spec.to", "later"),
        ("T18:00:00Z", "T18:00:00", "spec.to", "time zone"),
        ("  decidedBy: on call\n", "", "spec.decidedBy", "missing"),
    ],
)
def test_a_silence_that_is_wrong_is_named(old: str, new: str, key: str, says: str) -> None:
    (fault,) = read_documents([("o", SILENCE.replace(old, new))]).faults
    assert fault.key == key
    assert says in fault.message


def test_a_missing_path_is_an_error_and_an_empty_directory_is_none(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        load_objectives(tmp_path / "nowhere")
    assert load_objectives(tmp_path) == ()


def test_bytes_depth_and_aliases_are_faults_not_exceptions() -> None:
    assert "is not UTF-8" in str(read_documents([("o", b"a: \xff")]).faults[0])
    assert "nested deeper" in faults("[" * 5000)[0]
    bomb = "a: &a [1,2,3]\n" + "".join(f"{y}: &{y} [{','.join([f'*{x}'] * 9)}]\n" for x, y in pairwise("abcdefg"))
    assert "aliases" in faults(bomb)[0]


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200), st.integers(0, 2**32))
def test_no_text_at_all_makes_a_traceback(noise: bytes, seed: int) -> None:
    rng = random.Random(seed)
    text = bytearray(BASE.encode())
    for _ in range(rng.randint(1, 6)):
        place = rng.randrange(len(text))
        text[place : place + rng.randint(0, 20)] = noise[: rng.randint(0, 20)]
    for body in (noise, bytes(text)):
        for fault in read_documents([("o", body)]).faults:
            assert str(fault).startswith("o:")


def test_the_guide_names_every_metric_dimension_length_and_annotation() -> None:
    guides = "".join((ROOT / "docs" / "how-to" / f"{name}.md").read_text() for name in ("write-objectives", "alerting"))
    for word in (*METRICS, *DIMENSIONS, *LENGTH_BUCKETS, *ANNOTATIONS, *SOURCE_SPEC.keys):
        assert word in guides, word


def test_every_document_in_the_guides_is_valid() -> None:
    for name in ("write-objectives", "alerting"):
        text = (ROOT / "docs" / "how-to" / f"{name}.md").read_text()
        for block in re.findall(r"```yaml\n(.*?)```", text, re.S):
            if "apiVersion" in block:
                found = [fault for fault in faults(block) if "no objective is called" not in fault]
                assert found == []
            else:
                assert yaml.safe_load(block)


def test_the_good_and_total_of_the_guide_make_an_indicator() -> None:
    text = (ROOT / "docs" / "how-to" / "write-objectives.md").read_text()
    block = next(one for one in re.findall(r"```yaml\n(.*?)```", text, re.S) if one.startswith("good:"))
    slo = {
        "apiVersion": "openslo/v1",
        "kind": "SLO",
        "metadata": {"name": "guide"},
        "spec": {
            "service": "chat",
            "indicator": {"spec": {"ratioMetric": yaml.safe_load(block)}},
            "timeWindow": [{"duration": "28d", "isRolling": True}],
            "budgetingMethod": "Occurrences",
            "objectives": [{"target": 0.99}],
        },
    }
    (objective,) = read_documents([("guide", yaml.safe_dump(slo))]).objectives
    assert objective.only == {"tenant": ("acme", "globex")}
    assert objective.by == ("model", "length_bucket")
