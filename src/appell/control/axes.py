"""What can be controlled, and one number for each of its coordinates or actuators.

On an arm both are the joints. A mechanism is led along its coordinates by motors elsewhere, a robot with loops along
its independent joints, which say where all others are.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from appell.errors import ArgumentError, ModelError
from appell.model.robot import ConstrainedRobot, Robot
from appell.model.system import System

PerAxis = Any  # one number for all, or one each; once checked, a tuple with one each


def controllable(system: Any) -> System:
    """The system, or an error that says what of it no controller can lead."""
    if not isinstance(system, System):
        raise ArgumentError(
            f"{system!r} is no robot that can be controlled.", expected="a Robot or a Mechanism: ap.load('puma')"
        )
    check_joints(system)
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


@singledispatch
def check_joints(system: System) -> None:
    """Raise for joints that no controller can lead."""


@check_joints.register
def _(system: Robot) -> None:
    for link in system.moving:
        if link.joint.motion.nq != 1 or link.joint.motion.nv != 1:
            raise ModelError(
                f"joint '{link.joint.name}' of {system.owner} is {link.joint.motion.name}.",
                expected="joints about or along one axis: a controller has one drive a joint",
            )


@check_joints.register
def _(system: ConstrainedRobot) -> None:
    check_joints(system.tree)
    names = system.tree.velocity_names
    if len(system.map.positions) != system.nv:
        raise ModelError(
            f"{system.owner} rolls or slides: {system.nv} velocities lead it to places of "
            f"{len(system.map.positions)} dimensions, and no joint positions say where it is.",
            expected="loops and couplings of joints only",
            hint="control.linearize and control.lqr about a steady motion",
        )
    if not {*system.velocity_names} <= {*names}:
        raise ModelError(
            f"the velocities {', '.join(system.velocity_names)} of {system.owner} are no joints.",
            expected="independent joints",
            hint="with_loops(..., independent=[names of joints])",
        )


def wirable(system: System) -> None:
    """Raise unless sensors at the actuators, and an observer of as many numbers, tell where a system is."""
    if system.nq != system.nv:
        raise ModelError(
            f"{system.owner} has {system.nq} coordinates and {system.nv} velocities; the cabinet's observer keeps one "
            "of each.",
            expected="a tree or a mechanism in closed form",
            hint="control.closed_loop, or simulate(robot, torque=controller.continuous(path))",
        )


def led(system: System) -> tuple[int, ...]:
    """Where the coordinates that a controller leads stand in q, one for every velocity."""
    if not system.is_constrained:
        return tuple(range(system.nq))
    return tuple(system.coordinate_names.index(name) for name in system.velocity_names)


def names_of(system: System, axis: str) -> tuple[str, ...]:
    """The names of the coordinates that are led, or of the actuators."""
    return system.velocity_names if axis == "coordinate" else system.actuator_names


def word(system: System, axis: str) -> str:
    """How a message calls a coordinate or an actuator: a joint, if it is one."""
    return axis if system.is_closed_form else "joint"


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
