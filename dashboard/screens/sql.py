"""Ask the store anything: one SELECT over the public views."""

from __future__ import annotations

import streamlit as st

from dashboard.client import Client, client
from dashboard.frame import framed, rows, say_if_empty

EXAMPLES = {
    "P99 TTFT by tenant and length": (
        "select tenant, length_bucket, count(*) as requests, quantile_disc(ttft_seconds, 0.99) as ttft_p99\n"
        "from requests group by all order by ttft_p99 desc"
    ),
    "Queue and KV by instance": (
        "select instance, max(queue_depth) as queue, max(running) as running, max(kv_usage_max_ratio) as kv\n"
        "from engine_samples where model is not null group by all order by queue desc"
    ),
    "What was wrong with the data": (
        "select kind, source, count, last_at, example\nfrom data_quality order by count desc"
    ),
    "Slowest requests": (
        "select ts, request_id, model, tenant, input_tokens, queue_seconds, prefill_seconds, ttft_seconds\n"
        "from requests order by ttft_seconds desc nulls last limit 20"
    ),
}
MOST_ROWS = 1_000


def show(ask: Client) -> None:
    """Draw the page."""
    say_if_empty(ask.inventory())
    example = st.selectbox("Example", list(EXAMPLES))
    query = st.text_area("Query", EXAMPLES[example or next(iter(EXAMPLES))], height=140)
    if not st.button("Run", type="primary"):
        st.caption("Views: requests, engine_samples, engine_bins, latency_bins, gpu_samples, changes, data_quality, …")
        return
    answer = ask.sql(query, MOST_ROWS)
    found = rows(answer, "rows")
    if not found:
        st.info("The query returned no rows.")
        return
    st.dataframe(found, hide_index=True, width="stretch")
    if answer.get("truncated"):
        st.warning(f"Only the first {MOST_ROWS:,} rows are shown.")


with framed("SQL", "Ask the store anything; read-only, bounded in rows and time."):
    show(client())
