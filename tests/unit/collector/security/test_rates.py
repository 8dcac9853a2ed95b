"""A client that asks too often is told when to come back; others are not held up."""

from __future__ import annotations

import pytest

from collector.security.rates import RateLimit
from signals.errors import RateLimitedError


def test_a_burst_passes_and_the_next_is_refused() -> None:
    limit = RateLimit(1.0, 3)
    for _ in range(3):
        limit.take("a", 10.0)
    with pytest.raises(RateLimitedError) as caught:
        limit.take("a", 10.0)
    assert caught.value.data["retry_after"] == 2 or caught.value.data["retry_after"] == 1


def test_time_gives_requests_back() -> None:
    limit = RateLimit(2.0, 1)
    limit.take("a", 0.0)
    limit.take("a", 0.5)
    with pytest.raises(RateLimitedError):
        limit.take("a", 0.6)


def test_clients_do_not_share() -> None:
    limit = RateLimit(1.0, 1)
    limit.take("a", 0.0)
    limit.take("b", 0.0)


def test_zero_means_no_limit() -> None:
    limit = RateLimit(0.0, 1)
    for _ in range(100):
        limit.take("a", 0.0)
