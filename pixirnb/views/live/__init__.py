"""What the live view in a notebook is sent."""
