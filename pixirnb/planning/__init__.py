"""The plan of a workflow: what a run would do."""
