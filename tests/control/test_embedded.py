"""Law, guard and supervisor as one compiled step, which repeats runs of the loop bit by bit; the step as C."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest
from test_controller_in_c import address, library

import appell as ap
from appell.compile.native.machine import host
from appell.control import ContactObserver
from appell.errors import ArgumentError
from appell.hardware import Policy, State, Trigger
from appell.hardware.loop.embedded import Embedded
from appell.hardware.loop.servo import Servo
from open_laws import PERIOD, UR5_POSTURE, example_path

hw = ap.hardware


def designed(law="tracking-integral", observer=None, **limits):
    robot = ap.load(example_path("ur5_robot"))
    arm = hw.SimulatedArm(robot, hw.VirtualClock())
    servo = hw.standard_servo(robot, arm.info, law=law, **limits)
    return robot, servo if observer is None else Servo(
        replace(servo.design, observer=observer), servo.info, servo.guard
    )


class Rows:
    """Inputs and results of every tick of a loop: what the compiled step receives, and what it must return."""

    def __init__(self, robot, servo, lost=(), late=(), payload=0.0):
        clock = hw.VirtualClock(lateness=None if not late else lambda tick: 2.0 * PERIOD if tick in late else 0.0)
        real = robot.with_payload(payload, com=(0.0, 0.0, 0.1)) if payload else robot
        self.device = hw.SimulatedArm(real, clock, UR5_POSTURE)
        self.loop, self.rows, self.lost = hw.Loop(self.device, servo, clock), [], lost
        read = self.device.read
        self.device.read = lambda state: read(state) and self.loop.grid not in self.lost

    def run(self, ticks, trigger=Trigger.NONE, reference=None):
        loop = self.loop
        for k in range(ticks):
            wanted = np.zeros((3, 6))
            if reference is not None:
                at = loop.grid - self.loop._started
                wanted = reference.samples[at] if at < len(reference) else reference.end
            fresh = loop.grid not in self.lost
            loop.tick()
            result = loop._command.tau.copy(), float(loop.state), float(loop.fault.value), loop._tick.memory_next.copy()
            given = loop._measured.copy(), wanted.copy(), float(fresh), float(trigger if k == 0 else 0)
            self.rows.append((given, result))

    def task(self, ticks, size=0.3):
        """Read, arm, start, follow a ramp, stop."""
        self.run(25)
        self.loop.arm()
        self.run(3, Trigger.ARM)
        path = hw.Reference.sampled(ap.motion.Ramp(self.loop.position, self.loop.position + size, 0.8, 3.0), PERIOD)
        self.loop.start(path)
        self.run(ticks, Trigger.START, path)
        if self.loop.state is State.RUNNING:
            self.loop.stop()
            self.run(200, Trigger.STOP, path)
        return self


def repeated(servo, rows, policy=Policy()):  # noqa: B008 - frozen
    """Compare the compiled step with all rows from the one in which the loop is armed."""
    embedded = Embedded(servo, policy)
    bound = embedded.function().bind()
    bound.memory_next[:], bound.supervisor_next[:] = embedded.memory_start, embedded.blocks.start
    for tick, ((state, reference, fresh, trigger), (tau, mode, fault, memory)) in enumerate(rows):
        bound.memory[:], bound.supervisor[:] = bound.memory_next, bound.supervisor_next
        bound.state[:], bound.reference[:] = state, reference
        bound.fresh[...], bound.trigger[...], bound.lateness[...] = fresh, trigger, 0.0
        bound()
        assert (float(bound.mode), float(bound.fault)) == (mode, fault), tick
        assert np.array_equal(bound.command, tau), tick
        if tick >= 25:
            assert np.array_equal(bound.memory_next, memory), tick
    return rows[-1][1]


def test_a_task_with_start_and_stop_is_repeated_bit_by_bit():
    robot, servo = designed()
    run = Rows(robot, servo).task(400)
    assert repeated(servo, run.rows)[1] == State.ARMED
    assert max(abs(row[1][0]).max() for row in run.rows) > 10.0


@pytest.mark.parametrize(
    ("case", "limits", "lost", "state"),
    [
        ("VELOCITY", {"velocity": 0.8}, (), State.FAULT),
        ("FOLLOWING", {"following": 1e-7}, (), State.FAULT),
        ("STALE", {}, range(200, 230), State.FAULT),
        ("NONE", {}, (100, 101, 102, 300, 301), State.ARMED),
    ],
)
def test_faults_stop_the_arm_as_in_the_loop(case, limits, lost, state):
    robot, servo = designed("passivity", **limits)
    run = Rows(robot, servo, lost).task(500)
    run.run(100)
    mode, fault = repeated(servo, run.rows)[1:3]
    assert mode == state
    assert int(fault) == hw.Fault[case].value


def test_a_contact_stops_the_arm_as_in_the_loop():
    robot, servo = designed(observer=ContactObserver(threshold=4.0))
    run = Rows(robot, servo, payload=2.0).task(300)
    run.run(200)
    mode, fault = repeated(servo, run.rows)[1:3]
    assert mode == State.FAULT
    assert int(fault) & hw.Fault.CONTACT.value
    assert "touched something" in run.loop.sentence


@pytest.mark.skipif(not host().has_fma, reason="this machine has no fused multiply-add")
def test_the_supervised_step_in_c_gives_the_bits_of_the_loop(tmp_path):
    robot, servo = designed("passivity", velocity=0.8)
    run = Rows(robot, servo).task(300)
    code = servo.to_c("arm")
    c = library(code, tmp_path, "-O0")
    embedded = Embedded(servo, Policy())
    memory, tau = np.full(servo.memory.size + embedded.blocks.size, np.nan), np.zeros(6)
    mode, fault = np.zeros(1), np.zeros(1)
    c.arm_init(address(memory))
    for (state, reference, fresh, trigger), expected in run.rows:
        numbers = [ctypes.c_double(x) for x in (fresh, trigger, 0.0)]
        c.arm_step(address(memory), address(state), address(reference), *numbers, *map(address, (tau, mode, fault)))
        assert np.array_equal(tau, expected[0])
        assert (mode[0], fault[0]) == expected[1:3]
    assert int(fault[0]) == hw.Fault.VELOCITY.value


def test_only_servos_in_torque_mode_have_a_step_in_c():
    servo = designed()[1]
    moving = Servo(servo.design, replace(servo.info, modes=("position",)), servo.guard, mode="position")
    with pytest.raises(ArgumentError, match="mode 'position'"):
        moving.to_c()
