"""The verbs, once for every surface: their grammar, and their answers."""
