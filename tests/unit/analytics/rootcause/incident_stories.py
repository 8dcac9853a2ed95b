"""Tells incidents as figures an hour before and a quarter of an hour during, written down directly, not simulated.

Each story starts from the same calm service; `during` masks the requests, and `busy` the samples, of the incident.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import duckdb
import numpy as np
import pyarrow as pa

from signals.lengths import length_bucket
from tests.support.public_store import public_store

START = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
CALM_SECONDS, INCIDENT_SECONDS = 3600, 900
ONSET = START + timedelta(seconds=CALM_SECONDS)
END = ONSET + timedelta(seconds=INCIDENT_SECONDS)
MODEL = "story/model"
INSTANCES = ("a", "b", "c", "d")


class Story:
    """Columns of requests, of engine samples and of hardware samples, to be bent and then stored."""

    def __init__(self, seed: int = 3, rate: float = 1.0) -> None:
        self.rng = rng = np.random.default_rng(seed)
        count = int((CALM_SECONDS + INCIDENT_SECONDS) * rate)
        self.t = np.sort(rng.uniform(0, CALM_SECONDS + INCIDENT_SECONDS, count))
        self.r: dict[str, np.ndarray] = {}
        self.draw(count)
        self.changes: list[dict[str, object]] = []
        self.gpu_events: list[dict[str, object]] = []
        self.signals: dict[str, tuple[float, float]] = {}
        self.lives: dict[str, float] = {}
        self.s = self._samples()
        self.gone: dict[str, float] = {}

    def draw(self, count: int) -> None:
        rng = self.rng
        tokens = np.exp(rng.normal(6.3, 0.7, count)).clip(30, 3900).astype(int)
        output = rng.gamma(3, 35, count).clip(4).astype(int)
        cached = (tokens * rng.uniform(0.3, 0.7, count)).astype(int)
        self.r = {
            "instance": np.array(INSTANCES, dtype=object)[np.arange(count) % 4],
            "tenant": np.array(["acme", "globex", "initech"], dtype=object)[rng.integers(0, 3, count)],
            "version": np.full(count, "v1", dtype=object),
            "adapter": np.full(count, None, dtype=object),
            "structured": np.zeros(count, dtype=bool),
            "tokens": tokens,
            "cached": cached,
            "output": output,
            "queue": rng.exponential(0.03, count),
            "prefill": (0.04 + 1.2e-4 * (tokens - cached)) * rng.lognormal(0, 0.15, count),
            "gateway": rng.lognormal(np.log(0.01), 0.4, count),
            "transfer": np.full(count, np.nan),
            "pace": 0.02 * rng.lognormal(0, 0.08, count),
            "other": np.full(count, 0.004),
            "draft": np.full(count, -1),
            "accepted": np.full(count, -1),
            "late_text": np.zeros(count),
            "turn": np.full(count, -1),
        }

    @property
    def during(self) -> np.ndarray:
        return self.t >= CALM_SECONDS

    def on(self, instance: str) -> np.ndarray:
        return self.during & (self.r["instance"] == instance)

    def sampled(self, instance: str) -> np.ndarray:
        return self.busy & (self.s["instance"] == instance)

    @property
    def busy(self) -> np.ndarray:
        return self.s["t"] >= CALM_SECONDS

    def _samples(self) -> dict[str, np.ndarray]:
        steps = np.arange(0, CALM_SECONDS + INCIDENT_SECONDS, 15.0)
        rng, size = self.rng, len(steps) * 4
        return {
            "t": np.tile(steps, 4),
            "instance": np.repeat(np.array(INSTANCES, dtype=object), len(steps)),
            "queue_depth": np.zeros(size),
            "running": rng.normal(5, 0.7, size).clip(1),
            "kv_usage_ratio": rng.normal(0.35, 0.03, size),
            "kv_usage_max_ratio": rng.normal(0.36, 0.03, size),
            "queue_max": np.zeros(size),
            "preemptions": np.zeros(size),
            "generation_tokens": rng.normal(3000, 100, size),
            "steps": rng.normal(600, 10, size),
            "step_seconds": rng.normal(12, 0.3, size),
            "first_tokens": np.full(size, 4.0),
            "finished": np.full(size, 4.0),
            "adapters_waiting": np.zeros(size),
            "grammar_seconds": np.full(size, 0.05),
            "spec_draft_tokens": np.full(size, np.nan),
            "spec_drafts": np.full(size, np.nan),
            "spec_accepted_tokens": np.full(size, np.nan),
            "external_hit_tokens": np.full(size, np.nan),
            "prefix_query_tokens": np.full(size, 2500.0),
            "cpu_pressure": np.abs(rng.normal(0.01, 0.004, size)),
            "sm_clock": rng.normal(1900, 6, size),
            "power": rng.normal(500, 8, size),
            "sm_active": rng.normal(0.6, 0.03, size),
            "throttled": np.zeros(size, dtype=bool),
            "unwell": np.zeros(size, dtype=bool),
        }

    def speculate(self, drafts: float = 4.0, ratio: float = 0.6) -> None:
        self.r["draft"] = (self.r["output"] * drafts / (1 + drafts * ratio)).astype(int)
        self.r["accepted"] = (self.r["draft"] * self.rng.normal(ratio, 0.04, len(self.t)).clip(0.05, 0.98)).astype(int)
        self.s["spec_draft_tokens"] = np.full(len(self.s["t"]), 1000.0)
        self.s["spec_drafts"] = np.full(len(self.s["t"]), 1000.0 / drafts)
        self.s["spec_accepted_tokens"] = np.full(len(self.s["t"]), 1000.0 * ratio)

    def store(self) -> duckdb.DuckDBPyConnection:
        connection = public_store()
        self._put(connection, "requests", self._requests())
        s, when = self.s, self._when(self.s["t"])
        size = len(s["t"])
        common = {"ts": when, "model": np.full(size, MODEL, dtype=object), "instance": s["instance"]}
        names = [
            n
            for n in s
            if n not in ("t", "instance", "cpu_pressure", "sm_clock", "power", "sm_active", "throttled", "unwell")
        ]
        alive = np.array([t < self.gone.get(i, np.inf) for t, i in zip(s["t"], s["instance"], strict=True)])
        engine = (
            common
            | {n: s[n] for n in names}
            | {
                "interval_seconds": np.full(size, 15.0),
                "scrape_state": np.full(size, "ok", dtype=object),
            }
        )
        self._put(connection, "engine_samples", {k: v[alive] for k, v in engine.items()})
        host = np.array([f"node-{i}" for i in s["instance"]], dtype=object)
        self._put(connection, "host_samples", {"ts": when, "host": host, "cpu_pressure_ratio": s["cpu_pressure"]})
        gpus = {
            "ts": when,
            "host": host,
            "instance": s["instance"],
            "gpu": np.array([f"gpu-{i}" for i in s["instance"]], dtype=object),
            "sm_clock_mhz": s["sm_clock"],
            "power_watts": s["power"],
            "sm_active_ratio": s["sm_active"],
            "state": np.where(s["unwell"], "lost", "ok").astype(object),
        }
        self._put(
            connection,
            "gpu_samples",
            gpus,
            {"throttle_reasons": [["sw_power_cap"] if x else [] for x in s["throttled"]]},
        )
        for life in INSTANCES:
            connection.execute(
                "insert into instances (instance, model, host, started_at) values (?, ?, ?, ?)",
                [life, MODEL, f"node-{life}", START + timedelta(seconds=self.lives.get(life, -86_400.0))],
            )
        for name, (before, late) in self.signals.items():
            ticks = np.arange(0, CALM_SECONDS + INCIDENT_SECONDS, 30.0)
            value = np.where(ticks >= CALM_SECONDS, late, before) * self.rng.lognormal(0, 0.1, len(ticks))
            named = {
                "model": np.full(len(ticks), MODEL, dtype=object),
                "signal": np.full(len(ticks), name, dtype=object),
            }
            self._put(connection, "signal_samples", {"ts": self._when(ticks), **named, "value": value})
        for change in self.changes:
            connection.execute(
                "insert into changes (ts, kind, model_version, summary) values (?, ?, ?, ?)",
                [ONSET - timedelta(seconds=60), change["kind"], change.get("version"), change["summary"]],
            )
        for event in self.gpu_events:
            connection.execute(
                "insert into gpu_events values (?, ?, ?, ?, ?)",
                [
                    ONSET + timedelta(seconds=5),
                    f"node-{event['at']}",
                    f"gpu-{event['at']}",
                    event["kind"],
                    event["code"],
                ],
            )
        return connection

    def _requests(self) -> dict[str, np.ndarray]:
        r, size = self.r, len(self.t)
        transfer = np.nan_to_num(r["transfer"])
        engine = r["queue"] + r["prefill"] + transfer + r["other"]
        decode = r["pace"] * (r["output"] - 1)
        late = np.minimum(r["late_text"], 0.8 * decode)
        ttft = engine + r["gateway"] + late
        e2e = engine + r["gateway"] + decode
        return {
            "ts": self._when(self.t),
            "first_token_at": self._when(self.t + ttft),
            "finished_at": self._when(self.t + e2e),
            "request_id": np.array([f"r{i}" for i in range(size)], dtype=object),
            "model": np.full(size, MODEL, dtype=object),
            "instance": r["instance"],
            "tenant": r["tenant"],
            "model_version": r["version"],
            "adapter": r["adapter"],
            "structured": r["structured"],
            "input_tokens": r["tokens"],
            "cached_tokens": r["cached"],
            "output_tokens": r["output"],
            "length_bucket": np.array([length_bucket(int(n)) for n in r["tokens"]], dtype=object),
            "queue_seconds": r["queue"],
            "prefill_seconds": r["prefill"],
            "transfer_seconds": r["transfer"],
            "gateway_seconds": r["gateway"] + late,
            "ttft_seconds": ttft,
            "engine_ttft_seconds": engine,
            "tpot_seconds": (e2e - ttft) / (r["output"] - 1),
            "e2e_seconds": e2e,
            "engine_e2e_seconds": e2e - r["gateway"],
            "status": np.full(size, "ok", dtype=object),
            "source": np.full(size, "joined", dtype=object),
            "spec_draft_tokens": np.where(r["draft"] < 0, np.nan, r["draft"]),
            "spec_accepted_tokens": np.where(r["draft"] < 0, np.nan, r["accepted"]),
            "turn": np.where(r["turn"] < 0, np.nan, r["turn"]),
        }

    def _when(self, seconds: np.ndarray) -> np.ndarray:
        return (int(START.timestamp() * 1e6) + seconds * 1e6).astype(np.int64).view("datetime64[us]")

    def _put(
        self,
        connection: duckdb.DuckDBPyConnection,
        table: str,
        columns: dict[str, np.ndarray],
        lists: dict[str, list[list[str]]] | None = None,
    ) -> None:
        arrays = {
            name: pa.array(v, type=pa.timestamp("us", tz="UTC"))
            if v.dtype.kind == "M"
            else pa.array(v, from_pandas=True)
            for name, v in columns.items()
        } | {name: pa.array(v, type=pa.list_(pa.string())) for name, v in (lists or {}).items()}
        batch = pa.table(arrays)
        connection.register("batch", batch)
        connection.execute(f"insert into {table} ({', '.join(arrays)}) select {', '.join(arrays)} from batch")
        connection.unregister("batch")
