"""The per-node daemon: scrape, receive spans, spool, ship."""
