"""Operations on runs: start, resume, fork, merge, inspect, prune."""
