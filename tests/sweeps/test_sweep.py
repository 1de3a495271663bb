"""Sweeps in this process: results, failures, continuing, and invalid arguments."""

from __future__ import annotations

import io
import re
from collections import Counter

import numpy as np
import pandas
import pytest
import xarray
from rich.console import Console

import appell as ap
from appell.sweeps import run
from appell.sweeps.jobs import seed_of
from appell.sweeps.outcomes import Outcomes, run_jobs
from appell.sweeps.run import SweepBar
from studies import TABLE, logged, picky, smooth


def test_every_job_is_called_with_its_row_and_its_seed(tmp_path):
    results = ap.sweep(smooth, TABLE, tmp_path / "s.zarr", seed=4)
    assert results.finished
    assert results.done.all()
    for k in range(30):
        alone = smooth(TABLE["x"][k], TABLE["start"][k], seed_of(4, k))
        for name, value in alone.items():
            np.testing.assert_array_equal(results[name][k], value)
    assert results["n"].dtype == np.int64
    assert results["even"].dtype == bool
    for name, column in TABLE.items():
        np.testing.assert_array_equal(results.table[name], column)


@pytest.mark.parametrize("size", [1, 7, 30])
def test_results_do_not_depend_on_the_size_of_blocks(tmp_path, blocks_of, size):
    default = ap.sweep(smooth, TABLE, tmp_path / "default.zarr")
    blocks_of(size)
    results = ap.sweep(smooth, TABLE, tmp_path / "blocks.zarr")
    assert results.block == size
    for name in default:
        assert default[name].tobytes() == results[name].tobytes()


def test_errors_and_parameters_of_failed_jobs_are_stored_and_the_other_jobs_run(tmp_path):
    results = ap.sweep(picky, TABLE, tmp_path / "s.zarr")
    assert results.finished
    failed = [3, 10, 17, 24]
    assert np.flatnonzero(~results.done).tolist() == failed
    assert [failure.number for failure in results.failures] == failed
    second = results.failures[1]
    assert second.error == "ValueError: 10.0 is not accepted"
    assert "in picky" in second.traceback
    assert "outcomes.py" not in second.traceback
    assert np.isnan(results["y"][failed]).all()
    with pytest.raises(ValueError, match=r"10\.0"):
        picky(**second.parameters)


def test_a_retry_computes_failed_jobs_only_with_the_corrected_study(tmp_path):
    out = tmp_path / "s.zarr"
    before = ap.sweep(picky, TABLE, out)
    again = ap.sweep(picky, TABLE, out, retry_failed=True)
    assert [failure.error for failure in again.failures] == [failure.error for failure in before.failures]

    calls = []

    def corrected(x, start, seed):
        calls.append(x)
        return smooth(x, start, seed)

    with pytest.raises(ap.ArgumentError, match="belongs to the study 'picky', not 'corrected'"):
        ap.sweep(corrected, TABLE, out, retry_failed=True)
    results = ap.sweep(corrected, TABLE, out, retry_failed=True, accept_study=True)
    assert calls == [3.0, 10.0, 17.0, 24.0]
    assert results.failures == []
    assert [version["study"] for version in results.versions] == ["picky", "corrected"]
    undisturbed = ap.sweep(smooth, TABLE, tmp_path / "u.zarr")
    for name in undisturbed:
        assert results[name].tobytes() == undisturbed[name].tobytes()


def test_stored_jobs_are_never_computed_again(tmp_path, blocks_of):
    blocks_of(5)
    log, out = tmp_path / "log", tmp_path / "s.zarr"
    table = {"x": range(20), "log": [str(log)] * 20, "wait": [0.0] * 20}

    class Interrupted(BaseException):
        pass

    def stopped(self, done, failed):
        stopped.blocks += 1
        if stopped.blocks == 2:
            raise Interrupted

    stopped.blocks = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SweepBar, "count", stopped)
        with pytest.raises(Interrupted):
            ap.sweep(logged, table, out)
    half = ap.sweeps.open(out)
    assert half.done.sum() == 10
    assert not half.finished
    results = ap.sweep(logged, table, out)
    ap.sweep(logged, table, out)
    times = Counter(log.read_text().split())
    assert [times[str(k)] for k in range(20)] == [1] * 20
    np.testing.assert_array_equal(results["y"], np.arange(20.0))


def test_the_exception_of_an_interrupted_sweep_notes_how_to_continue(tmp_path, blocks_of):
    blocks_of(5)

    def interrupted(x):
        if x == 12 and not (tmp_path / "again").exists():
            (tmp_path / "again").touch()
            raise KeyboardInterrupt
        return {"y": x}

    with pytest.raises(KeyboardInterrupt) as caught:
        ap.sweep(interrupted, {"x": range(20)}, tmp_path / "s.zarr")
    assert "the same command continues" in caught.value.__notes__[0]
    assert ap.sweeps.open(tmp_path / "s.zarr").done.sum() == 10
    np.testing.assert_array_equal(ap.sweep(interrupted, {"x": range(20)}, tmp_path / "s.zarr")["y"], np.arange(20))


def test_a_sweep_in_which_every_job_fails_ends_and_stores_every_error(tmp_path):
    def wrong(x):
        raise RuntimeError(f"no {x}")

    results = ap.sweep(wrong, {"x": range(60)}, tmp_path / "s.zarr")
    assert results.names == ()
    assert [failure.error for failure in results.failures] == [f"RuntimeError: no {x}" for x in range(60)]

    def right(x):
        return {"y": x}

    corrected = ap.sweep(right, {"x": range(60)}, tmp_path / "s.zarr", retry_failed=True, accept_study=True)
    np.testing.assert_array_equal(corrected["y"], np.arange(60))


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        (None, "returned None"),
        ({}, "returned {}"),
        ({"y": "text"}, "'y' of the study is 'text'"),
        ({"y": [1.0, 2.0]}, r"'y' of shape \(2,\)"),
        ({"y": 1.0, "z": 2.0}, "not in every result: z"),
        ({"y": 1j}, "dtype complex128"),
        ({"table": 1.0}, "has the name 'table'"),
        ({"a/b": 1.0}, "has the name 'a/b'"),
    ],
)
def test_only_the_job_whose_result_differs_from_the_first_one_fails(odd, message):
    outcomes = run_jobs(lambda x: odd if x == 1 else {"y": float(x)}, np.arange(3), {"x": np.arange(3)}, None)
    assert outcomes.status.tolist() == [1, 2, 1]
    assert re.search(message, outcomes.failures[1][0])


def test_outcomes_in_another_layout_become_failures_when_joined():
    rows = {"x": np.arange(4.0)}
    study = lambda x: {"y": np.zeros(2) if x == 3 else x}  # noqa: E731
    parts = [run_jobs(study, np.array([k]), {"x": rows["x"][[k]]}, None) for k in (2, 0, 3, 1)]
    joined = Outcomes.joined(parts)
    assert joined.numbers.tolist() == [0, 1, 2, 3]
    assert joined.status.tolist() == [1, 1, 1, 2]
    assert joined.values["y"][:3].tolist() == [0.0, 1.0, 2.0]
    assert "shape (2,)" in joined.failures[3][0]


def test_a_study_may_return_a_record_of_which_a_summary_is_stored(tmp_path):
    dyn = ap.Dynamics(ap.load("pendulum"))

    def swing(angle):
        return ap.simulate(dyn, [angle], until=0.3)

    results = ap.sweep(swing, ap.grid(angle=[0.1, 0.2]), tmp_path / "s.zarr")
    record = ap.simulate(dyn, [0.2], until=0.3)
    np.testing.assert_array_equal(results["q"][1], record.q[-1])
    assert results["finished"].all()


def test_the_size_of_blocks_follows_from_run_time_memory_and_number_of_workers():
    def tried(seconds, size=1):
        study = lambda x: {"y": np.zeros(size)}  # noqa: E731
        outcomes = run_jobs(study, np.arange(1), {"x": np.arange(1)}, None)
        return [Outcomes(outcomes.numbers, outcomes.status, outcomes.layout, outcomes.values, {}, seconds)]

    assert run.block_size(tried(0.02), 10_000, 1, 0.5) == 25
    assert run.block_size(tried(3600.0), 1_000_000, 100, 0.5) == 1
    assert run.block_size(tried(0.02), 1_000_000, 1, 0.5) == 244  # at most 4096 blocks
    assert run.block_size(tried(0.02), 80, 4, 0.5) == 5
    assert run.block_size(tried(1e-5, 1_000_000), 1_000_000, 1, 0.5) == 2


def test_the_bar_shows_progress_and_failures_on_terminals_only(monkeypatch):
    for terminal in (True, False):
        console = Console(file=io.StringIO(), force_terminal=terminal, width=120)
        monkeypatch.setattr("appell.progress.DELAY_S", 0.0)
        with SweepBar(100, 10, None, console) as bar:
            bar.count(20, 0)
            bar.count(20, 3)
        shown = console.file.getvalue()
        assert bool(shown) == terminal
        if terminal:
            assert "50 of 100 jobs" in shown
            assert "3 failed" in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": -1}, "workers is -1"),
        ({"workers": 1.5}, "workers is 1.5"),
        ({"timeout": 0.0}, "timeout"),
        ({"timeout": float("nan")}, "timeout"),
        ({"task_seconds": -1.0}, "task_seconds"),
    ],
)
def test_invalid_options_are_named(tmp_path, options, message):
    with pytest.raises(ap.ArgumentError, match=message):
        ap.sweep(smooth, TABLE, tmp_path / "s.zarr", **options)


def test_results_convert_to_xarray_over_the_axes_of_the_grid_and_to_pandas(tmp_path):
    def study(mass, name):
        return {"y": mass * len(name), "pair": [mass, 0.0]}

    grid = ap.grid(mass=[1.0, 2.0, 5.0], name=["a", "bb"])
    results = ap.sweep(study, grid, tmp_path / "s.zarr")
    data = results.to_xarray()
    assert isinstance(data, xarray.Dataset)
    assert float(data["y"].sel(mass=5.0, name="bb")) == 10.0
    assert data["pair"].dims == ("mass", "name", "pair_1")
    table = results.to_pandas()
    assert isinstance(table, pandas.DataFrame)
    assert table.loc[3, ["mass", "name", "y", "pair_0"]].tolist() == [2.0, "bb", 4.0, 2.0]
