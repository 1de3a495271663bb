"""Law, guard and supervisor of a servo as one function, which exports as one C step for a computer without Python.

    arm_init(&memory);
    for (;;) {                                                                  once per period
        fresh = read(state);                                                    0 if there is no new state
        arm_step(&memory, state, reference, fresh, trigger, lateness, command, &mode, &fault);
        write(command);                                                         zeros unless mode is 2 or 3
    }

    state         what the device measures, in the order of `servo.layout`; finite numbers, zeros for what it does not
                  measure. For a measurement that is not a number pass the last state and fresh = 0
    reference     q_d, v_d and a_d of this period; its start and its limits are the caller's responsibility
    trigger       a command of `Trigger` (ARM 1, DISARM 2, START 3, STOP 4, CLEAR 5) or 0; ignored in states that do not
                  allow it, before enough states have been read, and for ARM outside the limits of position. ARM where
                  collision shapes are nearer than the margin leads to a fault in the same step
    lateness      time from the scheduled start of the last step to its end, in s
    mode, fault   `State` and the bits of `Fault`

The step is that of `Loop.tick` with the tables of `supervisor`: the same states, faults and torques, bit by bit. If an
alarm starts a stop, observer and law are evaluated for the stop in the same step, so that the observer appears twice.
Conditions are numbers, 1 or 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from appell.algebra.loops import UNROLLED, Loops
from appell.algebra.scalar import Scalar, floor, maximum, minimum, select
from appell.compile.c.signature import identifier
from appell.compile.c.source import CSource, StepMemory, c_step
from appell.compile.function import Function
from appell.control.blocks import Blocks
from appell.errors import ArgumentError
from appell.hardware.loop.servo import Servo
from appell.hardware.loop.supervisor import (
    DANGERS,
    DEVICE_FAULTS,
    RELEVANT_ALARMS,
    TRANSITIONS,
    Fault,
    Policy,
    State,
    Trigger,
)

FAULTS = tuple(fault for fault in Fault if fault)
COMMANDS = (Trigger.ARM, Trigger.DISARM, Trigger.START, Trigger.STOP, Trigger.CLEAR)
NEVER = -1e300  # stamp before the first state
CARRIED = {"memory": "memory_next", "supervisor": "supervisor_next"}


def positive(x: Scalar) -> Scalar:
    """Return 1 where x > 0, else 0."""
    return select(x, 1.0, 0.0)


def equals(x: Scalar, value: int) -> Scalar:
    """Return 1 where an integer x is a value, else 0."""
    return positive(0.5 - abs(x - float(value)))


def either(*conditions: Scalar) -> Scalar:
    """Return 1 if one of the conditions holds."""
    return reduce(maximum, conditions, 0.0)


def both(one: Scalar, other: Scalar) -> Scalar:
    """Return 1 if both conditions hold."""
    return minimum(one, other)


@dataclass(frozen=True)
class Supervision:
    """State and latched faults of the supervisor over abstract scalars; one condition per fault of FAULTS."""

    mode: Scalar
    faults: Sequence[Scalar]

    def is_in(self, *states: State) -> Scalar:
        """Return whether the state is one of the given ones."""
        return either(*(equals(self.mode, state) for state in states))

    def after(self, trigger: Trigger, happens: Scalar) -> Supervision:
        """Return the supervisor after a trigger, if it happens and the state allows it."""
        mode = self.mode
        for (state, event), target in TRANSITIONS.items():
            if event is trigger:
                mode = select(both(happens, equals(self.mode, state)), float(target), mode)
        return Supervision(mode, self.faults)

    def latch(self, new: Mapping[Fault, Scalar]) -> Supervision:
        """Return the supervisor after faults, which stop the arm or switch it off."""
        faults = [maximum(old, new.get(fault, 0.0)) for fault, old in zip(FAULTS, self.faults, strict=True)]
        danger = either(*(happens for fault, happens in new.items() if fault in DANGERS))
        trouble = both(either(*new.values()), 1.0 - danger)
        stopped = Supervision(self.mode, faults).after(Trigger.TROUBLE, trouble)
        return stopped.after(Trigger.DANGER, danger)

    def relevant(self, faults: Mapping[Fault, Scalar]) -> dict[Fault, Scalar]:
        """Return those of the given faults that count in the current state."""
        counting = {fault: [state for state, mask in RELEVANT_ALARMS.items() if mask & fault.value] for fault in faults}
        return {fault: both(happens, self.is_in(*counting[fault])) for fault, happens in faults.items()}


class Embedded:
    """One step of a loop over abstract scalars."""

    def __init__(self, servo: Servo, policy: Policy):
        if servo.mode != "torque":
            raise ArgumentError(f"the servo is in mode '{servo.mode}'.", expected="mode 'torque' for a step in C")
        self.servo, self.policy = servo, policy
        self.stop_time = servo.stop_time if policy.stop_time is None else policy.stop_time
        n = servo.system.nq
        self.blocks = Blocks(
            mode=1,
            faults=len(FAULTS),
            counts=5,  # lost states, missed deadlines, steps at rest, steps of a stop, states read
            placed=1,
            time=1,
            stamp=[NEVER],
            measured=servo.layout.size,
            target=n,  # of a stop
            stopping=1,  # whether the target is known
        )
        self.memory_start = servo.memory.start.copy()
        self.memory_start[:n] = servo.system.start

    def function(self) -> Function:
        """Return the step as a compiled function."""
        servo = self.servo
        inputs = {"state": servo.layout.size, "reference": (3, servo.system.nq), "fresh": (), "trigger": ()}
        inputs |= {"lateness": (), "memory": servo.memory.size, "supervisor": self.blocks.size}
        doc = f"One step of the law '{servo.design.law.name}' with its guard and supervisor."
        return Function.of("supervised_step", inputs, self.step, doc, servo.system.owner, loops=servo.looped)

    def step(
        self, state, reference, fresh, trigger, lateness, memory, supervisor, loops: Loops = UNROLLED
    ) -> dict[str, Any]:
        """Compute one step: deadline, command, alarms, reading, law, stop."""
        servo, policy, period = self.servo, self.policy, self.servo.design.period
        carried, n = self.blocks.named(supervisor), self.servo.system.nq
        now = Supervision(carried["mode"][0], carried["faults"])
        lost, misses, resting, steps, read = carried["counts"]
        (placed,), (known,), target = carried["placed"], carried["stopping"], carried["target"]

        late = positive(lateness - period * (1.0 + 1e-9))
        misses = select(late, misses + 1.0, 0.0)
        missed = both(positive(misses - policy.misses), now.is_in(State.RUNNING, State.SAFE_STOP))
        now = now.latch({Fault.DEADLINE: missed})

        given = self._commands(now, trigger, carried["measured"], read, memory)
        start, armed = given[Trigger.START], given[Trigger.ARM]
        forgotten = either(given[Trigger.CLEAR], given[Trigger.DISARM])
        now = Supervision(now.mode, [select(given[Trigger.CLEAR], 0.0, flag) for flag in now.faults])
        for command in COMMANDS:
            now = now.after(command, given[command])
        placed = select(armed, 1.0, select(forgotten, 0.0, placed))
        read, known = select(forgotten, 0.0, read), select(start, 0.0, known)
        misses, resting, steps = (select(start, 0.0, x) for x in (misses, resting, steps))
        memory = self._reset(memory, carried["measured"], armed, start, forgotten)

        (last,), (time,) = carried["stamp"], carried["time"]
        stamp = state[servo.layout.at["stamp"]][0]
        good = both(positive(fresh), positive(stamp - last))
        seen = [select(good, x, old) for x, old in zip(state, carried["measured"], strict=True)]
        last, clock = select(good, stamp, last), select(good, stamp, time + period)
        dt = ((clock - time) / period) * period
        stopping, running = now.is_in(State.SAFE_STOP), now.is_in(State.RUNNING)
        q, v, remembered = servo.parts_of(memory)
        zeros = [0.0] * n
        begins = both(stopping, 1.0 - known)
        target = self._stop_target(begins, q, v, target)
        held = [select(stopping, x, y) for x, y in zip(target, q, strict=True)]
        wanted = [[select(running, x, y) for x, y in zip(a, b, strict=True)] for a, b in self._rows(reference, held)]
        usable = both(good, placed)
        q1, v1 = servo.observe(q, v, seen, wanted, usable, dt, stopping)

        now = now.latch(now.relevant(self._alarms(seen, q1, v1, wanted, remembered, loops)))
        lost = select(good, 0.0, lost + 1.0)
        now = now.latch({Fault.STALE: positive(lost - policy.lost)})
        begun = both(running, now.is_in(State.SAFE_STOP))
        target = self._stop_target(begun, q1, v1, target)
        wanted = [
            [select(begun, x, y) for x, y in zip(a, b, strict=True)]
            for a, b in zip([target, zeros, zeros], wanted, strict=True)
        ]
        stopping = maximum(stopping, begun)
        q, v = servo.observe(q, v, seen, wanted, usable, dt, stopping)
        step = servo.law(q, v, seen, wanted, remembered, stopping, loops)

        slow = positive(policy.rest_speed - reduce(maximum, [abs(rate) for rate in v]) + 1e-300)
        in_stop = now.is_in(State.SAFE_STOP)
        steps = select(in_stop, steps + 1.0, steps)
        resting = select(in_stop, select(slow, resting + 1.0, 0.0), resting)
        rested, faulty = both(in_stop, positive(resting - policy.rest_ticks + 0.5)), either(*now.faults)
        overdue = both(both(in_stop, 1.0 - rested), positive(steps * period - self.stop_time))
        now = now.after(Trigger.DANGER, both(rested, faulty)).after(Trigger.RESTED, both(rested, 1.0 - faulty))
        now = now.latch({Fault.STOP_TIMEOUT: overdue})
        moving = now.is_in(State.RUNNING, State.SAFE_STOP)
        read = select(both(now.is_in(State.IDLE), good), read + 1.0, read)
        counts = [lost, misses, resting, steps, read]
        known = stopping
        return {
            "command": [select(moving, tau, 0.0) for tau in servo.rounded(step.tau)],
            "mode": now.mode,
            "fault": sum((float(fault) * flag for fault, flag in zip(FAULTS, now.faults, strict=True)), start=0.0),
            "memory_next": [*q, *v, *step.memory],
            "supervisor_next": [now.mode, *now.faults, *counts, placed, clock, last, *seen, *target, known],
        }

    def _stop_target(self, begins, q, v, target) -> list[Scalar]:
        """Return where a stop that begins ends, by the division of the loop, which a constant divisor would not be."""
        damping = select(begins, self.servo.design.stop_damping, 1.0)
        return [select(begins, x + rate / damping, old) for x, rate, old in zip(q, v, target, strict=True)]

    def _rows(self, reference, held):
        """Return pairs of rows: the reference, and rest at a position."""
        zeros = [0.0] * len(held)
        return zip(reference, [held, zeros, zeros], strict=True)

    def _commands(self, now: Supervision, trigger, measured, read, memory) -> dict[Trigger, Scalar]:
        """Return which command is given and allowed."""
        given = {}
        for command in COMMANDS:
            states = [state for state, event in TRANSITIONS if event is command]
            given[command] = both(equals(trigger, command), now.is_in(*states))
        guard = self.servo.guard
        q = self._position(measured, memory)
        rows = zip(q, guard.lower, guard.upper, strict=True)
        outside = either(*(either(positive(low - x), positive(x - high)) for x, low, high in rows))
        ready = both(positive(read - self.policy.readings + 0.5), 1.0 - outside)
        given[Trigger.ARM] = both(given[Trigger.ARM], ready)
        return given

    def _position(self, measured, memory) -> list[Scalar]:
        """Return the configuration at measured positions of the actuators, by one step of Newton's method."""
        q, equations = memory[: self.servo.system.nq], self.servo.design.parts.equations
        theta = measured[self.servo.layout.at["q"]]
        near = equations.actuator_positions_near(q, theta)
        step = equations.to_coordinates(q, [m - x for m, x in zip(theta, near, strict=True)])
        return [x + change for x, change in zip(q, step, strict=True)]

    def _reset(self, memory, measured, armed, start, forgotten) -> list[Scalar]:
        """Return the memory after a command: initial values at the measured, the estimated or the initial position."""
        n, position = self.servo.system.nq, self._position(measured, memory)
        reset, values = either(armed, start, forgotten), []
        for k, (old, initial) in enumerate(zip(memory, self.memory_start.tolist(), strict=True)):
            if k < n:
                values.append(select(armed, position[k], select(forgotten, initial, old)))
            else:
                values.append(select(reset, initial, old))
        return values

    def _alarms(self, state, q, v, reference, remembered, loops: Loops) -> dict[Fault, Scalar]:
        servo, at = self.servo, self.servo.layout.at
        position, velocity, following, _ = servo.alarms(state, q, v, reference)
        exceeded = {Fault.POSITION: position, Fault.VELOCITY: velocity, Fault.FOLLOWING: following}
        if servo.observes_contacts:
            exceeded[Fault.CONTACT] = servo.law(q, v, state, reference, remembered, 0.0, loops).contact
        if servo.margin is not None:
            exceeded[Fault.COLLISION] = servo.nearness(servo.margin, q, v, loops)
        faults = {fault: positive(amount) for fault, amount in exceeded.items()}
        words = [*state[at["status"]], *state[at["faults"]]]
        for status, fault in DEVICE_FAULTS.items():
            size = float(status.value)
            bits = [floor(word / size) - 2.0 * floor(word / (2.0 * size)) for word in words]
            faults[fault] = either(*(positive(bit - 0.5) for bit in bits))
        return faults


def embedded_code(servo: Servo, policy: Policy, name: str | None) -> CSource:
    """Return the step of a servo as C99; `name` is by default the name of the system followed by _loop."""
    embedded = Embedded(servo, policy)
    start = {"memory": embedded.memory_start, "supervisor": embedded.blocks.start}
    name = identifier(f"{servo.system.name}_loop") if name is None else name
    return c_step(embedded.function(), StepMemory(CARRIED, start, ("command", "mode", "fault")), name)
