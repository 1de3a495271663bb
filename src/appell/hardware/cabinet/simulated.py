"""A simulated cabinet: a device with converters, encoders and potentiometers around a simulated system.

It shares a clock with the loop that uses it. On every read, the system is simulated up to the present time, in steps of
at most `step` seconds, with the codes that were last written. Its watchdog switches the amplifiers off and engages the
brakes before `heartbeat` seconds without a write have passed; the same happens when the power fails.

Faults change the signals or the behaviour of the cabinet from a given time on, or for a given duration. Two faults
concern the loop instead: missed deadlines are caused by the clock, and a killed loop stops ticking.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.control.blocks import Blocks
from appell.control.friction_parts import FrictionParts
from appell.errors import ArgumentError, check_number, unknown_name
from appell.hardware.cabinet.cabinet_step import (
    AMBIENT_TEMPERATURE,
    AMPLIFIERS,
    BRAKES,
    DURATION,
    cabinet_function,
    quirk_blocks,
    state_blocks,
)
from appell.hardware.cabinet.signals import SignalConverter, cabinet_info
from appell.hardware.cabinet.standard_wirings import wiring_of
from appell.hardware.cabinet.wiring import Wiring
from appell.hardware.clock import Clock
from appell.hardware.device import JointCommand, JointState
from appell.hardware.plant import real_system
from appell.model.system import System

CABINET_FAULTS = (
    "encoder-loss",
    "potentiometer-stuck",
    "over-temperature",
    "not-a-number",
    "dropped-reads",
    "power-loss",
)
KINDS = (*CABINET_FAULTS, "missed-deadlines", "killed-loop")
NOISE_BLOCK = 256  # steps whose noise is drawn at a time
MAX_HEARTBEAT_S = 1.0  # upper limit of heartbeat, brake delay and step


@dataclass(frozen=True)
class Injection:
    """One fault: its kind, time (s), actuator (index) and duration (s)."""

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
        """Time at which the fault ends, in s."""
        return self.time + self.duration

    def active(self, t: float) -> bool:
        """Return whether the fault is active at a time."""
        return self.time <= t < self.end


class Faults:
    """The faults of one run."""

    def __init__(self, injections: Sequence[Injection] = ()):
        self.injections = tuple(injections)
        self._cabinet = tuple(i for i in self.injections if i.kind in CABINET_FAULTS)
        self._first = min((i.time for i in self._cabinet), default=np.inf)
        self._frozen: dict[Injection, float] = {}

    def power(self, t: float) -> bool:
        """Return whether the power is on at a time."""
        return not any(i.kind == "power-loss" and i.active(t) for i in self._cabinet)

    def apply(self, t: float, signals: np.ndarray, layout: Blocks) -> bool:
        """Apply the active faults to the signals; return False if the reading is lost."""
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

    def _freeze(self, fault: Injection, signals: np.ndarray, index: int) -> None:
        signals[index] = self._frozen.setdefault(fault, float(signals[index]))

    def lateness(self, period: float):
        """Return the delay of wake-ups as a function of time, for `VirtualClock`; None if there are no such faults."""
        late = [i for i in self.injections if i.kind == "missed-deadlines"]
        if not late:
            return None
        return lambda t: 1.5 * period if any(i.active(t) for i in late) else 0.0


@dataclass(frozen=True)
class Imperfections:
    """Deviations of a cabinet from its data sheet: relative gains, offsets in V, noise in V, delay in readings.

    `amplifier_noise` is white noise as a fraction of the full torque, drawn anew in every step.
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
    """The compiled step of a cabinet and its system, which several cabinets can share."""

    def __init__(self, system: System, wiring: Wiring):
        wiring.check(system)
        self.system, self.wiring, self.parts = system, wiring, FrictionParts(system)
        self.state, self.quirks = state_blocks(self.parts), quirk_blocks(wiring.n)
        self.function = cabinet_function(self.parts, wiring)


class SimulatedCabinet:
    """A simulated cabinet with seeded imperfections and faults. It offers torque mode and measures positions.

    Parameters
    ----------
    model : CabinetModel
    clock : the clock of the loop
    q : configuration of the system at power-on
    imperfections : Imperfections
        Errors of gains, offsets and noise; `PERFECT` has none.
    faults : Faults, optional
    heartbeat : time in s without a write after which the watchdog switches the outputs off
    brake_delay : time in s between switching off and the engagement of the brakes
    step : largest integration step, in s
    seed : seed of imperfections and noise
    """

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
        check_number("the heartbeat of a cabinet, in s,", heartbeat, least=0.0, most=MAX_HEARTBEAT_S, above=True)
        check_number("the brake delay of a cabinet, in s,", brake_delay, least=0.0, most=MAX_HEARTBEAT_S)
        check_number("the step of a cabinet, in s,", step, least=0.0, most=MAX_HEARTBEAT_S, above=True)
        self.model, self.wiring, self.clock = model, model.wiring, clock
        self.info = cabinet_info(model.wiring, heartbeat)
        self.converter = SignalConverter(model.wiring)
        self.layout, self.travel = self.converter.layout, self.converter.travel
        self.faults = Faults() if faults is None else faults
        self.heartbeat, self.brake_delay, self.step = heartbeat, brake_delay, step
        self.rng = np.random.default_rng(seed)
        self.imperfections = imperfections
        self.bound: Any = model.function.bind()
        self.enabled, self.watchdog, self.tool = False, False, 0
        self.time = self.last_write = clock.now()
        self.disabled_at = -np.inf
        self._signals, self._reading = np.zeros(self.layout.size), np.zeros(self.layout.size)
        self._noise, self._drawn = np.zeros((NOISE_BLOCK, 2, self.wiring.n)), NOISE_BLOCK
        self._noisy = bool(imperfections.noise or imperfections.amplifier_noise)
        self._delayed: list[np.ndarray] = []
        self._power_on(np.asarray(q, float))

    def _power_on(self, q: np.ndarray) -> None:
        n, errors, at = self.wiring.n, self.imperfections, self.model.quirks.at
        quirks, state = self.bound.quirks, self.bound.state_next
        quirks[at["gain"]] = 1.0 + errors.amplifier_gain * self.rng.uniform(-1.0, 1.0, n)
        quirks[at["offset"]] = errors.amplifier_offset * self.rng.uniform(-1.0, 1.0, n)
        quirks[at["potentiometer_gain"]] = 1.0 + errors.potentiometer_gain * self.rng.uniform(-1.0, 1.0, n)
        quirks[at["potentiometer_offset"]] = errors.potentiometer_offset * self.rng.uniform(-1.0, 1.0, n)
        theta = self._positions(q)
        raw = np.floor(self.wiring.column("resolution") * (theta - self.wiring.column("home")))
        quirks[at["power_on"]] = raw
        for name, value in (("q", q), ("temperature", AMBIENT_TEMPERATURE), ("raw", raw), ("index", raw)):
            state[self.model.state.at[name]] = value
        self.bound.codes[:] = self.wiring.zero_code
        self._advance_by(0.0)

    def _positions(self, q: np.ndarray) -> np.ndarray:
        """Return the positions of the actuators, within their ranges."""
        middle = 0.5 * (self.wiring.column("lower") + self.wiring.column("upper"))
        equations = self.model.parts.equations
        return np.array(equations.actuator_positions_near(q.tolist(), middle.tolist()), float)

    # ---- true state of the system

    @property
    def q(self) -> np.ndarray:
        """True configuration, of shape (nq,)."""
        return self.truth("q")

    @property
    def v(self) -> np.ndarray:
        """True velocity, of shape (nv,)."""
        return self.truth("v")

    def truth(self, name: str) -> np.ndarray:
        """Return a block of the true state by its name: q, v, temperature, …"""
        return self.bound.state_next[self.model.state.at[name]].copy()

    @property
    def torque(self) -> np.ndarray:
        """Torques of the motors in the last step, in N m or N."""
        return self.bound.torque

    def advance(self, until: float) -> None:
        """Simulate the system up to a time, in s."""
        while (remaining := until - self.time) > 1e-9:
            if self.enabled and (
                self.time + self.step - self.last_write > self.heartbeat or not self.faults.power(self.time)
            ):
                self.watchdog = self.watchdog or self.faults.power(self.time)
                self.disable()
            self._advance_by(remaining if remaining < self.step else self.step)

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
        errors, wiring, noise = self.imperfections, self.wiring, self._noise
        noise[:, 0] = self.rng.normal(0.0, errors.noise, noise[:, 0].shape)
        if errors.amplifier_noise:
            full = wiring.reachable_torque / wiring.column("torque_per_ampere")
            noise[:, 1] = self.rng.normal(0.0, errors.amplifier_noise, noise[:, 1].shape) * full
        self._drawn = 0

    # ---- the device

    def open(self) -> None:
        """Switch the outputs off."""
        self.disable()

    def read(self, state: JointState) -> bool:
        """Simulate up to the present time and measure; return False if the reading is lost."""
        arrived = self.read_signals(self._reading)
        if arrived:
            self.converter.decode(self._reading, state)
        return arrived

    def read_signals(self, into: np.ndarray) -> bool:
        """Simulate up to the present time and fill `into` with the signals; return False if the reading is lost."""
        now = self.clock.now()
        self.advance(now)
        signals, faults = self._signals, self.faults
        signals[0] = now
        signals[1] = 1.0 if faults.power(now) else 0.0
        signals[2] = 1.0 if self.watchdog else 0.0
        signals[3:] = self.bound.sensors
        if self.imperfections.delay:
            self._delayed.append(signals.copy())
            signals[3:] = self._delayed[0][3:]
            if len(self._delayed) > self.imperfections.delay:
                self._delayed.pop(0)
        if not faults.apply(now, signals, self.layout):
            return False
        into[:] = signals
        return True

    def write(self, command: JointCommand) -> None:
        """Write the torques to the output converters, and reset the time of the heartbeat."""
        self.bound.codes[:] = self.converter.encode(command)
        self.last_write = self.clock.now()

    def write_tool(self, outputs: int) -> None:
        """Write the digital tool outputs, one bit each."""
        self.tool = int(outputs) & (2**self.wiring.tool_outputs - 1)

    def enable(self, mode: str = "torque") -> None:
        """Switch the amplifiers on, unless there is no power or the watchdog has tripped."""
        self.converter.enabled()
        self.enabled = self.faults.power(self.clock.now()) and not self.watchdog
        self.last_write = self.clock.now()

    def disable(self) -> None:
        """Switch the amplifiers off and engage the brakes."""
        if self.enabled:
            self.disabled_at = self.time
        self.enabled = False

    def clear(self) -> None:
        """Reset the watchdog and discard the calibration, on the command of a person."""
        self.watchdog = False
        self.converter.forget()

    def home(self) -> np.ndarray:
        """Determine the exact positions of the actuators from the index pulses that have passed."""
        return self.converter.home()

    def close(self) -> None:
        """Switch the outputs off."""
        self.disable()


def standard_plant(system: System, wiring: Wiring, payload: float = 0.0) -> CabinetModel:
    """Return the cabinet model of a system with stiction and, optionally, a payload in kg that its model lacks."""
    return CabinetModel(real_system(system, payload), wiring)


def standard_cabinet(
    system: System,
    clock: Clock,
    *,
    payload: float = 0.0,
    faults: Faults | None = None,
    seed: int = 0,
    step: float = 1e-3,
) -> SimulatedCabinet:
    """Return the simulated cabinet of a system, with its standard wiring and imperfections.

    Parameters
    ----------
    system : System
    clock : the clock of the loop
    payload : mass at the tool, in kg, that the model of the controller does not contain
    faults : Faults, optional
    seed : seed of imperfections and noise
    step : largest integration step, in s
    """
    wiring = wiring_of(system)
    model = standard_plant(system, wiring, payload)
    return SimulatedCabinet(model, clock, wiring.start, faults=faults, seed=seed, step=step)
