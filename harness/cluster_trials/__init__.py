"""Trials of real clusters: processes of Dask on this machine, killed, frozen and cut off while a run goes on."""
