"""Many jobs: a study over a table of parameters, on cores or a Dask cluster, in a store that survives.

    results = ap.sweep(study, ap.grid(mass=[1, 2, 5], height=heights), out="study.zarr", workers=4)

A study is a plain function that returns numbers and arrays by name. The same call goes on after a crash.
"""

from appell.sweeps.jobs import Grid, grid
from appell.sweeps.results import Failure, SweepResults, open
from appell.sweeps.run import sweep

__all__ = ["Failure", "Grid", "SweepResults", "grid", "open", "sweep"]
