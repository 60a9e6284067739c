"""What a step prints: masked, kept, freed of escape sequences."""
