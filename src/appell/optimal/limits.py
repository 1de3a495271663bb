"""Limits of a robot as rows of a problem: torques and speeds of actuators, positions.

limits=True                                       all limits of the description that are finite
limits="torque", ["torque", "position"]           some kinds of them
limits={"torque": True, "speed": 2.0}             one number for all actuators or coordinates of a kind
limits={"position": {"elbow": (-1.0, 1.5)}}       some of them by name, (lower, upper) or one number for ±
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from appell.algebra.scalar import is_number
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, unknown_name, value_text
from appell.model.system import System
from appell.optimal.constraints import Bounded

KINDS = ("torque", "speed", "position")


class LimitRows:
    """The rows of the limits at a knot; `lower` and `upper` are arrays by kind, infinite where there are none.

    `actuators` are those of the given ones whose force is not limited to zero: joints without a drive are described so.
    """

    def __init__(self, dyn: Dynamics, given: Any, actuators: Sequence[int]):
        self.dyn, self.system = dyn, dyn.system
        limits = self.system.limits
        described = {
            "torque": (-limits.torque, limits.torque),
            "speed": (-limits.speed, limits.speed),
            "position": (limits.lower, limits.upper),
        }
        unlimited = {
            kind: (np.full_like(low, -np.inf), np.full_like(low, np.inf)) for kind, (low, _) in described.items()
        }
        self.lower, self.upper = {}, {}
        for kind, value in _by_kind(given).items():
            pair = described[kind] if value is True else unlimited[kind] if value is False else None
            pair = _numbers(self.system, kind, value, described[kind]) if pair is None else pair
            self.lower[kind], self.upper[kind] = pair
        self.actuators = [k for k in actuators if self.lower["torque"][k] < 0.0 or self.upper["torque"][k] > 0.0]
        if not self.actuators:
            names = ", ".join(self.names("torque")[k] for k in actuators)
            raise ArgumentError(
                f"all torques of {self.system.owner} are limited to zero: {names}.",
                hint="Pass limits= to change or omit limits.",
            )

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the names of actuators or coordinates."""
        return _names(self.system, kind)

    def __call__(self, given: Mapping[str, Any]) -> list[Bounded]:
        """Return the rows at a knot, whose scalars are given by name; without `u` those of the state."""
        q, v, equations = list(given["q"]), list(given["v"]), self.dyn.equations
        values: dict[str, Any] = {"position": q}
        falling = [
            (k, actuator.no_load_speed)
            for k, actuator in enumerate(self.system.actuators)
            if actuator.no_load_speed is not None and np.isfinite(self.upper["torque"][k])
        ]
        if falling or np.isfinite(self.upper["speed"]).any() or np.isfinite(self.lower["speed"]).any():
            values["speed"] = v if self.system.is_tree else equations.actuator_rates(q, v)
        if "u" in given:
            values["torque"] = dict(zip(self.actuators, given["u"], strict=True))
        rows = []
        for kind in KINDS:
            known = values.get(kind, {})
            for k, name in enumerate(self.names(kind)):
                low, high = float(self.lower[kind][k]), float(self.upper[kind][k])
                if not (np.isfinite(low) or np.isfinite(high)) or (isinstance(known, dict) and k not in known):
                    continue
                pair = (low if np.isfinite(low) else None, high if np.isfinite(high) else None)
                rows.append(Bounded(f"{kind} of '{name}'", pair[0], known[k], pair[1]))
        for k, speed in falling if "u" in given else ():
            if k in values["torque"]:
                slope = float(self.upper["torque"][k]) / speed
                rate, tau, limit = values["speed"][k], values["torque"][k], float(self.upper["torque"][k])
                name = f"torque at speed of '{self.names('torque')[k]}'"
                rows.append(Bounded(name, -limit, tau + slope * rate, limit))
        return rows

    def check_start(self, q: np.ndarray, v: np.ndarray) -> None:
        """Raise an error if a start, (nq) and (nv), violates the limits of positions or speeds."""
        speed = v
        if not self.system.is_tree:
            speed = np.asarray(self.dyn.actuator_jacobian(q), float) @ v
        for kind, value in (("position", q), ("speed", speed)):
            low, high = self.lower[kind], self.upper[kind]
            slack = 1e-9 * np.maximum(1.0, np.abs(value))
            bad = (value < low - slack) | (value > high + slack)
            if bad.any():
                k = int(np.argmax(bad))
                raise ArgumentError(
                    f"the start is outside the limits: {kind} of '{self.names(kind)[k]}' is {value[k]:.6g}.",
                    expected=f"from {low[k]:g} to {high[k]:g}",
                    hint="Pass limits= to change or omit limits.",
                )


def _names(system: System, kind: str) -> tuple[str, ...]:
    return system.coordinate_names if kind == "position" else system.actuator_names


def _by_kind(given: Any) -> dict[str, Any]:
    if isinstance(given, bool):
        return dict.fromkeys(KINDS, given)
    if isinstance(given, Mapping):
        chosen = dict(given)
    elif isinstance(given, (str, Iterable)):
        listed = [given] if isinstance(given, str) else list(given)
        if len({*map(str, listed)}) < len(listed):
            raise ArgumentError(f"limits is {listed!r}: a name is used twice.", expected="each kind once")
        chosen = dict.fromkeys(listed, True)
    else:
        raise ArgumentError(f"limits is {value_text(given)}.", expected=f"True, False, some of {', '.join(KINDS)}")
    for kind in chosen:
        if kind not in KINDS:
            raise ArgumentError(unknown_name("kind of limit", str(kind), KINDS, "optimize"))
    return dict.fromkeys(KINDS, False) | chosen


def _numbers(system: System, kind: str, given: Any, described: tuple) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds of a kind from a number, an array, a pair, or a mapping from names to them."""
    names, what = _names(system, kind), f"limits of {kind}"
    low, high = (np.array(x, float) for x in described)
    if isinstance(given, Mapping):
        low, high = np.full(len(names), -np.inf), np.full(len(names), np.inf)
        for name, value in given.items():
            if name not in names:
                raise ArgumentError(unknown_name(kind, str(name), names, system.owner))
            k = names.index(name)
            low[k], high[k] = _pair(f"limit of {kind} '{name}'", value)
    elif isinstance(given, tuple):
        low[:], high[:] = _pair(what, given)
    else:
        try:
            high = np.broadcast_to(np.asarray(given, float), len(names)).copy()
        except (TypeError, ValueError):
            raise ArgumentError(
                f"{what} are {value_text(given)}.", expected=f"one number, or {len(names)}, or a mapping by name"
            ) from None
        low = -high
    for name, lower, upper in zip(names, low, high, strict=True):
        if not lower <= upper:
            raise ArgumentError(
                f"{what}: the lower limit {lower:g} of '{name}' is above its upper limit {upper:g}.",
                expected="lower <= upper",
            )
    return low, high


def _pair(what: str, given: Any) -> tuple[float, float]:
    if is_number(given):
        return -float(given), float(given)
    try:
        low, high = (default if x is None else float(x) for x, default in zip(given, (-np.inf, np.inf), strict=True))
    except (TypeError, ValueError):
        raise ArgumentError(f"{what} is {value_text(given)}.", expected="(lower, upper), or one number") from None
    return low, high
