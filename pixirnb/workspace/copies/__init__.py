"""Trees of files kept by copies, where there is no git."""
