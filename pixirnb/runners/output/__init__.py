"""Printed output of a step: masked, kept, freed of escape sequences."""
