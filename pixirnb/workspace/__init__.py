"""The user's files: surveyed, captured, merged."""
