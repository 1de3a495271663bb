"""What acts on a system during a run: actuator forces, wrenches on frames, prescribed motions.

All are arrays that hold until they are changed: at a tick of a `Sampled` law, or at every instant if they are functions
of time and state. Numbers are checked at once, and whatever a function gives is checked when it gives it: a wrong value
ends the run, and the message says when and where.

A prescribed motion drives a row of a constraint: a function of time that gives (s, ṡ, s̈), or a path of one coordinate.
Motions are named after their constraints, with the label of the row where one constraint has several.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ArgumentError, unknown_name
from appell.model.system import System
from appell.simulation.status import Status, Stop

COMPONENTS = ("fx", "fy", "fz", "mx", "my", "mz")
NEAR = 1e-12  # s, relative to times above 1: a tick nearer to the end than this has nothing left to act on
PLACE = {True: "actuator", False: "component"}  # of a torque, of a wrench
Force = Callable[[float, np.ndarray, np.ndarray], np.ndarray]
EXPECTED = "a function of time that gives position, velocity and acceleration, or a path of one coordinate"


class Inputs:
    """`tau` (nu), `wrench` (six a frame) and `prescribed` (three a motion) as they are now.

    `asks` if some of them are functions of time and state.
    """

    def __init__(
        self,
        dyn: Dynamics,
        torque: Any,
        wrenches: Mapping[str, Any] | None,
        saturate: bool,
        start: float,
        prescribed: Mapping[str, Any] | None = None,
    ):
        system = dyn.system
        self.limits = np.array([actuator.torque_limit for actuator in system.actuators]) if saturate else None
        self.sampled = torque if isinstance(torque, Sampled) else None
        self.start, self.ticks = start, 0
        law = self.sampled.law if self.sampled else torque
        self._law = checked(law, "torque", system.actuator_names, system.owner) if callable(law) else None
        self.tau = np.zeros(system.nu) if self._law else self._cut(constant_torque(system, law))
        self.wrench = np.zeros(6 * len(dyn.wrenches))
        self._pushes = self._wrenches(dyn, wrenches or {})
        self.motions = PrescribedMotions(system, prescribed, start)
        self.prescribed = self.motions(start)
        self.asks = bool(self._pushes) or bool(self.motions) or (self._law is not None and self.sampled is None)

    def _wrenches(self, dyn: Dynamics, given: Mapping[str, Any]) -> list[tuple[slice, Callable]]:
        """Keep the wrenches that do not change, and give those that do with their places."""
        owner, frames = dyn.system.owner, dyn.wrenches
        for name in given:
            if name not in frames:
                raise ArgumentError(
                    unknown_name("wrench on", str(name), frames, f"the Dynamics of {owner}")
                    if frames
                    else f"the Dynamics of {owner} expect no wrenches, and there is one on {name!r}.",
                    hint=f"Dynamics(robot, wrenches={[*given]!r}), or simulate(robot, ...)",
                )
        if missing := [name for name in frames if name not in given]:
            raise ArgumentError(
                f"no wrench is given on {', '.join(missing)}, which the Dynamics of {owner} expect.",
                expected="wrenches={frame: six numbers (force, moment), or a function of (t, q, v) that gives them}",
            )
        functions = []
        for k, name in enumerate(frames):
            place, wrench, what = slice(6 * k, 6 * k + 6), given[name], f"the wrench on {name}"
            if callable(wrench):
                functions.append((place, checked(wrench, what, COMPONENTS, owner)))
            else:
                self.wrench[place] = fixed(wrench, what, COMPONENTS, owner)
        return functions

    def _cut(self, tau: np.ndarray) -> np.ndarray:
        return tau if self.limits is None else np.clip(tau, -self.limits, self.limits)

    def ask(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """Take what the functions of the state give now."""
        if self._law is not None and self.sampled is None:
            self.tau[:] = self._cut(self._law(t, q, v))
        for place, push in self._pushes:
            self.wrench[place] = push(t, q, v)
        if self.motions:
            self.prescribed[:] = self.motions(t)

    def next_tick(self, until: float) -> float:
        """When the law is to be asked next, infinity if it is not before `until`."""
        if self.sampled is None:
            return np.inf
        tick = self.start + self.ticks * self.sampled.period
        return tick if tick < until - NEAR * max(1.0, abs(until)) else np.inf

    def tick(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """Ask the sampled law, and hold what it gives."""
        assert self._law is not None
        self.ticks += 1
        self.tau[:] = self._cut(self._law(t, q, v))


def constant_torque(system: System, torque: Any) -> np.ndarray:
    """Actuator forces that do not change."""
    if torque is None:
        return np.zeros(system.nu)
    return fixed(torque, "torque", system.actuator_names, system.owner)


def fixed(given: Any, what: str, entries: Sequence[str], owner: str) -> np.ndarray:
    """Numbers for these entries, or an error that names what is wrong with them."""
    try:
        forces = np.array(given, dtype=float)
    except (TypeError, ValueError):
        forces = np.empty(0)
    size = len(entries)
    if forces.shape != (size,):
        raise ArgumentError(
            f"{what} has shape {np.shape(given)}; {owner} takes {size} numbers there.",
            expected=f"an array of {size} numbers, or a function of (t, q, v) that gives one",
        )
    if (bad := _not_finite(forces)) is not None:
        raise ArgumentError(
            f"{what} is {forces[bad]} at {PLACE[what == 'torque']} '{entries[bad]}'.", expected="finite numbers"
        )
    return forces


def checked(force: Callable, what: str, entries: Sequence[str], owner: str) -> Force:
    """The function with its answers checked; a wrong one ends the run, and the message names the time and the entry."""
    size = len(entries)

    def answer(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        given = force(t, q.copy(), v.copy())
        try:
            forces = np.asarray(given, dtype=float)
        except (TypeError, ValueError):
            raise Stop(Status.INPUT, f"{what}(t={t:.9g}) gave {given!r}.", expected=f"{size} numbers") from None
        if forces.shape != (size,):
            raise Stop(
                Status.INPUT,
                f"{what}(t={t:.9g}) gave an array of shape {forces.shape}.",
                expected=f"shape ({size},), the forces at {', '.join(entries)}",
            )
        if (bad := _not_finite(forces)) is not None:
            raise Stop(
                Status.INPUT,
                f"{what}(t={t:.9g}) is {forces[bad]} at {PLACE[what == 'torque']} '{entries[bad]}' of {owner}.",
                expected="finite numbers",
            )
        return forces

    return answer


def _not_finite(forces: np.ndarray) -> int | None:
    if math.isfinite(forces.sum()):
        return None
    finite = np.isfinite(forces)
    return None if finite.all() else int(np.argmin(finite))


@dataclass(frozen=True)
class Sampled:
    """A torque law(t, q, v) for `simulate` that is called once a tick and held in between, as a digital controller is.

    Ticks are at start + k·period, in seconds, as long as the run lasts; they are hit exactly, also where the period
    does not divide it. The law sees the state at its tick, and what it gives acts from there on.

        ap.simulate(robot, torque=ap.Sampled(lambda t, q, v: -40.0 * q - 4.0 * v, period=1e-3))
    """

    law: Callable
    period: float  # s

    def __post_init__(self):
        if not callable(self.law):
            raise ArgumentError(f"the law of a Sampled is {self.law!r}.", expected="a function of (t, q, v)")
        period = self.period
        if not isinstance(period, (int, float)) or not 0.0 < period < math.inf:
            raise ArgumentError(
                f"the period of a Sampled is {period!r}.", expected="a positive number of seconds, such as 1e-3"
            )


class PrescribedMotions:
    """The prescribed motions of a system, three numbers each, in the order of its arguments."""

    def __init__(self, system: System, given: Mapping[str, Any] | None, start: float):
        self.names, self.start = motion_names(system), start
        named = {} if given is None else given
        if not isinstance(named, Mapping):
            raise ArgumentError(f"prescribed is {given!r}.", expected=f"{{name: {EXPECTED}}}")
        for name in named:
            if name not in self.names:
                raise ArgumentError(unknown_name("prescribed motion", str(name), self.names, system.owner))
        if missing := [name for name in self.names if name not in named]:
            raise ArgumentError(
                f"no motion is given for {', '.join(missing)} of {system.owner}.",
                expected=f"prescribed={{name: {EXPECTED}}}",
            )
        self.functions: list[Callable] = [named[name] for name in self.names]
        for name, function in zip(self.names, self.functions, strict=True):
            if not callable(function):
                raise ArgumentError(f"the motion of '{name}' is {function!r}.", expected=EXPECTED)
        try:
            self(start)
        except Stop as stop:
            raise ArgumentError(stop.detail, expected=EXPECTED) from None

    def __bool__(self) -> bool:
        return bool(self.names)

    def __call__(self, t: float) -> np.ndarray:
        return np.concatenate([self._one(k, t) for k in range(len(self.names))]) if self.names else np.zeros(0)

    def _one(self, k: int, t: float) -> np.ndarray:
        given = self.functions[k](t)
        try:
            found = np.array([np.asarray(part, float).reshape(()) for part in given])
        except (TypeError, ValueError):
            found = np.zeros(0)
        if found.shape != (3,) or not np.isfinite(found).all():
            raise Stop(
                Status.INPUT, f"The motion of '{self.names[k]}' gave {given!r} at t = {t:.9g}.", expected=EXPECTED
            )
        return found


def motion_names(system: System) -> tuple[str, ...]:
    """A name for every prescribed motion: its constraint's, with the row's label where there are several."""
    found = []
    for constraint in getattr(system, "constraints", ()):
        several = len(constraint.motions) > 1
        found += [f"{constraint.name}.{label}" if several else constraint.name for label in constraint.motions]
    return tuple(found)


def wrench_frames(wrenches: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return the frames on which wrenches act."""
    if wrenches is not None and not isinstance(wrenches, Mapping):
        raise ArgumentError(f"wrenches is {wrenches!r}.", expected="{frame: six numbers, or a function of (t, q, v)}")
    return tuple(wrenches or ())
