"""The verbs, once for every surface: their grammar, and what they answer."""
