"""Prompts of agents, and quoted texts of others in them."""
