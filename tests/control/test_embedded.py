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


def designed(law="tracking-integral", observer=None, robot=None, **limits):
    robot = ap.load(example_path("ur5_robot")) if robot is None else robot
    arm = hw.SimulatedArm(robot, hw.VirtualClock())
    servo = hw.standard_servo(robot, arm.info, law=law, **limits)
    return robot, servo if observer is None else Servo(
        replace(servo.design, observer=observer), servo.info, servo.guard
    )


class Rows:
    """Inputs and results of every tick of a loop: what the compiled step receives, and what it must return."""

    def __init__(self, robot, servo, lost=(), payload=0.0):
        clock, real = hw.VirtualClock(), robot.with_payload(payload) if payload else robot
        start = UR5_POSTURE if robot.nv == 6 else robot.start
        self.device = hw.SimulatedArm(real, clock, start)
        self.loop, self.rows, self.lost = hw.Loop(self.device, servo, clock), [], lost
        read = self.device.read
        self.device.read = lambda state: read(state) and self.loop.grid not in self.lost

    def run(self, ticks, trigger=Trigger.NONE, reference=None):
        loop = self.loop
        for k in range(ticks):
            wanted = np.zeros((3, loop.servo.system.nq))
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
        path = hw.Reference.sampled(ap.motion.Ramp(self.loop.position, self.loop.position + size, 0.5, 3.0), PERIOD)
        self.loop.start(path)
        self.run(ticks, Trigger.START, path)
        if self.loop.state is State.RUNNING:
            self.loop.stop()
            self.run(200, Trigger.STOP, path)
        return self


def repeated(servo, rows, step=None):
    """Compare the compiled step with all rows, its memory from the row in which the loop is armed."""
    embedded = Embedded(servo, Policy())
    bound = (step or embedded.function()).bind()
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


def test_tasks_with_lost_states_and_stops_are_repeated_bit_by_bit():
    robot, servo = designed("passivity")
    step = Embedded(servo, Policy()).function()
    run = Rows(robot, servo, lost=(100, 101, 102, 300, 301)).task(400)
    assert repeated(servo, run.rows, step)[1:3] == (State.ARMED, 0.0)
    assert max(abs(row[1][0]).max() for row in run.rows) > 10.0
    run = Rows(robot, servo, lost=range(200, 230)).task(300)
    assert repeated(servo, run.rows, step)[1:3] == (State.FAULT, hw.Fault.STALE)


@pytest.mark.parametrize(("case", "limits"), [("VELOCITY", {"velocity": 0.5}), ("FOLLOWING", {"following": 1e-7})])
def test_limits_stop_the_arm_as_in_the_loop(case, limits):
    robot, servo = designed(robot=ap.load("planar-2r"), **limits)
    run = Rows(robot, servo).task(400)
    run.run(100)
    assert repeated(servo, run.rows)[1:3] == (State.FAULT, hw.Fault[case])


def test_a_contact_stops_the_arm_as_in_the_loop():
    observer = ContactObserver(threshold=2.0)
    robot, servo = designed(observer=observer, robot=ap.load("planar-2r"))
    run = Rows(robot, servo, payload=1.0).task(300)
    run.run(200)
    mode, fault = repeated(servo, run.rows)[1:3]
    assert mode == State.FAULT
    assert int(fault) & hw.Fault.CONTACT.value
    assert "touched something" in run.loop.sentence


@pytest.mark.skipif(not host().has_fma, reason="this machine has no fused multiply-add")
def test_the_supervised_step_in_c_gives_the_bits_of_the_loop(tmp_path):
    robot, servo = designed("passivity", robot=ap.load("planar-2r"), velocity=0.5)
    run = Rows(robot, servo).task(300)
    code = servo.to_c("arm")
    c = library(code, tmp_path, "-O0")
    embedded = Embedded(servo, Policy())
    memory, tau = np.full(servo.memory.size + embedded.blocks.size, np.nan), np.zeros(2)
    mode, fault = np.zeros(1), np.zeros(1)
    c.arm_init(address(memory))
    for (state, reference, fresh, trigger), expected in run.rows:
        numbers = [ctypes.c_double(x) for x in (fresh, trigger, 0.0)]
        c.arm_step(address(memory), address(state), address(reference), *numbers, *map(address, (tau, mode, fault)))
        assert np.array_equal(tau, expected[0])
        assert (mode[0], fault[0]) == expected[1:3]
    assert int(fault[0]) == hw.Fault.VELOCITY.value


def test_only_servos_in_torque_mode_have_a_step_in_c():
    servo = designed(robot=ap.load("planar-2r"))[1]
    moving = Servo(servo.design, replace(servo.info, modes=("position",)), servo.guard, mode="position")
    with pytest.raises(ArgumentError, match="mode 'position'"):
        moving.to_c()
