"""The graph of a workflow: its layout, as SVG, DOT and Mermaid."""
