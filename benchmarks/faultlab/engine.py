"""Runs one inference instance step by step: seats, KV memory, chunked prefill, decode; knows no fault by name.

Times are seconds from the start of the case. Parameters come as two rows, (healthy, faulty); the second holds while
`fault_from <= t < fault_to`.
"""

from __future__ import annotations

import numba
import numpy as np

#: Columns of a parameter row.
PARAMETERS = (
    "step",  # seconds that a step costs whatever is in it
    "prefill_token",  # seconds a prompt token
    "decode_slot",  # seconds a decoding request adds to a step
    "seats",  # requests in the batch at most
    "kv_tokens",  # tokens that fit
    "budget",  # tokens a step at most
    "grammar",  # seconds a structured request adds to a step
    "draft",  # drafted tokens a step and request; 0 = no speculation
    "verify",  # seconds a drafted token of one request adds to a step
    "adapter_slots",
    "adapter_load",  # seconds to load an adapter
    "pause_every",  # seconds between pauses; 0 = none
    "pause",  # seconds a pause lasts
    "block_every",  # seconds between stretches without admission; 0 = none
    "block",  # seconds that admission stands still
    "hold",  # seconds that a finished request keeps its seat
)
P = {name: place for place, name in enumerate(PARAMETERS)}
#: Columns of a scrape: gauges, then running totals.
GAUGES = ("queue_depth", "running", "kv_usage_ratio", "adapters_waiting")
TOTALS = (
    "prompt_tokens", "generation_tokens", "preemptions", "steps", "step_tokens", "step_seconds", "first_tokens",
    "finished", "queue_seconds_sum", "prefill_seconds_sum", "grammar_seconds", "spec_drafts", "spec_draft_tokens",
    "spec_accepted_tokens",
)  # fmt: skip
MOST_SEATS = 40
MOST_ADAPTERS = 16


@numba.njit(cache=True)
def run(  # type: ignore[no-untyped-def]  # noqa: C901 - one loop, compiled as a whole
    arrival,
    tokens,
    cached,
    output,
    structured,
    adapter,
    extra,
    accept,
    parameters,
    fault_from,
    fault_to,
    scrape_every,
    horizon,
    seed,
):
    """Return (admitted, first token, finished, drafted, accepted) per request and the scrapes; NaN = never."""
    np.random.seed(seed)
    n = len(arrival)
    admitted, first, finished = np.full(n, np.nan), np.full(n, np.nan), np.full(n, np.nan)
    drafted, taken = np.zeros(n), np.zeros(n)
    scrapes = np.full((int(horizon / scrape_every) + 1, 4 + 14), np.nan)
    totals = np.zeros(14)
    slot = np.full(MOST_SEATS, -1)
    left, made, ready, free_at = np.zeros(MOST_SEATS), np.zeros(MOST_SEATS), np.zeros(MOST_SEATS), np.zeros(MOST_SEATS)
    resident, used_at = np.full(MOST_ADAPTERS, -1), np.zeros(MOST_ADAPTERS)
    first_now = np.zeros(MOST_SEATS, dtype=np.bool_)
    queue = np.zeros(n + 64, dtype=np.int64)
    back = np.zeros(n + 64)  # tokens already generated before a preemption
    head, tail, coming, row = 0, 0, 0, 0
    t, kv, next_pause, next_block, blocked_until = 0.0, 0.0, -1.0, -1.0, -1.0
    while t < horizon:
        faulty = fault_from <= t < fault_to
        p = parameters[1] if faulty else parameters[0]
        seats = int(p[3])
        while coming < n and arrival[coming] <= t:
            queue[tail % (n + 64)] = coming
            tail += 1
            coming += 1
        if p[13] > 0:
            if next_block < 0:
                next_block = t
            if t >= next_block:
                blocked_until = t + p[14]
                next_block = t + p[13]
        running = 0
        for s in range(MOST_SEATS):
            if slot[s] >= 0:
                running += 1
        while head < tail and running < seats and t >= blocked_until:
            r = queue[head % (n + 64)]
            need = tokens[r] + back[r]
            if kv + need > p[4] and running > 0:
                break
            head += 1
            place = 0
            while slot[place] >= 0:
                place += 1
            slot[place], left[place], made[place] = r, max(need - cached[r], 1.0), back[r]
            ready[place], free_at[place] = t + extra[r], -1.0
            if adapter[r] >= 0 and p[9] > 0:
                at, oldest = -1, 0
                for a in range(int(p[9])):
                    if resident[a] == adapter[r]:
                        at = a
                    if used_at[a] < used_at[oldest]:
                        oldest = a
                if at < 0:
                    at = oldest
                    resident[at] = adapter[r]
                    ready[place] = max(ready[place], max(t, used_at[at]) + p[10])
                used_at[at] = max(t, ready[place])
            kv += need
            running += 1
            if np.isnan(admitted[r]):
                admitted[r] = t
        budget, work, decoding, masks, waiting_adapters, filling = p[5], 0.0, 0, 0, 0, 0
        for s in range(MOST_SEATS):
            r = slot[s]
            if r < 0 or free_at[s] > 0:
                continue
            if left[s] <= 0:
                decoding += 1
                budget -= 1 + p[7]
                if structured[r]:
                    masks += 1
            elif ready[s] > t:
                if adapter[r] >= 0:
                    waiting_adapters += 1
            else:
                filling += 1
        mask_seconds = masks * p[6]
        seconds = p[0] + decoding * p[2] + decoding * p[7] * p[8]
        first_now[:] = False
        while filling > 0 and budget > 0:
            s = -1
            for other in range(MOST_SEATS):
                r = slot[other]
                if r < 0 or left[other] <= 0 or ready[other] > t or free_at[other] > 0:
                    continue
                if s < 0 or admitted[r] < admitted[slot[s]]:
                    s = other
            if s < 0:
                break
            filling -= 1
            chunk = min(left[s], budget)
            left[s] -= chunk
            budget -= chunk
            work += chunk
            if left[s] <= 0:
                first_now[s] = True
        seconds += work * p[1]
        # Masks are built while the GPU computes; only what does not fit beside it costs time.
        if mask_seconds > 0.6 * seconds:
            seconds += mask_seconds - 0.6 * seconds
        if decoding == 0 and work == 0:
            moment = horizon
            if coming < n:
                moment = min(moment, arrival[coming])
            for s in range(MOST_SEATS):
                if slot[s] >= 0:
                    moment = min(moment, free_at[s] if free_at[s] > 0 else ready[s])
            if head < tail:
                moment = min(moment, t + 0.05)
            seconds = max(moment - t, 0.002)
        else:
            totals[3] += 1
            totals[4] += work + decoding
            totals[5] += seconds
            totals[10] += mask_seconds
        if p[11] > 0:
            if next_pause < 0:
                next_pause = t + 0.3 * p[11]
            if t >= next_pause:
                seconds += p[12]
                next_pause = t + p[11]
        end = t + seconds
        while row < len(scrapes) and row * scrape_every <= end:
            scrapes[row, 0], scrapes[row, 1] = tail - head, running
            scrapes[row, 2], scrapes[row, 3] = min(kv / p[4], 1.0), waiting_adapters
            scrapes[row, 4:] = totals
            row += 1
        for s in range(MOST_SEATS):
            r = slot[s]
            if r < 0:
                continue
            if free_at[s] > 0:
                if free_at[s] <= end:
                    kv -= tokens[r] + made[s]
                    slot[s] = -1
                continue
            if left[s] > 0 or (decoding == 0 and work == 0):
                continue
            gained = 1.0
            if first_now[s]:
                if np.isnan(first[r]):
                    first[r] = end
                    totals[6] += 1
                    totals[0] += tokens[r]
            elif p[7] > 0:
                hits = 0
                while hits < p[7] and np.random.random() < accept[r]:
                    hits += 1
                gained += hits
                drafted[r] += p[7]
                taken[r] += hits
                totals[11] += 1
                totals[12] += p[7]
                totals[13] += hits
            made[s] += gained
            kv += gained
            totals[1] += gained
            if made[s] >= output[r]:
                if np.isnan(finished[r]):
                    finished[r] = end
                    totals[7] += 1
                    totals[8] += admitted[r] - arrival[r]
                    totals[9] += first[r] - admitted[r]
                if p[15] > 0:
                    free_at[s] = end + p[15]
                else:
                    kv -= tokens[r] + made[s]
                    slot[s] = -1
        while kv > p[4]:
            youngest, count = -1, 0
            for s in range(MOST_SEATS):
                if slot[s] >= 0 and free_at[s] < 0:
                    count += 1
                    if youngest < 0 or admitted[slot[s]] > admitted[slot[youngest]]:
                        youngest = s
            if count < 2:
                break
            r = slot[youngest]
            kv -= tokens[r] + made[youngest]
            back[r] = made[youngest]
            slot[youngest] = -1
            head -= 1
            queue[head % (n + 64)] = r
            totals[2] += 1
        t = end
    return admitted, first, finished, drafted, taken, scrapes
