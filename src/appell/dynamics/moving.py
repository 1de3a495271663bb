"""The dynamics with which a robot is moved: one rule for whatever simulates, plans, controls or exports a motion.

    a robot or mechanism    moves with the friction, rotors and limits it was described with;
                            `friction=False` and `rotors=False` switch them off
    a `Dynamics`            is used as it is; it was made with or without friction and rotors

`Dynamics(robot)` itself has rigid-body terms only. See docs/conventions.md, "Friction, rotors and limits".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from appell.compile.cache.content_hash import content_hash
from appell.dynamics.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.model.system import System
from appell.version import VERSION


def moving_dynamics(
    given: Dynamics | System,
    caller: str,
    *,
    friction: bool | None = None,
    rotors: bool | None = None,
    wrenches: Iterable[str] = (),
) -> Dynamics:
    """Return the dynamics with which `caller` moves what it was given.

    Parameters
    ----------
    given
        A robot or mechanism, or its `Dynamics`.
    caller
        Name of the calling function, for messages.
    friction, rotors
        Whether friction (with offsets) and rotor inertia of the actuators count. None: they do for a robot, and a
        `Dynamics` is used as it is. A value that contradicts a given `Dynamics` is refused.
    wrenches
        Frames on which external wrenches act, for a robot.
    """
    for name, value in (("friction", friction), ("rotors", rotors)):
        if not (value is None or isinstance(value, bool)):
            raise ArgumentError(f"{name} of {caller} is {value!r}.", expected="True, False, or None")
    if isinstance(given, System):
        return Dynamics(given, friction=friction is not False, rotors=rotors is not False, wrenches=tuple(wrenches))
    if not isinstance(given, Dynamics):
        raise ArgumentError(
            f"{caller} was given {given!r}.", expected="Dynamics, or a robot or mechanism", hint='ap.load("puma")'
        )
    for name, value in (("friction", friction), ("rotors", rotors)):
        if value is not None and value != getattr(given.choice, name):
            raise ArgumentError(
                f"{caller} was given {name}={value} and Dynamics with {name}={getattr(given.choice, name)}.",
                expected="one of the two: a Dynamics is used as it is",
                hint=f"{caller}(robot, {name}={value}, ...), or Dynamics(robot, {name}={value})",
            )
    return given


def without_friction(dyn: Dynamics) -> Dynamics:
    """Return the same dynamics without friction and offsets of the actuators."""
    choice = dyn.choice
    if not choice.friction:
        return dyn
    return Dynamics(
        dyn.system,
        choice.formulation,
        inertia=choice.inertia,
        forward=choice.forward,
        wrenches=dyn.wrenches,
        reference=choice.reference,
        rotors=choice.rotors,
        looped=choice.looped,
    )


def made_by(dyn: Dynamics) -> dict[str, Any]:
    """Return what identifies the dynamics behind a result, for the `about` of a record.

    `robot_hash` is the content hash of the description; empty where the description holds Python functions.
    """
    robot_hash = content_hash(dyn.system)
    return {
        "robot": dyn.system.name,
        "robot_hash": robot_hash[:16] if robot_hash else "",
        "friction": dyn.choice.friction,
        "rotors": dyn.choice.rotors,
        "formulation": dyn.formulation,
        "appell": VERSION,
    }
