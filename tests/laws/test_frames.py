"""Functions of frames: their common signature, and velocities and accelerations compared with Pinocchio."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

import appell as ap
from appell.describe.zoo.mechanisms import delta as make_delta
from appell.model.system import System
from appell_lab.references.oracle import Oracle
from constrained_cases import constrained
from robots import random_tree

LOCAL_WORLD_ALIGNED = "LOCAL_WORLD_ALIGNED"
REFERENCES = ("LOCAL", "WORLD", LOCAL_WORLD_ALIGNED)
KINDS = {"pose": 1, "jacobian": 1, "jacobian_rate": 2, "velocity": 2, "acceleration": 3}  # number of arguments


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("seed", range(3))
def test_velocities_and_accelerations_of_frames_agree_with_pinocchio(seed, reference):
    robot = random_tree(seed, 6, base=("fixed", "floating", "planar")[seed])
    oracle, rng = Oracle(robot), np.random.default_rng(seed)
    q, (v, a) = robot.random_configuration(rng), rng.normal(size=(2, robot.nv))
    frame, dyn, axes = robot.frames[0].name, ap.Dynamics(robot), getattr(pin, reference)
    pin.forwardKinematics(oracle.model, oracle.data, oracle.q(q), oracle.G @ v, oracle.G @ a)
    pin.updateFramePlacements(oracle.model, oracle.data)
    number = oracle.model.getFrameId(frame)
    velocity = pin.getFrameVelocity(oracle.model, oracle.data, number, axes).vector
    np.testing.assert_allclose(dyn.velocity(frame, reference)(q, v), velocity, atol=1e-11)
    theirs = pin.getFrameClassicalAcceleration if reference == LOCAL_WORLD_ALIGNED else pin.getFrameAcceleration
    acceleration = theirs(oracle.model, oracle.data, number, axes).vector
    np.testing.assert_allclose(dyn.acceleration(frame, reference)(q, v, a), acceleration, atol=1e-10)


@pytest.mark.parametrize("name", ["puma", "delta", "agile-wrist"])
@pytest.mark.parametrize("reference", REFERENCES)
def test_velocity_and_acceleration_agree_with_the_jacobian(name, reference):
    system = ap.load(name)
    dyn, frame = ap.Dynamics(system), system.frame_names[-1]
    q, (v, a) = system.start + 0.01, np.random.default_rng(0).normal(size=(2, system.nv))
    J, rate = dyn.jacobian(frame, reference)(q), dyn.jacobian_rate(frame, reference)(q, v)
    np.testing.assert_allclose(dyn.velocity(frame, reference)(q, v), J @ v, atol=1e-13)
    np.testing.assert_allclose(dyn.acceleration(frame, reference)(q, v, a), J @ a + rate @ v, atol=1e-12)


def test_a_frame_on_the_world_does_not_move():
    robot = ap.load("puma").with_frames([ap.Frame("post", None)])
    assert not ap.Dynamics(robot).velocity("post", np.ones(6), np.ones(6)).any()
    assert not ap.Dynamics(robot).acceleration("post", np.ones(6), np.ones(6), np.ones(6)).any()


def test_a_velocity_takes_fewer_operations_than_a_jacobian():
    dyn = ap.Dynamics(ap.load("panda"))
    frame = dyn.system.frame_names[-1]
    assert dyn.velocity(frame).count().mul < 0.6 * dyn.jacobian(frame).count().mul


@pytest.mark.parametrize(("kind", "arrays"), KINDS.items())
def test_a_name_returns_the_function_and_arrays_its_value(kind, arrays):
    dyn = ap.Dynamics(ap.load("planar-2r"))
    frame, at = dyn.system.frame_names[-1], np.random.default_rng(0).normal(size=(arrays, 4, 2))
    method = getattr(dyn, kind)
    assert isinstance(method(frame), ap.Function)
    assert method(frame) is method(frame)
    np.testing.assert_array_equal(method(frame, *at), method(frame)(*at))
    with pytest.raises(ap.ArgumentError, match=rf'(?s)frame of {kind} of robot .* is a ndarray.*dyn\.{kind}\("'):
        method(*at)
    if kind != "pose":
        np.testing.assert_array_equal(method(frame, *at, reference="WORLD"), method(frame, "WORLD")(*at))
        np.testing.assert_array_equal(method(frame, "WORLD", *at), method(frame, "WORLD")(*at))
        with pytest.raises(ap.ArgumentError, match=r"no reference 'WRLD'\. Did you mean 'WORLD'"):
            method(frame, "WRLD")


# ---- prescribed motions and rotating planes


def driven_five_bar() -> System:
    base = constrained("five-bar")
    motor = ap.Prescribed(ap.Gear({base.tree.velocity_names[0]: 1.0}, base.start[0]), name="motor")
    return base.tree.with_loops(*base.constraints, motor, home=base.start)


def driven_puma() -> System:
    arm = ap.load("puma")
    return arm.with_loops(
        *(ap.Prescribed(ap.Gear({arm.velocity_names[k]: ratio}), name=f"motor{k}") for k, ratio in ((1, 1.0), (3, 0.5)))
    )


def disk_on_a_rotating_plane() -> System:
    base = constrained("rolling-disk")
    (row,) = base.constraints
    return base.tree.with_loops(replace(row, turning=0.7), home=base.start)


RHEONOMIC: dict[str, Callable[[], System]] = {
    "a five-bar with a prescribed crank": driven_five_bar,
    "an arm with two prescribed joints": driven_puma,
    "a ball on a rotating plane": lambda: constrained("ball-on-turntable"),
    "a disk on a rotating plane": disk_on_a_rotating_plane,
}


class Motion:
    """q, v, a and the prescribed values of a motion about t = 0, with constant accelerations a and s̈."""

    def __init__(self, dyn: ap.Dynamics, rng: np.random.Generator):
        system = dyn.system
        self.rate, self.q = dyn.coordinate_rate, system.start
        self.v, self.a = rng.normal(size=(2, system.nv))
        self.s = rng.normal(size=(len(system.prescribed), 3)) * (0.0, 1.0, 1.0)  # s = 0 where the loops are closed

    def given(self, t: float) -> list[np.ndarray]:
        """Return (s, ṡ, s̈) of every motion as the last argument of functions; empty without prescribed motions."""
        s, rate, acceleration = self.s.T
        position = s + rate * t + acceleration * t * t / 2
        values = np.stack([position, rate + acceleration * t, acceleration], axis=-1)
        return [values.ravel()] if values.size else []

    def velocity(self, t: float) -> np.ndarray:
        return self.v + self.a * t

    def configuration(self, t: float) -> np.ndarray:
        """Return q(t) by one step of the classical Runge-Kutta method, with an error of order t⁵."""

        def slope(time, change):
            return self.rate(self.q + change, self.velocity(time), *self.given(time))

        first = slope(0.0, 0.0 * self.q)
        second = slope(t / 2, first * t / 2)
        third = slope(t / 2, second * t / 2)
        return self.q + t / 6 * (first + 2 * second + 2 * third + slope(t, third * t))


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("make", RHEONOMIC.values(), ids=RHEONOMIC)
def test_rates_of_frames_agree_with_finite_differences_of_a_motion_that_depends_on_time(make, reference):
    system = make()
    dyn, frame, step = ap.Dynamics(system), system.frame_names[-1], 2e-5
    motion = Motion(dyn, np.random.default_rng(2))
    J, V = dyn.jacobian(frame, reference), dyn.velocity(frame, reference)

    def change(value):
        return (value(step) - value(-step)) / (2 * step)  # error of the order of step²

    jacobian_rate = change(lambda t: J(motion.configuration(t), *motion.given(t)))
    computed = dyn.jacobian_rate(frame, reference)(motion.q, motion.v, *motion.given(0.0))
    np.testing.assert_allclose(computed, jacobian_rate, rtol=1e-6, atol=1e-6)
    acceleration = change(lambda t: V(motion.configuration(t), motion.velocity(t), *motion.given(t)))
    computed = dyn.acceleration(frame, reference)(motion.q, motion.v, motion.a, *motion.given(0.0))
    np.testing.assert_allclose(computed, acceleration, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("make", RHEONOMIC.values(), ids=RHEONOMIC)
def test_velocities_agree_with_finite_differences_of_poses_in_a_motion_that_depends_on_time(make):
    system = make()
    dyn, frame, step = ap.Dynamics(system), system.frame_names[-1], 2e-5
    motion = Motion(dyn, np.random.default_rng(2))
    pose = dyn.pose(frame)
    positions = [pose(motion.configuration(t), *motion.given(t))[:3, 3] for t in (-step, step)]
    V = dyn.velocity(frame, LOCAL_WORLD_ALIGNED)(motion.q, motion.v, *motion.given(0.0))
    np.testing.assert_allclose(V[:3], (positions[1] - positions[0]) / (2 * step), rtol=1e-6, atol=1e-6)


# ---- lifetime, copies and pickles


def test_functions_of_frames_are_created_once_and_freed_with_their_dynamics():
    robot = ap.load("puma").with_frames([ap.Frame(f"point{k}", "link6") for k in range(200)])
    dyn = ap.Dynamics(robot)
    first = [dyn.pose(f"point{k}") for k in range(200)]
    assert all(dyn.pose(f"point{k}") is function for k, function in enumerate(first))
    references = weakref.ref(robot), weakref.ref(dyn), weakref.ref(first[0])
    dyn.jacobian("tool")(np.zeros(6))
    del robot, dyn, first
    gc.collect()
    assert [reference() for reference in references] == [None] * 3


@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy, lambda dyn: pickle.loads(pickle.dumps(dyn))])
def test_dynamics_can_be_copied_and_pickled_after_use(copied):
    dyn = ap.Dynamics(ap.load("puma"), "newton-euler", forward="ldl", wrenches=["tool"], friction=True, rotors=True)
    q = np.linspace(0.1, 0.6, 6)
    before = dyn.forward_dynamics(q, q, q, q), dyn.pose("tool", q), dyn.gravity(q)
    other = copied(dyn)
    assert other.system == dyn.system
    assert repr(other) == repr(dyn)
    after = other.forward_dynamics(q, q, q, q), other.pose("tool", q), other.gravity(q)
    for ours, theirs in zip(after, before, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(other.mass_matrix(q), dyn.mass_matrix(q))


@pytest.mark.parametrize("name", ["five-bar", "delta"])
def test_dynamics_of_a_changed_mechanism_can_be_copied_and_pickled(name):
    original = ap.load(name)
    system = (
        original.with_payload(0.3)
        .with_gravity((1.0, 2.0, -3.0))
        .with_frames([ap.Frame("mark", original.body_names[0])])
    )
    system = system.with_actuators(lambda *_: ap.Actuator(stiffness=2.0, rotor_inertia=1e-3))
    dyn, q = ap.Dynamics(system, rotors=True), system.start
    dyn.gravity(q)
    for other in (copy.deepcopy(dyn), pickle.loads(pickle.dumps(dyn))):
        np.testing.assert_array_equal(other.gravity(q), dyn.gravity(q))
        np.testing.assert_array_equal(other.mass_matrix(q), dyn.mass_matrix(q))
        np.testing.assert_array_equal(other.pose("mark", q), dyn.pose("mark", q))
        assert other.system.drives == system.drives
        assert other.system.bodies == system.bodies


def test_a_mechanism_with_replaced_parts_is_not_pickled_as_the_original():
    delta, other = ap.load("delta"), make_delta(arm=0.35)
    mixed = replace(delta, parts=other.parts, driven=other.driven, reaches=other.reaches, pins=())
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(mixed)
    q = mixed.start
    np.testing.assert_array_equal(
        ap.Dynamics(copy.deepcopy(mixed)).actuator_positions(q), ap.Dynamics(mixed).actuator_positions(q)
    )


def test_a_function_has_a_name_for_task_schedulers():
    dyn = ap.Dynamics(ap.load("puma"))
    assert dyn.inverse_dynamics.__name__ == "inverse_dynamics"
    assert pickle.loads(pickle.dumps(dyn.pose("tool"))).__name__ == "pose_tool"
