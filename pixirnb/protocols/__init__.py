"""What a runner, a store and a keeper of files have to do for the engine."""
