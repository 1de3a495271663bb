"""Law, guard and supervisor as one compiled step, which repeats runs of the loop bit by bit; the step as C."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest

import appell as ap
from appell.compile.native.machine import host
from appell.control import ContactObserver
from appell.errors import ArgumentError
from appell.hardware import Policy, State, Trigger
from appell.hardware.loop.embedded import Embedded
from appell.hardware.loop.servo import Servo
from c_libraries import address, library
from open_laws import PERIOD

hw = ap.hardware


@pytest.fixture(scope="module")
def servo():
    robot = ap.load("planar-2r")
    standard = hw.standard_servo(robot, hw.SimulatedArm(robot, hw.VirtualClock()).info, law="passivity")
    design = replace(standard.design, observer=ContactObserver(threshold=2.0))
    return Servo(design, standard.info, standard.guard)


@pytest.fixture(scope="module")
def step(servo):
    return Embedded(servo, Policy()).function()


class Rows:
    """Inputs and results of every tick of a loop: what the compiled step receives, and what it must return."""

    def __init__(self, servo, lost=(), payload=0.0, late=(9.0, 9.0)):
        self.clock = clock = hw.VirtualClock(lateness=lambda t: 1.5 * PERIOD if late[0] <= t < late[1] else 0.0)
        real = servo.system.with_payload(payload) if payload else servo.system
        self.device = hw.SimulatedArm(real, clock)
        self.loop, self.rows, self.lost = hw.Loop(self.device, servo, clock), [], lost
        self.lateness, read = 0.0, self.device.read  # s, of the tick before
        self.device.read = lambda state: read(state) and self.loop.grid not in self.lost

    def run(self, ticks, trigger=Trigger.NONE, reference=None):
        loop = self.loop
        for k in range(ticks):
            wanted = np.zeros((3, loop.servo.system.nq))
            if reference is not None:
                at = loop.grid - self.loop._started
                wanted = reference.samples[at] if at < len(reference) else reference.end
            fresh, scheduled = loop.grid not in self.lost, loop._origin + loop.grid * PERIOD
            loop.tick()
            result = loop._command.tau.copy(), float(loop.state), float(loop.fault.value), loop._tick.memory_next.copy()
            numbers = float(fresh), float(trigger if k == 0 else 0), self.lateness
            self.rows.append(((loop._state.numbers.copy(), wanted.copy(), *numbers), result))
            self.lateness = self.clock.now() - scheduled

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


def repeated(servo, step, rows):
    """Compare the compiled step with all rows, its memory from the row in which the loop is armed."""
    embedded, bound = Embedded(servo, Policy()), step.bind()
    bound.memory_next[:], bound.supervisor_next[:] = embedded.memory_start, embedded.blocks.start
    known = 0
    for tick, ((state, reference, fresh, trigger, late), (tau, mode, fault, memory)) in enumerate(rows):
        bound.memory[:], bound.supervisor[:] = bound.memory_next, bound.supervisor_next
        bound.state[:], bound.reference[:] = state, reference
        bound.fresh[...], bound.trigger[...], bound.lateness[...] = fresh, trigger, late
        bound()
        if (
            not hw.Fault.DEADLINE & int(fault) & ~known
        ):  # the loop detects it at the end of a tick, the step in the next
            assert (float(bound.mode), float(bound.fault)) == (mode, fault), tick
        known = int(fault)
        assert np.array_equal(bound.command, tau), tick
        if tick >= 25:
            assert np.array_equal(bound.memory_next, memory), tick
    return rows[-1][1]


@pytest.mark.parametrize(
    ("case", "options"),
    [
        ("NONE", {"lost": (100, 101, 102, 300, 301)}),
        ("STALE", {"lost": range(200, 230)}),
        ("DEADLINE", {"late": (0.2, 0.22)}),
        ("CONTACT", {"payload": 1.0}),
    ],
)
def test_runs_of_a_loop_are_repeated_bit_by_bit(servo, step, case, options):
    run = Rows(servo, **options).task(400)
    run.run(100)
    mode, fault = repeated(servo, step, run.rows)[1:3]
    assert mode == (State.ARMED if case == "NONE" else State.FAULT)
    assert int(fault) & hw.Fault[case] == hw.Fault[case]
    assert run.loop.fault.value == int(fault)
    assert max(abs(row[1][0]).max() for row in run.rows) > 5.0


@pytest.fixture(scope="module")
def guarded():
    """A servo that stops before a ball on the second link touches a post on its way."""
    robot = ap.load("planar-2r")
    at = ap.Dynamics(robot).pose("lower", robot.start + 0.3) @ [0.5, 0.0, 0.0, 1.0]
    ball = ap.Collision("lower", "sphere", (0.1,), name="ball", pose=[0.5, 0.0, 0.0])
    post = ap.Collision(None, "sphere", (0.1,), name="post", pose=at[:3])
    return hw.standard_servo(robot.with_collisions(ball, post), law="passivity", margin=0.03)


@pytest.mark.skipif(not host().has_fma, reason="this machine has no fused multiply-add")
@pytest.mark.parametrize(("case", "text"), [("CONTACT", "touched something"), ("COLLISION", "'ball' and 'post' are")])
def test_the_supervised_step_in_c_gives_the_bits_of_the_loop(servo, guarded, tmp_path, case, text):
    servo, payload = (servo, 1.0) if case == "CONTACT" else (guarded, 0.0)
    run = Rows(servo, payload=payload).task(300 if payload else 800)
    c, embedded = library(servo.to_c("arm"), tmp_path, "-O0"), Embedded(servo, Policy())
    memory, tau = np.full(servo.memory.size + embedded.blocks.size, np.nan), np.zeros(2)
    mode, fault = np.zeros(1), np.zeros(1)
    c.arm_init(address(memory))
    for (state, reference, *scalars), expected in run.rows:
        numbers = [ctypes.c_double(x) for x in scalars]
        c.arm_step(address(memory), address(state), address(reference), *numbers, *map(address, (tau, mode, fault)))
        assert np.array_equal(tau, expected[0])
        assert (mode[0], fault[0]) == expected[1:3]
    assert int(fault[0]) & hw.Fault[case]
    assert text in run.loop.sentence


def test_only_servos_in_torque_mode_have_a_step_in_c(servo):
    moving = Servo(servo.design, replace(servo.info, modes=("position",)), servo.guard, mode="position")
    with pytest.raises(ArgumentError, match="mode 'position'"):
        moving.to_c()
