"""Parts of the collector's benchmark."""
