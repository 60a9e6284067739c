"""Completion of cells, decided purely from its text, the cursor and what surrounds the cell."""
