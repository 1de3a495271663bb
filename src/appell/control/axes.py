"""Checks of controllable systems, and options with one number per coordinate or actuator.

Coordinates and actuators of an arm are its joints. The coordinates of a mechanism are controlled by motors at other
joints, those of a robot with loops through its independent joints, which determine all others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.errors import ArgumentError, ModelError
from appell.model.robot import refuse_immobile
from appell.model.system import System

PerAxis = Any  # one number for all axes, or one per axis; after the check, a tuple with one number per axis


def controllable(system: Any) -> System:
    """Return the system, or raise an error that states why a controller cannot control it."""
    if not isinstance(system, System):
        raise ArgumentError(
            f"{system!r} is not a robot that can be controlled.", expected="a Robot or a Mechanism: ap.load('puma')"
        )
    refuse_immobile(system, "a controller")
    check_joints(system)
    if system.free:
        raise ModelError(
            f"{system.owner} has free inertial parameters: those of {', '.join(sorted(system.free))}.",
            hint="Set them with system.with_bodies(...).",
        )
    if lacking := system.missing_inertias():
        raise ModelError(f"{system.owner} has moving links without inertia: {', '.join(lacking)}.")
    if system.nu < system.link_nv:
        raise ModelError(
            f"{system.owner} has {system.nu} actuators for {system.link_nv} coordinates, too few to control them.",
            expected="at least as many actuators as coordinates",
        )
    return system


def check_joints(system: System) -> None:
    """Raise a ModelError for joints that a controller cannot control."""
    for link in system.tree.moving if system.tree else ():
        if link.joint.motion.nq != 1 or link.joint.motion.nv != 1:
            raise ModelError(
                f"joint '{link.joint.name}' of {system.tree.owner} is {link.joint.motion.name}.",
                expected="joints with one axis, because a controller has one drive per joint",
            )
    if not system.is_constrained:
        return
    if len(system.map.positions) != system.nv:
        raise ModelError(
            f"{system.owner} rolls or slides: it has {system.nv} independent velocities, but its configurations have "
            f"{len(system.map.positions)} dimensions, so independent joints do not determine its configuration.",
            expected="only loops and couplings of joints",
            hint="Use control.linearize and control.lqr about a steady motion.",
        )
    if not {*system.velocity_names} <= {*system.tree.velocity_names}:
        raise ModelError(
            f"the independent velocities {', '.join(system.velocity_names)} of {system.owner} are not all joints.",
            expected="independent joints",
            hint="Pass names of joints to with_loops(..., independent=[...]).",
        )


def check_wirable(system: System) -> None:
    """Raise a ModelError unless sensors at the actuators, with the cabinet's observer, determine the configuration."""
    if system.nq != system.nv:
        raise ModelError(
            f"{system.owner} has {system.nq} coordinates and {system.nv} velocities; the observer of the cabinet needs "
            "equal numbers.",
            expected="a tree or a mechanism in closed form",
            hint="Use hardware.closed_loop(...) or simulate(robot, torque=controller.continuous(path)).",
        )


def controlled_indices(system: System) -> tuple[int, ...]:
    """Return the indices in q of the coordinates that a controller controls, one per velocity."""
    if not system.is_constrained:
        return tuple(range(system.link_nq))
    return tuple(system.coordinate_names.index(name) for name in names_of(system, "coordinate"))


def names_of(system: System, axis: str) -> tuple[str, ...]:
    """Return the names of the controlled coordinates (axis "coordinate") or of the actuators (axis "actuator").

    The controlled coordinates are those of the bodies; the positions of the motors of elastic joints follow from them.
    """
    return system.velocity_names[: system.link_nv] if axis == "coordinate" else system.actuator_names


def axis_word(system: System, axis: str) -> str:
    """Return the word for an axis in messages: "joint", or for a mechanism in closed form the axis itself."""
    return axis if system.is_closed_form else "joint"


def per_axis(
    system: System, axis: str, name: str, value: Any, least: float = -np.inf, above: bool = False
) -> tuple[float, ...]:
    """Return one number per coordinate or actuator, from a sequence or from one number for all.

    Parameters
    ----------
    system : System
    axis : {"coordinate", "actuator"}
    name : str
        Name of the option, for messages.
    value : float or sequence of float
    least : float
        Smallest value allowed; with `above`, values must be larger.
    above : bool

    Raises
    ------
    ArgumentError
        That names the option, and the joint or actuator whose value is out of range.
    """
    names, kind = names_of(system, axis), axis_word(system, axis)
    n = len(names)
    try:
        given = np.array(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"{name} is {value!r}.", expected=f"one number, or {n} numbers") from None
    if given.shape not in ((), (n,)):
        raise ArgumentError(
            f"{name} has shape {given.shape}; {system.owner} has {n} {kind}s.",
            expected=f"one number, or one per {kind}: {', '.join(names)}",
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
