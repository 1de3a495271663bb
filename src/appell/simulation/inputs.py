"""Inputs of a system during a run: actuator forces, wrenches on frames, prescribed motions.

All are arrays that stay constant until they are updated: at a tick of a `Sampled` function, or before every evaluation
if they are functions of time and state. Constant inputs are checked before the run; the values of functions are checked
at every call, and a wrong value ends the run with a message that names the time and the entry.

A prescribed motion drives a row of a constraint. It is a function of time that returns (s, ṡ, s̈), or a path of one
coordinate. Motions have the names of their constraints, followed by the label of the row if a constraint has several.
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
MIN_LAST_TICK_S = 1e-12  # relative to times above 1 s: a tick closer to the end of the run is dropped
ENTRY_KIND = {True: "actuator", False: "component"}  # of a torque, of a wrench
Force = Callable[[float, np.ndarray, np.ndarray], np.ndarray]
EXPECTED = "a function of time that returns position, velocity and acceleration, or a path of one coordinate"


class Inputs:
    """Current values of the inputs: `tau` (nu,), `wrench` (6 per frame,) and `prescribed` (3 per motion,).

    `varies` states whether some of them are functions that have to be evaluated at every instant.
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
        system, torque = dyn.system, getattr(torque, "sampled", torque)  # a law with a period of its own
        self.dyn, self.limits = dyn, system.limits.torque if saturate else None
        # whether limits depend on the speed, so that even a torque that is held changes
        self.falling = saturate and any(actuator.no_load_speed is not None for actuator in system.actuators)
        self.sampled = torque if isinstance(torque, Sampled) else None
        self.start, self.ticks = start, 0
        law = self.sampled.law if self.sampled else torque
        self._law = checked_function(law, "torque", system.actuator_names, system.owner) if callable(law) else None
        self.command = np.zeros(system.nu) if self._law else constant_torque(system, law)  # before it is limited
        self.tau = self.command.copy() if self.limits is None else np.clip(self.command, -self.limits, self.limits)
        self.wrench = np.zeros(6 * len(dyn.wrenches))
        self._wrench_functions = self._wrenches(dyn, wrenches or {})
        self.motions = PrescribedMotions(system, prescribed, start)
        self.prescribed = self.motions(start)
        continuous = self._law is not None and self.sampled is None
        self._only_law = self.limits is None and not self._wrench_functions and not self.motions
        self.varies = bool(self._wrench_functions) or bool(self.motions) or continuous or self.falling

    def _wrenches(self, dyn: Dynamics, given: Mapping[str, Any]) -> list[tuple[slice, Callable]]:
        """Store constant wrenches; return those that are functions, each with its slice of `wrench`."""
        owner, frames = dyn.system.owner, dyn.wrenches
        for name in given:
            if name not in frames:
                raise ArgumentError(
                    unknown_name("wrench on", str(name), frames, f"the Dynamics of {owner}")
                    if frames
                    else f"a wrench is given on {name!r}, but the Dynamics of {owner} expect no wrenches.",
                    hint=f"Use Dynamics(robot, wrenches={[*given]!r}), or pass the robot itself: simulate(robot, ...).",
                )
        if missing := [name for name in frames if name not in given]:
            raise ArgumentError(
                f"no wrench is given on {', '.join(missing)}, which the Dynamics of {owner} expect.",
                expected="wrenches={frame: six numbers (force, moment), or a function of (t, q, v) that returns them}",
            )
        functions = []
        for k, name in enumerate(frames):
            span, wrench, what = slice(6 * k, 6 * k + 6), given[name], f"the wrench on {name}"
            if callable(wrench):
                functions.append((span, checked_function(wrench, what, COMPONENTS, owner)))
            else:
                self.wrench[span] = checked_array(wrench, what, COMPONENTS, owner)
        return functions

    def _set_torque(self, q: np.ndarray, v: np.ndarray) -> None:
        """Set `tau` to the commanded torque, limited as the actuators limit it in this state."""
        if self.limits is None:
            self.tau[:] = self.command
        elif not self.falling:
            np.clip(self.command, -self.limits, self.limits, out=self.tau)
        else:
            rates = self.dyn.actuator_jacobian(q) @ v
            rows = zip(self.dyn.system.actuators, self.command, rates, self.limits, strict=True)
            self.tau[:] = [actuator.limited(*row) for actuator, *row in rows]

    @property
    def only_law(self) -> Force | None:
        """The checked torque function, if nothing else varies and its values are the torques."""
        return self._law if self._only_law and self.sampled is None else None

    def update(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """Evaluate all inputs that are functions of time and state; the functions may keep or change q and v."""
        if self._law is not None and self.sampled is None:
            if self._only_law:
                self.tau[:] = self._law(t, q, v)
                return
            self.command[:] = self._law(t, q.copy(), v.copy())
            self._set_torque(q, v)
        elif self.falling:
            self._set_torque(q, v)
        for span, function in self._wrench_functions:
            self.wrench[span] = function(t, q.copy(), v.copy())
        if self.motions:
            self.prescribed[:] = self.motions(t)

    def next_tick(self, until: float) -> float:
        """Return the time of the next tick of the sampled torque, or infinity if there is none before `until`."""
        if self.sampled is None:
            return np.inf
        tick = self.start + self.ticks * self.sampled.period
        return tick if tick < until - MIN_LAST_TICK_S * max(1.0, abs(until)) else np.inf

    def tick(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """Evaluate the sampled torque and hold it until the next tick."""
        assert self._law is not None
        self.ticks += 1
        self.command[:] = self._law(t, q.copy(), v.copy())
        self._set_torque(q, v)


def constant_torque(system: System, torque: Any) -> np.ndarray:
    """Return constant actuator forces as an array, (nu,)."""
    if torque is None:
        return np.zeros(system.nu)
    return checked_array(torque, "torque", system.actuator_names, system.owner)


def checked_array(given: Any, what: str, entries: Sequence[str], owner: str) -> np.ndarray:
    """Return one finite number per entry; raise `ArgumentError` that starts with `what` otherwise."""
    try:
        forces = np.array(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        forces = np.empty(0)
    size = len(entries)
    if forces.shape != (size,):
        raise ArgumentError(
            f"{what} has shape {np.shape(given)}; {owner} needs {size} numbers.",
            expected=f"an array of {size} numbers, or a function of (t, q, v) that returns one",
        )
    if (bad := _not_finite(forces)) is not None:
        raise ArgumentError(
            f"{what} is {forces[bad]} at {ENTRY_KIND[what == 'torque']} '{entries[bad]}'.", expected="finite numbers"
        )
    return forces


def checked_function(force: Callable, what: str, entries: Sequence[str], owner: str) -> Force:
    """Return `force` with its values checked; a wrong value raises `Stop`, which names the time and the entry."""
    size, shape = len(entries), (len(entries),)

    def checked(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        given = force(t, q, v)
        if (
            type(given) is np.ndarray
            and given.dtype == float
            and given.shape == shape
            and math.isfinite(given.dot(given))
        ):
            return given
        try:
            forces = np.asarray(given, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise Stop(Status.INPUT, f"{what}(t={t:.9g}) returned {given!r}.", expected=f"{size} numbers") from None
        if forces.shape != shape:
            raise Stop(
                Status.INPUT,
                f"{what}(t={t:.9g}) returned an array of shape {forces.shape}.",
                expected=f"shape ({size},), the forces at {', '.join(entries)}",
            )
        if (bad := _not_finite(forces)) is not None:
            raise Stop(
                Status.INPUT,
                f"{what}(t={t:.9g}) is {forces[bad]} at {ENTRY_KIND[what == 'torque']} '{entries[bad]}' of {owner}.",
                expected="finite numbers",
            )
        return forces

    return checked


def _not_finite(forces: np.ndarray) -> int | None:
    if math.isfinite(forces.dot(forces)):
        return None
    finite = np.isfinite(forces)
    return None if finite.all() else int(np.argmin(finite))


@dataclass(frozen=True)
class Sampled:
    """A torque for `simulate` that is evaluated at ticks and held in between, like a digital controller.

    Ticks are at start + k·period until the end of the run and are hit exactly, also if the period does not divide the
    duration. The function receives the state at the tick; its result acts from that time on.

    Parameters
    ----------
    law
        Function of (t, q, v) that returns the actuator forces, (nu,), N m or N.
    period
        Time between two ticks, s.

    Examples
    --------
    >>> import appell as ap
    >>> hold = ap.Sampled(lambda t, q, v: -40.0 * q - 4.0 * v, period=1e-2)
    >>> record = ap.simulate(ap.load("pendulum"), q0=[0.5], until=0.2, torque=hold)
    >>> print(record.q[-1].round(3))
    [0.007]
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
    """The prescribed motions of a system as a function of time: position, velocity and acceleration of each."""

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
            motion = np.array([np.asarray(part, float).reshape(()) for part in given])
        except (TypeError, ValueError, OverflowError):
            motion = np.zeros(0)
        if motion.shape != (3,) or not np.isfinite(motion).all():
            raise Stop(
                Status.INPUT, f"The motion of '{self.names[k]}' returned {given!r} at t = {t:.9g}.", expected=EXPECTED
            )
        return motion


def motion_names(system: System) -> tuple[str, ...]:
    """Return a name per prescribed motion: its constraint, with the label of the row if the constraint has several."""
    names = []
    for constraint in getattr(system, "constraints", ()):
        several = len(constraint.motions) > 1
        names += [f"{constraint.name}.{label}" if several else constraint.name for label in constraint.motions]
    return tuple(names)


def wrench_frames(wrenches: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return the names of the frames on which wrenches act."""
    if wrenches is not None and not isinstance(wrenches, Mapping):
        raise ArgumentError(f"wrenches is {wrenches!r}.", expected="{frame: six numbers, or a function of (t, q, v)}")
    return tuple(wrenches or ())
