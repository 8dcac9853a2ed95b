"""What comes in over HTTP."""
