"""Fake coding agents: real processes, standard library only, that do what their command line says."""
