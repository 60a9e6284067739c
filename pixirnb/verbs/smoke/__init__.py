"""`pixirnb smoke`: whether an agent works here."""
