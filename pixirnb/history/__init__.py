"""Events of a run, their codec, and the state they fold to."""
