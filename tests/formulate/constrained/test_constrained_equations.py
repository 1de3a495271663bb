"""Velocities, actuators and variations of constrained robots."""

import pickle

import numpy as np
import pytest

import appell as ap
from appell.errors import ModelError
from appell.model.constraint import Gear, Prescribed, Velocities
from appell.model.system import System
from appell_lab.references.oracle import Oracle
from constrained_cases import constrained, state


def moving(name: str):
    system, given = constrained(name), state(name)
    names = system.tree.velocity_names
    return system, given["q"], given["v"][[names.index(each) for each in system.velocity_names]], given


def test_custom_independent_velocities_give_the_same_motion():
    system, q, v, given = moving("diff-drive-caster")
    tree = system.tree

    def forward_and_turn(q):
        rows = [[0.0] * tree.nv, [0.0] * tree.nv]
        rows[0][0], rows[1][2] = 2.0 * ap.cos(q[2]), 1.0  # not unit vectors, and their rates matter
        rows[0][2] = ap.sin(q[2])
        return rows, [0.0, 0.0]

    custom = tree.with_loops(
        *system.constraints, independent=Velocities(forward_and_turn, ("go", "turn"), ("m", "rad")), home=q
    )
    assert custom.velocity_names == ("go", "turn")
    dyn, default = ap.Dynamics(custom), ap.Dynamics(system)
    w = default.tree_velocity(q, v)
    u = dyn.independent_velocity(q, w)
    np.testing.assert_allclose(dyn.tree_velocity(q, u), w, rtol=1e-12, atol=1e-12)
    a = dyn.tree_acceleration(q, u, dyn.forward_dynamics(q, u, given["tau"]))
    np.testing.assert_allclose(a, given["a"], rtol=1e-11, atol=1e-11 * np.abs(given["a"]).max())
    accelerations = np.array([0.3, -0.7])
    slope = dyn.gibbs_function.gradient("a")(q, u, accelerations)
    np.testing.assert_allclose(dyn.generalized_forces(q, u, accelerations), slope, rtol=1e-11, atol=1e-11)


def test_redundant_actuators_share_forces_by_their_weights():
    system, q, v, _ = moving("five-bar")
    a = np.array([0.4, -1.1])
    forces = ap.Dynamics(system).generalized_forces(q, v, a)
    weights = {"left1": 1.0, "left2": 4.0, "right1": 2.0}
    driven = system.tree.with_loops(*system.constraints, actuated=weights, independent=system.velocity_names, home=q)
    dyn = ap.Dynamics(driven)
    tau, J = dyn.inverse_dynamics(q, v, a), dyn.actuator_jacobian(q)
    np.testing.assert_allclose(J.T @ tau, forces, rtol=1e-11, atol=1e-12)
    W = np.diag(list(weights.values()))
    null = np.linalg.svd(J.T)[2][-1]  # torques without effect
    assert abs(null @ W @ tau) < 1e-12 * np.abs(tau).max()  # the weighted norm is minimal


def test_too_few_actuators_are_named():
    system, q, v, _ = moving("five-bar")
    driven = system.tree.with_loops(*system.constraints, actuated=["left1"], home=q)
    with pytest.raises(ap.ModelError, match="1 actuators for 2 degrees of freedom"):
        ap.Dynamics(driven).inverse_dynamics(q, v, v)


def test_friction_and_rotors_of_joints_without_a_motor_are_included():
    system, q, v, _ = moving("fourbar-grashof")
    rubbing = system.with_actuators(
        lambda name, actuator: ap.Actuator(rotor_inertia=0.02, gear=3.0, friction=ap.Friction(viscous=0.5))
    )
    dyn, bare = ap.Dynamics(rubbing, friction=True, rotors=True), ap.Dynamics(system)
    N, w = bare.basis(q), bare.tree_velocity(q, v)
    np.testing.assert_allclose(dyn.mass_matrix(q), bare.mass_matrix(q) + 0.18 * N.T @ N, rtol=1e-12)
    np.testing.assert_allclose(dyn.friction(q, v), N.T @ (0.5 * w), rtol=1e-12)
    a = dyn.forward_dynamics(q, v, np.zeros(3))
    drift = bare.tree_acceleration(q, v, np.zeros(1))
    left = bare.bias(q, v) + N.T @ (0.5 * w) + 0.18 * N.T @ drift
    np.testing.assert_allclose(dyn.mass_matrix(q) @ a, -left, rtol=1e-12)
    np.testing.assert_allclose(dyn.inverse_dynamics(q, v, a), 0.0, atol=1e-12)


@pytest.mark.parametrize("name", ["fourbar-grashof", "rolling-disk"])
def test_dynamics_of_a_constrained_robot_can_be_pickled(name):
    system, q, v, given = moving(name)
    again = pickle.loads(pickle.dumps(ap.Dynamics(system)))
    np.testing.assert_array_equal(
        again.forward_dynamics(q, v, given["tau"]), ap.Dynamics(system).forward_dynamics(q, v, given["tau"])
    )


def test_a_gear_can_be_pickled():
    gear = Gear({"a": 1.0, "b": -2.0})
    assert pickle.loads(pickle.dumps(gear)) == gear


def test_integration_and_difference_use_independent_velocities():
    system, q, _, _ = moving("five-bar")
    step = np.array([0.02, -0.03])
    there = system.integrate(q, step)
    assert np.abs(ap.Dynamics(system).gap(there)).max() < 1e-12
    # integration moves along the tangent and then back to the constraints, which agree to second order
    np.testing.assert_allclose(system.difference(q, there), step, atol=2e-3)


def test_variations_keep_the_loops():
    system, q, _, _ = moving("fourbar-grashof")
    heavy = system.with_payload(2.0, "coupler")
    light = ap.Dynamics(system)
    assert ap.Dynamics(heavy).mass_matrix(q) > light.mass_matrix(q)
    turned = ap.Dynamics(system.with_gravity((0.0, 0.0, -9.81)))
    np.testing.assert_allclose(turned.gravity(q), 0.0, atol=1e-12)  # it moves in the x-y plane
    assert ap.Dynamics(system.with_free("coupler")).mass_matrix.inputs[-1].name == "parameters"


def test_free_parameters_of_a_constrained_robot_enter_linearly():
    system, q, v, _ = moving("fourbar-grashof")
    a = np.array([1.3])
    dyn = ap.Dynamics(system.with_free("coupler"))
    coupler = np.array(system.bodies["coupler"].parameters)
    full = ap.Dynamics(system)
    np.testing.assert_allclose(dyn.generalized_forces(q, v, a, coupler), full.generalized_forces(q, v, a), rtol=1e-12)
    Y = full.regressor(q, v, a)
    np.testing.assert_allclose(Y @ full.parameter_values, full.inverse_dynamics(q, v, a), rtol=1e-10, atol=1e-12)


def test_locking_a_joint_removes_one_degree_of_freedom():
    system = constrained("five-bar")
    held = system.locked("left1")
    assert held.nv == 1
    assert held.tree.nv == system.tree.nv - 1


def test_functions_of_constrained_robots_are_rejected_for_trees():
    dyn = ap.Dynamics(ap.load("puma"))
    for name in ("tree_velocity", "gap", "constrained_acceleration", "mobility"):
        with pytest.raises(ap.ModelError, match=f"{name} is for constrained robots"):
            getattr(dyn, name)


def test_invalid_options_are_named():
    system, q, _, _ = moving("fourbar-grashof")
    tree, loops = system.tree, system.constraints
    with pytest.raises(ap.ModelError, match=r"has no velocity 'cramk'.*Did you mean 'crank'"):
        tree.with_loops(*loops, independent="cramk", home=q)
    with pytest.raises(ap.ModelError, match="cannot be the independent velocities"):
        tree.with_loops(*loops, independent=("crank", "rocker"), home=q)
    with pytest.raises(ap.ModelError, match="weight -1"):
        tree.with_loops(*loops, actuated={"crank": -1.0}, home=q)
    with pytest.raises(ap.ArgumentError, match="forward dynamics method"):
        ap.Dynamics(system, forward="articulated-body")


@pytest.mark.parametrize(
    "given",
    [{"actuated": 5}, {"independent": 5}, {"actuated": [1, 2]}, {"independent": [0]}, {"actuated": {"crank": "x"}}],
)
def test_options_that_are_not_names_are_rejected(given):
    system = constrained("fourbar-grashof")
    with pytest.raises((ap.ArgumentError, ap.ModelError), match=r"is 5\.|is \[|weight 'x'"):
        system.tree.with_loops(*system.constraints, home=system.home, **given)


def immobile() -> dict[str, System]:
    """Return robots without a degree of freedom: a locked joint, and an arm whose motion is prescribed."""
    arm = ap.load("planar-2r")
    return {
        "locked": ap.load("pendulum").with_loops(Gear({"hinge": 1.0})),
        "prescribed": arm.with_loops(*(Prescribed(Gear({name: 1.0})) for name in arm.velocity_names)),
    }


@pytest.mark.parametrize("name", ["locked", "prescribed"])
def test_functions_of_a_robot_without_degrees_of_freedom_work_or_are_named(name):
    system = immobile()[name]
    dyn, errors = ap.Dynamics(system), {}
    for function in dyn.functions:
        try:
            arguments = [np.zeros(array.shape) for array in getattr(dyn, function).inputs]
            assert np.isfinite(getattr(dyn, function)(*arguments)).all()
        except ModelError as error:
            errors[function] = str(error)
    named = {
        name
        for name, text in errors.items()
        if text.startswith(f"{name} needs a degree of freedom, and {system.owner}")
    }
    others = {
        "joint_motion",
        "survey",
        "feedforward",
        "flat_state",
        "spring_torques",
    }  # of other systems
    assert {*errors} - named == others
    assert named >= {"mass_matrix", "coriolis", "inverse_dynamics", "regressor", "base_regressor", "drift"}
    assert named.isdisjoint({"constraint_multipliers", "constraint_forces", "tree_velocity", "tree_acceleration"})
    assert named.isdisjoint({"constrained_acceleration", "mobility", "center_of_mass", "energy", "momentum"})
    calls = {
        "jacobian": lambda: dyn.jacobian(system.frame_names[-1]),
        "base_matrix": lambda: dyn.base_matrix,
        "rollout": lambda: ap.rollout(system, steps=1),
        "a controller": lambda: ap.control.Design(system, ap.control.Gains(1.0, 1.0)),
    }
    for what, call in calls.items():
        with pytest.raises(ModelError, match=f"{what}.* needs a degree of freedom"):
            call()


def test_forces_of_a_fully_prescribed_arm_are_those_of_inverse_dynamics():
    """Multipliers of the prescribed motions of all joints, against Pinocchio's inverse dynamics."""
    tree, rng = ap.load("example-robot-data:ur5"), np.random.default_rng(0)
    system = tree.with_loops(*(Prescribed(Gear({name: 1.0})) for name in tree.velocity_names))
    dyn, tau = ap.Dynamics(system), rng.normal(size=tree.nv)
    q, w, a = rng.normal(size=(3, tree.nv))
    prescribed = np.stack([q, w, a], axis=-1).ravel()
    expected = Oracle(tree).inverse_dynamics(q, w, a)
    np.testing.assert_allclose(
        dyn.constraint_forces(q, tau, prescribed), expected - tau, atol=1e-12 * abs(expected).max()
    )
    np.testing.assert_allclose(dyn.constraint_multipliers(q, w, tau, prescribed), expected - tau, atol=1e-10)


def test_forces_of_a_fully_prescribed_linkage_balance_the_inverse_dynamics_of_its_tree():
    """Kᵀ λ are the forces along the tree: Pinocchio's inverse dynamics at the prescribed motion of the crank."""
    bars = ap.load("four-bar")
    system = bars.with_loops(Prescribed(Gear({"crank": 1.0}), name="drive"))
    assert system.nv == 0
    dyn, motion = ap.Dynamics(system), np.array([0.4, 2.0, -3.0])
    start = motion + np.array([bars.start[bars.coordinate_names.index("crank")], 0.0, 0.0])
    q = system.assembled(bars.start, start)
    w, a = dyn.tree_velocity(q, start), dyn.tree_acceleration(q, start)
    assert w[bars.tree.velocity_names.index("crank")] == pytest.approx(2.0)
    multipliers = dyn.constraint_forces(q, np.zeros(system.nu), start)
    forces = dyn.row_jacobian(q, start).T @ multipliers
    expected = Oracle(bars.tree).inverse_dynamics(q, w, a)
    np.testing.assert_allclose(forces, expected, atol=1e-11 * abs(expected).max())
    # with the crank as its only motor, the drive carries the torque of the linkage's inverse dynamics
    v = dict(zip(bars.tree.velocity_names, w, strict=True))
    rates = dict(zip(bars.tree.velocity_names, a, strict=True))
    inverse = ap.Dynamics(bars.tree.with_loops(*bars.constraints, actuated=["crank"], home=bars.start)).inverse_dynamics
    torque = inverse(q, [v["crank"]], [rates["crank"]])
    assert multipliers[system.row_names.index("drive.ratio")] == pytest.approx(torque[0], rel=1e-10)
