"""Contract suites for stores, runners and trees."""
