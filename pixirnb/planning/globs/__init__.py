"""Globs of read and write sets: their matches, and their overlaps."""
