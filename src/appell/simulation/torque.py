"""Forces that a user gives: numbers, checked at once, or functions of time and state whose every answer is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from appell.errors import ArgumentError
from appell.model.system import System
from appell.simulation.status import Status, Stop

PLACE = {True: "actuator", False: "component"}  # of a torque, of a wrench
Force = Callable[[float, np.ndarray, np.ndarray], np.ndarray]


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
