"""Tables of jobs: columns, grids, seeds, and invalid tables."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import appell as ap
from appell.sweeps.jobs import Jobs, is_seeded, seed_of


def test_a_grid_has_every_combination_once_and_the_last_axis_varies_fastest():
    jobs = Jobs.of(ap.grid(mass=[1.0, 2.0, 5.0], name=["a", "b"]))
    rows = [tuple(jobs.parameters(k, False).values()) for k in range(jobs.count)]
    assert rows == list(itertools.product([1.0, 2.0, 5.0], ["a", "b"]))


def test_a_row_has_python_numbers_and_copies_of_arrays():
    starts = np.arange(6.0).reshape(2, 3)
    row = Jobs.of({"q0": starts, "n": [1, 2]}).parameters(1, False)
    assert type(row["n"]) is int
    row["q0"][0] = 99.0
    assert starts[1, 0] == 3.0


def test_seeds_differ_and_depend_on_the_job_and_the_seed_of_the_sweep_only():
    seeds = {seed_of(root, k) for root in (0, 1) for k in range(10_000)}
    assert len(seeds) == 20_000
    assert max(seeds) < 2**63
    assert Jobs.of(5, seed=3).parameters(4, True) == Jobs.of(50, seed=3).parameters(4, True)


def test_seeds_are_not_correlated():
    """The mean of 4000 uniform numbers, one per seed, lies within five standard deviations of 0.5."""
    draws = [np.random.default_rng(seed_of(0, k)).uniform() for k in range(4000)]
    assert abs(np.mean(draws) - 0.5) < 5 / np.sqrt(12 * 4000)
    assert abs(np.corrcoef(draws[:-1], draws[1:])[0, 1]) < 5 / np.sqrt(4000)


@pytest.mark.parametrize("other", [{"x": [1, 2, 4]}, {"y": [1, 2, 3]}, {"x": [1.0, 2.0, 3.0]}, {"x": [1, 2]}, 3])
def test_different_tables_have_different_hashes(other):
    assert Jobs.of({"x": [1, 2, 3]}).digest == Jobs.of({"x": np.array([1, 2, 3])}).digest
    assert Jobs.of({"x": [1, 2, 3]}).digest != Jobs.of(other).digest
    assert Jobs.of(3).digest != Jobs.of(3, seed=1).digest


def test_a_study_gets_a_seed_if_it_has_the_parameter_and_the_table_has_no_such_column():
    assert is_seeded(lambda x, seed: 0, Jobs.of({"x": [1]}))
    assert not is_seeded(lambda seed: 0, Jobs.of({"seed": [1]}))
    assert not is_seeded(lambda x: 0, Jobs.of({"x": [1]}))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (0, "number of jobs is 0"),
        (-5, "number of jobs is -5"),
        ("drops", "is a str"),
        ({}, "has no columns"),
        ({"x": [1, 2], "y": [1]}, "'x' has 2, 'y' has 1"),
        ({"x": 1.0}, "column 'x'"),
        ({"x": []}, "column 'x'"),
        ({"x": [object()]}, "column 'x'"),
        ({"not a name": [1]}, "'not a name'"),
        ({3: [1]}, "has the name 3"),
    ],
)
def test_invalid_tables_are_rejected_with_the_name_of_the_column(table, message):
    with pytest.raises(ap.ArgumentError, match=message):
        Jobs.of(table)


def test_a_grid_without_axes_and_a_seed_that_is_not_an_integer_are_rejected():
    with pytest.raises(ap.ArgumentError, match="without axes"):
        ap.grid()
    with pytest.raises(ap.ArgumentError, match="seed"):
        Jobs.of(3, seed="one")


@pytest.mark.parametrize(
    ("study", "message"),
    [(5, "study of a sweep is 5"), (lambda y: 0, "unexpected keyword argument 'x'|missing"), (lambda x, z: 0, "'z'")],
)
def test_a_study_that_does_not_fit_the_columns_is_rejected_before_jobs_run(study, message):
    with pytest.raises(ap.ArgumentError, match=message):
        is_seeded(study, Jobs.of({"x": [1]}))
