"""A third laboratory with other habits on purpose: batches of tokens, bursts, ramps, gaps, odd names, missing data."""
