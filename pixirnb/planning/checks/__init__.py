"""What a plan is refused for."""
