"""What the operating system asks of every program: atomic files, interrupted calls, marks of processes."""
