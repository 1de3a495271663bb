"""What can be controlled, and one number for each of its coordinates or actuators.

On an arm both are the joints. A mechanism is led along its coordinates by motors elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.errors import ArgumentError, ModelError
from appell.model.robot import Robot
from appell.model.system import System

PerAxis = Any  # one number for all, or one each; once checked, a tuple with one each


def controllable(system: Any) -> System:
    """The system, or an error that says what of it no controller can lead."""
    if not isinstance(system, System):
        raise ArgumentError(
            f"{system!r} is no robot that can be controlled.", expected="a Robot or a Mechanism: ap.load('puma')"
        )
    if isinstance(system, Robot):
        for link in system.moving:
            if link.joint.motion.nq != 1 or link.joint.motion.nv != 1:
                raise ModelError(
                    f"joint '{link.joint.name}' of {system.owner} is {link.joint.motion.name}.",
                    expected="joints about or along one axis: a controller has one drive a joint",
                )
    if system.free:
        raise ModelError(
            f"{system.owner} has free inertial parameters, of {', '.join(sorted(system.free))}.",
            hint="system.with_bodies(...)",
        )
    if lacking := system.lacking():
        raise ModelError(f"{system.owner} has moving links without inertia: {', '.join(lacking)}.")
    if system.nu < system.nv:
        raise ModelError(
            f"{system.owner} has {system.nu} actuators for {system.nv} coordinates, too few to lead them.",
            expected="at least as many actuators as coordinates",
        )
    return system


def names_of(system: System, axis: str) -> tuple[str, ...]:
    """The names of the coordinates or actuators."""
    return system.coordinate_names if axis == "coordinate" else system.actuator_names


def word(system: System, axis: str) -> str:
    """How a message calls a coordinate or an actuator: a joint, if the system is a tree."""
    return "joint" if isinstance(system, Robot) else axis


def per_axis(
    system: System, axis: str, name: str, value: Any, least: float = -np.inf, above: bool = False
) -> tuple[float, ...]:
    """One number a coordinate or actuator, from such a sequence or from one number for all; named errors otherwise."""
    names, kind = names_of(system, axis), word(system, axis)
    n = len(names)
    try:
        given = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} is {value!r}.", expected=f"a number, or {n} of them") from None
    if given.shape not in ((), (n,)):
        raise ArgumentError(
            f"{name} has shape {given.shape}; {system.owner} has {n} {kind}s.",
            expected=f"one number, or one a {kind}: {', '.join(names)}",
        )
    given = np.broadcast_to(given, n)
    good = (given > least) if above else (given >= least)
    if not good.all():
        k = int(np.argmin(good))
        relation = "above" if above else "at least"
        raise ArgumentError(
            f"{name} of {kind} '{names[k]}' is {given[k]:g}.",
            expected="a number" if np.isneginf(least) else f"a number {relation} {least:g}",
        )
    return tuple(given.tolist())
