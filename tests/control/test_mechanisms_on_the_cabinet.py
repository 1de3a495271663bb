"""Mechanisms on a cabinet: encoders, potentiometers, converters and brakes at their actuators."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import appell as ap
from appell.algebra.scalar import atan2, cos, sin
from appell.describe.legs import Angle, disc
from appell.errors import ArgumentError
from appell.hardware import (
    Fault,
    Faults,
    Injection,
    Loop,
    Reference,
    SimulatedCabinet,
    State,
    VirtualClock,
    first_difference,
    generic_wiring,
    homing_motion,
    replay,
    run_task,
    standard_plant,
    standard_servo,
)
from appell.hardware.cabinet.signals import cabinet_info
from appell.hardware.loop.startup import coordinates_at
from appell.model.actuator import Actuator, Friction
from appell.motion import Ramp, Record

MECHANISMS = ("five-bar", "delta", "agile-wrist", "three-rrr", "stewart-gough")
MAX_ERROR = {  # of the true position, rad or m; without friction, only encoders and converters cause errors
    "five-bar": 4e-4,
    "delta": 4e-4,
    "agile-wrist": 3e-3,
    "three-rrr": 3e-4,
    "stewart-gough": 6e-4,
}


def loop_of(system, log=None, servo=None, **options) -> Loop:
    wiring = generic_wiring(system)
    servo = servo or standard_servo(system, cabinet_info(wiring))
    faults = options.get("faults")
    clock = VirtualClock(lateness=None if faults is None else faults.lateness(servo.design.period))
    start = options.pop("q", wiring.start)
    cabinet = SimulatedCabinet(standard_plant(system, wiring), clock, start, **options)
    return Loop(cabinet, servo, clock, log=log)


def ramp(loop: Loop, share: float = 0.25):
    """Return a reference towards the farther end of every range."""
    lower, upper = np.array(loop.servo.guard.lower), np.array(loop.servo.guard.upper)

    def reference(q):
        displacement = share * np.where(upper - q > q - lower, upper - q, lower - q)
        return Reference.sampled(Ramp(q, q + displacement, 0.4, 2.0), loop.period)

    return reference


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_complete_task_is_executed_and_can_be_replayed(name, tmp_path):
    system = ap.load(name)
    loop = loop_of(system, tmp_path / "run.log", seed=3)
    true: list[np.ndarray] = []
    outcome = run_task(loop, ramp(loop), after_tick=lambda loop: true.append(loop.device.q))
    loop.close()
    assert outcome.finished, outcome.sentence
    log = Record.read(tmp_path / "run.log")
    assert log.names("q") == log.names("qd") == system.coordinate_names
    assert log.names("tau") == log.names("qm") == log.names("home") == system.actuator_names
    running = np.flatnonzero(log["state"] == State.RUNNING)
    motion = running[running > running[np.flatnonzero(np.diff(running) > 1)[-1]]]  # after the search
    error = np.abs(np.array(true) - log["qd"])[motion].max()
    assert error < MAX_ERROR[name]
    assert np.abs(log["qd"][motion[-1]] - log["qd"][motion[0]]).max() > 0.02  # it did move
    assert first_difference(log, replay(log, loop.servo)) is None


@pytest.mark.parametrize("name", MECHANISMS)
def test_potentiometers_give_an_approximate_and_index_pulses_an_exact_position_of_a_mechanism(name):
    system = ap.load(name)
    wiring = generic_wiring(system)
    servo = standard_servo(system, cabinet_info(wiring))
    lower, upper = np.array(servo.guard.lower), np.array(servo.guard.upper)
    start = system.start + 0.1 * (upper - lower) * np.linspace(-1.0, 1.0, system.nq)  # not at the assumed start
    loop = loop_of(system, servo=servo, q=start, seed=5)
    loop.run(25)
    loop.arm()
    coarse = np.abs(loop.position - start).max()
    search = homing_motion(servo, loop.device.travel, loop.position)
    theta = ap.Dynamics(system).actuator_positions(search.q)
    assert (np.ptp(theta, axis=0) > 1.2 * wiring.column("index_pitch")).all()
    loop.start(search)
    loop.run(len(search) + 200)
    loop.stop()
    loop.run(300)
    assert loop.state is State.ARMED
    loop.refine()
    exact = np.abs(loop.position - loop.device.q).max()
    resolution = 1.0 / wiring.column("resolution")  # of the actuators; of the coordinates by J⁻¹
    J = ap.Dynamics(system).actuator_jacobian(loop.device.q)
    assert exact < np.abs(np.linalg.inv(J)).sum(axis=1).max() * 0.6 * resolution.max()
    assert coarse > 10 * exact


def test_the_brakes_stop_a_mechanism_when_the_power_fails():
    loop = loop_of(ap.load("delta"), faults=Faults([Injection("power-loss", 0.3)]))
    loop.run(25)
    loop.arm()
    loop.start(ramp(loop)(loop.position))
    loop.run(1000)
    assert loop.state is State.FAULT
    assert loop.fault & Fault.POWER
    assert np.abs(loop.device.v).max() < 1e-6


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("encoder-loss", Fault.SENSOR | Fault.FOLLOWING),
        ("potentiometer-stuck", Fault.SENSOR),
        ("not-a-number", Fault.NOT_A_NUMBER),
        ("missed-deadlines", Fault.DEADLINE),
    ],
)
def test_faults_of_a_mechanism_are_detected(kind, expected):
    loop = loop_of(ap.load("five-bar"), faults=Faults([Injection(kind, 0.1, actuator=1)]))
    loop.run(25)
    loop.arm()
    loop.start(ramp(loop, 0.8)(loop.position))
    loop.run(1200)
    assert loop.state is State.FAULT
    assert loop.fault & expected
    assert np.abs(loop.device.v).max() < 1e-6


def test_codes_are_finite_when_the_model_is_out_of_reach():
    """The estimated position of a five-bar is set to one that its legs cannot reach."""
    loop = loop_of(ap.load("five-bar"))
    written, write = [], loop.device.write
    loop.device.write = lambda command: (written.append(command.tau.copy()), write(command))
    loop.run(25)
    loop.arm()
    loop.start(ramp(loop)(loop.position))
    loop.run(50)
    loop._tick.memory_next[:2] = 5.0  # the estimate of the servo
    loop.run(100)
    assert np.isfinite(written).all()
    assert loop.state is State.FAULT
    assert loop.fault & Fault.NOT_A_NUMBER


def block(**motor):
    """Return 2 kg on a slide that is moved by two motors with different gear ratios."""
    drives = [
        ap.LegJoint(f"motor{k}", lambda q, r=r: r * q[0], "m", Actuator(**motor)) for k, r in ((1, 1.0), (2, 2.0))
    ]
    body = ap.MovingBody("block", lambda q: ap.Pose(translation=ap.Vec3(q[0], 0.0, 0.0)), disc(2.0, 0.1))
    limits = ((-0.3, 0.3),)
    return ap.Mechanism("block", ("x",), [body], drives, home=(0.0,), ranges=limits, gravity=(-3.0, 0.0, 0.0))


def test_a_mechanism_with_redundant_actuators_is_controlled():
    loop = loop_of(block(friction=Friction(viscous=1.0, coulomb=0.5)), seed=2)
    assert run_task(loop, ramp(loop)).finished
    assert np.abs(loop.position - loop.device.q).max() < 1e-5
    assert abs(loop.position[0]) > 0.05


def test_inconsistent_positions_are_fitted_by_least_squares():
    dyn = ap.Dynamics(block())
    q = coordinates_at(dyn, np.array([0.101, 0.198]), np.zeros(1))
    np.testing.assert_allclose(q, (0.101 + 2 * 0.198) / 5.0, rtol=1e-12)  # least squares: Jᵀθ / JᵀJ


def test_an_angle_is_tracked_across_the_jump_of_its_arctangent():
    """The plant continues its counts where θ(q) jumps by 2π; the servo compares with the nearest branch."""
    crank = ap.LegJoint("crank", lambda q: atan2(sin(q[0]), cos(q[0])))
    body = ap.MovingBody("arm", lambda q: ap.Pose(Angle(cos(q[0]), sin(q[0])).about_z), disc(1.0, 0.1))
    wheel = ap.Mechanism("wheel", ("phi",), [body], [crank], home=(3.0,), ranges=((2.0, 5.0),))
    loop = loop_of(wheel)
    assert run_task(loop, lambda q: Reference.sampled(Ramp(q, q + 1.0, 0.8, 3.0), loop.period)).finished
    np.testing.assert_allclose(loop.device.q, 4.0, atol=1e-3)


def test_a_generic_cabinet_uses_the_described_actuators():
    actuator = Actuator(gear=50.0, rotor_inertia=1e-4, torque=30.0, current=4.0, torque_constant=0.2)
    delta = ap.load("delta").with_actuators(lambda name, _: actuator)
    for channel in generic_wiring(delta).channels:
        assert channel.actuator == actuator
        assert channel.torque_limit == 30.0
    bare = generic_wiring(ap.load("delta"))
    dyn, rng = ap.Dynamics(ap.load("delta")), np.random.default_rng(1)
    lower, upper = np.array(ap.load("delta").ranges).T
    q = rng.uniform(lower, upper, (300, 3))
    theta, tau = dyn.actuator_positions(q), dyn.inverse_dynamics(q, 0 * q, 0 * q)
    assert ((theta > bare.column("lower")) & (theta < bare.column("upper"))).all()
    assert (np.abs(tau) < bare.reachable_torque).all()


def test_a_servo_accepts_only_a_model_with_the_same_names():
    wiring = generic_wiring(ap.load("delta"))
    info = cabinet_info(wiring)
    heavier = ap.load("delta").with_bodies({"platform": disc(1.0, 0.05)})
    assert standard_servo(ap.load("delta"), info, model=heavier).system is heavier
    with pytest.raises(ArgumentError, match="the model has coordinate names x, y; mechanism 'delta' has x, y, z"):
        standard_servo(ap.load("delta"), info, model=ap.load("five-bar"))
    with pytest.raises(ArgumentError, match=r"has the actuators a, b, c: 'a' for 'theta1', 'b' for 'theta2'"):
        standard_servo(ap.load("delta"), replace(info, actuators=("a", "b", "c")))
