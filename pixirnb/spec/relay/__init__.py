"""Workflows of the relay dashboard, read as workflows of ours."""
