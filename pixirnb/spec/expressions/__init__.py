"""Expressions in braces: references, conditions, and how references are quoted for a shell."""
