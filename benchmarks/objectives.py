"""Measures the objectives: burn arithmetic, alert timing, budgets, bins, edges, broken documents.

    python -m benchmarks.objectives [--days N] [--requests N]

Known truths are generated; the edges are checked on recorded runs where those stand beside the repository.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from analytics.slo import burn_rate, default_objective, seconds_to_exhaustion, workbook_rules
from benchmarks.report import Row, write
from benchmarks.slo.broken_documents import named_exactly
from benchmarks.slo.budgets import JOINT_LIMITS, TTFT_LIMITS, cases, drop_raw, edited, roll_up, wrong_events
from benchmarks.slo.fuzz import tracebacks
from benchmarks.slo.incidents import minutes_with_incidents
from benchmarks.slo.month import month, store
from benchmarks.slo.promtool import differing_minutes, promtool
from benchmarks.slo.recorded_edges import RUNS, read_run, windows
from benchmarks.slo.shards import merged_p99_error
from tests.support.public_store import public_store

ROOT = Path(__file__).resolve().parent.parent
PAYLOADS = ROOT.parent / "shared" / "payloads"
DAY_SECONDS = 86_400

#: Google SRE Workbook, chapter 5: (long window in hours, share of a 30-day budget, burn rate), then (burn rate, days to
#: exhaustion) at a target of 99.9 %.
_ALERT_TABLE = ((1, 0.02, 14.4), (6, 0.05, 6.0), (72, 0.10, 1.0))
_BURN_TABLE = ((1, 30.0), (2, 15.0), (10, 3.0), (1000, 0.03))


def main() -> None:
    """Run every measurement and write build/bench/objectives.json."""
    parser = argparse.ArgumentParser(description="Measure the objectives against known truths.")
    parser.add_argument("--days", type=int, default=30, help="days of alerts to compare with promtool")
    parser.add_argument("--requests", type=int, default=20_000, help="requests of the generated month")
    options = parser.parse_args()
    write("objectives", _rows(options.days, options.requests))


def _rows(days: int, requests: int) -> Iterator[Row]:
    yield Row("burn_rate_max_error", _burn_error(), "")
    for item, limits in (("budget_events_wrong", TTFT_LIMITS), ("joint_goodput_events_wrong", JOINT_LIMITS)):
        wrong, counted = _events_wrong(requests, limits)
        print(f"{item}: {counted} scope combinations, each live, edited, and after roll-up")
        yield Row(item, wrong, "events")
    yield Row("merged_bins_p99_error", max(merged_p99_error(seed) for seed in range(10)), "")
    yield from _edges()
    named, documents = named_exactly()
    yield Row("broken_documents_named", named, f"of {documents}")
    yield Row("fuzzed_tracebacks", tracebacks(ROOT / "sample_data" / "objectives", 1_000), "")
    yield from _alerts(days)


def _burn_error() -> float:
    factors = {rule.long_seconds: rule.factor for rule in workbook_rules(30 * DAY_SECONDS)}
    errors = [abs(factors[hours * 3_600] - factor) for hours, _, factor in _ALERT_TABLE]
    for hours, used, factor in _ALERT_TABLE:
        errors.append(abs(factor * hours / (30 * 24) - used))
        rate = burn_rate(factor * 0.001 * 1e6, 1e6, 0.999)
        errors.append(abs((rate or 0) - factor))
    for rate, lasts in _BURN_TABLE:
        seconds = seconds_to_exhaustion(1.0, 30 * DAY_SECONDS, rate)
        errors.append(abs((seconds or 0) / DAY_SECONDS - lasts))
    return max(errors)


def _events_wrong(count: int, limits: object) -> tuple[int, int]:
    """Return events that differ from the truth over every scope combination, and how many combinations there were."""
    assert isinstance(limits, dict)
    requests = month(count)
    connection = public_store()
    store(connection, requests)
    chosen = list(cases(limits))
    changed = [edited(case) for case in chosen]
    wrong = sum(wrong_events(connection, requests, case) for case in (*chosen, *changed))
    roll_up(connection, [case.objective for case in (*chosen, *changed)])
    drop_raw(connection)
    wrong += sum(wrong_events(connection, requests, case) for case in (*chosen, *changed))
    return wrong, len(chosen)


def _edges() -> Iterator[Row]:
    if not PAYLOADS.is_dir():
        print("edge_interval_contains_truth_ratio: left out, recorded runs are not beside the repository")
        return
    found = [window for name in RUNS for window in windows(read_run(PAYLOADS / name, PAYLOADS / f"{name}-otlp"))]
    exact = sum(window.interval == window.bucket for window in found)
    print(f"edges: {len(found)} windows of {len(RUNS)} runs, {sum(not one.resolved for one in found)} unresolved")
    yield Row("edge_interval_contains_truth_ratio", exact / len(found), "")


def _alerts(days: int) -> Iterator[Row]:
    if promtool() is None:
        print("alert_minutes_differing_from_promtool: left out, promtool is not installed (package prometheus)")
        return
    good, bad = minutes_with_incidents(days)
    with TemporaryDirectory() as folder:
        differing, firing = differing_minutes(default_objective(), good, bad, Path(folder))
    print(f"alerts: {firing} of {len(good)} minutes with an alert")
    yield Row("alert_minutes_differing_from_promtool", differing, "minutes", "promtool")


if __name__ == "__main__":
    main()
