"""Constrained robots against numbers that were computed with 50 digits; what is there, says `constrained_cases`.

Numbers of the reference are exact at the printed doubles, so 1e-12 of the largest entry of its kind is what rounding
leaves; poses near a singularity cost no more here.
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
    """All states of which the reference has certain numbers."""
    having = [(name, k) for name, k in STATES if set(names) <= set(state(name, k))]
    return pytest.mark.parametrize("case", having, indirect=True, ids=[f"{name}-{k}" for name, k in having])


def close(ours, theirs, rtol=EXACT, least=0.0):
    """Within a part of the largest entry; `least` is the size of what cancelled where all entries are small."""
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=rtol * max(np.abs(theirs).max(), least))


@every_state()
def test_loops_are_closed_and_velocities_keep_them(case):
    dyn, given = case
    if any(any(constraint.holonomic) for constraint in dyn.system.constraints):
        assert np.abs(answer(dyn.gap, given["q"])).max() <= 1e-15
    close(answer(dyn.tree_velocity, given["q"], independent_part(dyn.system, given["v"])), given["v"], least=1.0)
    assert np.abs(answer(dyn.row_rates, given["q"], given["v"])).max() <= 1e-14 * max(1.0, np.abs(given["v"]).max())


@every_state("rank")
def test_there_are_as_many_rows_of_as_much_rank(case):
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
    own = answer(dyn.constraint_forces, q, independent_part(dyn.system, w), given["tau"])
    close(K.T @ own, given["generalized_constraint_force"], least=size)


@every_state("closure_forces")
def test_forces_in_the_closures(case):
    """Points and wheels in world axes, the others as they are counted."""
    dyn, given = case
    q, u, tau = given["q"], independent_part(dyn.system, given["v"]), given["tau"]
    multipliers = dict(zip(dyn.system.row_names, answer(dyn.constraint_forces, q, u, tau), strict=True))
    found = []
    for constraint in dyn.system.constraints:
        if constraint.kind in ("point", "rolling"):
            found += answer(dyn.constraint_wrench(constraint.name), q, u, tau)[:3].tolist()
        else:
            found += [value for name, value in multipliers.items() if name.startswith(f"{constraint.name}.")]
    close(found, given["closure_forces"])


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
    wanted = given["inverse_dynamics"]
    a = independent_part(dyn.system, wanted["a"])
    close(answer(dyn.tree_acceleration, q, u, a), wanted["a"])
    close(answer(dyn.generalized_forces, q, u, a), wanted["tau_independent"])


@pytest.mark.parametrize("k", [0, 1])
@pytest.mark.parametrize(
    ("name", "motion", "torques"),
    [("delta-loops", "inverse_dynamics", "tau_actuated"), ("five-bar", "redundant_actuation", "smallest_tau")],
)
def test_torques_at_motors(name, motion, torques, k):
    """Three motors for the Delta's three freedoms; three for the two of a five-bar, which share the work."""
    given = state(name, k)
    wanted = given[motion]
    dyn = Dynamics(constrained(name, tuple(wanted["actuated"])))
    u, a = (independent_part(dyn.system, w) for w in (given["v"], wanted["a"]))
    close(answer(dyn.inverse_dynamics, given["q"], u, a), wanted[torques])


@pytest.mark.parametrize("k", [0, 1])
def test_the_pin_of_the_five_bar_moves_as_a_point_of_its_own(k):
    """Its position, velocity, acceleration and its inertia matrix, seen from the pin."""
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


def struck(dyn, q, w, J, normal, restitution):
    """(velocities after, impulse) of a smooth wall that meets a point with Jacobian J on the tree's velocities."""
    row = normal @ J
    give = answer(dyn.mobility, q) @ row
    impulse = -(1.0 + restitution) * (row @ w) / (row @ give)
    return w + give * impulse, impulse


@pytest.mark.parametrize("k", [0, 1])
def test_the_pin_of_the_five_bar_meets_a_wall(k):
    given, dyn = state("five-bar", k), dynamics("five-bar")
    q, wanted = given["q"], given["impact"]
    J = Dynamics(dyn.system.tree).jacobian("0/a", "LOCAL_WORLD_ALIGNED")(q)[:2]
    after, impulse = struck(dyn, q, given["v"], J, np.array(wanted["normal"]), wanted["restitution"])
    close(after, wanted["v_after"])
    close([impulse], [wanted["wall_impulse"]])


def test_the_sleigh_meets_a_wall():
    wanted, dyn = CASES["chaplygin-sleigh"]["impact"], dynamics("chaplygin-sleigh")
    x, y = wanted["point"]
    J = np.array([[1.0, 0.0, -y], [0.0, 1.0, x]])  # of a point on a body that stands along the axes
    q = np.array([0.0, 0.0, wanted["heading"]])
    before = np.array(wanted["v_before"])
    after, impulse = struck(dyn, q, before, J, np.array(wanted["wall_normal"]), wanted["restitution"])
    close(after, wanted["v_after"])
    close([impulse], [wanted["wall_impulse"]])


# ---- steady motions, equilibria


@pytest.mark.parametrize("steady", CASES["rolling-disk"]["steady"], ids=lambda steady: f"theta={steady['theta']}")
def test_a_disk_rolls_round_steadily(steady):
    dyn, none = dynamics("rolling-disk"), np.zeros(6)
    q, u = np.array(steady["q"]), independent_part(dyn.system, steady["v"])
    a = answer(dyn.forward_dynamics, q, u, none)
    close(answer(dyn.tree_acceleration, q, u, a), steady["a"])
    force = answer(dyn.constraint_wrench("closure 0"), q, u, none)[:3]
    close(force, steady["contact_force"])


FOUR_BARS = ("fourbar-grashof", "fourbar-non-grashof")


@pytest.mark.parametrize(
    ("name", "k"), [(name, k) for name in FOUR_BARS for k in range(len(CASES[name]["equilibria"]))]
)
def test_a_four_bar_rests_at_its_equilibria(name, k):
    """No acceleration at rest, and the slope of gravity along the loop is the stiffness."""
    wanted, dyn = CASES[name]["equilibria"][k], dynamics(name)
    q = np.array(wanted["q"])
    (gravity,), (inertia,) = answer(dyn.gravity, q), answer(dyn.mass_matrix, q)
    assert abs(gravity) <= 1e-13 * abs(wanted["stiffness"])
    close(inertia, [wanted["inertia"]])
    slope = answer(dyn.gravity.jacobian("q"), q)
    close(slope.ravel(), [wanted["stiffness"]])
    close(-slope.ravel() / inertia, [wanted["eigenvalue_squared"]])
