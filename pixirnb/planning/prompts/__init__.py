"""Prompts of agents, and the text of others quoted in them."""
