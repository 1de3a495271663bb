"""A simulated cabinet: the hardware interface, with a system behind it that moves as time passes.

It shares a clock with the loop that uses it. Whenever it is read, the system has moved on to the present, in steps of
at most a period, under the codes that were last written. It has a watchdog of its own: before `heartbeat` seconds
without a sign of life are over the amplifiers go off and the brakes fall in, and so they do when the power fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.control.cabinet.cabinet_step import (
    AMBIENT,
    AMPLIFIERS,
    BRAKES,
    DURATION,
    cabinet_function,
    quirk_blocks,
    state_blocks,
)
from appell.control.cabinet.faults import Faults
from appell.control.cabinet.signals import signal_blocks
from appell.control.cabinet.wiring import Wiring
from appell.control.clock import Clock
from appell.control.friction_parts import FrictionParts
from appell.errors import check_number
from appell.model.system import System

NOISE_BLOCK = 256
LONGEST_SILENCE = 1.0  # s: no cabinet waits longer for a sign of life


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
        imperfections: Imperfections = Imperfections(),  # noqa: B008 - frozen
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
