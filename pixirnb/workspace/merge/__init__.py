"""Merges into the files of a user: whole, or not at all."""
