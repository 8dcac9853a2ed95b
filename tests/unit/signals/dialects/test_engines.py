"""What single engines say on their recorded pages, checked against the numbers printed there."""

from __future__ import annotations

import pytest

from signals.dialects import probing, registry
from signals.dialects.dcgm import gpu_rows
from signals.dialects.dynamo_requests import decimal_worker_id, worker_id
from signals.dialects.form import normal
from signals.dialects.reader import PageReader
from signals.errors import UnknownNameError
from signals.pages import PageParser
from signals.views.fleet import GPU_SAMPLES
from tests.support import pages
from tests.support.engine_pages import between, gauges, read, totals


def test_vllm_tells_its_capacity() -> None:
    facts = read("vllm", pages.read("vllm-0172")).facts
    assert facts["kv_capacity_tokens"] == "10240"
    assert facts["prefix_caching"] == "True"


def test_the_capacity_of_data_parallel_engines_adds_up_and_their_block_size_does_not() -> None:
    text = 'vllm:num_requests_running{engine="0",model_name="m"} 1\n' + "".join(
        f'vllm:cache_config_info{{block_size="16",engine="{k}",kv_cache_size_tokens="10240",num_gpu_blocks="640"}} 1\n'
        for k in range(2)
    )
    facts = read("vllm", text).facts
    assert (facts["kv_capacity_tokens"], facts["kv_blocks"], facts["block_tokens"]) == ("20480", "1280", "16")


def test_vllm_knows_when_its_process_started_only_with_one_process() -> None:
    assert read("vllm", pages.read("vllm-0172")).process_start is not None
    assert read("vllm", pages.read("vllm-2api")).process_start is None


def test_vllm_offload_bytes_are_read_under_the_old_names_too() -> None:
    text = (
        "# TYPE vllm:kv_offload_total_bytes_total counter\n"
        'vllm:kv_offload_total_bytes_total{model_name="m",transfer_type="CPU_to_GPU"} 5\n'
        'vllm:kv_offload_total_bytes_total{model_name="m",transfer_type="GPU_to_CPU"} 7\n'
    )
    found = totals(read("vllm", text))
    assert (found["kv_offload_load_bytes"], found["kv_offload_store_bytes"]) == (5, 7)


def test_sglang_counts_hits_by_tier_and_leaves_retractions_out() -> None:
    found = totals(read("sglang", pages.read("sglang-unified")))
    assert found["prefix_hit_tokens"] == 30_000 + 6_000 + 2_111
    assert found["prefix_query_tokens"] == 51_234 + 38_111
    assert found["prefix_hit_tokens_by_tier{tier=host}"] == 6_000


def test_sglang_hits_come_from_cached_tokens_where_nothing_better_is_said() -> None:
    head = "# TYPE sglang:cached_tokens_total counter\n"
    split = head + "".join(
        f'sglang:cached_tokens_total{{cache_source="{source}",model_name="m"}} {value}\n'
        for source, value in (("device", 5), ("host", 3), ("total", 8))
    )
    whole = head + 'sglang:cached_tokens_total{cache_source="total",model_name="m"} 8\n'
    assert totals(read("sglang", split))["prefix_hit_tokens"] == 8
    assert totals(read("sglang", whole))["prefix_hit_tokens"] == 8


def test_sglang_says_on_which_side_of_a_split_requests_wait() -> None:
    prefill = gauges(read("sglang", pages.read("sglang-prefill")))
    decode = gauges(read("sglang", pages.read("sglang-decode")))
    assert prefill["pd_queue_depth{stage=bootstrap}"] == 3
    assert (decode["pd_queue_depth{stage=prealloc}"], decode["pd_queue_depth{stage=transfer}"]) == (2, 5)


def test_sglang_transfers_are_in_seconds_and_bytes() -> None:
    head = "# TYPE sglang:kv_transfer_latency_ms histogram\n# TYPE sglang:kv_transfer_total_mb histogram\n"

    def shown(latency: float, size: float) -> str:
        return head + (
            f'sglang:kv_transfer_latency_ms_bucket{{le="100.0",model_name="m"}} 1\n'
            f'sglang:kv_transfer_latency_ms_bucket{{le="+Inf",model_name="m"}} 1\n'
            f'sglang:kv_transfer_latency_ms_sum{{model_name="m"}} {latency}\n'
            f'sglang:kv_transfer_total_mb_bucket{{le="+Inf",model_name="m"}} 1\n'
            f'sglang:kv_transfer_total_mb_sum{{model_name="m"}} {size}\n'
        )

    found = between("sglang", shown(0, 0), shown(250, 2))
    assert found.counters[("kv_transfer_seconds", ())] == 0.25
    assert found.counters[("kv_transfer_bytes", ())] == 2 * 2**20
    assert next(h.edges for h in found.histograms if h.signal == "kv_transfer_latency_seconds") == (0.1,)


def test_sglang_http_answers_are_classed_as_vllm_classes_them() -> None:
    text = (
        "# TYPE sglang:http_responses_total counter\n"
        'sglang:http_responses_total{endpoint="/generate",method="POST",status_code="200"} 5\n'
        'sglang:http_responses_total{endpoint="/generate",method="POST",status_code="503"} 2\n'
    )
    assert totals(read("sglang", text, "m")) == {"http_requests{status=2xx}": 5, "http_requests{status=5xx}": 2}


def test_a_series_that_names_a_model_and_no_role_joins_the_models_role() -> None:
    text = 'sglang:num_running_reqs{engine_type="decode",model_name="m"} 1\nsglang:token_usage{model_name="m"} 0.5\n'
    (found,) = read("sglang", text).readings
    assert (found.shape.model, found.shape.role) == ("m", "decode")
    assert found.gauges[("kv_usage_ratio", ())] == 0.5


def test_dynamo_workers_have_one_name_on_every_page() -> None:
    frontend = gauges(read("dynamo", pages.read("dynamo-frontend-0070")))
    named = {read("dynamo_worker", pages.read(f"dynamo_worker-{k}-0070")).facts["worker_id"] for k in (1, 2)}
    shown = {name.partition("worker=")[2][:16] for name in frontend if name.startswith("gateway_worker_kv_blocks")}
    assert shown == named
    assert all(worker_id(decimal_worker_id(name)) == name for name in named)


def test_a_dynamo_frontend_is_a_gateway_and_counts_cancelled_requests() -> None:
    found = totals(read("dynamo", pages.read("dynamo-frontend-0070")))
    assert found["gateway_failures{model=tiny-llama,reason=cancelled}"] == 13
    assert found["gateway_requests{model=tiny-llama,status=success}"] == 512
    assert found["gateway_ttft_seconds{model=tiny-llama}#"] == 542


def test_failures_that_a_dynamo_frontend_counts_a_second_time_are_known_and_left_out() -> None:
    text = (
        'dynamo_frontend_requests_total{model="m",status="error",error_type="not_found"} 1\n'
        'dynamo_frontend_failures_total{class="NotFound",reason="request.not_found"} 3\n'
    )
    plan = PageReader(registry.get("dynamo")).plan(PageParser().parse(text).layout)
    assert plan.unknown == ()


def test_a_dynamo_histogram_sum_keeps_the_model() -> None:
    found = between("dynamo", pages.read("dynamo-frontend-0030"), pages.read("dynamo-frontend-0070"))
    assert found.counters[("gateway_input_tokens", (("model", "tiny-llama"),))] > 0


def test_a_dynamo_worker_repeats_its_engine_and_nothing_counts_twice() -> None:
    text = pages.read("dynamo_worker-1-0070")
    assert registry.repeated(PageParser().parse(text).layout) == "vllm"
    found, shown = read("dynamo_worker", text), totals(read("dynamo_worker", text))
    assert gauges(found)["running"] == 7
    assert shown["finished"] == 265
    assert shown["ttft_seconds#"] == 272


def test_a_dynamo_worker_with_a_talkative_engine_takes_the_engines_word() -> None:
    text = (
        "# TYPE dynamo_component_request_duration_seconds histogram\n"
        'dynamo_component_request_duration_seconds_count{dynamo_endpoint="generate"} 9\n'
        'dynamo_component_inflight_requests{dynamo_endpoint="generate"} 4\n'
        "# TYPE vllm:request_success_total counter\n"
        'vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} 7\n'
        'vllm:num_requests_running{engine="0",model_name="m"} 3\n'
    )
    assert totals(read("dynamo_worker", text))["finished"] == 7
    assert gauges(read("dynamo_worker", text))["running"] == 3


def test_a_dynamo_worker_before_its_first_request_is_read_already() -> None:
    found = read("dynamo_worker", pages.read("dynamo_worker-1-0000"), "configured")
    assert found.readings[0].shape.model == "configured"
    assert gauges(found)["running"] == 0


def test_llamacpp_prompt_tokens_include_the_cached_ones_as_everywhere_else() -> None:
    found = totals(read("llamacpp", pages.read("llamacpp-0010"), "m"))
    assert found["prompt_tokens"] == 32_153 + 25_088
    assert found["prefix_hit_tokens"] == 25_088


def test_llamacpp_has_no_latency_histogram_to_take_a_percentile_from() -> None:
    assert read("llamacpp", pages.read("llamacpp-0010"), "m").readings[0].shape.histograms == ()


def test_litellm_splits_by_team_and_length() -> None:
    found = totals(read("litellm", pages.read("litellm-0055")))
    lengths = {name.partition("length_bucket=")[2].partition(",")[0] for name in found if "length_bucket" in name}
    assert {"0-1k", "1k-4k"} <= lengths
    assert any("tenant=acme" in name for name in found)
    assert any("tenant=globex" in name for name in found)


def test_litellm_requests_for_its_own_pages_are_not_requests() -> None:
    text = (
        "# TYPE litellm_proxy_failed_requests_metric_total counter\n"
        'litellm_proxy_failed_requests_metric_total{exception_status="401",requested_model="",route="/metrics"} 9\n'
    )
    assert totals(read("litellm", text)) == {}


def test_lmdeploy_reasons_are_in_everybodys_words() -> None:
    found = totals(read("lmdeploy", pages.read("lmdeploy")))
    assert found["finished_by_reason{reason=stop}"] == 30


def test_ray_serve_is_in_seconds_and_without_rays_own_labels() -> None:
    reading = read("ray_serve", pages.read("ray_serve"))
    assert reading.engine_version == "2.60.0"
    (start,) = [h for h in reading.readings[0].shape.histograms if h.signal == "instance_start_seconds"]
    assert max(start.edges) == 240.0
    assert dict(start.attributes) == {"application": "llm_app", "deployment": "Hello"}


@pytest.mark.parametrize("engine", ["lmcache", "vllm"])
def test_lmcache_workers_count_the_same_tokens_and_their_own_bytes(engine: str) -> None:
    head = "# TYPE lmcache:num_stored_tokens_total counter\n# TYPE lmcache:num_remote_read_bytes_total counter\n"
    text = head + "".join(
        f'lmcache:num_stored_tokens_total{{model_name="m",role="worker",worker_id="{k}"}} 50\n'
        f'lmcache:num_remote_read_bytes_total{{model_name="m",role="worker",worker_id="{k}"}} 10\n'
        f'lmcache:local_cache_usage{{model_name="m",role="worker",worker_id="{k}"}} 7\n'
        for k in range(4)
    )
    reading = read(engine, text + 'vllm:num_requests_running{model_name="m",engine="0"} 1\n')
    found = totals(reading)
    assert found["kv_tier_write_tokens{tier=lmcache}"] == 50
    assert found["kv_tier_read_bytes{tier=remote}"] == 40
    assert gauges(reading)["kv_tier_used_bytes{tier=host}"] == 28


def test_the_tenant_of_the_endpoint_picker_is_the_fairness_id_that_somebody_sent() -> None:
    text = (
        "# TYPE llm_d_epp_request_total counter\n"
        'llm_d_epp_request_total{fairness_id="acme",model_name="a",target_model_name="m"} 2\n'
        'llm_d_epp_request_total{fairness_id="default-fairness",model_name="a",target_model_name="m"} 3\n'
    )
    assert totals(read("epp", text)) == {
        "gateway_requests{model=m,requested_model=a,tenant=acme}": 2,
        "gateway_requests{model=m,requested_model=a}": 3,
    }


def canonical_page(staleness: float, timeouts: int, seconds: float) -> str:
    return (
        f"# TYPE sloscope_rollout_staleness_steps gauge\nsloscope_rollout_staleness_steps {staleness}\n"
        "# TYPE sloscope_rollout_scoring_timeouts_total counter\n"
        f'sloscope_rollout_scoring_timeouts_total{{scorer="judge",pod="a"}} {timeouts}\n'
        "# TYPE sloscope_weight_sync_seconds_sum counter\n"
        f"sloscope_weight_sync_seconds_sum {seconds}\n"
        'sloscope_kv_tier_used_bytes{model="m",tier="host"} 5\n'
        'sloscope_kv_tier_used_bytes{model="m",tier="disk"} 7\n'
    )


def test_a_sender_of_ones_own_writes_canonical_names() -> None:
    text = canonical_page(1.5, 3, 10.0)
    found = registry.detect(PageParser().parse(text).layout)
    assert found is not None
    assert found.engine == "sloscope"
    reading = read("sloscope", text)
    by_model = {group.shape.model: place for place, group in enumerate(reading.readings)}
    assert gauges(reading, by_model["m"]) == {"kv_tier_used_bytes{tier=host}": 5, "kv_tier_used_bytes{tier=disk}": 7}
    assert gauges(reading, by_model[None]) == {"rollout_staleness_steps": 1.5}
    assert totals(reading, by_model[None]) == {
        "rollout_scoring_timeouts{scorer=judge}": 3,
        "weight_sync_seconds_sum": 10.0,
    }


def test_canonical_names_with_a_dot_are_the_same_names() -> None:
    assert normal("sloscope.rollout_staleness_steps") == "sloscope_rollout_staleness_steps"


def test_a_canonical_histogram_keeps_its_edges_and_does_not_count_its_sum_twice() -> None:
    def shown(count: int) -> str:
        return (
            "# TYPE sloscope_rollout_scoring_seconds histogram\n"
            f'sloscope_rollout_scoring_seconds_bucket{{le="1"}} {count}\n'
            f'sloscope_rollout_scoring_seconds_bucket{{le="+Inf"}} {count}\n'
            f"sloscope_rollout_scoring_seconds_sum {count / 2}\nsloscope_rollout_scoring_seconds_count {count}\n"
        )

    found = between("sloscope", shown(2), shown(6))
    assert [(h.signal, h.counts, h.sum) for h in found.histograms] == [("rollout_scoring_seconds", (4, 0), 2.0)]
    assert found.counters == {}


def test_dcgm_pages_become_rows_of_gpu_samples() -> None:
    def shown(energy: int) -> str:
        labels = 'gpu="3",UUID="GPU-abc",Hostname="node-1"'
        return (
            f"DCGM_FI_PROF_SM_ACTIVE{{{labels}}} 0.5\nDCGM_FI_DEV_FB_USED{{{labels}}} 10\n"
            f"DCGM_FI_DEV_FB_FREE{{{labels}}} 30\nDCGM_FI_DEV_CLOCK_THROTTLE_REASONS{{{labels}}} 36\n"
            "# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION counter\n"
            f"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{{{labels}}} {energy}\n"
        )

    (row,) = gpu_rows(between("dcgm", shown(1_000), shown(3_500)))
    assert row["gpu"] == "GPU-abc"
    assert row["index"] == 3
    assert row["sm_active_ratio"] == 0.5
    assert (row["memory_used_bytes"], row["memory_total_bytes"]) == (10 * 2**20, 40 * 2**20)
    assert row["energy_joules"] == 2.5
    assert row["throttle_reasons"] == ["sw_power_cap", "sw_thermal_slowdown"]
    assert set(row) <= set(GPU_SAMPLES.column_names())


def test_trtllm_is_never_asked_where_asking_takes_data_away() -> None:
    trtllm = registry.get("trtllm")
    assert trtllm.paths == ("/prometheus/metrics",)
    assert not probing.may_get("trtllm", "/metrics")
    assert probing.may_get("trtllm", "/prometheus/metrics")
    assert probing.may_get("vllm", "/metrics")


def test_an_unknown_server_is_asked_for_the_harmless_paths_first() -> None:
    paths = probing.candidate_paths()
    assert paths.index("/prometheus/metrics") < paths.index("/metrics")


@pytest.mark.parametrize(
    ("owner", "engine"),
    [("vllm", "vllm"), ("sglang", "sglang"), ("llamacpp", "llamacpp"), ("tensorrt_llm", "trtllm"), ("somebody", None)],
)
def test_the_owner_of_the_models_tells_the_engine(owner: str, engine: str | None) -> None:
    assert probing.owner_engine({"data": [{"id": "m", "owned_by": owner}]}) == engine


def test_an_unknown_engine_name_offers_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="vllm"):
        registry.get("vlm")


def test_a_gateway_before_its_first_request_is_known_by_what_it_declares() -> None:
    text = "# HELP litellm_spend_metric_total spend\n# TYPE litellm_spend_metric_total counter\nprocess_open_fds 7\n"
    found = registry.detect(PageParser().parse(text).layout)
    assert found is not None
    assert found.engine == "litellm"


def test_a_page_of_something_else_speaks_no_dialect() -> None:
    assert registry.detect(PageParser().parse("node_cpu_seconds_total 1\n").layout) is None
