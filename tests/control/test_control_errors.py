"""Invalid input of controllers and loops is rejected by name before anything moves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from appell.control.controller import Controller
from appell.control.design import Design
from appell.control.gains import Gains, critical, placed
from appell.describe.load import load
from appell.errors import ArgumentError
from appell.hardware.cabinet.simulated import CabinetModel, Injection, SimulatedCabinet
from appell.hardware.cabinet.wiring import Channel, Wiring
from appell.hardware.clock import VirtualClock
from appell.hardware.loop.control_loop import Loop
from appell.hardware.loop.reference import Reference
from appell.hardware.loop.response import closed_loop
from appell.hardware.loop.servo import Servo
from appell.hardware.loop.supervisor import Guard, Policy, State
from appell.hardware.plant import Plant
from appell.model.actuator import IDEAL, Actuator
from control_motion import START, WIRING, Swing

MOTOR = Actuator(gear=50.0, torque_constant=0.1, current=5.0)


@pytest.mark.parametrize(
    ("gains", "message"),
    [
        (Gains(kp=[100.0] * 5, kd=20.0), r"gain kp has shape \(5,\); robot 'puma' has 6 joints"),
        (Gains(kp=100.0, kd=-1.0), "gain kd of joint 'joint1' is -1"),
        (Gains(kp=[1, 1, 1, -1, 1, 1], kd=1.0), "gain kp of joint 'joint4' is -1"),
        (Gains(kp=float("nan"), kd=1.0), "gain kp of joint 'joint1' is nan"),
        (Gains(kp="stiff", kd=1.0), "gain kp is 'stiff'"),
        (Gains(kp=0.0, kd=1.0), "kp is zero for all joints"),
        (Gains(kp=1.0, kd=1.0, ki=1.0), "has no integral action, but gain ki is given"),
    ],
)
def test_gains_of_the_wrong_size_or_sign_are_rejected(puma, gains, message):
    with pytest.raises(ArgumentError, match=message):
        Design(puma, gains)


@pytest.mark.parametrize("period", [0.0, -1e-3, float("nan"), float("inf")])
def test_an_invalid_period_is_rejected(puma, period):
    with pytest.raises(ArgumentError, match="the period is"):
        Design(puma, Gains(100.0, 20.0), period=period)
    with pytest.raises(ArgumentError, match="the period is"):
        Reference.sampled(Swing(), period)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"law": "traking"}, "no control law 'traking'. Did you mean 'tracking'?"),
        ({"law": "tracking-integral"}, "has integral action, but gain ki is zero"),
        ({"torque_limit": 0.0}, "torque_limit of joint 'joint1' is 0"),
        ({"torque_rate": -5.0}, "torque_rate of joint 'joint1' is -5"),
        ({"ahead": 3.0}, "ahead is 3 periods"),
        ({"stop_damping": 2000.0}, "stop_damping is 2000/s with a period"),
    ],
)
def test_inconsistent_designs_are_rejected(puma, options, message):
    with pytest.raises(ArgumentError, match=message.replace("?", r"\?")):
        Design(puma, Gains(100.0, 20.0), **options)


@pytest.mark.parametrize(
    ("poles", "period", "message"),
    [
        ([1.0, -2.0], 0.0, "not all stable"),
        ([-1.0], 0.0, "1 poles"),
        ([-1 + 1j, -2], 0.0, "not conjugate"),
        ([-900.0, -900.0], 1e-3, "too fast for a period"),
    ],
)
def test_impossible_poles_are_rejected(poles, period, message):
    with pytest.raises(ArgumentError, match=message):
        placed(poles, period)


def test_limits_that_exclude_the_start_are_rejected(puma, servo, plant_model):
    lower, upper = WIRING.column("lower"), WIRING.column("upper")
    lower[2] = START[2] + 0.2
    narrow = Servo(servo.design, servo.info, Guard(lower, upper, torque=servo.guard.torque))
    clock = VirtualClock()
    cabinet = SimulatedCabinet(plant_model, clock, START)
    loop = Loop(cabinet, narrow, clock)
    loop.run(25)
    with pytest.raises(ArgumentError, match=r"joint 'joint3' is at 2\.6.*, outside its limits"):
        loop.arm()
    assert loop.state is State.IDLE
    assert not cabinet.enabled


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lower": 1.0, "upper": -1.0}, "the limits of joint 'joint1' are 1 and -1"),
        ({"lower": -1.0, "upper": 1.0, "velocity": 0.0}, "limit velocity of joint 'joint1' is 0"),
        ({"lower": [-1.0] * 4, "upper": 1.0}, "limit lower has shape"),
        ({"lower": -3.0, "upper": 3.0, "torque": 500.0}, "the torque limit of joint 'joint1' is 500 N m"),
    ],
)
def test_invalid_limits_are_rejected(servo, options, message):
    with pytest.raises(ArgumentError, match=message):
        Servo(servo.design, servo.info, Guard(**options))


def armed(make_loop) -> Loop:
    loop = make_loop()
    loop.run(25)
    loop.arm()
    return loop


def rejects(loop: Loop, reference: Reference, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        loop.start(reference)
    assert loop.state is State.ARMED
    assert not loop.device.enabled


def test_a_reference_that_jumps_is_rejected(make_loop):
    loop = armed(make_loop)
    samples = Reference.sampled(Swing(loop.position), loop.period).samples.copy()
    samples[700:, 0, 3] += 0.1
    rejects(
        loop, Reference(samples, loop.period, loop.servo.system.coordinate_names), "joint 'joint4' jumps at t = 0.7 s"
    )


def test_a_reference_that_jumps_at_its_start_is_rejected(make_loop):
    loop = armed(make_loop)
    rejects(loop, Reference.sampled(Swing(loop.position + 0.3), loop.period), "joint 1 jumps at its start")


def test_a_reference_beyond_the_limits_is_rejected(make_loop):
    loop = armed(make_loop)
    size = np.array([0.0, 0.0, 2.0, 0.0, 0.0, 0.0])
    rejects(loop, Reference.sampled(Swing(loop.position, size, 8.0), loop.period), "moves joint 3 to")


def test_a_reference_with_another_period_or_size_is_rejected(make_loop):
    loop = armed(make_loop)
    rejects(
        loop,
        Reference.sampled(Swing(loop.position), 2e-3),
        "the period of the reference is 0.002 s, that of the loop 0.001 s",
    )
    rejects(loop, Reference.hold(np.zeros(3), loop.period, 1.0), "has 3 joints; the arm has 6")


def test_a_reference_that_is_not_finite_is_rejected():
    samples = np.zeros((10, 3, 6))
    samples[4, 1, 2] = np.nan
    with pytest.raises(ArgumentError, match="velocity of joint 3 at tick 4"):
        Reference(samples, 1e-3)


def test_a_path_without_a_duration_is_rejected():
    with pytest.raises(ArgumentError, match="the path has no duration"):
        Reference.sampled(lambda t: Swing()(t), 1e-3)


def test_a_model_with_other_joints_than_the_cabinet_is_rejected(puma, servo, plant_model):
    panda = load("panda")
    with pytest.raises(ArgumentError, match=r"robot 'panda' has joints .*; the PUMA 600 cabinet drives joint1"):
        CabinetModel(panda, WIRING)
    with pytest.raises(ArgumentError, match=r"the PUMA 600 cabinet has the actuators .* \(6 instead of 7\)"):
        Servo(Design(panda, critical(20.0)), servo.info, Guard(-1.0, 1.0))
    with pytest.raises(ArgumentError, match="the plant has joints"):
        closed_loop(Controller(Design(panda, critical(20.0))), Plant(puma), Reference.hold(START, 1e-3, 1.0))


def test_a_servo_for_another_cabinet_is_rejected(servo, plant_model):
    other = replace(WIRING, bits=16, name="another cabinet")
    clock = VirtualClock()
    cabinet = SimulatedCabinet(CabinetModel(plant_model.system, other), clock, START)
    with pytest.raises(ArgumentError, match="made for another device: another cabinet has resolution"):
        Loop(cabinet, servo, clock)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Channel(MOTOR, 1.0, -1.0), "the range of a channel's actuator is 1 to -1"),
        (lambda: Channel(MOTOR, -1.0, 1.0, supply=0.0), "supply is 0"),
        (lambda: Channel(IDEAL, -1.0, 1.0), "torque constant None and cannot be wired"),
        (lambda: Wiring(("a", "b"), (Channel(MOTOR, -1.0, 1.0),), (0.0, 0.0)), "1 channels are given for 2 actuators"),
        (lambda: Injection("meteorite", 1.0), "no fault 'meteorite'"),
        (lambda: Policy(misses=-1), "the policy.s misses is -1"),
        (lambda: Policy(stop_time=0.0), "stop time is 0"),
    ],
)
def test_invalid_parts_are_rejected(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


def test_a_payload_without_mass_is_rejected(puma):
    with pytest.raises(ArgumentError, match=r"the payload is 0\.0"):
        puma.with_payload(0.0)
