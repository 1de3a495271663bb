"""What an agent does: torques of some actuators within their limits, or numbers that a law makes torques of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.errors import ArgumentError, unknown_name
from appell.model.system import System
from appell.simulation.rollouts.laws import KernelLaw
from appell.simulation.rollouts.tracing import called, name_of


@dataclass(frozen=True)
class Actions:
    """Lowest and highest values, what they are called, and the places of torques; a law has none."""

    names: tuple[str, ...]
    low: np.ndarray
    high: np.ndarray
    places: np.ndarray | None
    law: KernelLaw | None = None

    @staticmethod
    def of(system: System, actuators: Iterable[str] | None, limits: Any, law: Callable | None) -> Actions:
        if law is not None:
            return _of_law(law, actuators, limits)
        known = system.limits.torque
        if actuators is None:
            listed = [name for name, most in zip(system.actuator_names, known, strict=True) if 0.0 < most < np.inf]
        else:
            listed = [actuators] if isinstance(actuators, str) else list(actuators)
        for name in listed:
            if name not in system.actuator_names:
                raise ArgumentError(unknown_name("actuator", str(name), system.actuator_names, system.owner))
        places = np.array([system.actuator_names.index(name) for name in listed], int)
        if not listed:
            raise ArgumentError(
                f"no actuator of {system.owner} has a torque limit, so that nobody knows what an action may be.",
                hint="Actuator(torque=...), or actuators=[...] with action_limits=(low, high)",
            )
        if limits is None:
            if endless := [name for name, k in zip(listed, places, strict=True) if not 0.0 < known[k] < np.inf]:
                raise ArgumentError(
                    f"actuators of {system.owner} have no torque limit: {', '.join(endless)}.",
                    hint="Actuator(torque=...), or action_limits=(low, high)",
                )
            limits = -known[places], known[places]
        return Actions(tuple(listed), *_bounds(limits, len(listed)), places)

    def clipped(self, given: Any, members: int) -> np.ndarray:
        """Actions (members, size) within their limits."""
        try:
            found = np.asarray(given, float).reshape(members, -1)
        except (TypeError, ValueError):
            found = np.zeros((0, 0))
        if found.shape != (members, len(self.low)):
            raise ArgumentError(
                f"an action has shape {np.shape(given)}.", expected=f"{len(self.low)} numbers: {', '.join(self.names)}"
            )
        if not np.isfinite(found).all():
            raise ArgumentError(f"an action is not finite: {found[~np.isfinite(found).all(axis=1)][0]}.")
        return np.clip(found, self.low, self.high)


def _of_law(law: Callable, actuators: Iterable[str] | None, limits: Any) -> Actions:
    if actuators is not None:
        raise ArgumentError("there are actuators and a law.", expected="a law gives the torques of all actuators")
    if not callable(law):
        raise ArgumentError(f"law is {law!r}.", expected="a function of (q, v, action) over traced scalars")
    if limits is None:
        raise ArgumentError("a law has no limits for its actions.", expected="action_limits=(low, high), a number each")
    low, high = _bounds(limits, None)

    def torque(t, q, v, memory, told):
        return called(law, f"law '{name_of(law)}'", q, v, told), memory

    names = tuple(f"action {k + 1}" for k in range(len(low)))
    return Actions(names, low, high, None, KernelLaw(name_of(law), torque, told=len(low)))


def _bounds(limits: Any, size: int | None) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and the highest action, as numbers of the space that an agent sees: single precision."""
    try:
        low, high = np.broadcast_arrays(*(np.atleast_1d(np.asarray(x, float)) for x in limits))
        low, high = (np.array(np.broadcast_to(x, size or x.shape)) for x in (low, high))
    except (TypeError, ValueError):
        low = high = np.zeros(0)
    if low.ndim != 1 or not len(low) or not (np.isfinite([low, high]).all() and (low < high).all()):
        raise ArgumentError(
            f"action_limits are {limits!r}.", expected=f"(low, high) of finite numbers, {size or 'one'} an action each"
        )
    return low.astype(np.float32).astype(float), high.astype(np.float32).astype(float)
