"""Runs one instance iteration by iteration under a budget of tokens; returns when each request got what.

Every iteration computes a token (or a draft) of each answer and fills the rest of the budget with chunks of prompts.
Times are seconds, memory is tokens; stretches without prompts and arrivals are skipped through in one go.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: Columns of the control table, one row per stretch of time.
CONTROLS = (
    "from", "prompt_pace", "base", "each", "seats", "memory", "budget", "drafts", "accept", "grammar", "chunks",
)  # fmt: skip
#: Columns of a page: time, gauges, running totals.
PAGE = (
    "ts", "queue_depth", "running", "kv_usage_ratio", "prompt_tokens", "generation_tokens", "preemptions", "steps",
    "step_tokens", "step_seconds", "first_tokens", "finished", "queue_seconds_sum", "prefill_seconds_sum",
    "spec_drafts", "spec_draft_tokens", "spec_accepted_tokens", "grammar_seconds", "prefix_query_tokens",
    "prefix_hit_tokens",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """Requests of one instance, by arrival: `held` is what each waits for before it may be admitted."""

    arrival: Floats
    prompt: Ints
    cached: Ints
    output: Ints
    held: Floats
    structured: npt.NDArray[np.bool_]
    easy: Floats


@dataclass(frozen=True, slots=True)
class Served:
    """When each was admitted, got its first token and ended (NaN = never); drafts made and taken; pages."""

    admitted: Floats
    first: Floats
    finished: Floats
    drafted: Floats
    taken: Floats
    pages: Floats


def run(asked: Asked, controls: Floats, pauses: Floats, scrapes: Floats, end: float, patience: float) -> Served:
    """Serve `asked` under `controls` (rows of CONTROLS); `pauses` are (start, seconds), `scrapes` the page times."""
    return Served(
        *_run(
            asked.arrival, asked.prompt, asked.cached, asked.output, asked.held, asked.structured, asked.easy,
            controls, pauses, scrapes, end, patience,
        )
    )  # fmt: skip


@numba.njit(cache=True)
def _run(  # type: ignore[no-untyped-def]  # noqa: C901 - one loop, compiled
    arrival, prompt, cached, output, held, structured, easy, controls, pauses, scrapes, end, patience
):
    n = len(arrival)
    admitted, first, finished = np.full(n, np.nan), np.full(n, np.nan), np.full(n, np.nan)
    drafted, taken, made = np.zeros(n), np.zeros(n), np.zeros(n)
    pages = np.full((len(scrapes), 20), np.nan)
    total = np.zeros(20)
    wait = np.empty(n + 1, dtype=np.int64)
    head, tail, coming = 0, 0, 0
    seat, left = np.empty(4096, dtype=np.int64), np.empty(4096)
    running, used, t = 0, 0.0, 0.0
    row, pause, page = 0, 0, 0
    while t < end:
        while row + 1 < len(controls) and controls[row + 1, 0] <= t:
            row += 1
        pace, base, each = controls[row, 1], controls[row, 2], controls[row, 3]
        seats, memory, budget = controls[row, 4], controls[row, 5], controls[row, 6]
        drafts, accept, grammar, chunks = controls[row, 7], controls[row, 8], controls[row, 9], controls[row, 10]
        while page < len(scrapes) and scrapes[page] <= t:
            total[0], total[1], total[2] = scrapes[page], tail - head, running
            total[3] = min(used / memory, 1.0)
            pages[page] = total
            page += 1
        while coming < n and arrival[coming] <= t:
            wait[tail] = coming
            tail, coming = tail + 1, coming + 1
        while head < tail and running < seats and running < 4096:
            one = wait[head]
            if made[one] == 0.0 and t - arrival[one] > patience:
                head += 1
                continue
            if arrival[one] + held[one] > t:
                # Who still waits for something else lets one behind it pass, if that one is ready.
                swap = -1
                for k in range(head + 1, min(tail, head + 16)):
                    if arrival[wait[k]] + held[wait[k]] <= t:
                        swap = k
                        break
                if swap < 0:
                    break
                ready = wait[swap]
                for k in range(swap, head, -1):
                    wait[k] = wait[k - 1]
                wait[head] = ready
                one = ready
            need = prompt[one] + made[one] + 16.0
            if used + need > memory and running > 0:
                break
            head += 1
            seat[running] = one
            left[running] = max(prompt[one] - (cached[one] if made[one] == 0.0 else 0.0) + made[one], 1.0)
            running += 1
            used += need
            if np.isnan(admitted[one]):
                admitted[one] = t
                total[12] += t - arrival[one]
                total[18] += prompt[one]
                total[19] += cached[one]
        soonest = end
        if coming < n:
            soonest = min(soonest, arrival[coming])
        if row + 1 < len(controls):
            soonest = min(soonest, controls[row + 1, 0])
        if page < len(scrapes):
            soonest = min(soonest, scrapes[page])
        for k in range(head, min(tail, head + 16)):
            ready_at = arrival[wait[k]] + held[wait[k]]
            if ready_at > t:
                soonest = min(soonest, ready_at)
        if running == 0:
            t = max(soonest, t + 1e-4)
            continue
        decoding, bound, constrained, least = 0, 0, 0, 1e18
        for i in range(running):
            if left[i] > 0:
                bound += 1
            else:
                decoding += 1
                least = min(least, output[seat[i]] - made[seat[i]])
                if structured[seat[i]]:
                    constrained += 1
        spare = max(budget - decoding * (1.0 + drafts), 16.0)
        computed, opened = 0.0, 0
        for i in range(running):
            if left[i] > 0 and spare > 0 and opened < chunks:
                part = min(left[i], spare)
                left[i] -= part
                spare -= part
                computed += part
                opened += 1
                if left[i] <= 0:
                    left[i] = -1.0
        cost = base + each * decoding * (1.0 + 0.25 * drafts) + computed / pace + grammar * constrained
        cost += 0.06 * base * drafts
        steps = 1
        if bound == 0:
            steps = max(1, min(int((soonest - t) / cost), int(least / (1.0 + drafts)) - 1))
            steps = max(1, min(steps, int((memory - used) / max(decoding * (1.0 + drafts), 1.0)) - 1))
        took = cost * steps
        if pause < len(pauses) and pauses[pause, 0] <= t + took:
            took += pauses[pause, 1]
            pause += 1
        t += took
        total[7] += steps
        total[8] += computed + decoding * (1.0 + drafts) * steps
        total[9] += took
        total[17] += grammar * constrained * steps
        k = 0
        while k < running:
            one = seat[k]
            gone = False
            if left[k] == -1.0:
                left[k] = 0.0
                if np.isnan(first[one]):
                    first[one] = t
                    total[10] += 1
                    total[4] += prompt[one]
                    total[13] += t - admitted[one]
                made[one] += 1
                used += 1
                total[5] += 1
            elif left[k] == 0.0:
                chance = min(accept * easy[one], 0.98)
                win = drafts if chance >= 1.0 else chance * (1.0 - chance**drafts) / (1.0 - chance)
                grow = min((1.0 + win) * steps, output[one] - made[one])
                drafted[one] += drafts * steps
                taken[one] += win * steps
                total[14] += steps if drafts > 0 else 0
                total[15] += drafts * steps
                total[16] += win * steps
                made[one] += grow
                used += grow
                total[5] += grow
            if left[k] == 0.0 and made[one] >= output[one] - 1e-6:
                finished[one] = t
                total[11] += 1
                used -= prompt[one] + made[one] + 16.0
                gone = True
            if gone:
                for j in range(k, running - 1):
                    seat[j], left[j] = seat[j + 1], left[j + 1]
                running -= 1
            else:
                k += 1
        while used > memory and running > 1:
            running -= 1
            one = seat[running]
            used -= prompt[one] + made[one] + 16.0
            head -= 1
            wait[head] = one
            total[6] += 1
    return admitted, first, finished, drafted, taken, pages
