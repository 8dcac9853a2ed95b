"""Fleets and workloads that the scaling and replay benchmarks share."""
