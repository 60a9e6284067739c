"""Fakes of clocks, stores, runners and agents."""
