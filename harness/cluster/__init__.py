"""A cluster in virtual time: the product's driver and workers, over a network and a scheduler that fail as a seed says."""
