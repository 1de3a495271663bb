"""Closing loops, degrees of freedom and singularities, compared with closed forms and known numbers."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.errors import ArgumentError, ModelError
from appell.formulate.constrained.assembly import assembled
from appell.model.constraint import Hinge, Orientation
from appell_lab.references.plain_closures import constraints
from constrained_cases import CASES, STATES, constrained, state, tree

LOOPS = [name for name in dict.fromkeys(name for name, _ in STATES) if constrained(name).map.holonomic]


def special(name):
    """The tree and the constraints of a case that cannot be a robot everywhere."""
    model = CASES["singular-and-impossible"][name]["model"]
    return tree(model), constraints(model["closures"])


# ---- assembly


@pytest.mark.parametrize("name", LOOPS)
def test_a_perturbed_configuration_is_closed_nearby(name):
    """From up to 0.2 rad or m away in every joint, with compiled functions and with the formulas."""
    rng = np.random.default_rng(len(name))
    system, q = constrained(name), state(name)["q"]
    dyn = ap.Dynamics(system)
    start = system.tree.integrate(q, 0.2 * rng.uniform(-1.0, 1.0, system.tree.nv))
    q = ap.kinematics.assemble(dyn, start)
    assert np.abs(dyn.gap(q)).max() <= 1e-13
    assert np.abs(system.tree.difference(start, q)).max() <= 1.0
    np.testing.assert_allclose(assembled(system.tree, system.constraints, start), q, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", LOOPS)
def test_a_closed_configuration_does_not_change(name):
    q = state(name)["q"]
    np.testing.assert_allclose(ap.kinematics.assemble(constrained(name), q), q, rtol=0, atol=1e-14)


def test_held_joints_do_not_move():
    system = constrained("fourbar-grashof")
    start = system.start + np.array([0.3, 0.1, -0.1])
    q = ap.kinematics.assemble(system, start, hold="crank")
    assert q[0] == start[0]


def test_both_branches_of_a_four_bar_are_found():
    """Elbow up and elbow down are on different sides of the line from the crank's pin to the rocker's base."""
    system = constrained("fourbar-grashof")
    dyn = ap.Dynamics(system)
    near, far = ap.kinematics.assemblies(dyn, hold=["crank"])
    np.testing.assert_allclose(near, system.start, atol=1e-12)
    crank, rocker = (dyn.pose(name)(system.start)[:2, 3] for name in ("coupler", "rocker"))
    pins = [dyn.pose("0/a")(q)[:2, 3] for q in (near, far)]
    line = rocker - crank
    sides = [np.cross([*line, 0.0], [*(pin - crank), 0.0])[2] for pin in pins]
    assert sides[0] * sides[1] < 0.0
    lengths = [np.linalg.norm(pin - rocker) for pin in pins]
    np.testing.assert_allclose(*lengths, rtol=1e-12)


def test_finding_branches_requires_one_held_joint_per_degree_of_freedom():
    with pytest.raises(ArgumentError, match="it has 1 free motion left"):
        ap.kinematics.assemblies(constrained("fourbar-grashof"))


def test_the_error_for_a_four_bar_that_is_too_short_states_the_gap():
    """Links of 0.3, 0.8 and 0.7 m on a base of 3 m leave a gap of 1.2 m when stretched."""
    robot, rows = special("unreachable")
    with pytest.raises(
        ModelError, match=r"loop 'closure 0' of robot 'unreachable' cannot be closed: a gap of 1\.2 m remains"
    ):
        assembled(robot, rows, [1.0, -1.0, 1.0])
    with pytest.raises(ModelError, match=r"cannot be closed: a gap of 1\.2 m remains"):
        robot.with_loops(*rows)


def arm():
    """Three joints about crossed axes, and a frame at the end."""
    builder = ap.Builder("arm", root=None)
    for k, axis in enumerate([(0, 0, 1), (0, 1, 0), (1, 0, 0)]):
        body = {"mass": 1.0, "com": (0.2, 0, 0), "inertia": (0.01, 0.01, 0.01)}
        builder.link(
            f"l{k}", ap.Revolute(axis), parent=f"l{k - 1}" if k else None, joint_name=f"j{k}", xyz=(0.4, 0, 0), **body
        )
    builder.frame("end", on="l2", xyz=(0.4, 0, 0))
    return builder.build()


@pytest.mark.parametrize("kind", [Orientation, Hinge])
def test_antiparallel_axes_do_not_count_as_closed(kind):
    """A rotation by 180° satisfies every row of an orientation, and an antiparallel axis those of a hinge."""
    robot = arm()
    if kind is Hinge:
        position = ap.Dynamics(robot).pose("end")(np.zeros(3))[:3, 3]
        rows = [Hinge("end", ap.Pose(translation=ap.Vec3(*position)), name="loop")]
    else:
        rows = [Orientation("end", name="loop")]
    start = np.array([0.0, 0.0, np.pi - 0.1])
    q = assembled(robot, rows, start)
    rotation = ap.Dynamics(robot).pose("end")(q)[:3, :3]
    np.testing.assert_allclose(rotation[:, 2], [0, 0, 1], atol=1e-9)


def test_an_unknown_joint_to_hold_is_a_named_error():
    with pytest.raises(ModelError, match=r"has no joint 'krank'\. Did you mean 'crank'"):
        ap.kinematics.assemble(constrained("fourbar-grashof"), hold="krank")


def test_a_tree_without_loops_is_an_error():
    with pytest.raises(ArgumentError, match="robot 'arm' has no constraints"):
        ap.kinematics.assemble(arm())


# ---- mobility and singularities


def test_mobility_agrees_with_the_reference():
    for name, k in STATES:
        given = state(name, k)
        if "rank" in given:
            mobility = ap.kinematics.mobility(constrained(name), given["q"])
            assert mobility.rank == given["rank"], name
            assert mobility.freedoms == constrained(name).nv, name


def test_the_wheels_of_an_axle_share_one_lateral_force():
    """Two wheels on one axle: only the sum of their lateral forces is determined."""
    mobility = ap.kinematics.mobility(constrained("diff-drive-caster"))
    assert mobility.undetermined == (("closure 0.lateral", "closure 1.lateral"),)
    assert "closure 1.lateral" in mobility.idle
    assert "forces are not unique among closure 0.lateral, closure 1.lateral" in str(mobility)


def test_a_flat_parallelogram_is_singular_and_names_its_loop():
    robot, rows = special("parallelogram")
    system = robot.with_loops(*rows, home=[0.5, -0.5, 0.5])
    flat = ap.kinematics.singularity(system, [0.0, 0.0, 0.0])
    assert flat.is_singular
    assert flat.constraint == "closure 0"
    assert ap.kinematics.mobility(system, [0.0, 0.0, 0.0]).rank == 1
    upright = ap.kinematics.singularity(system)
    assert upright.condition < 20.0
    near = [ap.kinematics.singularity(system, np.array([x, -x, x])).condition for x in (1e-2, 1e-4)]
    np.testing.assert_allclose(near[1] / near[0], 100.0, rtol=1e-2)  # proportional to 1 / x


# ---- velocities


@pytest.mark.parametrize("name", ["stewart-loops", "bricard", "whipple-bicycle", "ball-on-turntable"])
def test_the_projected_velocity_is_the_nearest_in_kinetic_energy(name):
    """The change is M-orthogonal to every motion that the rows allow, so it is the smallest."""
    rng = np.random.default_rng(3)
    system, q = constrained(name), state(name)["q"]
    dyn, w = ap.Dynamics(system), rng.normal(size=system.tree.nv)
    projected = ap.kinematics.project_velocity(dyn, q, w)
    assert np.abs(dyn.row_rates(q, projected)).max() <= 1e-12
    M, N = ap.Dynamics(system.tree).mass_matrix(q), dyn.basis(q)
    assert np.abs(N.T @ M @ (projected - w)).max() <= 1e-11 * np.abs(M).max()
    again = ap.kinematics.project_velocity(dyn, q, projected)
    np.testing.assert_allclose(again, projected, atol=1e-12)


def test_a_held_joint_keeps_its_velocity():
    system, q = constrained("fourbar-grashof"), state("fourbar-grashof")["q"]
    w = ap.kinematics.project_velocity(system, q, [2.0, 0.0, 0.0], hold="crank")
    np.testing.assert_allclose(w, ap.Dynamics(system).tree_velocity(q, [2.0]), atol=1e-12)
    with pytest.raises(ArgumentError, match="satisfies constraint 'closure 0' with these joints held"):
        ap.kinematics.project_velocity(system, q, [2.0, 0.0, 0.0], hold=["crank", "coupler"])


# ---- paths


def test_a_lifted_path_stays_on_its_branch_and_has_consistent_velocities():
    system = constrained("five-bar", ("left1", "right1"))
    dyn, start = ap.Dynamics(system), system.start[[0, 2]]
    path = ap.motion.Spline([0.0, 1.0], [start, start + np.array([0.2, -0.15])], names=("left1", "right1"))
    record = ap.motion.lift(dyn, path, samples=2001)
    assert np.abs(dyn.gap(record.q)).max() <= 1e-13
    np.testing.assert_allclose(record.q[:, [0, 2]], path(record.t)[0], atol=1e-15)
    w = dyn.tree_velocity(record.q, record.v)
    np.testing.assert_allclose(np.gradient(record.q, record.t, axis=0)[5:-5], w[5:-5], atol=1e-5)


def test_a_path_beyond_the_reach_of_a_loop_is_an_error_with_its_time():
    """The crank of this four-bar cannot rotate fully."""
    system = constrained("fourbar-non-grashof")
    path = ap.motion.Spline([0.0, 1.0], [system.start[:1], system.start[:1] + 6.0], names=("crank",))
    with pytest.raises(ArgumentError, match="cannot be closed on the path at t = "):
        ap.motion.lift(system, path)
    other = ap.motion.Spline([0.0, 1.0], [[0.0], [1.0]], names=("rocker",))
    with pytest.raises(ArgumentError, match="a path of its independent joints: crank"):
        ap.motion.lift(system, other)


# ---- equilibrium


@pytest.mark.parametrize("name", ["fourbar-grashof", "fourbar-non-grashof"])
def test_equilibria_of_four_bars_are_found_from_nearby(name):
    system = constrained(name)
    for expected in CASES[name]["equilibria"]:
        start = ap.kinematics.assemble(system, np.array(expected["q"]) + 0.05, hold="crank")
        q = ap.kinematics.equilibrium(system, start)
        np.testing.assert_allclose(q, expected["q"], rtol=0, atol=1e-12)


def test_an_arm_is_in_equilibrium_where_its_torques_balance_gravity():
    robot = ap.load("puma")
    dyn = ap.Dynamics(robot)
    q = np.array([0.3, -0.4, 0.5, 0.2, 0.6, -0.1])
    rest = ap.kinematics.equilibrium(dyn, q + 0.02, dyn.gravity(q))
    np.testing.assert_allclose(dyn.gravity(rest), dyn.gravity(q), atol=1e-10)


def test_torques_that_cannot_be_balanced_are_an_error():
    with pytest.raises(ArgumentError, match=r"no equilibrium of constrained robot .* remains along 'crank'"):
        ap.kinematics.equilibrium(constrained("fourbar-grashof"), tau=[1e3, 0.0, 0.0])
