"""What a cell can be completed with, decided purely from its text, the cursor and what surrounds the cell."""
