"""pixirnb: workflows in a notebook that end honestly."""
