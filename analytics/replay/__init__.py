"""A discrete-event model of continuous-batching instances."""
