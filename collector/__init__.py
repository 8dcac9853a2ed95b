"""Receives, stores, joins and answers."""
