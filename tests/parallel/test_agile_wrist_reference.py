"""The Agile Wrist against reference numbers found by three independent methods, by both of its formulations."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from appell.lab.judges.verification import paper_trajectory
from appell.parallel import agile_wrist
from appell.parallel.spherical import FORMULATIONS

REFERENCE = json.loads((Path(__file__).parents[1] / "references" / "agile_wrist.json").read_text())["variant_A"]


def column(name):
    return np.array([row[name] for row in REFERENCE["rows"]])


MOTION = column("q"), column("qd"), column("qdd")


@pytest.fixture(params=FORMULATIONS, scope="module")
def wrist(request):
    return agile_wrist(REFERENCE["radius"], REFERENCE["rho_ee"], REFERENCE["branch"], formulation=request.param)


@pytest.fixture(scope="module")
def both():
    return [agile_wrist(platform_com=(0.005, -0.004, 0.03), formulation=name) for name in FORMULATIONS]


def test_the_trajectory_is_the_papers():
    for ours, theirs in zip(paper_trajectory(column("t")), MOTION, strict=True):
        assert np.abs(ours - theirs).max() < 1e-14


def test_joint_angles_and_rates_are_the_reference(wrist):
    for part, theta, psi in zip(
        wrist.joint_motion(*MOTION), ("theta", "theta_d", "theta_dd"), ("psi", "psi_d", "psi_dd"), strict=True
    ):
        assert np.abs(part - np.hstack([column(theta), column(psi)])).max() < 1e-12


@pytest.mark.parametrize(
    ("function", "arguments", "reference"),
    [
        ("mass_matrix", 1, "M"),
        ("gravity", 1, "G"),
        ("generalized_forces", 3, "Q"),
        ("inverse_dynamics", 3, "tau"),
    ],
)
def test_forces_are_the_reference(wrist, function, arguments, reference):
    ours = getattr(wrist, function)(*MOTION[:arguments])
    assert np.abs(ours - column(reference)).max() < 1e-12


def test_both_formulations_agree_along_the_trajectory(both):
    q, v, a = paper_trajectory(np.linspace(0.0, 4.0, 401))
    for name, arguments in (
        ("mass_matrix", (q,)),
        ("gravity", (q,)),
        ("bias", (q, v)),
        ("actuator_jacobian", (q,)),
        ("generalized_forces", (q, v, a)),
        ("inverse_dynamics", (q, v, a)),
        ("forward_dynamics", (q, v, a)),
    ):
        one, other = (getattr(wrist, name)(*arguments) for wrist in both)
        assert np.abs(one - other).max() < 1e-12 * max(1.0, np.abs(one).max()), name


def test_the_inertia_rate_less_twice_coriolis_is_skew_along_the_trajectory(both):
    q, v, _ = paper_trajectory(np.linspace(0.0, 4.0, 401))
    for wrist in both:
        rate = np.einsum("tijk,tk->tij", wrist.mass_matrix.jacobian("q")(q), v)
        rest = rate - 2 * wrist.coriolis(q, v)
        assert np.abs(rest + rest.swapaxes(1, 2)).max() < 1e-10
        assert np.abs(rest).max() > 1e-4  # it is not zero: there is something to be skew


def test_the_two_coriolis_matrices_differ_by_a_skew_matrix_that_gives_nothing_along_v(both):
    q, v, _ = paper_trajectory(np.linspace(0.1, 3.9, 50))
    one, other = (wrist.coriolis(q, v) for wrist in both)
    difference = other - one
    assert np.abs(difference).max() > 1e-4
    assert np.abs(difference + difference.swapaxes(1, 2)).max() < 1e-14
    assert np.abs(np.einsum("tij,tj->ti", difference, v)).max() < 1e-14


def test_the_other_branch_is_another_assembly_of_the_same_legs():
    here, there = agile_wrist(), agile_wrist(branches=(-1, -1, -1))
    q = MOTION[0]
    assert np.abs(here.inverse_kinematics(q) - there.inverse_kinematics(q)).min() > 0.1
    assert np.isfinite(there.inverse_dynamics(*MOTION)).all()
