"""The control loop: calibration, tracking, and all conditions under which it must stop."""

from __future__ import annotations

import numpy as np
import pytest

from appell.errors import ArgumentError
from appell.hardware.cabinet.simulated import Faults, Injection
from appell.hardware.loop.reference import Reference
from appell.hardware.loop.replay import first_difference, replay
from appell.hardware.loop.startup import homing_motion
from appell.hardware.loop.supervisor import TRANSITIONS, Fault, Policy, State, Trigger
from appell.motion import Record
from control_motion import START, Swing


def test_potentiometers_give_an_approximate_and_index_pulses_an_exact_position(make_loop):
    loop = make_loop(seed=5)
    loop.run(25)
    loop.arm()
    pitch, count = loop.device.wiring.column("index_pitch"), 1.0 / loop.device.wiring.column("resolution")
    coarse = np.abs(loop.position - loop.device.q)
    assert (coarse < 0.35 * pitch).all()
    search = homing_motion(loop.servo, loop.device.travel, loop.position)
    loop.start(search)
    loop.run(len(search) + 200)
    loop.stop()
    loop.run(300)
    assert loop.state is State.ARMED
    loop.refine()
    exact = np.abs(loop.position - loop.device.q)
    assert (exact < 0.6 * count).all()  # half a count, and rounding
    assert coarse.max() > 10 * exact.max()


def test_the_index_pulse_cannot_be_used_before_it_has_passed(make_loop):
    loop = make_loop()
    loop.run(25)
    loop.arm()
    with pytest.raises(ArgumentError, match="has not passed an index pulse yet"):
        loop.refine()


def test_a_swing_is_tracked_through_converters_and_encoders_within_3_mrad(moving):
    loop = moving(seed=1)
    worst = 0.0
    swing = Swing(loop.position)
    offset = loop.position - loop.device.q
    for k in range(2000):
        loop.tick()
        worst = max(worst, np.abs(loop.device.q + offset - swing(k * loop.period)[0]).max())
    assert loop.state is State.RUNNING
    assert worst < 3e-3


def test_an_invalid_command_raises_an_error_with_the_state(make_loop):
    loop = make_loop()
    reference = Reference.hold(START, loop.period, 1.0)
    for command in (loop.stop, loop.refine, loop.disarm, lambda: loop.start(reference), lambda: loop.clear("me")):
        with pytest.raises(ArgumentError, match="the loop is in state IDLE and cannot"):
            command()
    with pytest.raises(ArgumentError, match="has received only 0 good states"):
        loop.arm()


def test_a_stop_brakes_the_arm_with_gravity_compensation_and_then_switches_off(moving):
    loop = moving()
    loop.run(400)
    assert np.abs(loop.device.v).max() > 0.3
    loop.stop()
    before = loop.device.q
    loop.run(350)
    assert loop.state is State.ARMED
    assert not loop.device.enabled
    assert np.abs(loop.device.v).max() < 1e-6
    assert np.abs(loop.device.q - before).max() < 0.1


CASES = [
    ("encoder-loss", Fault.SENSOR | Fault.FOLLOWING),
    ("potentiometer-stuck", Fault.SENSOR),
    ("over-temperature", Fault.TEMPERATURE),
    ("not-a-number", Fault.NOT_A_NUMBER),
    ("dropped-reads", Fault.STALE),
    ("power-loss", Fault.POWER),
    ("missed-deadlines", Fault.DEADLINE),
]


@pytest.mark.parametrize(("kind", "expected"), CASES, ids=[kind for kind, _ in CASES])
def test_each_fault_is_detected_and_latched(moving, kind, expected):
    loop = moving(faults=Faults([Injection(kind, 0.3, actuator=0)]))
    loop.run(1200)
    assert loop.state is State.FAULT
    assert loop.fault & expected
    assert not loop.fault & ~(expected | Fault.WATCHDOG | Fault.STOP_TIMEOUT)
    assert not loop.device.enabled
    assert np.abs(loop.device.v).max() < 1e-6
    latched = loop.fault
    loop.run(200)
    assert loop.fault & latched == latched


@pytest.mark.parametrize("kind", ["not-a-number", "dropped-reads", "missed-deadlines"])
def test_a_short_disturbance_is_tolerated(moving, kind):
    loop = moving(faults=Faults([Injection(kind, 0.3, duration=0.0035)]))
    loop.run(1500)
    assert loop.state is State.RUNNING
    assert loop.fault is Fault.NONE


def test_a_fault_is_cleared_only_by_a_named_person(moving):
    loop = moving(faults=Faults([Injection("over-temperature", 0.3, duration=0.1)]))
    loop.run(800)
    assert loop.state is State.FAULT
    for command in (loop.arm, loop.stop, loop.disarm):
        with pytest.raises(
            ArgumentError, match=r"state FAULT \(the motor is too hot \(joint 'joint1'\): let it cool down"
        ):
            command()
    with pytest.raises(ArgumentError, match="the name of the person who clears the fault is missing"):
        loop.clear("  ")
    loop.clear("the operator")
    assert loop.state is State.IDLE
    assert loop.fault is Fault.NONE
    assert any("the operator cleared: the motor is too hot (joint 'joint1')" in line for line in loop.history)
    loop.run(30)
    loop.arm()
    assert loop.state is State.ARMED


def test_only_the_command_clear_leaves_the_state_fault():
    assert {
        trigger for (state, trigger), after in TRANSITIONS.items() if state is State.FAULT and after is not state
    } == {Trigger.CLEAR}


def test_a_persistent_fault_recurs_after_it_was_cleared(moving):
    loop = moving(faults=Faults([Injection("over-temperature", 0.3)]))
    loop.run(800)
    loop.clear("the operator")
    loop.run(2)
    assert loop.state is State.FAULT


def test_a_joint_that_is_pushed_too_fast_is_stopped(moving):
    loop = moving()
    loop.run(200)
    loop.device.bound.state_next[6] += 4.0  # rad/s, as if the arm were hit
    loop.run(600)
    assert loop.state is State.FAULT
    assert loop.fault & (Fault.VELOCITY | Fault.FOLLOWING)


def test_missed_ticks_are_skipped_and_not_executed_later(moving, tmp_path):
    path = tmp_path / "run.log"
    loop = moving(log=path, faults=Faults([Injection("missed-deadlines", 0.3, duration=0.003)]))
    loop.run(600)
    loop.close()
    log = Record.read(path)
    steps = np.diff(log["tick"])
    assert set(steps.tolist()) == {1.0, 2.0}
    assert np.diff(log["woke"]).min() > 0.4e-3
    np.testing.assert_allclose(log["t"], log["tick"] * 1e-3, atol=1e-12)


def spy_on(loop) -> list[np.ndarray]:
    """Return a list to which the torques of all following commands are appended."""
    written: list[np.ndarray] = []
    write = loop.device.write
    loop.device.write = lambda command: (written.append(command.tau.copy()), write(command))
    return written


def test_the_log_of_a_late_tick_contains_the_torques_that_were_written(moving, servo, tmp_path):
    """The tick that misses one deadline too many has already written; the stop starts with the next tick."""
    loop = moving(log=tmp_path / "run.log", faults=Faults([Injection("missed-deadlines", 0.3, duration=0.05)]))
    written = spy_on(loop)
    loop.run(800)
    loop.close()
    log = Record.read(tmp_path / "run.log")
    assert loop.fault & Fault.DEADLINE
    np.testing.assert_array_equal(log["tau"][25:], written)  # the spy was installed after 25 ticks
    late = int(np.flatnonzero(log["fault"])[0])
    assert (log["tau"][late] != log["tau"][late + 1]).any()
    assert first_difference(log, replay(log, servo)) is None


@pytest.mark.parametrize("kind", ["over-temperature", "dropped-reads", "not-a-number"])
def test_the_log_contains_the_written_torques_under_every_fault(moving, tmp_path, kind):
    loop = moving(log=tmp_path / "run.log", faults=Faults([Injection(kind, 0.3)]))
    written = spy_on(loop)
    loop.run(700)
    loop.close()
    np.testing.assert_array_equal(Record.read(tmp_path / "run.log")["tau"][25:], written)


def test_a_stop_ends_at_its_target_and_rejects_disturbances(moving):
    loop = moving()
    loop.run(400)
    speed, position = loop.device.v, loop.position
    loop.stop()
    loop.run(5)
    loop.device.bound.quirks[6:12] += 0.05  # V: offsets of the amplifiers, which only the law compensates
    loop.run(300)
    assert loop.state is State.ARMED
    end = position + speed / loop.servo.design.stop_damping
    assert np.abs(loop.device.q - end).max() < 0.02


def test_the_policy_sets_the_number_of_tolerated_deadlines(moving):
    for misses, state in ((1, State.FAULT), (40, State.RUNNING)):
        faults = Faults([Injection("missed-deadlines", 0.3, duration=0.02)])
        loop = moving(faults=faults, policy=Policy(misses=misses))
        loop.run(700)
        assert loop.state is state
