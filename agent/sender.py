"""Describes a target as a sender of spans: the names it may go by and the stamp of its spans; sends nothing."""

from __future__ import annotations

from agent.scrape import Scraper
from agent.spans import Sender
from signals import wire


def sender_of(scraper: Scraper) -> Sender:
    """Return the sender that a target is; its model only where its page names exactly one."""
    config = scraper.config
    names = frozenset({scraper.instance, *config.span_services})
    stamp = {
        wire.INSTANCE: scraper.instance,
        wire.ENGINE: scraper.engine,
        wire.MODEL_VERSION: config.model_version,
        wire.POOL: config.pool,
        wire.REGION: config.region,
        wire.ROLE: config.role,
    }
    if not scraper.gateway and len(scraper.models) == 1:
        stamp[wire.MODEL] = scraper.models[0]
    return Sender(names, scraper.engine, scraper.gateway, {key: value for key, value in stamp.items() if value})
