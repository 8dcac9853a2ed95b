"""Measures what this machine charges for memory that nobody touched for a second; says nothing of the agent.

A kernel that pages idle memory out (DAMON), or a host that takes idle pages out of a guest's tables,
charges some ten microseconds for the first touch of each page after a pause, a hundred times what other machines do.
Every program that wakes up once a second then costs many times its work: figures in per cent of a core compare only
between machines of about the same price.
"""

from __future__ import annotations

import time

import numpy as np

PAGE_BYTES = 4096
PAGES = 2000


def page_after_pause_us(rounds: int = 5, pause_seconds: float = 1.0) -> float:
    """Return the median CPU microseconds for the first touch of one 4 KiB page after a pause."""
    memory = np.ones(PAGES * PAGE_BYTES, np.uint8)
    costs = []
    for _ in range(rounds):
        time.sleep(pause_seconds)
        began = time.thread_time()
        memory[::PAGE_BYTES].sum()
        costs.append(time.thread_time() - began)
    return float(np.median(costs)) / PAGES * 1e6
