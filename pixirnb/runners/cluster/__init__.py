"""Performs attempts on the workers of a Dask cluster. Imported only where a run is given one: Dask is an extra."""
