"""Services that every program needs of the operating system: atomic files, interrupted calls, marks of processes."""
