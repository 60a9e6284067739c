"""Floor 8: draws plain documents as text, HTML, SVG, mermaid and DOT. Pure: no clock, no disk, no Jupyter."""
