"""Stores of runs: logs, blobs, sessions and requests, on a disk or in memory."""
