"""Changes, conflicts and merges, shown."""
