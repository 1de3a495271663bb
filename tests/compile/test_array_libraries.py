"""Functions applied by Dask and xarray: in threads, in processes, on a cluster."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
import xarray as xr
from dask.distributed import Client, LocalCluster

import appell as ap

PUMA = ap.Dynamics(ap.load("puma"))
X = np.random.default_rng(0).uniform(-1, 1, (3, 40, 6))
WANT = PUMA.inverse_dynamics(*X)


def chunked() -> list:
    return [da.from_array(x, chunks=(10, 6)) for x in X]


def labelled() -> list[xr.DataArray]:
    joints = {"joint": list(PUMA.system.joint_names)}
    return [xr.DataArray(x, joints, ["sample", "joint"]) for x in X]


def lazy():
    return da.apply_gufunc(PUMA.inverse_dynamics, "(i),(i),(i)->(i)", *chunked(), output_dtypes=float)


@pytest.mark.parametrize("scheduler", ["threads", "synchronous", "processes"])
def test_a_function_applies_to_the_blocks_of_a_dask_array(scheduler):
    assert lazy().numblocks == (4, 1)
    np.testing.assert_array_equal(lazy().compute(scheduler=scheduler, num_workers=1), WANT)


def test_functions_with_several_results_and_derivatives_apply_to_dask_arrays():
    q, v, _ = chunked()
    result = da.apply_gufunc(PUMA.energy, "(i),(i)->(),()", q, v, output_dtypes=(float, float))
    for one, other in zip(result, PUMA.energy(X[0], X[1]), strict=True):
        np.testing.assert_array_equal(one.compute(scheduler="threads"), other)
    slope = PUMA.gravity.jacobian("q")
    result = da.apply_gufunc(slope, "(i)->(i,j)", q, output_dtypes=float, output_sizes={"j": 6})
    np.testing.assert_array_equal(result.compute(scheduler="threads"), slope(X[0]))


@pytest.mark.parametrize("scheduler", [None, "threads"])
def test_a_function_works_under_xarray(scheduler):
    arrays = labelled() if scheduler is None else [x.chunk(sample=10) for x in labelled()]
    cores = {"input_core_dims": [["joint"]] * 3, "output_core_dims": [["joint"]]}
    result = xr.apply_ufunc(PUMA.inverse_dynamics, *arrays, **cores, dask="parallelized", output_dtypes=[float])
    assert result.dims == ("sample", "joint")
    assert [*result.joint.values] == [*PUMA.system.joint_names]
    np.testing.assert_array_equal(result.compute(scheduler=scheduler, num_workers=1).values, WANT)


@pytest.mark.parametrize(("arrays", "hint"), [(chunked, "apply_gufunc"), (labelled, "apply_ufunc")])
def test_dask_and_xarray_arrays_are_rejected_with_a_hint(arrays, hint):
    with pytest.raises(ap.ArgumentError, match=r"argument q is a (dask|xarray) (Data)?Array") as caught:
        PUMA.inverse_dynamics(*arrays())
    assert hint in str(caught.value)


def test_a_worker_of_a_cluster_gives_the_same_bits_and_uses_its_share_of_threads(monkeypatch):
    monkeypatch.setenv("APPELL_THREADS", "8")
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0", "processes": True}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        np.testing.assert_array_equal(lazy().compute(), WANT)
        assert client.submit(ap.threads).result() == 1
