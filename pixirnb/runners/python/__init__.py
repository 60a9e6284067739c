"""Python steps, in a thread or in a process."""
