"""What NVIDIA GPUs are doing, one reader form a file."""
