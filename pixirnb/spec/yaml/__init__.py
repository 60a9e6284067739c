"""YAML with line numbers: reader and writer."""
