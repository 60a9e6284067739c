"""The command line: the verbs in a terminal, or in a pipe."""
