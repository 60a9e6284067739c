"""Pure decisions from a plan and a history: what happens next."""
