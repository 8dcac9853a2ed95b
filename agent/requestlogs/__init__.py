"""Follows request logs on this machine and spools what their lines tell of requests."""
