"""What happens next: pure decisions from a plan and a history."""
