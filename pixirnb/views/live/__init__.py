"""Documents for the live view in a notebook."""
