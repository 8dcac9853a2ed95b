"""One file per engine or gateway."""
