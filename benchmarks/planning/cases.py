"""One builder of telemetry with known parameters for each planner; returns the filled case, measures nothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.planning.draws import REQUESTS, Case, lognormal, noisy, whole

__all__ = ["BUILDERS"]


def _moe_service(case: Case) -> None:
    rng = case.rng
    ts = case.arrivals(peak="peak_requests_per_second")
    count = len(ts)
    tokens = whole(rng, lognormal(rng, case.draw("input_tokens", 800, 6000), 0.9, count)) + 1
    case.truth["input_tokens"] += 1
    answers = whole(rng, lognormal(rng, case.draw("output_tokens", 200, 2000), 0.8, count)) + 1
    case.truth["output_tokens"] += 1
    share = case.draw("prefix_hit_ratio", 0.1, 0.8)
    hits = rng.beta(share * 3, (1 - share) * 3, count)
    tpot = case.draw("tpot_seconds", 0.01, 0.1) * noisy(rng, count, 0.3)
    ttft = noisy(rng, count, 0.8)
    case.store.add(
        "requests",
        ts,
        model="m",
        status="ok",
        input_tokens=tokens,
        cached_tokens=whole(rng, tokens * hits),
        output_tokens=answers,
        ttft_seconds=ttft,
        e2e_seconds=ttft + (answers - 1) * tpot,
    )
    _engines(case, "prefill_tokens_per_gpu_second", "prompt_tokens", "prefill", 32)
    _engines(case, "output_tokens_per_gpu_second", "generation_tokens", "decode", 144)
    case.mean_signal("kv_bytes_per_token", "kv_bytes_per_token", 5e4, 3e5, 0.01)
    case.mean_signal("expert_balance_ratio", "expert_balance_ratio", 0.5, 0.95, 0.05)


def _engines(case: Case, name: str, column: str, role: str, gpus: int) -> None:
    """Add scrapes of four instances, busy half of the time, at a known rate per GPU while busy."""
    rate = case.draw(name, 500, 5000)
    units = [f"{role}{place}" for place in range(4)]
    case.store.add("instances", np.full(4, -3600.0), instance=units, model="m", role=role, gpu_count=gpus, host=units)
    for unit in units:
        ts = case.scrapes()
        busy = case.rng.random(len(ts)) < 0.5
        made = rate * gpus * 60 * noisy(case.rng, len(ts), 0.15) * np.where(busy, 1.0, case.rng.random(len(ts)))
        case.store.add(
            "engine_samples",
            ts,
            instance=unit,
            model="m",
            role=role,
            scrape_state="ok",
            interval_seconds=60.0,
            queue_depth=np.where(busy, 5.0, 0.0),
            **{column: made},
        )


def _kv_pool(case: Case) -> None:
    rng = case.rng
    case.seconds = 24 * 3600.0
    warm = 8 * 3600.0
    first, later = case.draw("first_return_ratio", 0.3, 0.8), case.draw("later_return_ratio", 0.4, 0.8)
    turns_per_session = 1 + first / (1 - later)
    sessions = rng.poisson(10_000 / turns_per_session * (case.seconds + warm) / case.seconds)
    times, names, turns = [], [], []
    now = rng.uniform(-warm, case.seconds, sessions)
    alive = np.arange(sessions)
    turn = 1
    while len(alive):
        times.append(now)
        names.append(alive)
        turns.append(np.full(len(alive), turn))
        back = rng.random(len(alive)) < (first if turn == 1 else later)
        now = now[back] + lognormal(rng, 300.0, 1.0, int(back.sum()))
        alive = alive[back]
        turn += 1
    ts, who, number = (np.concatenate(each) for each in (times, names, turns))
    kept = (ts >= 0) & (ts <= case.seconds)
    ts, who, number = ts[kept], who[kept], number[kept]
    case.truth["turns_per_second"] = 10_000 / case.seconds
    case.truth["first_turn_ratio"] = 1 / turns_per_session
    count = len(ts)
    tokens = whole(rng, lognormal(rng, 4000, 0.7, count)) + 1
    mfu = case.draw("mfu", 0.1, 0.7)
    seconds = 2 * 70.6e9 * tokens / (8 * 989e12 * mfu) * noisy(rng, count, 0.3)
    answers = whole(rng, lognormal(rng, 500, 0.7, count)) + 1
    case.truth["context_tokens"] = 4502.0
    case.store.add(
        "requests",
        ts,
        model="m",
        status="ok",
        session=[f"s{each}" for each in who],
        turn=number,
        input_tokens=tokens,
        output_tokens=answers,
        prefill_seconds=seconds,
    )
    case.mean_signal("kv_bytes_per_token", "kv_bytes_per_token", 5e4, 3e5, 0.01)
    case.mean_signal("memory_bytes_per_machine", "kv_tier_capacity_bytes", 5e11, 2e12, 0.01, tier="host")
    case.mean_signal("ssd_bytes_per_machine", "kv_tier_capacity_bytes", 1e13, 1e14, 0.01, tier="disk")
    for name, tier, low, high in (
        ("memory_read_bytes_per_second", "host", 1e11, 6e11),
        ("ssd_read_bytes_per_second", "disk", 1e10, 6e10),
    ):
        case.ratio_signal(name, "kv_tier_read_bytes", "kv_tier_read_seconds_sum", low, high, 5.0, tier=tier)


def _gateway(case: Case) -> None:
    rng = case.rng
    ts = case.arrivals(peak="requests_per_second")
    count = len(ts)
    weights = 1 + rng.random(12)
    weights[0] *= rng.uniform(1, 3)
    weights /= weights.sum()
    case.truth["busiest_instance_ratio"] = float(weights.max() * 12)
    case.truth["instances"] = 12.0
    hot = case.draw("hot_prefix_ratio", 0.15, 0.6)
    others = rng.integers(2, 2000, count)
    prefix = np.where(rng.random(count) < hot, 1, others)
    gateway = case.draw("gateway_seconds", 0.002, 0.05) * noisy(rng, count, 1.0)
    lasted = case.draw("mean_request_seconds", 2, 30) * noisy(rng, count, 0.9)
    case.store.add(
        "requests",
        ts,
        model="m",
        status="ok",
        instance=[f"i{each}" for each in rng.choice(12, count, p=weights)],
        input_tokens=whole(rng, lognormal(rng, case.draw("prompt_tokens", 500, 8000), 0.9, count)),
        prefix_hashes=[[int(each), int(each) + 7] for each in prefix],
        gateway_seconds=gateway,
        e2e_seconds=lasted,
    )
    case.ratio_signal("bytes_per_node", "gateway_index_bytes", "gateway_index_nodes", 40, 200, 1e6)
    case.ratio_signal("router_seconds", "gateway_router_seconds_sum", "gateway_router_seconds_count", 1e-5, 1e-3, 2e3)
    case.mean_signal("health_check_seconds", "gateway_health_check_seconds", 0.5, 5, 0.01)
    case.mean_signal("passive_detection_seconds", "gateway_detection_seconds", 0.1, 1, 0.5)


def _multi_lora(case: Case) -> None:
    rng = case.rng
    ts = case.arrivals(peak="requests_per_second")
    owned = int(rng.integers(100, 800))
    case.truth["adapters"] = float(owned)
    exponent = case.draw("popularity_exponent", 0.6, 1.5)
    shares = np.arange(1, owned + 1) ** -exponent
    chosen = rng.choice(owned, len(ts), p=shares / shares.sum())
    case.store.add("requests", ts, model="m", status="ok", adapter=[f"a{each}" for each in chosen], input_tokens=100)
    scrapes = case.scrapes()
    case.store.signal("adapters_registered", scrapes, np.full(len(scrapes), float(owned)))
    case.mean_signal("gpu_bytes_for_adapters", "adapter_pool_bytes", 1e9, 2e10, 0.01)
    case.ratio_signal("pcie_bytes_per_second", "adapter_swap_bytes", "adapter_swap_seconds_sum", 5e9, 5e10, 0.1)
    case.ratio_signal("store_bytes_per_second", "adapter_download_bytes", "adapter_download_seconds_sum", 5e7, 1e9, 1.0)
    case.mean_signal("distinct_adapters", "adapters_per_batch", 2, 60, 0.4)
    steps = rng.poisson(2000, len(scrapes)).astype(np.float64)
    running = case.draw("batch_requests", 20, 300) * noisy(rng, len(scrapes), 0.2)
    case.store.add(
        "engine_samples",
        scrapes,
        instance="i0",
        model="m",
        scrape_state="ok",
        interval_seconds=60.0,
        steps=steps,
        running=running,
    )


def _rl_rollout(case: Case) -> None:
    rng = case.rng
    ts = case.arrivals()
    mean = case.draw("mean_output_tokens", 2000, 12_000)
    case.store.add("requests", ts, model="m", status="ok", output_tokens=whole(rng, lognormal(rng, mean, 0.8, len(ts))))
    case.mean_signal("prompts_per_step", "rollout_prompts_per_step", 64, 512, 0.1)
    case.mean_signal("samples_per_prompt", "rollout_samples_per_prompt", 4, 32, 0.1)
    case.ratio_signal("train_step_seconds", "train_step_seconds_sum", "train_step_seconds_count", 60, 600, 1.0)
    case.mean_signal("sync_utilisation", "rollout_utilisation_ratio", 0.2, 0.5, 0.2, mode="sync")
    case.mean_signal("async_utilisation", "rollout_utilisation_ratio", 0.6, 0.9, 0.05, mode="async")
    case.share_signal("scoring_timeout_ratio", "rollout_scoring_timeouts", "rollout_scoring_seconds_count", 0.02, 0.2)
    case.mean_signal("observed_staleness_steps", "rollout_staleness_steps", 0.5, 4, 0.6)
    case.ratio_signal("sync_bytes_per_second", "weight_sync_bytes", "weight_sync_seconds_sum", 1e11, 1e12, 0.1)
    _engines(case, "tokens_per_gpu_second", "generation_tokens", "both", 8)


def _long_context(case: Case) -> None:
    rng = case.rng
    ts = case.arrivals()
    case.truth["long_requests_per_second"] = REQUESTS / case.seconds
    first = rng.random(len(ts)) < 0.2
    first[0] = True
    case.truth["questions_per_document"] = 5.0
    document = case.draw("document_tokens", 200_000, 800_000)
    question = case.draw("question_tokens", 100, 2000)
    # At least 64,000 tokens each: a floor and a log-normal part above it.
    lengths = 64_000 + whole(rng, lognormal(rng, document - 64_000, 0.5, len(ts)))
    asked = whole(rng, lognormal(rng, question, 0.7, len(ts)))
    case.truth["context_tokens"] = document
    mfu = case.draw("mfu", 0.1, 0.7)
    seconds = (2 * 37e9 * lengths + lengths.astype(np.float64) ** 2 / 2 * 61 * 81_920) / (64 * 989e12 * mfu)
    case.store.add(
        "requests",
        ts,
        model="m",
        status="ok",
        input_tokens=lengths,
        cached_tokens=np.where(first, 0, lengths - asked),
        turn=np.where(first, 1, 2),
        prefill_seconds=seconds * noisy(rng, len(ts), 0.2),
    )
    case.mean_signal("kv_bytes_per_token_mla", "kv_bytes_per_token", 3e4, 2e5, 0.01)
    case.ratio_signal(
        "store_read_bytes_per_second", "kv_tier_read_bytes", "kv_tier_read_seconds_sum", 1e10, 1e11, 5.0, tier="disk"
    )


def _speculation(case: Case) -> None:
    rng = case.rng
    ts = case.arrivals()
    on = rng.random(len(ts)) < 0.7
    tokens = whole(rng, lognormal(rng, 400, 0.8, len(ts))) + 2
    fast, slow = case.draw("on_tpot_seconds", 0.008, 0.015), case.draw("off_tpot_seconds", 0.015, 0.03)
    case.truth["observed_speedup"] = slow / fast
    seconds = (tokens - 1) * np.where(on, fast, slow) * noisy(rng, len(ts), 0.3)
    case.store.add(
        "requests",
        ts,
        model="m",
        status="ok",
        output_tokens=tokens,
        ttft_seconds=0.5,
        e2e_seconds=0.5 + seconds,
        spec_draft_tokens=np.where(on, tokens, 0),
    )
    drafts = int(rng.integers(1, 7))
    case.truth["draft_tokens"] = float(drafts)
    accept, cost = case.draw("acceptance_rate", 0.4, 0.92), case.draw("draft_cost_ratio", 0.02, 0.15)
    base, slope = case.draw("step_base_seconds", 0.005, 0.03), case.draw("step_seconds_per_token", 1e-5, 2e-4)
    scrapes = case.scrapes()
    for unit in ("i0", "i1"):
        steps = rng.poisson(1500, len(scrapes)) + 1
        accepted, left = np.zeros(len(scrapes)), steps
        for _ in range(drafts):
            left = rng.binomial(left, accept)
            accepted = accepted + left
        per_step = 200 * noisy(rng, len(scrapes), 0.6)
        verify = steps * (base + slope * per_step) * noisy(rng, len(scrapes), 0.05)
        drafting = verify * drafts * cost * noisy(rng, len(scrapes), 0.1)
        case.store.add(
            "engine_samples",
            scrapes,
            instance=unit,
            model="m",
            scrape_state="ok",
            interval_seconds=60.0,
            steps=steps.astype(np.float64),
            step_tokens=per_step * steps,
            step_seconds=verify + drafting,
            spec_drafts=steps.astype(np.float64),
            spec_draft_tokens=steps * float(drafts),
            spec_accepted_tokens=accepted,
        )
        case.store.signal("spec_draft_seconds", scrapes, drafting)


def _structured_output(case: Case) -> None:
    rng = case.rng
    ts = case.arrivals()
    constrained = rng.random(len(ts)) < 0.4
    lasted = case.draw("mean_request_seconds", 2, 30) * noisy(rng, len(ts), 0.9)
    case.truth["structured_requests_per_second"] = 0.4 * 10_000 / case.seconds
    case.store.add("requests", ts, model="m", status="ok", structured=constrained, e2e_seconds=lasted)
    scrapes = case.scrapes()
    steps = rng.poisson(2000, len(scrapes)).astype(np.float64) + 1
    asked = rng.poisson(60, len(scrapes)) + 1
    compiled = rng.binomial(asked, 1 - case.draw("schema_cache_hit_ratio", 0.5, 0.9))
    masks = steps * case.draw("batch_in_use", 8, 200) * noisy(rng, len(scrapes), 0.3)
    case.store.add(
        "engine_samples",
        scrapes,
        instance="i0",
        model="m",
        scrape_state="ok",
        interval_seconds=60.0,
        steps=steps,
        step_seconds=steps * case.draw("step_seconds", 0.01, 0.05) * noisy(rng, len(scrapes), 0.2),
        grammar_seconds=compiled * case.draw("compile_seconds", 0.05, 2) * noisy(rng, len(scrapes), 0.3),
    )
    spent = masks * case.draw("mask_seconds", 1e-5, 3e-4) * noisy(rng, len(scrapes), 0.3)
    case.store.signal("grammar_mask_seconds", scrapes, spent)
    case.store.signal("grammar_masks", scrapes, masks)
    case.store.signal("grammar_requests", scrapes, asked.astype(np.float64))
    case.store.signal("grammar_cache_hits", scrapes, (asked - compiled).astype(np.float64))
    case.share_signal("format_error_ratio", "format_error_retries", "structured_requests", 0.02, 0.2)


def _autoscaling(case: Case) -> None:
    rng = case.rng
    ts = case.arrivals(peak="requests_per_second", mean="observed_requests_per_second")
    case.store.add(
        "requests",
        ts,
        model="m",
        status="ok",
        e2e_seconds=case.draw("mean_latency_seconds", 2, 30) * noisy(rng, len(ts), 0.9),
    )
    rate, inside = case.draw("requests_per_second_per_instance", 0.5, 20), case.draw("observed_concurrency", 50, 500)
    scrapes = case.scrapes()
    for place in range(6):
        busy = rng.random(len(scrapes)) < 0.5
        finished = rng.poisson(rate * 60 * np.where(busy, 1.0, rng.random(len(scrapes)))).astype(np.float64)
        waiting = np.where(busy, 3.0, 0.0)
        inner = inside / 6 * noisy(rng, len(scrapes), 0.3)
        waiting = np.minimum(waiting, inner * 0.5)
        case.store.add(
            "engine_samples",
            scrapes,
            instance=f"e{place}",
            model="m",
            scrape_state="ok",
            interval_seconds=60.0,
            queue_depth=waiting,
            running=inner - waiting,
            finished=finished,
        )
    for source, low, high in (("object_store", 5e8, 3e9), ("nvme", 3e9, 1e10), ("rdma", 1e11, 5e11)):
        name = f"{source}_bytes_per_second"
        case.ratio_signal(name, "weight_load_bytes", "weight_load_seconds_sum", low, high, 10.0, source=source)
    case.cold_starts("cold_start_seconds")
    for name, phase in (
        ("process_start_seconds", "process_start"),
        ("compile_seconds", "compile"),
        ("compile_cached_seconds", "compile_cached"),
    ):
        case.mean_signal(name, "startup_phase_seconds", 2, 60, 0.4, phase=phase)


def _multi_region(case: Case) -> None:
    rng = case.rng
    ts = case.arrivals()
    case.truth["regions"] = 3.0
    share = case.draw("deferrable_ratio", 0.05, 0.4)
    kind = np.where(rng.random(len(ts)) < share, "deferrable", "interactive")
    where = rng.choice(["america", "europe", "asia"], len(ts))
    case.store.add("requests", ts, model="m", status="ok", region=list(where), **{"class": list(kind)})
    case.ratio_signal("link_bytes_per_second", "model_copy_bytes", "model_copy_seconds_sum", 5e8, 5e9, 600.0)
    case.cold_starts("scale_up_seconds")


BUILDERS: dict[str, Callable[[Case], None]] = {
    "moe_service": _moe_service,
    "kv_pool": _kv_pool,
    "gateway": _gateway,
    "multi_lora": _multi_lora,
    "rl_rollout": _rl_rollout,
    "long_context": _long_context,
    "speculation": _speculation,
    "structured_output": _structured_output,
    "autoscaling": _autoscaling,
    "multi_region": _multi_region,
}
