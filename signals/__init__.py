"""What the words mean: signals, units, buckets, records, errors and dialects; pure, no clock, no socket."""
