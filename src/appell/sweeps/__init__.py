"""Many jobs: a study over a table of parameters, on cores or a Dask cluster, in a store that survives."""
