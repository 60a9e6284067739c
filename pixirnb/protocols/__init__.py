"""Protocols of the engine's runners, stores and file keepers."""
