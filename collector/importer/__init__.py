"""Imports recordings, public-schema files and request logs on the live path's own code."""
