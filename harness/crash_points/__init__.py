"""Crash points: a run that dies, or is refused, at each operation it asks of the operating system."""
