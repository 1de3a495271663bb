"""The joint forces of a run: none, constant, or a function of time and state whose every answer is checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from appell.errors import ArgumentError
from appell.model.system import System
from appell.simulation.status import Status, Stop

Torque = Callable[[float, np.ndarray, np.ndarray], np.ndarray]


def constant_torque(system: System, torque: Any) -> np.ndarray | None:
    """The forces that do not change, or None if `torque` is a function."""
    if callable(torque):
        return None
    if torque is None:
        return np.zeros(system.nu)
    try:
        forces = np.array(torque, dtype=float)
    except (TypeError, ValueError):
        forces = np.empty(0)
    size = system.nu
    if forces.shape != (size,):
        raise ArgumentError(
            f"torque has shape {np.shape(torque)}; {system.owner} has {size} actuator forces.",
            expected=f"None, an array of {size} numbers, or a function of (t, q, v) that gives one",
        )
    if (bad := _not_finite(forces)) is not None:
        raise ArgumentError(
            f"torque is {forces[bad]} at actuator '{system.actuator_names[bad]}'.", expected="finite numbers"
        )
    return forces


def checked_torque(system: System, torque: Callable) -> Torque:
    """The function with its answers checked; a wrong one ends the run, and the message names the time and the joint."""

    size = system.nu

    def answer(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        given = torque(t, q.copy(), v.copy())
        try:
            forces = np.asarray(given, dtype=float)
        except (TypeError, ValueError):
            raise Stop(Status.INPUT, f"torque(t={t:.9g}) gave {given!r}.", expected=f"{size} numbers") from None
        if forces.shape != (size,):
            joints = ", ".join(system.actuator_names)
            raise Stop(
                Status.INPUT,
                f"torque(t={t:.9g}) gave an array of shape {forces.shape}.",
                expected=f"shape ({size},), the forces at {joints}",
            )
        if (bad := _not_finite(forces)) is not None:
            raise Stop(
                Status.INPUT,
                f"torque(t={t:.9g}) is {forces[bad]} at actuator '{system.actuator_names[bad]}' of {system.owner}.",
                expected="finite numbers",
            )
        return forces

    return answer


def _not_finite(forces: np.ndarray) -> int | None:
    finite = np.isfinite(forces)
    return None if finite.all() else int(np.argmin(finite))
