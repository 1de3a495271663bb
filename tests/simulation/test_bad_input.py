"""Bad inputs are refused by name, and the record up to that time is kept."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.simulation import Interrupted, Status
from free_bodies import free_body


@pytest.fixture(scope="module")
def arm():
    return ap.Dynamics(ap.load("planar-2r"))


@pytest.fixture(scope="module")
def particle():
    return ap.Dynamics(free_body([(0, 0, 0)]))


def above(dyn, height=1.0):
    q = dyn.system.neutral
    q[2] = height
    return q


def test_a_start_inside_a_wall_names_the_point_and_the_depth(particle):
    with pytest.raises(ap.ArgumentError, match=r"starts inside a wall.*'c0'.*0\.5 m"):
        ap.simulate(particle, above(particle, -0.5), contacts=ap.Contact("all", ap.Plane()))


@pytest.mark.parametrize("restitution", [-0.1, 1.1, float("nan"), "bouncy"])
def test_restitution_outside_zero_to_one_is_refused(restitution):
    with pytest.raises(ap.ArgumentError, match="restitution"):
        ap.Contact("all", ap.Plane(), restitution=restitution)


def test_negative_friction_is_refused():
    with pytest.raises(ap.ArgumentError, match="friction -1"):
        ap.Contact("all", ap.Plane(), friction=-1)


def test_unknown_points_are_refused_with_a_list_of_points(arm):
    with pytest.raises(ap.ArgumentError, match=r"no point 'tol'. Did you mean 'tool'\? It has: .*upper.*lower.*tool"):
        ap.simulate(arm, contacts=ap.Contact(["tol"], ap.Circle(5.0)))


def test_points_fixed_to_the_world_are_refused():
    builder = ap.Builder("arm")
    builder.link("link", ap.Revolute(), mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(ap.ArgumentError, match=r"'base' .* fixed to the world"):
        ap.simulate(ap.Dynamics(builder.build()), contacts=ap.Contact(["base"], ap.Plane((0, 0, 1), -1.0)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ap.Sphere(-1.0), "radius of a sphere is -1"),
        (lambda: ap.Plane((0, 0, 0)), "no direction"),
        (lambda: ap.Circle(1.0, (1, 2, 3, 4)), "center of a circle"),
        (lambda: ap.Cylinder(1.0, axis=(0, 0, 0)), "axis of a cylinder"),
        (lambda: ap.Implicit(3.0), "function of an Implicit is 3"),
        (lambda: ap.Implicit(lambda x, y, z: 1.0), "is constant"),
        (lambda: ap.Implicit(lambda x, y, z: [x, y]), "returns 2 values"),
        (lambda: ap.Implicit(lambda x, y: x), "cannot be traced"),
        (lambda: ap.Contact("all", "floor"), "surface of a contact is 'floor'"),
        (lambda: ap.Contact([], ap.Plane()), "no points"),
    ],
)
def test_invalid_walls_are_refused(make, message):
    with pytest.raises(ap.ArgumentError, match=message):
        make()


def test_an_implicit_function_with_a_branch_is_refused_with_a_hint_to_select():
    with pytest.raises(ap.TraceError, match="select"):
        ap.Implicit(lambda x, y, z: z if z > x else x)


def test_a_wall_without_gradient_where_it_is_met_ends_the_run_and_keeps_the_flight(particle):
    def cubic(x, y, z):
        return z * z * z

    with pytest.raises(Interrupted, match=r"'c0'.*'cubic' has no gradient .* t = 0\.45") as caught:
        ap.simulate(particle, above(particle), until=2.0, contacts=ap.Contact("all", ap.Implicit(cubic)))
    kept = caught.value.record
    assert kept.t[-1] == pytest.approx(np.sqrt(2 / 9.81), abs=1e-5)
    assert kept.status == Status.INPUT.name


def test_a_gap_that_is_not_a_number_is_named(particle):
    wall = ap.Implicit(lambda x, y, z: ap.sqrt(z - 0.5) + 0.1, name="root")
    with pytest.raises(Interrupted, match="'c0' and the implicit function 'root' is not a number"):
        ap.simulate(particle, above(particle), until=2.0, contacts=ap.Contact("all", wall))


def test_a_torque_that_becomes_nan_is_named_with_time_and_joint_and_the_motion_is_kept(arm):
    with pytest.raises(Interrupted, match=r"t=0\.[23]\d*\) is nan at actuator 'elbow'") as caught:
        ap.simulate(arm, until=1.0, torque=lambda t, q, v: [0.0, np.nan if t > 0.25 else 0.0])
    kept = caught.value.record
    assert 0.0 < kept.t[-1] <= 0.25
    assert isinstance(caught.value, ap.SimulationError)


def test_a_torque_of_the_wrong_shape_is_named_with_time_and_joints(arm):
    with pytest.raises(Interrupted, match=r"t=0\) returned an array of shape \(3,\)[\s\S]*\(2,\).*shoulder, elbow"):
        ap.simulate(arm, torque=lambda t, q, v: np.zeros(3))
    with pytest.raises(ap.ArgumentError, match=r"torque has shape \(3,\)"):
        ap.simulate(arm, torque=[0, 0, 0])
    with pytest.raises(ap.ArgumentError, match="nan at actuator 'elbow'"):
        ap.simulate(arm, torque=[0, np.nan])


def test_an_exception_of_the_torque_function_propagates(arm):
    with pytest.raises(ZeroDivisionError):
        ap.simulate(arm, torque=lambda t, q, v: 1 / 0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"q0": [0.0]}, r"q0 has shape \(1,\)"),
        ({"v0": [0.0, np.inf]}, "v0 contains a value that is not finite"),
        ({"until": -1.0}, "until is -1.0 and start is 0.0"),
        ({"until": np.nan}, "until, in s, is nan"),
        ({"solver": "euler"}, "no method 'euler'"),
        ({"solver": 1e-9}, "solver is 1e-09"),
    ],
)
def test_wrong_arguments_are_named(arm, given, message):
    with pytest.raises(ap.ArgumentError, match=message):
        ap.simulate(arm, **given)


def test_a_tolerance_of_zero_is_refused():
    with pytest.raises(ap.ArgumentError, match=r"rtol is 0\.0"):
        ap.Solver(rtol=0.0)


def test_too_many_events_end_a_run_with_a_status_that_has_its_sentence(particle):
    run = {
        "until": 50.0,
        "contacts": ap.Contact("all", ap.Plane(), restitution=1.0, friction=0.0),
        "solver": ap.Solver(max_events=5),
    }
    motion = ap.simulate(particle, above(particle), **run)
    assert motion.status == Status.EVENTS.name
    assert Status[motion.status].sentence in motion.message
    assert not motion.finished
    assert len(motion.events) == 6
    with pytest.raises(Interrupted, match="more events than max_events"):
        ap.simulate(particle, above(particle), **run, throw=True)


def test_too_many_steps_end_a_run(arm):
    assert ap.simulate(arm, until=10.0, solver=ap.Solver(max_steps=7)).status == Status.STEPS.name


def test_a_motion_that_diverges_ends_with_a_status(particle):
    def explosive(t, q, v):
        return np.array([0, 0, (1.0 + v[2]) ** 2 if abs(v[2]) < 1e100 else 0.0, 0, 0, 0])

    motion = ap.simulate(ap.Dynamics(free_body([], gravity=(0, 0, 0))), until=2.0, torque=explosive)
    assert motion.status == Status.TOLERANCE.name  # v = 1 / (1 - t) - 1 has no value at t = 1
    assert motion.t[-1] == pytest.approx(1.0, abs=1e-3)


def test_times_outside_a_trajectory_are_refused(arm):
    motion = ap.simulate(arm, until=0.1)
    with pytest.raises(ap.ArgumentError, match=r"no state at t = 0\.2"):
        motion(0.2)


def test_a_start_that_a_leg_of_a_mechanism_cannot_reach_names_the_leg():
    with pytest.raises(ap.ArgumentError, match="mechanism 'delta' cannot start at q0: leg 'leg_1' cannot reach"):
        ap.simulate(ap.Dynamics(ap.load("delta")), [3.0, 3.0, 3.0], until=0.1)
