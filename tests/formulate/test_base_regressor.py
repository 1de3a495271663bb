"""The base regressor gives the same torques, and its columns are independent."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from robots import random_trees, zoo

TREES = [*zoo(), *random_trees(6, 8)]
MECHANISMS = [ap.load("five-bar"), ap.load("agile-wrist")]


def motions(system, count=200, seed=4):
    rng = np.random.default_rng(seed)
    q = np.array([system.random_configuration(rng, within_limits=False) for _ in range(count)])
    return q, rng.normal(size=(count, system.nv)), rng.normal(size=(count, system.nv))


@pytest.mark.parametrize("system", [*TREES, *MECHANISMS], ids=str)
def test_base_columns_times_base_parameters_are_the_torques(system):
    dyn, motion = ap.Dynamics(system), motions(system)
    beta = np.array([parameter.value for parameter in dyn.base_parameters])
    tau = dyn.inverse_dynamics(*motion)
    # the largest contribution of a single parameter bounds the terms that cancel
    np.testing.assert_allclose(dyn.base_regressor(*motion) @ beta, tau, atol=1e-11 * np.abs(tau).max())


@pytest.mark.parametrize("system", [*TREES, *MECHANISMS], ids=str)
def test_no_base_column_is_a_combination_of_others(system):
    dyn = ap.Dynamics(system)
    Y = np.asarray(dyn.base_regressor(*motions(system))).reshape(-1, len(dyn.base_parameters))
    singular = np.linalg.svd(Y / np.linalg.norm(Y, axis=0), compute_uv=False)
    assert singular[-1] > 1e-7 * singular[0]


@pytest.mark.parametrize("options", [{}, {"friction": True, "rotors": True}], ids=["bodies", "drives too"])
@pytest.mark.parametrize("system", [ap.load("puma"), ap.load("tree10"), ap.load("five-bar")], ids=str)
def test_the_base_regressor_times_the_base_matrix_is_the_full_regressor(system, options):
    dyn, motion = ap.Dynamics(system, **options), motions(system, 40)
    full = np.asarray(dyn.regressor(*motion))
    folded = np.asarray(dyn.base_regressor(*motion)) @ dyn.base_matrix
    np.testing.assert_allclose(folded, full, atol=1e-10 * np.abs(full).max())
    assert [parameter.value for parameter in dyn.base_parameters] == pytest.approx(
        dyn.base_matrix @ dyn.parameter_values
    )


def test_only_the_base_columns_are_computed():
    dyn = ap.Dynamics(ap.load("puma"))
    assert len(dyn.base_parameters) == 36  # the published number
    assert dyn.base_regressor.count().total < 0.85 * dyn.regressor.count().total
    full = np.asarray(dyn.regressor(*motions(dyn.system, 5)))
    names = [parameter.name for parameter in dyn.parameters]
    columns = [names.index(parameter.name) for parameter in dyn.base_parameters]
    # fewer columns share fewer products, and products that are not shared are fused: the last bits differ
    atol = 1e-14 * np.abs(full).max()
    np.testing.assert_allclose(dyn.base_regressor(*motions(dyn.system, 5)), full[..., columns], atol=atol)


@pytest.mark.warns("massless")
def test_a_free_base_keeps_its_ten_parameters():
    robot = ap.load("puma", base="floating")
    assert [parameter.owner for parameter in ap.Dynamics(robot).base_parameters].count(robot.links[0].name) == 10
