"""The column arrays that an explanation is made from, as a store reduces them; holds no judgement."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from analytics.rootcause.leaves import Columns, FloatArray, IntArray

#: Dimensions that a segment may name, the plainer first: of two equally good segments the earlier one is told.
DIMENSIONS = (
    "region",
    "model_version",
    "instance",
    "tenant",
    "length_bucket",
    "adapter",
    "domain",
    "structured",
    "prefill_instance",
)
#: Extra dimensions of the ratio metrics (hits by turn, acceptance by temperature).
EXTRA_DIMENSIONS = ("turn", "temperature", "cached")
#: Parts of a time to first token, in the order of a request's way.
STAGES = ("gateway", "queue", "prefill", "transfer", "decode", "other")
#: Columns of `Observations.cells` beside the dimensions: sums over the requests of a cell.
CELL_SUMS = (
    "requests",
    "events",
    "bad",
    "bad_requests",
    "ttft_sum",
    "ttft_known",
    "staged",
    "staged_ttft_sum",
    "staged_gateway_sum",
    "gateway_sum",
    "gateway_known",
    "queue_sum",
    "queue_known",
    "prefill_sum",
    "prefill_known",
    "prefill_tokens",
    "engine_sum",
    "engine_known",
    "transfer_sum",
    "transfer_known",
    "decode_sum",
    "decode_tokens",
    "good_prefill_sum",
    "good_prefill_tokens",
    "good_prefill_known",
    "pace_sum",
    "pace_squares",
    "pace_known",
    "bad_ttft_sum",
    "bad_staged",
    "bad_gateway_sum",
    "bad_gateway_known",
    "bad_gateway_ttft_sum",
    "bad_queue_sum",
    "bad_prefill_sum",
    "bad_transfer_sum",
    "bad_decode_sum",
    "e2e_sum",
    "e2e_known",
    "input_tokens",
    "sized",
    "input_squares",
    "computed_tokens",
    "cached_tokens",
    "cached_of",
    "output_tokens",
    "output_known",
    "output_squares",
    "draft_tokens",
    "accepted_tokens",
    "retried",
    "incoherent",
    "from_gateway",
)


def _none() -> Columns:
    return {}


@dataclass(frozen=True, slots=True)
class Observations:
    """Everything that was recorded around one window, reduced to steps and cells.

    `cells` has a column `phase` (before|during), the DIMENSIONS and the CELL_SUMS. `engine`, `gpus`, `hosts` and
    `signals` have a column `step` (time ÷ step_seconds) and their source. `instances`, `changes` and `gpu_events` are
    rows as stored. `arrivals_during` counts recorded arrivals by step of `during_steps`, `arrivals_before` by step of
    the calm history. `rise` = the question is why a share of accepted tokens rose. An empty mapping means that nothing
    of the kind was recorded.
    """

    metric: str
    start: np.datetime64
    end: np.datetime64
    step_seconds: int
    before_steps: IntArray
    during_steps: IntArray
    seconds_before: float
    seconds_during: float
    threshold: float
    cells: Columns
    overdispersion: float = 1.0
    usual_rate: float | None = None
    arrivals_during: FloatArray | None = None
    arrivals_before: FloatArray | None = None
    from_pages: bool = False
    dimensions: tuple[str, ...] = DIMENSIONS
    engine: Columns = field(default_factory=_none)
    gpus: Columns = field(default_factory=_none)
    gpu_events: Columns = field(default_factory=_none)
    hosts: Columns = field(default_factory=_none)
    signals: Columns = field(default_factory=_none)
    instances: Columns = field(default_factory=_none)
    changes: Columns = field(default_factory=_none)
    stalls: Columns = field(default_factory=_none)
    positions: Columns = field(default_factory=_none)
    rise: bool = False
