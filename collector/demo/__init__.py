"""The demo: recorded engines replayed through a real agent, a real collector and the dashboard."""
