"""Makes what agents of 200 instances would send: recorded pages, each instance at another place of the recording."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from agent.encode import Encoder, seal
from collector.importer.recordings import scrapes_of
from signals.readings import Increments
from signals.records import Identity, Scrape, Target

INSTANCES = 200
PER_AGENT = 8
PERIOD_NS = 2_000_000_000
T0 = 1_780_000_000_000_000_000
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Body:
    """One export body, gzip, and how many samples and scrapes are in it."""

    content: bytes
    samples: int
    scrapes: int


@cache
def recorded() -> tuple[Scrape, ...]:
    """Return the scrapes of the recorded run, in order."""
    folder = recording()
    return tuple(scrapes_of(folder, Target(folder.name)))


def recording() -> Path:
    """Return the folder of recorded pages: beside the repository, else what the package ships, unpacked."""
    beside = ROOT.parent / "shared" / "payloads" / "vllm-live"
    if beside.is_dir():
        return beside
    from collector.demo.recording import unpack

    return unpack("vllm-live", ROOT / "build" / "bench" / "recording")


def samples_of(scrape: Scrape) -> int:
    """Return the samples of a scrape: one per scalar and per bucket count; sum and count of a histogram are scalars."""
    return sum(_samples(found) for found in scrape.increments)


def _samples(found: Increments) -> int:
    gauges = sum(value is not None for value in found.gauges.values())
    return gauges + len(found.counters) + sum(len(h.counts) + 2 for h in found.histograms)


def scrape_of(instance: int, step: int, epoch: str) -> Scrape:
    """Return one scrape of one instance: the recording, shifted by instance, at a time of its own."""
    pages = recorded()
    base = pages[1 + (step + 7 * instance) % (len(pages) - 1)]
    agent, place = divmod(instance, PER_AGENT)
    target = Target(
        f"10.0.{agent}.{place}:8000", "vllm", pool="chat", model_version="v1", host=f"node-{agent:03d}", region="eu"
    )
    time_ns = T0 + step * PERIOD_NS
    identity = Identity(f"agent-{agent:03d}", epoch, step * PER_AGENT + place)
    return replace(base, identity=identity, target=target, time_ns=time_ns, start_ns=time_ns - PERIOD_NS)


def bodies(steps: range, epoch: str = "bench", per_body: int = PER_AGENT) -> Iterator[Body]:
    """Yield the bodies of all agents, step by step."""
    encoder = Encoder()
    for step in steps:
        for first in range(0, INSTANCES, per_body):
            scrapes = [scrape_of(instance, step, epoch) for instance in range(first, min(INSTANCES, first + per_body))]
            content = gzip.compress(seal((encoder.scrape(s) for s in scrapes), T0), 6)
            yield Body(content, sum(map(samples_of, scrapes)), len(scrapes))
