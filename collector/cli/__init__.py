"""The `sloscope` command: one file per family of commands; the product on stdout, everything else on stderr."""
