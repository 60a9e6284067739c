"""What can be done with a run: start, resume, fork, merge, inspect, prune."""
