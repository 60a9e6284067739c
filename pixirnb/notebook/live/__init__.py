"""The live view: its widget, what it is sent and what it asks."""
