"""Child sessions: their events, the provider's input, the end of a turn, the permissions of an agent. Pure."""
