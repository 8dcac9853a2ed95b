"""Receivers of canonical signals besides the collector."""
