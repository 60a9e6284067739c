"""Cells that wait, and what the kernel and its front end allow."""
