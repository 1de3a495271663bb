"""Sweeps: a study over a table of parameters, on several cores or a Dask cluster, with results in a Zarr store.

    results = ap.sweep(study, ap.grid(mass=[1, 2, 5], height=heights), out="study.zarr", workers=4)

A study is a plain function that returns numbers and arrays by name. After a crash, the same call continues the sweep.
"""

from appell.sweeps.jobs import Grid, grid
from appell.sweeps.results import Failure, SweepResults, open
from appell.sweeps.run import sweep

__all__ = ["Failure", "Grid", "SweepResults", "grid", "open", "sweep"]
