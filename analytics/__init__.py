"""Pure computation over arrays; no database, no HTTP, no clock."""
