"""Processes of steps: started, recognised, ended."""
