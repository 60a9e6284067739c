"""The floor that acts: shell commands, Python functions and scripted agents, each killable with all its descendants."""
