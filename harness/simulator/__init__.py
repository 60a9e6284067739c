"""The whole engine in one thread from one seed: random worlds, faults, and a witness that watches."""
