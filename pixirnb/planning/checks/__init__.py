"""Checks: reasons to refuse a plan."""
