"""A simulated cabinet: the hardware interface, with a system behind it that moves as time passes.

It shares a clock with the loop that uses it. Whenever it is read, the system has moved on to the present, in steps of
at most a period, under the codes that were last written. It has a watchdog of its own: before `heartbeat` seconds
without a sign of life are over the amplifiers go off and the brakes fall in, and so they do when the power fails.

Faults of the cabinet change what it reads or does from a time on, or for a while; schedules of them are seeded. Two are
the loop's own: missed deadlines come from the clock, and a killed loop ticks no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.control.friction_parts import FrictionParts
from appell.errors import ArgumentError, check_number, unknown_name
from appell.hardware.cabinet.cabinet_step import (
    AMBIENT,
    AMPLIFIERS,
    BRAKES,
    DURATION,
    cabinet_function,
    quirk_blocks,
    state_blocks,
)
from appell.hardware.cabinet.hardware import Blocks, signal_blocks
from appell.hardware.cabinet.wiring import Wiring
from appell.hardware.clock import Clock
from appell.model.system import System

CABINET = ("encoder-loss", "potentiometer-stuck", "over-temperature", "not-a-number", "dropped-reads", "power-loss")
KINDS = (*CABINET, "missed-deadlines", "killed-loop")
NOISE_BLOCK = 256
LONGEST_SILENCE = 1.0  # s: no cabinet waits longer for a sign of life


@dataclass(frozen=True)
class Injection:
    """One fault: what, when (s), at which actuator, and for how long (s)."""

    kind: str
    time: float
    actuator: int = 0
    duration: float = np.inf

    def __post_init__(self):
        if self.kind not in KINDS:
            raise ArgumentError(unknown_name("fault", self.kind, KINDS, "a simulated cabinet"))
        check_number(f"the time of fault '{self.kind}', in s,", self.time, least=0.0)
        if self.duration != np.inf:
            check_number(f"the duration of fault '{self.kind}', in s,", self.duration, least=0.0, above=True)

    @property
    def end(self) -> float:
        return self.time + self.duration

    def active(self, t: float) -> bool:
        return self.time <= t < self.end


class Faults:
    """The faults of one run."""

    def __init__(self, injections: Sequence[Injection] = ()):
        self.injections = tuple(injections)
        self._cabinet = tuple(i for i in self.injections if i.kind in CABINET)
        self._first = min((i.time for i in self._cabinet), default=np.inf)
        self._frozen: dict[Injection, float] = {}

    def power(self, t: float) -> bool:
        return not any(i.kind == "power-loss" and i.active(t) for i in self._cabinet)

    def apply(self, t: float, signals: np.ndarray, layout: Blocks) -> bool:
        """Change the signals as the faults want; False if the reading is lost."""
        if t < self._first:
            return True
        arrives = True
        for fault in self._cabinet:
            if not fault.active(t):
                continue
            match fault.kind:
                case "encoder-loss":
                    self._freeze(fault, signals, layout.at["counts"].start + fault.actuator)
                case "potentiometer-stuck":
                    self._freeze(fault, signals, layout.at["volts"].start + fault.actuator)
                case "over-temperature":
                    signals[layout.at["hot"].start + fault.actuator] = 1.0
                case "not-a-number":
                    signals[layout.at["counts"].start + fault.actuator] = np.nan
                case "dropped-reads":
                    arrives = False
        return arrives

    def _freeze(self, fault: Injection, signals: np.ndarray, place: int) -> None:
        signals[place] = self._frozen.setdefault(fault, float(signals[place]))

    def lateness(self, period: float):
        """The clock's part: by how much wake-ups are late, for `VirtualClock`."""
        late = [i for i in self.injections if i.kind == "missed-deadlines"]
        if not late:
            return None
        return lambda t: 1.5 * period if any(i.active(t) for i in late) else 0.0

    @property
    def killed_at(self) -> float:
        return min((i.time for i in self.injections if i.kind == "killed-loop"), default=np.inf)


def random_faults(seed: int, n: int, first: float, last: float) -> tuple[Injection, ...]:
    """One to three faults between two times; short ones among them, which a loop must ride out."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(int(rng.integers(1, 4))):
        kind = str(rng.choice(KINDS))
        brief = kind in ("not-a-number", "dropped-reads", "missed-deadlines") and rng.random() < 0.4
        duration = float(rng.uniform(0.001, 0.004)) if brief else np.inf
        found.append(Injection(kind, float(rng.uniform(first, last)), int(rng.integers(n)), duration))
    return tuple(sorted(found, key=lambda fault: fault.time))


@dataclass(frozen=True)
class Imperfections:
    """How far a cabinet is from its data sheet: relative gains, offsets in V, noise in V, delay in readings.

    `amplifier_noise` is a part of the full torque, white, new in every step.
    """

    amplifier_gain: float = 0.01
    amplifier_offset: float = 0.005
    potentiometer_gain: float = 0.002
    potentiometer_offset: float = 0.004
    noise: float = 0.004
    delay: int = 0
    amplifier_noise: float = 0.0

    def __post_init__(self):
        for name, value in vars(self).items():
            check_number(f"the {name.replace('_', ' ')} of a cabinet", value, least=0.0)


PERFECT = Imperfections(0.0, 0.0, 0.0, 0.0, 0.0)


class CabinetModel:
    """The compiled step of a cabinet with a system behind it; made once, used by many cabinets."""

    def __init__(self, system: System, wiring: Wiring):
        wiring.check(system)
        self.system, self.wiring, self.parts = system, wiring, FrictionParts(system)
        self.state, self.quirks = state_blocks(self.parts), quirk_blocks(wiring.n)
        self.function = cabinet_function(self.parts, wiring)


class SimulatedCabinet:
    """A cabinet of a model at a place, with seeded imperfections and faults."""

    def __init__(
        self,
        model: CabinetModel,
        clock: Clock,
        q,
        *,
        imperfections: Imperfections = Imperfections(),
        faults: Faults | None = None,
        heartbeat: float = 0.02,
        brake_delay: float = 0.015,
        step: float = 1e-3,
        seed: int = 0,
    ):
        check_number("the heartbeat of a cabinet, in s,", heartbeat, least=0.0, most=LONGEST_SILENCE, above=True)
        check_number("the brake delay of a cabinet, in s,", brake_delay, least=0.0, most=LONGEST_SILENCE)
        check_number("the step of a cabinet, in s,", step, least=0.0, most=LONGEST_SILENCE, above=True)
        self.model, self.wiring, self.clock = model, model.wiring, clock
        self.layout = signal_blocks(model.wiring.n)
        self.faults = Faults() if faults is None else faults
        self.heartbeat, self.brake_delay, self.step = heartbeat, brake_delay, step
        self.rng = np.random.default_rng(seed)
        self.imperfections = imperfections
        self.bound: Any = model.function.bind()
        self.enabled, self.watchdog, self.tool = False, False, 0
        self.time = self.last_write = clock.now()
        self.disabled_at = -np.inf
        self._signals = np.zeros(self.layout.size)
        self._noise, self._drawn = np.zeros((NOISE_BLOCK, 2, self.wiring.n)), NOISE_BLOCK
        self._noisy = bool(imperfections.noise or imperfections.amplifier_noise)
        self._late: list[np.ndarray] = []
        self._place(np.asarray(q, float))

    def _place(self, q: np.ndarray) -> None:
        n, off, at = self.wiring.n, self.imperfections, self.model.quirks.at
        quirks, state = self.bound.quirks, self.bound.state_next
        quirks[at["gain"]] = 1.0 + off.amplifier_gain * self.rng.uniform(-1.0, 1.0, n)
        quirks[at["offset"]] = off.amplifier_offset * self.rng.uniform(-1.0, 1.0, n)
        quirks[at["potentiometer_gain"]] = 1.0 + off.potentiometer_gain * self.rng.uniform(-1.0, 1.0, n)
        quirks[at["potentiometer_offset"]] = off.potentiometer_offset * self.rng.uniform(-1.0, 1.0, n)
        theta = self._positions(q)
        raw = np.floor(self.wiring.column("resolution") * (theta - self.wiring.column("home")))
        quirks[at["power_on"]] = raw
        for name, value in (("q", q), ("temperature", AMBIENT), ("raw", raw), ("index", raw)):
            state[self.model.state.at[name]] = value
        self.bound.codes[:] = self.wiring.zero_code
        self._advance_by(0.0)

    def _positions(self, q: np.ndarray) -> np.ndarray:
        """Of the actuators, within their ranges."""
        middle = 0.5 * (self.wiring.column("lower") + self.wiring.column("upper"))
        equations = self.model.parts.equations
        return np.array(equations.actuator_positions_near(q.tolist(), middle.tolist()), float)

    # ---- what the arm behind the cabinet really does

    @property
    def q(self) -> np.ndarray:
        return self.truth("q")

    @property
    def v(self) -> np.ndarray:
        return self.truth("v")

    def truth(self, name: str) -> np.ndarray:
        """A block of the state: q, v, temperature, …"""
        return self.bound.state_next[self.model.state.at[name]].copy()

    @property
    def torque(self) -> np.ndarray:
        """What the motors gave in the last step."""
        return self.bound.torque

    def advance(self, until: float) -> None:
        """Let time pass."""
        while (left := until - self.time) > 1e-9:
            if self.enabled and (
                self.time + self.step - self.last_write > self.heartbeat or not self.faults.power(self.time)
            ):
                self.watchdog = self.watchdog or self.faults.power(self.time)
                self.disable()
            self._advance_by(left if left < self.step else self.step)

    def _advance_by(self, dt: float) -> None:
        bound = self.bound
        bound.state[:] = bound.state_next
        if self._noisy:
            if self._drawn == NOISE_BLOCK:
                self._draw()
            bound.noise[:] = self._noise[self._drawn]
            self._drawn += 1
        switches = bound.switches
        switches[AMPLIFIERS] = 1.0 if self.enabled else 0.0
        switches[BRAKES] = 1.0 if not self.enabled and self.time - self.disabled_at >= self.brake_delay else 0.0
        switches[DURATION] = dt
        bound()
        self.time += dt

    def _draw(self) -> None:
        off, wiring, noise = self.imperfections, self.wiring, self._noise
        noise[:, 0] = self.rng.normal(0.0, off.noise, noise[:, 0].shape)
        if off.amplifier_noise:
            full = wiring.reachable_torque / wiring.column("torque_per_ampere")
            noise[:, 1] = self.rng.normal(0.0, off.amplifier_noise, noise[:, 1].shape) * full
        self._drawn = 0

    # ---- the hardware interface

    def open(self) -> None:
        self.disable()

    def read(self, into: np.ndarray) -> bool:
        now = self.clock.now()
        self.advance(now)
        signals, faults = self._signals, self.faults
        signals[0] = now
        signals[1] = 1.0 if faults.power(now) else 0.0
        signals[2] = 1.0 if self.watchdog else 0.0
        signals[3:] = self.bound.sensors
        if self.imperfections.delay:
            self._late.append(signals.copy())
            signals[3:] = self._late[0][3:]
            if len(self._late) > self.imperfections.delay:
                self._late.pop(0)
        if not faults.apply(now, signals, self.layout):
            return False
        into[:] = signals
        return True

    def write(self, codes: np.ndarray) -> None:
        self.bound.codes[:] = codes
        self.last_write = self.clock.now()

    def write_tool(self, outputs: int) -> None:
        self.tool = int(outputs) & (2**self.wiring.tool_outputs - 1)

    def enable(self) -> None:
        self.enabled = self.faults.power(self.clock.now()) and not self.watchdog
        self.last_write = self.clock.now()

    def disable(self) -> None:
        if self.enabled:
            self.disabled_at = self.time
        self.enabled = False

    def clear(self) -> None:
        """Set the watchdog back; a person does that when the loop is well again."""
        self.watchdog = False

    def close(self) -> None:
        self.disable()
