"""The workflow as its author wrote it, read and checked."""
