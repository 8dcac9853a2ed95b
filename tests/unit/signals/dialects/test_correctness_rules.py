"""The rules that every page reader must obey, one test each; most of them broke a dashboard or a scaler somewhere."""

from __future__ import annotations

import re
from contextlib import suppress
from math import isfinite
from random import Random

import pytest

from signals.dialects import registry
from signals.dialects.form import normal
from signals.dialects.reader import PageReader
from signals.errors import PageError
from signals.pages import PageParser
from signals.readings import State, advance
from tests.support import fuzz, pages
from tests.support.engine_pages import between, gauges, read, totals


def test_families_match_with_and_without_total_with_colon_and_underscore_and_behind_known_prefixes() -> None:
    spellings = ("vllm:prompt_tokens_total", "vllm:prompt_tokens", "vllm_prompt_tokens_total", "ray_vllm_prompt_tokens",
                 "ray_vllm:prompt_tokens_total", "kserve_vllm:prompt_tokens_total")  # fmt: skip
    assert {normal(name) for name in spellings} == {"vllm_prompt_tokens"}


@pytest.mark.parametrize("prefix", ["vllm:", "vllm_", "ray_vllm_", "ray_vllm:", "kserve_vllm:"])
def test_a_page_behind_a_re_prefixing_exporter_reads_the_same(prefix: str) -> None:
    text = pages.read("vllm-0172")
    reading = read("vllm", text.replace("vllm:", prefix))
    assert gauges(reading) == gauges(read("vllm", text))
    assert totals(reading) == totals(read("vllm", text))


@pytest.mark.parametrize(("engine", "page"), [("vllm", "vllm-0172"), ("lmdeploy", "lmdeploy")])
def test_iteration_tokens_total_is_a_histogram(engine: str, page: str) -> None:
    found = totals(read(engine, pages.read(page)))
    assert found["step_length_tokens#"] > 0


def test_gauges_with_gt_and_le_labels_are_no_histogram() -> None:
    series = PageParser().parse(pages.read("sglang-unified")).layout.series
    assert {s.kind for s in series if s.name == "sglang:routing_key_running_req_count"} == {"gauge"}
    assert not any("routing" in name for name in totals(read("sglang", pages.read("sglang-unified"))))


def test_a_counter_that_is_an_average_is_not_read() -> None:
    assert "n_busy_slots_per_decode" in pages.read("llamacpp-2025")
    assert set(totals(read("llamacpp", pages.read("llamacpp-2025"), "m"))) == {
        "prompt_tokens", "prefix_query_tokens", "generation_tokens", "step_tokens", "steps", "prefill_seconds_sum",
        "decode_seconds_sum",
    }  # fmt: skip


def test_an_engine_without_labels_gets_its_model_from_configuration() -> None:
    (found,) = read("llamacpp", pages.read("llamacpp-0010"), "tiny").readings
    assert (found.shape.model, found.shape.role) == ("tiny", "both")


def test_creation_times_are_ignored() -> None:
    text = pages.read("vllm-0172")
    reader = PageReader(registry.get("vllm"))
    page = PageParser().parse(text)
    assert any(series.name.endswith("_created") for series in page.layout.series)
    kept = {page.layout.series[place].name for group in reader.plan(page.layout).groups for place in group.places}
    assert not any(name.endswith("_created") for name in kept)


def test_queue_and_running_are_summed_over_ranks_and_kv_use_is_mean_and_maximum() -> None:
    found = gauges(read("vllm", pages.read("vllm-dp2-singleproc")))
    assert (found["queue_depth"], found["queue_max"], found["running"]) == (6.0, 3.0, 44.0)
    mean, most = found["kv_usage_ratio"], found["kv_usage_max_ratio"]
    assert mean is not None and most is not None
    assert 0.58 < mean < most < 0.63


def test_single_and_multiprocess_pages_of_the_same_engines_read_the_same() -> None:
    one, other = (read("vllm", pages.read(f"vllm-dp2-{kind}proc")) for kind in ("single", "multi"))
    assert totals(one) == totals(other)
    assert gauges(one) == gauges(other)


def test_a_gauge_that_every_process_repeats_takes_the_process_that_has_the_value() -> None:
    lines = [f'vllm:kv_cache_usage_perc{{engine="0",model_name="m",pid="{pid}"}} 0.0' for pid in range(1, 8)]
    text = "\n".join(['vllm:kv_cache_usage_perc{engine="0",model_name="m",pid="0"} 0.65', *lines, ""])
    found = gauges(read("vllm", text))
    assert (found["kv_usage_ratio"], found["kv_usage_max_ratio"]) == (0.65, 0.65)


def test_processes_are_told_apart_within_a_rank_and_ranks_still_add_up() -> None:
    text = "".join(
        f'vllm:num_requests_running{{engine="{rank}",model_name="m",pid="{pid}"}} {value}\n'
        for rank, pid, value in (("0", "1", 4), ("0", "2", 0), ("1", "1", 0), ("1", "2", 7))
    )
    assert gauges(read("vllm", text))["running"] == 11.0


def test_tensor_parallel_ranks_repeat_and_data_parallel_ranks_add_up() -> None:
    text = "".join(
        f'sglang:num_running_reqs{{dp_rank="{dp}",engine_type="unified",model_name="m",tp_rank="{tp}"}} {value}\n'
        for dp, tp, value in (("0", "0", 3), ("0", "1", 3), ("1", "2", 5), ("1", "10", 5))
    )
    assert gauges(read("sglang", text))["running"] == 8.0


def test_the_lowest_rank_is_kept_by_number_not_by_text() -> None:
    text = "".join(f'sglang:num_running_reqs{{model_name="m",tp_rank="{tp}"}} {tp}\n' for tp in (10, 9, 2))
    assert gauges(read("sglang", text))["running"] == 2.0


def test_bytes_that_each_rank_reports_for_its_own_shard_add_up() -> None:
    head = "# TYPE sglang:load_back_bytes_total counter\n# TYPE sglang:load_back_tokens_total counter\n"
    text = head + "".join(
        f'sglang:load_back_bytes_total{{model_name="m",tp_rank="{tp}"}} 100\n'
        f'sglang:load_back_tokens_total{{model_name="m",pool="kv",tp_rank="{tp}"}} 7\n'
        for tp in range(4)
    )
    found = totals(read("sglang", text))
    assert found["kv_offload_load_bytes"] == 400
    assert found["kv_tier_read_tokens{tier=host}"] == 7


def test_under_priority_scheduling_the_total_is_the_series_with_an_empty_priority() -> None:
    text = "".join(
        f'sglang:num_queue_reqs{{model_name="m",priority="{priority}"}} {value}\n'
        for priority, value in (("", 9), ("1", 4), ("2", 5))
    )
    assert gauges(read("sglang", text))["queue_depth"] == 9.0


def test_a_gauge_that_appears_once_a_process_is_not_added_up_over_ranks() -> None:
    text = "".join(f'sglang:num_paused_reqs{{model_name="m",pid="{9 - tp}",tp_rank="{tp}"}} 6\n' for tp in range(2))
    assert gauges(read("sglang", text))["paused"] == 6.0


@pytest.mark.parametrize("sentinel", ["-1", "NaN"])
def test_sentinels_are_missing(sentinel: str) -> None:
    found = gauges(read("vllm", f'vllm:gpu_cache_usage_perc{{model_name="m"}} {sentinel}\n'))
    assert found["kv_usage_ratio"] is None


def test_blank_fields_of_the_dcgm_exporter_are_missing() -> None:
    text = (
        'DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-1"} 9223372036854775794\nDCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-1"} 5\n'
    )
    found = gauges(read("dcgm", text))
    assert found["gpu_samples.temperature_celsius{gpu=GPU-1,index=0}"] is None
    assert found["gpu_samples.memory_used_bytes{gpu=GPU-1,index=0}"] == 5 * 2**20


def test_the_label_text_none_is_no_value() -> None:
    text = (
        "# TYPE litellm_input_tokens_metric_total counter\n"
        'litellm_input_tokens_metric_total{model="m",requested_model="r",team="None",team_alias="None"} 5\n'
    )
    assert totals(read("litellm", text)) == {"gateway_input_tokens{model=m,requested_model=r}": 5.0}


def test_only_the_newest_adapter_series_counts_however_many_are_left_over() -> None:
    text = (
        'vllm:lora_requests_info{max_lora="2",running_lora_adapters="a,b",waiting_lora_adapters=""} 1700000000.5\n'
        'vllm:lora_requests_info{max_lora="2",running_lora_adapters="",waiting_lora_adapters="c"} 1700000001.5\n'
        'vllm:num_requests_running{model_name="m",engine="0"} 1\n'
    )
    found = gauges(read("vllm", text))
    assert (found["adapters_running"], found["adapters_waiting"]) == (0.0, 1.0)


def test_the_newest_adapter_series_is_found_where_processes_times_are_added_up() -> None:
    text = (
        'vllm:lora_requests_info{running_lora_adapters="a,b",waiting_lora_adapters=""} 3590000000\n'
        'vllm:lora_requests_info{running_lora_adapters="c",waiting_lora_adapters=""} 1795000500\n'
    )
    assert gauges(read("vllm", text))["adapters_running"] == 1.0


def test_old_and_new_names_on_one_page_are_read_once() -> None:
    text = (
        'vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.4\n'
        'vllm:gpu_cache_usage_perc{engine="0",model_name="m"} 0.4\n'
    )
    found = gauges(read("vllm", text))
    assert (found["kv_usage_ratio"], found["kv_usage_max_ratio"]) == (0.4, 0.4)


def test_names_of_six_years_ago_are_still_read() -> None:
    found = totals(read("vllm", pages.read("vllm-0.5")))
    assert found["itl_seconds#"] == 6
    assert found["ttft_seconds#"] == 1


def test_what_an_engine_does_not_say_is_absent_not_zero() -> None:
    found = totals(read("vllm", pages.read("vllm-0.5")))
    assert "prefix_hit_tokens" not in found
    assert "rejected" not in found


def test_expected_and_unknown_families_are_listed() -> None:
    text = 'vllm:num_requests_running{engine="0",model_name="m"} 1\nvllm:brand_new_thing{model_name="m"} 1\n'
    plan = PageReader(registry.get("vllm")).plan(PageParser().parse(text).layout)
    assert plan.unknown == ("vllm_brand_new_thing",)
    assert "queue_depth" in plan.missing
    assert "running" not in plan.missing


def test_aborted_requests_do_not_finish_anywhere_but_count_as_first_tokens() -> None:
    found = totals(read("vllm", pages.read("vllm-0175")))
    assert found["ttft_seconds#"] - found["finished"] == 15


def test_both_sides_of_a_split_have_their_own_role() -> None:
    for role in ("prefill", "decode"):
        (found,) = read("sglang", pages.read(f"sglang-{role}")).readings
        assert found.shape.role == role


def test_a_prefill_worker_is_not_expected_to_know_the_time_to_first_token() -> None:
    reader = PageReader(registry.get("sglang"))
    assert reader.plan(PageParser().parse(pages.read("sglang-prefill")).layout).missing == ()


def test_the_same_counts_under_five_names_are_counted_once() -> None:
    found = totals(read("epp", pages.read("epp")))
    assert sum(value for name, value in found.items() if name.startswith("gateway_e2e_seconds")) == 4
    assert sum(value for name, value in found.items() if name.startswith("gateway_requests")) == 4


def test_an_ensemble_is_read_as_the_model_that_generates() -> None:
    def shown(model: str) -> str:
        return f'nv_inference_request_success{{model="{model}",version="1"}} 7\n'

    members = ("ensemble", "preprocessing", "tensorrt_llm")
    text = (
        "# TYPE nv_inference_request_success counter\n" + "".join(map(shown, members))
        + 'nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="waiting",version="1"} 3\n'
    )  # fmt: skip
    reading = read("triton", text)
    assert [found.shape.model for found in reading.readings] == ["tensorrt_llm"]
    assert totals(reading)["finished"] == 7


def test_tenants_that_the_engine_was_told_stand_beside_the_sum() -> None:
    found = totals(read("sglang", pages.read("sglang-unified")))
    by_tenant = found["prompt_tokens_by_tenant{tenant=acme}"] + found["prompt_tokens_by_tenant{tenant=globex}"]
    assert by_tenant == found["prompt_tokens"] == 285_438


def test_people_and_secrets_in_labels_are_not_remembered() -> None:
    reading = read("litellm", pages.read("litellm-0055"))
    remembered = " ".join(key for found in reading.readings for key in found.shape.keys)
    assert "@example" not in remembered
    assert "5f8eee912cd7c0cc" not in remembered
    attributes = {value for found in reading.readings for c in found.shape.counters for _, value in c.attributes}
    assert not any("@" in value or len(value) > 60 for value in attributes)


def test_prefix_hits_of_a_whole_run_are_what_its_clients_were_told() -> None:
    found = between("vllm", pages.read("vllm-0000"), pages.read("vllm-0175")).counters
    assert found[("prefix_hit_tokens", ())] == 60_416
    assert found[("finished", ())] == 350
    assert found[("first_tokens", ())] == 365


def test_rates_of_the_last_batch_are_never_read() -> None:
    text = pages.read("sglang-unified")
    changed = re.sub(r"(sglang:(?:gen_throughput|cache_hit_rate|utilization)\{[^}]*\}) \S+", r"\1 987654", text)
    assert changed != text
    assert gauges(read("sglang", changed)) == gauges(read("sglang", text))


def test_the_block_size_stands_beside_the_hits() -> None:
    for engine, page in (("vllm", "vllm-0172"), ("sglang", "sglang-unified")):
        reading = read(engine, pages.read(page))
        assert int(reading.facts["block_tokens"]) > 0
        assert "prefix_hit_tokens" in totals(reading)


def test_an_engine_page_never_names_a_tenant_of_its_own_accord() -> None:
    for name in pages.names("vllm"):
        for found in read("vllm", pages.read(name)).readings:
            assert not any(key == "tenant" for c in found.shape.counters for key, _ in c.attributes)


def test_a_gauge_that_comes_or_goes_leaves_the_counters_shape_as_it_was() -> None:
    reader, parser = PageReader(registry.get("vllm")), PageParser()
    text = pages.read("vllm-0172")
    without = "".join(line for line in text.splitlines(keepends=True) if "lora_requests_info{" not in line)
    first, second = (reader.read(parser.parse(shown)) for shown in (text, without))
    assert first.readings[0].shape is second.readings[0].shape


@pytest.mark.parametrize("seed", range(4))
def test_a_mangled_page_never_gives_a_negative_count_or_a_number_that_is_none(seed: int) -> None:
    random = Random(seed)
    known = [name for name in pages.names() if name.partition("-")[0] in registry.DIALECTS]
    for _ in range(25):
        name = random.choice(known)
        clean = fuzz.excerpt(pages.read(name), random, 120)
        reader, parser = PageReader(registry.get(name.partition("-")[0]), "m"), PageParser()
        state: State | None = None
        for _ in range(3):
            with suppress(PageError):
                state, found = advance(state, reader.read(parser.parse(fuzz.mutate(clean, random))))
                for increments in found:
                    assert all(amount >= 0 for amount in increments.counters.values())
                    assert all(value is None or isfinite(value) for value in increments.gauges.values())
                    assert all(min(histogram.counts) >= 0 for histogram in increments.histograms)
