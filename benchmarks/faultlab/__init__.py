"""A laboratory of faults: simulated fleets whose parts are broken on purpose; shares nothing with the causes."""
