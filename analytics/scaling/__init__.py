"""How many instances are needed next, and why."""
