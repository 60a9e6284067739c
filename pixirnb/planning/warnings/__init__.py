"""What a plan warns of and does not refuse."""
