"""One file per page; each fetches, shapes and draws."""
