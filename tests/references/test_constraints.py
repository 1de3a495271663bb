"""Constrained robots compared with numbers computed with 50 digits; `constrained_cases` describes the data.

The reference numbers are exact at the given doubles, so the tolerance of 1e-12, relative to the largest entry, covers
rounding only, also near singularities.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from answers import answer
from appell.dynamics import Dynamics
from constrained_cases import CASES, STATES, constrained, independent_part, state

EXACT = 1e-12


dynamics = cache(lambda name: Dynamics(constrained(name)))  # of a case


@pytest.fixture
def case(request):
    name, k = request.param
    return dynamics(name), state(name, k)


def every_state(*names):
    """Parametrise a test with all states for which the reference has the given numbers."""
    states = [(name, k) for name, k in STATES if set(names) <= set(state(name, k))]
    return pytest.mark.parametrize("case", states, indirect=True, ids=[f"{name}-{k}" for name, k in states])


def close(ours, theirs, rtol=EXACT, least=0.0):
    """Compare relative to the largest entry; `least` is the size of the terms that cancelled."""
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=rtol * max(np.abs(theirs).max(), least))


@every_state()
def test_loops_are_closed_and_velocities_satisfy_them(case):
    dyn, given = case
    if any(any(constraint.holonomic) for constraint in dyn.system.constraints):
        assert np.abs(answer(dyn.gap, given["q"])).max() <= 1e-15
    close(answer(dyn.tree_velocity, given["q"], independent_part(dyn.system, given["v"])), given["v"], least=1.0)
    assert np.abs(answer(dyn.row_rates, given["q"], given["v"])).max() <= 1e-14 * max(1.0, np.abs(given["v"]).max())


@every_state("rank")
def test_number_and_rank_of_the_rows(case):
    dyn, given = case
    assert dyn.system.rank == given["rank"]
    assert len(dyn.system.row_names) == given.get("rows", given["rank"])
    assert len(dyn.system.idle_rows) == len(dyn.system.row_names) - given["rank"]
    assert dyn.system.nv == dyn.system.tree.nv - given["rank"]


@every_state()
def test_accelerations_under_forces(case):
    dyn, given = case
    q, u = given["q"], independent_part(dyn.system, given["v"])
    a = answer(dyn.forward_dynamics, q, u, given["tau"])
    close(answer(dyn.tree_acceleration, q, u, a), given["a"])


@every_state()
def test_accelerations_without_a_choice_of_velocities(case):
    dyn, given = case
    close(answer(dyn.constrained_acceleration, given["q"], given["v"], given["tau"]), given["a"])


@every_state("generalized_constraint_force")
def test_forces_of_the_constraints_along_the_velocities(case):
    """Kᵀλ, unique where the multipliers are not."""
    dyn, given = case
    q, w = given["q"], given["v"]
    K = answer(dyn.row_rates.jacobian("w"), q, w)
    multipliers = answer(dyn.constraint_multipliers, q, w, given["tau"])
    size = np.abs(answer(Dynamics(dyn.system.tree).bias, q, w)).max()
    close(K.T @ multipliers, given["generalized_constraint_force"], least=size)
    multipliers = answer(dyn.constraint_forces, q, independent_part(dyn.system, w), given["tau"])
    close(K.T @ multipliers, given["generalized_constraint_force"], least=size)


@every_state("closure_forces")
def test_forces_in_the_closures(case):
    """Points and wheels in world axes, other closures as multipliers."""
    dyn, given = case
    q, u, tau = given["q"], independent_part(dyn.system, given["v"]), given["tau"]
    multipliers = dict(zip(dyn.system.row_names, answer(dyn.constraint_forces, q, u, tau), strict=True))
    forces = []
    for constraint in dyn.system.constraints:
        if constraint.kind in ("point", "rolling"):
            forces += answer(dyn.constraint_wrench(constraint.name), q, u, tau)[:3].tolist()
        else:
            forces += [value for name, value in multipliers.items() if name.startswith(f"{constraint.name}.")]
    close(forces, given["closure_forces"])


@every_state("reduced_inertia")
def test_inertia_on_the_independent_velocities(case):
    dyn, given = case
    close(answer(dyn.mass_matrix, given["q"]), given["reduced_inertia"])


@every_state("basis")
def test_the_basis_of_velocities(case):
    dyn, given = case
    close(answer(dyn.basis, given["q"]), given["basis"])


@every_state("kinetic", "potential")
def test_energies(case):
    dyn, given = case
    q, u = given["q"], independent_part(dyn.system, given["v"])
    energies = given["kinetic"], given["potential"]
    close(answer(dyn.energy, q, u), energies)


@every_state("inverse_dynamics")
def test_forces_of_a_motion(case):
    dyn, given = case
    q, u = given["q"], independent_part(dyn.system, given["v"])
    expected = given["inverse_dynamics"]
    a = independent_part(dyn.system, expected["a"])
    close(answer(dyn.tree_acceleration, q, u, a), expected["a"])
    close(answer(dyn.generalized_forces, q, u, a), expected["tau_independent"])


@pytest.mark.parametrize("k", [0, 1])
@pytest.mark.parametrize(
    ("name", "motion", "torques"),
    [("delta-loops", "inverse_dynamics", "tau_actuated"), ("five-bar", "redundant_actuation", "smallest_tau")],
)
def test_torques_at_motors(name, motion, torques, k):
    """Three motors for the three degrees of freedom of a Delta; three for the two of a five-bar."""
    given = state(name, k)
    expected = given[motion]
    dyn = Dynamics(constrained(name, tuple(expected["actuated"])))
    u, a = (independent_part(dyn.system, w) for w in (given["v"], expected["a"]))
    close(answer(dyn.inverse_dynamics, given["q"], u, a), expected[torques])


@pytest.mark.parametrize("k", [0, 1])
def test_motion_and_inertia_of_the_pin_of_the_five_bar(k):
    """Position, velocity and acceleration of the pin, and the inertia matrix in its coordinates."""
    given = state("five-bar", k)
    dyn, pin = dynamics("five-bar"), given["pin"]
    q, u = given["q"], independent_part(dyn.system, given["v"])
    J = dyn.jacobian("0/a", "LOCAL_WORLD_ALIGNED")(q)[:2]
    close(dyn.pose("0/a")(q)[:2, 3], pin["position"])
    close(J @ u, pin["velocity"])
    a = independent_part(dyn.system, given["a"])
    rate = dyn.jacobian_rate("0/a", "LOCAL_WORLD_ALIGNED")(q, u)[:2]
    close(J @ a + rate @ u, pin["acceleration"])
    inverse = np.linalg.inv(J)
    close(inverse.T @ dyn.mass_matrix(q) @ inverse, pin["inertia"])


# ---- impacts: v⁺ = v⁻ + P Jᵀ f, with the mobility P of the constrained tree


def after_impact(dyn, q, w, J, normal, restitution):
    """Return velocities and impulse after the impact of a smooth wall on a point with Jacobian J along w."""
    row = normal @ J
    change = answer(dyn.mobility, q) @ row
    impulse = -(1.0 + restitution) * (row @ w) / (row @ change)
    return w + change * impulse, impulse


@pytest.mark.parametrize("k", [0, 1])
def test_an_impact_of_the_pin_of_the_five_bar(k):
    given, dyn = state("five-bar", k), dynamics("five-bar")
    q, expected = given["q"], given["impact"]
    J = Dynamics(dyn.system.tree).jacobian("0/a", "LOCAL_WORLD_ALIGNED")(q)[:2]
    after, impulse = after_impact(dyn, q, given["v"], J, np.array(expected["normal"]), expected["restitution"])
    close(after, expected["v_after"])
    close([impulse], [expected["wall_impulse"]])


def test_an_impact_of_the_sleigh():
    expected, dyn = CASES["chaplygin-sleigh"]["impact"], dynamics("chaplygin-sleigh")
    x, y = expected["point"]
    J = np.array([[1.0, 0.0, -y], [0.0, 1.0, x]])  # of a point on a body aligned with the axes
    q = np.array([0.0, 0.0, expected["heading"]])
    before = np.array(expected["v_before"])
    after, impulse = after_impact(dyn, q, before, J, np.array(expected["wall_normal"]), expected["restitution"])
    close(after, expected["v_after"])
    close([impulse], [expected["wall_impulse"]])


# ---- steady motions, equilibria


@pytest.mark.parametrize("steady", CASES["rolling-disk"]["steady"], ids=lambda steady: f"theta={steady['theta']}")
def test_a_disk_rolls_steadily_in_a_circle(steady):
    dyn, no_forces = dynamics("rolling-disk"), np.zeros(6)
    q, u = np.array(steady["q"]), independent_part(dyn.system, steady["v"])
    a = answer(dyn.forward_dynamics, q, u, no_forces)
    close(answer(dyn.tree_acceleration, q, u, a), steady["a"])
    force = answer(dyn.constraint_wrench("closure 0"), q, u, no_forces)[:3]
    close(force, steady["contact_force"])


FOUR_BARS = ("fourbar-grashof", "fourbar-non-grashof")


@pytest.mark.parametrize(
    ("name", "k"), [(name, k) for name in FOUR_BARS for k in range(len(CASES[name]["equilibria"]))]
)
def test_a_four_bar_rests_at_its_equilibria(name, k):
    """There is no acceleration at rest, and the slope of gravity along the loop is the stiffness."""
    expected, dyn = CASES[name]["equilibria"][k], dynamics(name)
    q = np.array(expected["q"])
    (gravity,), (inertia,) = answer(dyn.gravity, q), answer(dyn.mass_matrix, q)
    assert abs(gravity) <= 1e-13 * abs(expected["stiffness"])
    close(inertia, [expected["inertia"]])
    slope = answer(dyn.gravity.jacobian("q"), q)
    close(slope.ravel(), [expected["stiffness"]])
    close(-slope.ravel() / inertia, [expected["eigenvalue_squared"]])
