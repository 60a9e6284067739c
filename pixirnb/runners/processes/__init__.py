"""Processes of steps: started, told apart, ended."""
