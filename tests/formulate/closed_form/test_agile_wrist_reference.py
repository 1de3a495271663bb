"""Both formulations of the Agile Wrist against reference values from three independent methods."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from answers import interpreted
from appell.describe.zoo.mechanisms import agile_wrist
from appell.dynamics import Dynamics
from appell.errors import ModelWarning
from appell.formulate.spherical import HALVES, SphericalRobot
from appell.formulate.systems import CLOSED_FORMS
from appell_lab.references.verification import paper_trajectory

REFERENCE = json.loads((Path(__file__).parents[2] / "references" / "agile_wrist.json").read_text())["variant_A"]


PLATE = json.loads((Path(__file__).parents[2] / "references" / "agile_wrist_plate.json").read_text())


def column(name):
    return np.array([row[name] for row in REFERENCE["rows"]])


MOTION = column("q"), column("qd"), column("qdd")


@pytest.fixture(params=CLOSED_FORMS, scope="module")
def wrist(request):
    return Dynamics(agile_wrist(REFERENCE["radius"], REFERENCE["rho_ee"], REFERENCE["branch"]), request.param)


@pytest.fixture(scope="module")
def both():
    return [Dynamics(agile_wrist(platform_com=(0.005, -0.004, 0.03)), name) for name in CLOSED_FORMS]


def test_the_trajectory_is_that_of_the_paper():
    for ours, theirs in zip(paper_trajectory(column("t")), MOTION, strict=True):
        assert np.abs(ours - theirs).max() < 1e-14


def test_joint_angles_and_rates_agree_with_the_reference(wrist):
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
def test_forces_agree_with_the_reference(wrist, function, arguments, reference):
    ours = getattr(wrist, function)(*MOTION[:arguments])
    assert np.abs(ours - column(reference)).max() < 1e-12


def sampled(function, *arguments):
    """Results of the interpreter, sample by sample: compiling takes seconds."""
    return np.array([interpreted(function, *sample) for sample in zip(*arguments, strict=True)])


def test_both_formulations_agree_along_the_trajectory(both):
    q, v, a = paper_trajectory(np.linspace(0.0, 4.0, 9))
    for name, arguments in (
        ("mass_matrix", (q,)),
        ("gravity", (q,)),
        ("bias", (q, v)),
        ("actuator_jacobian", (q,)),
        ("generalized_forces", (q, v, a)),
        ("inverse_dynamics", (q, v, a)),
        ("forward_dynamics", (q, v, a)),
    ):
        one, other = (sampled(getattr(wrist, name), *arguments) for wrist in both)
        assert np.abs(one - other).max() < 1e-12 * max(1.0, np.abs(one).max()), name


def test_the_inertia_rate_minus_twice_the_coriolis_matrix_is_skew_along_the_trajectory(both):
    q, v, _ = paper_trajectory(np.linspace(0.0, 4.0, 9))
    for wrist in both:
        rate = np.einsum("tijk,tk->tij", sampled(wrist.mass_matrix.jacobian("q"), q), v)
        rest = rate - 2 * wrist.coriolis(q, v)
        assert np.abs(rest + rest.swapaxes(1, 2)).max() < 1e-10
        assert np.abs(rest).max() > 1e-4  # it is not zero


def test_the_two_coriolis_matrices_differ_by_a_skew_matrix_that_vanishes_along_v(both):
    q, v, _ = paper_trajectory(np.linspace(0.1, 3.9, 50))
    one, other = (wrist.coriolis(q, v) for wrist in both)
    difference = other - one
    assert np.abs(difference).max() > 1e-4
    assert np.abs(difference + difference.swapaxes(1, 2)).max() < 1e-14
    assert np.abs(np.einsum("tij,tj->ti", difference, v)).max() < 1e-14


@pytest.mark.parametrize("assembly", PLATE["branches"], ids=lambda row: str(row["branch"]))
@pytest.mark.parametrize("formulation", CLOSED_FORMS)
def test_torques_of_a_flat_platform_agree_with_the_reference_in_every_branch(assembly, formulation):
    """The reference is from Lagrange's equations with 50 digits; torques are of the order of 1 N m."""
    with pytest.warns(ModelWarning, match="platform.*by 0.041 %, possibly because of rounding"):
        wrist = agile_wrist(PLATE["radius"], PLATE["platform_com"], assembly["branch"])
    dyn, motion = Dynamics(wrist, formulation), paper_trajectory(np.array(PLATE["times"]))
    assert np.abs(dyn.generalized_forces(*motion) - assembly["Q"]).max() < 1e-12
    assert np.abs(dyn.inverse_dynamics(*motion) - assembly["tau"]).max() < 1e-12


def halves(wrist):
    """Numeric function for the Coriolis matrix of the paper."""
    robot = SphericalRobot.of(wrist.design, [body.about_origin for body in wrist.bodies.values()], wrist.gravity)
    return lambda q, v: np.array(
        [robot.coriolis(a, b, HALVES) for a, b in zip(q.tolist(), v.tolist(), strict=True)], float
    )


def test_the_coriolis_matrix_of_the_paper_gives_the_same_forces_but_no_skew_matrix(both):
    """C v is the same and so vᵀ(Ṁ - 2C)v = 0; for other x, xᵀ(Ṁ - 2C)x is zero only with our C."""
    q, v, _ = paper_trajectory(np.linspace(0.1, 3.9, 9))
    explicit = both[1]
    ours, theirs = explicit.coriolis(q, v), halves(explicit.system)(q, v)
    assert np.abs(np.einsum("tij,tj->ti", ours - theirs, v)).max() < 1e-15
    rate = np.einsum("tijk,tk->tij", sampled(explicit.mass_matrix.jacobian("q"), q), v)
    for C, passive in ((ours, True), (theirs, False)):
        rest = rate - 2 * C
        along = np.abs(np.einsum("ti,tij,tj->t", v, rest, v)).max()
        symmetric = np.abs(rest + rest.swapaxes(1, 2)).max() / 2
        assert along < 1e-14
        assert symmetric < 1e-14 if passive else symmetric > 1e-4


def test_the_other_branch_is_another_assembly_of_the_same_legs():
    here, there = Dynamics(agile_wrist()), Dynamics(agile_wrist(branches=(-1, -1, -1)))
    q = MOTION[0]
    assert np.abs(here.actuator_positions(q) - there.actuator_positions(q)).min() > 0.1
    assert np.isfinite(there.inverse_dynamics(*MOTION)).all()


LOPSIDED = {
    "alpha1": np.radians([80.0, 75.0, 85.0]),
    "alpha2": np.radians([70.0, 74.0, 66.0]),
    "gamma": np.arccos(np.sqrt(3.0) / 3.0) + np.array([0.0, 0.03, -0.02]),
    "beta": np.arcsin(np.sqrt(3.0) / 3.0) + np.array([0.02, 0.0, -0.03]),
    "platform_inertia": [[38e-4, 2e-4, -1e-4], [2e-4, 36e-4, 3e-4], [-1e-4, 3e-4, 14e-4]],
}


def test_both_formulations_agree_for_different_legs_and_a_full_platform_inertia():
    """Each leg has different arcs, without symmetry; an independent tree closes the loops."""
    from appell_lab.references.agile_wrist_tree import agile_wrist_tree, platform_motion, tree_state

    wrist = agile_wrist(platform_com=(0.005, -0.004, 0.02), **LOPSIDED)
    one, other = (Dynamics(wrist, name) for name in CLOSED_FORMS)
    tree = agile_wrist_tree(wrist)
    rng = np.random.default_rng(1)
    for q, v, a in rng.uniform(-0.3, 0.3, (10, 3, 3)):
        tau = one.inverse_dynamics(q, v, a)
        assert np.abs(tau - other.inverse_dynamics(q, v, a)).max() < 1e-12
        position, velocity, _ = one.joint_motion(q, v, a)
        state = tree_state(position, velocity, q, v)
        acceleration = tree.forward_dynamics(state[:10], state[10:], tau)
        assert np.abs(np.array(platform_motion(state[6:10], state[16:], acceleration[6:])) - (q, v, a)).max() < 1e-9


@pytest.mark.parametrize("formulation", CLOSED_FORMS)
def test_a_moment_on_the_platform_is_carried_by_the_motors(formulation):
    """Eq. (22): a wrench on the platform acts through its Jacobian, so that the motors carry J⁻ᵀ Jₚᵀ w."""
    wrist = agile_wrist(platform_com=(0.0, 0.0, 0.02))
    dyn = Dynamics(wrist, formulation, wrenches=["platform"], reference="WORLD")
    q, v, a = (x[3] for x in MOTION)
    moment = np.array([0.3, -0.2, 0.5])
    free, loaded = (dyn.inverse_dynamics(q, v, a, [0, 0, 0, *m]) for m in (0.0 * moment, moment))
    (c1, c2, _), (s1, s2, _) = np.cos(q), np.sin(q)
    E = np.array([[0.0, -s1, c1 * c2], [0.0, c1, s1 * c2], [1.0, 0.0, -s2]])  # Ω = E v, in the world
    carried = np.linalg.solve(dyn.actuator_jacobian(q).T, E.T @ moment)
    assert np.abs(free - loaded - carried).max() < 1e-12
