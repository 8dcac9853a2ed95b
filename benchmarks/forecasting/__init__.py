"""The forecast benchmark's parts: series, scenarios, peers."""
