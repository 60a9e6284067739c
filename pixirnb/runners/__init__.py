"""The floor that acts: shell commands, Python functions and scripted agents, each killable to its last descendant."""
