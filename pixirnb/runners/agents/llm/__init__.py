"""Agents that are a language model called from here."""
