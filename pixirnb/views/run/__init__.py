"""Plans, outcomes and lists of runs, shown."""
