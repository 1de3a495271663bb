"""The guard stops an arm before its collision shapes touch; see test_embedded.py for the same guard in C."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import appell as ap
from appell.describe.robot_packages import examples
from appell.describe.urdf.srdf import srdf_of
from appell.errors import ArgumentError
from appell.hardware import Fault, State
from appell.hardware.loop.servo import Servo

pytestmark = pytest.mark.filterwarnings("ignore::appell.errors.LimitWarning", "ignore::appell.errors.ModelWarning")
hw = ap.hardware
MARGIN = 0.03
BALL = ap.Collision("lower", "sphere", (0.1,), name="ball", pose=[0.5, 0.0, 0.0])
POST = ap.Collision(None, "sphere", (0.2,), name="post", pose=[0.0, 1.5, 0.0])


@pytest.fixture(scope="module")
def robot():
    return ap.load("planar-2r").with_collisions(BALL, POST)


def swing(loop, servo, speed, acceleration=20.0):
    """Start a motion of the shoulder past the post; return the states, references and commands until it ends."""
    loop.run(25)
    loop.arm()
    first = loop.position
    path = ap.motion.Ramp(first, first + np.array([2.5, 0.0]), speed, acceleration, names=servo.system.coordinate_names)
    loop.start(hw.Reference.sampled(path, servo.design.period))
    q, ticks = [], 0
    while loop.state in (State.RUNNING, State.SAFE_STOP) and ticks < 6000:
        loop.tick()
        q.append(loop.position)
        ticks += 1
    return np.array(q)


@pytest.mark.parametrize(("speed", "early"), [(0.3, 0.01), (2.5, 0.08)])
def test_an_arm_stops_before_its_shapes_touch(robot, speed, early):
    servo, clock = hw.standard_servo(robot, margin=MARGIN, velocity=5.0), hw.VirtualClock()
    loop = hw.Loop(hw.SimulatedArm(robot, clock, [0.2, 0.0]), servo, clock)
    q = swing(loop, servo, speed)
    distance = ap.Dynamics(robot).distance("ball", "post", witnesses=False, gradient=False)(q)
    assert loop.fault is Fault.COLLISION
    assert MARGIN - 2e-3 < distance.min() < MARGIN + early  # fast arms may saturate, which (8) of `servo` overestimates
    assert "collision shapes would have come nearer than the margin of 0.03 m (collision shapes 'ball'" in loop.sentence


def test_limited_torques_lengthen_the_stop_and_the_arm_still_stops_in_time(robot):
    standard, clock = hw.standard_servo(robot, margin=MARGIN, velocity=5.0), hw.VirtualClock()
    design = replace(standard.design, stop_damping=25.0)
    weak = replace(standard.guard, torque=tuple(0.35 * x for x in standard.guard.torque))
    servo = Servo(design, standard.info, weak)
    loop = hw.Loop(hw.SimulatedArm(robot, clock, [0.2, 0.0]), servo, clock)
    q = swing(loop, servo, 2.0, 4.0)
    distance = ap.Dynamics(robot).distance("ball", "post", witnesses=False, gradient=False)(q)
    assert loop.fault & Fault.COLLISION
    v = np.gradient(q[:, 0], servo.design.period)
    braking = np.flatnonzero(v > 1.99)[-1]
    assert q[:, 0].max() - q[braking, 0] > 1.5 * 2.0 / 25.0  # longer than without a limit of torque
    assert distance.min() > MARGIN


def test_without_a_margin_the_same_motion_passes_through_the_post(robot):
    servo, clock = hw.standard_servo(robot, velocity=5.0), hw.VirtualClock()
    loop = hw.Loop(hw.SimulatedArm(robot, clock, [0.2, 0.0]), servo, clock)
    loop.run(25)
    loop.arm()
    path = ap.motion.Ramp(loop.position, loop.position + np.array([2.5, 0.0]), 2.5, 20.0)
    loop.start(hw.Reference.sampled(path, servo.design.period))
    loop.run(800)
    assert loop.fault is Fault.NONE
    assert ap.Dynamics(robot).distance("ball", "post", witnesses=False, gradient=False)(loop.position) < 0.0 or (
        loop.position[0] > 1.6
    )


def test_an_arm_that_touches_something_is_not_armed(robot):
    servo, clock = hw.standard_servo(robot, margin=MARGIN), hw.VirtualClock()
    loop = hw.Loop(hw.SimulatedArm(robot, clock, [0.5 * np.pi, 0.0]), servo, clock)
    loop.run(25)
    with pytest.raises(ArgumentError, match=r"'ball' and 'post' overlap by 0\.3 m") as error:
        loop.arm()
    assert "a distance of 0.03 m" in str(error.value)
    with pytest.raises(ArgumentError, match="margin, in m, is -1"):
        hw.standard_servo(robot, margin=-1.0)
    with pytest.raises(ArgumentError, match="has no collision shapes"):
        hw.standard_servo(ap.load("planar-2r"), margin=0.01)


def test_a_panda_stops_before_it_touches_itself():
    path = examples().get("panda")
    if path is None:
        pytest.skip("example-robot-data is not installed")
    panda = ap.with_srdf(ap.load(path), srdf_of(path))
    pairs = [(one, other) for one in ("panda_link0", "panda_link1") for other in ("panda_link6", "panda_hand")]
    ignored = [pair for pair in panda.collision_pairs.pairs if pair not in pairs]
    panda = replace(panda, ignored_pairs=(*panda.ignored_pairs, *(ap.IgnoredPair(*pair) for pair in ignored)))
    servo, rng, stopped = hw.standard_servo(panda, margin=0.02), np.random.default_rng(1), 0
    distances = ap.Dynamics(panda).distances(pairs, witnesses=False, gradient=False)
    fastest = np.array(servo.guard.velocity)
    while stopped < 3:
        ends = np.array([panda.random_configuration(rng), panda.random_configuration(rng)])
        straight = ends[0] + np.linspace(0.0, 1.0, 100)[:, None] * (ends[1] - ends[0])
        along = distances(straight).min(axis=1)
        if along[0] < 0.05 or along.min() > -0.02:
            continue
        duration = 2.5 * np.abs((ends[1] - ends[0]) / fastest).max()
        path = ap.motion.Spline([0.0, duration], ends, 5, panda.joint_names)
        clock = hw.VirtualClock()
        loop = hw.Loop(hw.SimulatedArm(panda, clock, ends[0]), servo, clock)
        loop.run(25)
        loop.arm()
        loop.start(hw.Reference.sampled(path, servo.design.period))
        q = []
        while loop.state in (State.RUNNING, State.SAFE_STOP):
            loop.tick()
            q.append(loop.position)
        assert loop.fault is Fault.COLLISION
        assert distances(np.array(q)).min() > 0.01
        stopped += 1
