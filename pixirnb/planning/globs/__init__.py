"""Globs of read and write sets: what they match, and which two can match one path."""
