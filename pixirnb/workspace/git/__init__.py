"""Trees of files kept by git."""
