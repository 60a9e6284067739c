"""YAML with line numbers, read and written."""
