"""Workflows and steps defined in cells."""
