"""Drives runs: the loop, the attempts, live news, and the thread they live on."""
