"""Truths that the objectives' benchmark and tests measure against."""
