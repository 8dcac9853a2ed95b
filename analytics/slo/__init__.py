"""Objectives, goodput, error budgets, quantiles, cost."""
