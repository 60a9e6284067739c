"""Smoke runs, `pixirnb smoke`: a check whether an agent works here."""
