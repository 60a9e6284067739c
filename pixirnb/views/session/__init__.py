"""Sessions of agents, shown."""
