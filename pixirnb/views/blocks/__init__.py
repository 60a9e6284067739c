"""Blocks: what a view says, before a back end draws it as text or as HTML."""
