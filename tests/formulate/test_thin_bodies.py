"""Massless links, point masses, ideal and slender rods in every formulation."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pinocchio as pin
import pytest

import appell as ap
from appell.algebra.matrix import Mat3
from appell.algebra.solve import Cholesky
from appell.errors import ModelError, ModelWarning
from appell.formulate.formulations import FORMULATIONS
from appell.model import shapes
from appell.model.body import second_moments
from appell_lab.references.oracle import Oracle, relative_error
from robots import random_motion, random_tree

TOLERANCE = 1e-11


def gimbal(**middle) -> ap.Robot:
    """Two perpendicular axes with a massless link between them, and a heavy body: a universal joint."""
    builder = ap.Builder("gimbal", root=None)
    builder.link("cross", ap.Revolute((1, 0, 0)), **middle)
    builder.link(
        "camera", ap.Revolute((0, 1, 0)), parent="cross", body=ap.Body(2.0, (0.1, 0.2, -0.4), (0.1, 0.2, 0.25))
    )
    return builder.build()


def strings() -> ap.Robot:
    """Two point masses on strings."""
    builder = ap.Builder("strings", root=None)
    builder.link("upper", ap.Revolute((0, 1, 0)), body=shapes.point(1.0, (0.3, 0, -0.5)))
    builder.link(
        "lower", ap.Revolute((1, 0, 0)), parent="upper", xyz=(0.3, 0, -0.5), body=shapes.point(2.0, (0, 0.2, -1))
    )
    return builder.build()


def rods() -> ap.Robot:
    builder = ap.Builder("rods", root=None)
    builder.link("a", ap.Revolute((0, 1, 0)), body=shapes.rod(1.0, 0.6, "x", (0.3, 0, 0)))
    builder.link("b", ap.Revolute((0, 0, 1)), parent="a", xyz=(0.6, 0, 0), body=shapes.plate(1.0, 0.4, 0.2, "z"))
    builder.link("c", ap.Prismatic((1, 0, 0)), parent="b", body=shapes.point(0.3))
    return builder.build()


@pytest.mark.parametrize("name", FORMULATIONS)
@pytest.mark.parametrize("make", [lambda: gimbal(mass=0), strings, rods], ids=["gimbal", "strings", "rods"])
def test_dynamics_of_thin_bodies_agree_with_pinocchio(make, name):
    robot = make()
    oracle, (q, v, a) = Oracle(robot), random_motion(robot, np.random.default_rng(4))
    dyn = ap.Dynamics(robot, name)
    assert relative_error(dyn.inverse_dynamics(q, v, a), oracle.inverse_dynamics(q, v, a)) < TOLERANCE
    assert relative_error(dyn.mass_matrix(q), oracle.mass_matrix(q)) < TOLERANCE
    assert relative_error(dyn.forward_dynamics(q, v, a), oracle.forward_dynamics(q, v, a)) < TOLERANCE


@pytest.mark.parametrize("name", FORMULATIONS)
def test_random_chains_with_a_massless_link_agree_with_pinocchio(name):
    robot = random_tree(7, 5, kinds=("revolute",), branching=False)
    robot = robot.with_bodies({robot.link_names[2]: None})
    oracle, (q, v, a) = Oracle(robot), random_motion(robot, np.random.default_rng(1))
    tau = ap.Dynamics(robot, name).forward_dynamics(q, v, a)
    assert relative_error(tau, oracle.forward_dynamics(q, v, a)) < 1e-10  # M is worse conditioned than usual


def with_tip(physical: bool = True, **tip) -> ap.Robot:
    builder = ap.Builder("arm", root=None, physical=physical)
    builder.link("upper", ap.Revolute(), mass=1, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
    builder.link("tip", ap.Revolute((0, 1, 0)), parent="upper", xyz=(1, 0, 0), **tip)
    return builder.build()


IDLE = {
    "a massless tip": {"mass": 0},
    "a point mass on the axis": {"body": shapes.point(1.0, (0, 0.5, 0))},
    "a rod about itself": {"body": shapes.rod(1.0, 0.5, "y")},
}


@pytest.mark.parametrize("name", FORMULATIONS)
@pytest.mark.parametrize("tip", IDLE.values(), ids=IDLE)
def test_the_joint_that_moves_no_inertia_is_named_by_every_formulation(tip, name):
    dyn = ap.Dynamics(with_tip(**tip), name)
    with pytest.raises(ModelError, match=r"joint 'tip_joint' of robot 'arm' can move without moving any inertia"):
        _ = dyn.forward_dynamics
    assert np.isfinite(dyn.inverse_dynamics([0.1, 0.2], [0.3, 0.4], [0.5, 0.6])).all()


@pytest.mark.parametrize("name", FORMULATIONS)
@pytest.mark.parametrize("tip", IDLE.values(), ids=IDLE)
def test_with_physical_false_its_accelerations_are_nan(tip, name):
    dyn = ap.Dynamics(with_tip(physical=False, **tip), name)
    with np.errstate(invalid="ignore"):
        result = dyn.forward_dynamics([0.1, 0.2], [0.3, 0.4], [0.5, 0.6])
    assert not np.isfinite(result).any()


@pytest.mark.parametrize("name", FORMULATIONS)
def test_impossible_bodies_do_not_cause_division_by_zero(name):
    """Masses that cancel give constant pivots that are zero or negative."""
    builder = ap.Builder("odd", root=None, physical=False)
    builder.link("a", ap.Prismatic((1, 0, 0)), body=ap.Body(1.0))
    builder.link("b", ap.Prismatic((1, 0, 0)), parent="a", body=ap.Body(-1.0))
    with pytest.warns(ModelWarning, match="mass -1 kg"):
        robot = builder.build()
    with np.errstate(invalid="ignore"):
        ap.Dynamics(robot, name).forward_dynamics([0.0, 0.0], [0.0, 0.0], [1.0, 1.0])


def test_a_rotor_suffices_as_the_inertia_of_a_joint():
    """M = J_rotor n² at the tip, so that a = τ / (J n²): gravity does not act on a massless tip."""
    dyn = ap.Dynamics(with_tip(mass=0, actuator=ap.Actuator(gear=10.0, rotor_inertia=2e-4)), rotors=True)
    assert dyn.forward_dynamics([0.1, 0.2], [0.0, 0.0], [0.0, 0.5])[1] == pytest.approx(0.5 / 0.02, rel=1e-12)


def test_joints_that_together_move_no_inertia_are_all_named():
    builder = ap.Builder("coaxial", root=None)
    builder.link("a", ap.Revolute(), mass=0)
    builder.link("b", ap.Revolute(), parent="a", mass=1, inertia=(1, 1, 1))
    with pytest.raises(ModelError, match=r"joints 'a_joint', 'b_joint' of robot 'coaxial' can move together"):
        _ = ap.Dynamics(builder.build()).forward_dynamics


def test_a_spherical_joint_with_a_point_mass_is_singular():
    builder = ap.Builder("pendulum", root=None)
    builder.link("mass", ap.Spherical(), body=shapes.point(1.0, (0, 0, -1)))
    with pytest.raises(ModelError, match="joint 'mass_joint' of robot 'pendulum'"):
        _ = ap.Dynamics(builder.build()).forward_dynamics


def test_free_parameters_count_as_inertia():
    robot = gimbal(mass=0).with_free("camera")
    dyn = ap.Dynamics(robot)
    fixed = ap.Dynamics(gimbal(mass=0)).forward_dynamics([0.1, 0.2], [0.3, 0.4], [0.5, 0.6])
    given = robot.bodies["camera"].parameters
    np.testing.assert_allclose(dyn.forward_dynamics([0.1, 0.2], [0.3, 0.4], [0.5, 0.6], given), fixed, rtol=1e-12)
    with pytest.raises(ModelError, match="joint 'tip_joint'"):
        _ = ap.Dynamics(with_tip(mass=0).with_free("upper")).forward_dynamics


def test_a_link_without_a_mass_between_joints_is_treated_as_massless_with_a_warning():
    with pytest.warns(ModelWarning, match="link 'cross' has no inertia and is treated as massless"):
        robot = gimbal()
    result = ap.Dynamics(robot).forward_dynamics([0.1, 0.2], [0.3, 0.4], [0.5, 0.6])
    np.testing.assert_array_equal(
        result, ap.Dynamics(gimbal(mass=0)).forward_dynamics([0.1, 0.2], [0.3, 0.4], [0.5, 0.6])
    )


def test_a_tip_without_a_mass_is_named():
    with pytest.raises(ModelError, match="moving links without inertia: tip"):
        _ = ap.Dynamics(with_tip()).inverse_dynamics


@pytest.mark.parametrize("small", [1e-8, 1e-10])
@pytest.mark.parametrize("name", FORMULATIONS)
def test_a_slender_rod_keeps_its_moment_about_itself(small, name):
    """1e6 kg m² across, and a tiny moment about its own axis, which is that of the joint; Pinocchio is exact there."""
    builder = ap.Builder("rod", root=None)
    builder.link("rod", ap.Revolute((0, 0, 1)), rpy=(0.3, 0.2, 0.1), mass=3.0, com=(0, 0, 2), inertia=(1e6, 1e6, small))
    dyn = ap.Dynamics(builder.build(), name)
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelRZ(), pin.SE3.Identity(), "rod")
    model.appendBodyToJoint(
        joint, pin.Inertia(3.0, np.array([0, 0, 2.0]), np.diag([1e6, 1e6, small])), pin.SE3.Identity()
    )
    expected = pin.rnea(model, model.createData(), np.zeros(1), np.zeros(1), np.ones(1))[0]
    assert expected == small
    for torque in (dyn.inverse_dynamics([0.0], [0.0], [1.0])[0], dyn.mass_matrix([0.0])[0, 0]):
        assert torque == pytest.approx(small, rel=1e-6), name
    assert math.isclose(dyn.forward_dynamics([0.0], [0.0], [1.0])[0], 1.0 / small, rel_tol=1e-6)


@pytest.mark.parametrize("name", [name for name in FORMULATIONS if name != "mata"])  # which is for chains of axes
@pytest.mark.parametrize("small", [1e-8, 1e-10])
@pytest.mark.parametrize("axis", range(3))
def test_a_slender_body_whose_parameters_are_arguments_keeps_its_small_moment(name, small, axis):
    """A rod of 1e6 kg m² across rotates about its own axis only, so that only the small moment matters."""
    moments = [1e6] * 3
    moments[axis] = small
    robot = ap.Builder("slender", root=None).link("rod", ap.Spherical(), mass=1.0, inertia=moments).build()
    model = pin.Model()
    model.addJoint(0, pin.JointModelSpherical(), pin.SE3.Identity(), "ball")
    model.inertias[1] = pin.Inertia(1.0, np.zeros(3), np.diag(moments))
    q, v, a = np.array([0.1, -0.3, 0.5, 0.8]), np.zeros(3), np.eye(3)[axis]
    expected = pin.rnea(model, model.createData(), q / np.linalg.norm(q), v, a)
    assert expected[axis] == pytest.approx(small, rel=1e-14, abs=0.0)
    dyn, parameters = ap.Dynamics(robot.with_free(), name), robot.bodies["rod"].parameters
    result = dyn.inverse_dynamics(q, v, a, parameters)[axis]
    assert result == pytest.approx(expected[axis], rel=1e-14, abs=0.0)
    assert dyn.forward_dynamics(q, v, expected, parameters)[axis] == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("axis", range(3))
def test_second_moments_are_accurate_to_the_last_digits(axis):
    """For all moments that satisfy the triangle inequality."""
    rng = np.random.default_rng(axis)
    for _ in range(200):
        second = 10.0 ** rng.uniform(-10, 6, 3)
        moments = [Fraction(second[(k + 1) % 3]) + Fraction(second[(k + 2) % 3]) for k in range(3)]
        given = [float(x) for x in moments]
        result = second_moments(Mat3.symmetric(given[0], 0.0, 0.0, given[1], 0.0, given[2]))[axis, axis]
        others = [given[(axis + k) % 3] for k in (1, 2)]
        exact = (sum(map(Fraction, others)) - Fraction(given[axis])) / 2
        assert abs(Fraction(result) - exact) <= abs(exact) * Fraction(1, 2**51)


def test_with_physical_false_only_the_error_of_a_singular_matrix_becomes_nan(monkeypatch):
    """Other errors, also those of wrong arguments, are raised."""

    def fail(*_):
        raise ValueError("zip() argument 2 is shorter than argument 1")

    dyn = ap.Dynamics(with_tip(physical=False, mass=1.0, inertia=(1.0, 1.0, 1.0)))
    monkeypatch.setattr("appell.formulate.tree_bodies.TreeBodies._solved", fail)
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        _ = dyn.forward_dynamics


def test_cholesky_reports_a_constant_pivot_that_is_not_positive_like_ldl():
    for matrix in ([[1.0, 0.0], [0.0, 0.0]], [[1.0, 2.0], [2.0, 1.0]]):
        with pytest.raises(ZeroDivisionError):
            Cholesky.of(matrix)
