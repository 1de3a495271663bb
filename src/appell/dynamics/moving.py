"""The dynamics with which a robot is moved: one rule for simulation, planning, control and export.

    a robot or mechanism    has the friction, rotors and limits of its description;
                            `friction=False` and `rotors=False` switch them off
    a `Dynamics`            is used unchanged, with or without friction and rotors

`Dynamics(robot)` itself has rigid-body terms only. See docs/conventions.md, "Friction, rotors and limits".
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

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
    """Return the dynamics with which `caller` moves a system.

    Parameters
    ----------
    given
        A robot or mechanism, or its `Dynamics`.
    caller
        Name of the calling function, for messages.
    friction, rotors
        Whether friction (with offsets) and rotor inertia of the actuators are included. None: they are for a robot,
        and a `Dynamics` is used unchanged.
    wrenches
        Frames on which external wrenches act, for a robot.

    Raises
    ------
    ArgumentError
        If `given` is something else, or a `Dynamics` that contradicts `friction` or `rotors`.
    """
    for name, value in (("friction", friction), ("rotors", rotors)):
        if not (value is None or isinstance(value, bool)):
            raise ArgumentError(f"{name} of {caller} is {value!r}.", expected="True, False, or None")
    if isinstance(given, System):
        return _moved(given, friction is not False, rotors is not False, tuple(wrenches))
    if not isinstance(given, Dynamics):
        raise ArgumentError(
            f"the system of {caller} is {given!r}.",
            expected="a robot, a mechanism, or its Dynamics",
            hint='Load one: ap.load("puma").',
        )
    for name, value in (("friction", friction), ("rotors", rotors)):
        if value is not None and value != getattr(given.choice, name):
            raise ArgumentError(
                f"{name}={value} of {caller} contradicts a Dynamics with {name}={getattr(given.choice, name)}.",
                expected="one of the two: a Dynamics is used unchanged",
                hint=f"Call {caller}(robot, {name}={value}, ...), or pass Dynamics(robot, {name}={value}).",
            )
    return given


_LATEST: OrderedDict[tuple, Dynamics] = OrderedDict()  # by the identity of the system and the options
MAX_LATEST = 8


def _moved(system: System, friction: bool, rotors: bool, wrenches: tuple[str, ...]) -> Dynamics:
    """Return the dynamics of a system; the latest ones are kept, so that another run does not derive them again."""
    key = id(system), friction, rotors, wrenches
    dyn = _LATEST.pop(key, None)
    if dyn is None or dyn.system is not system:
        dyn = Dynamics(system, friction=friction, rotors=rotors, wrenches=wrenches)
    _LATEST[key] = dyn
    while len(_LATEST) > MAX_LATEST:
        _LATEST.popitem(last=False)
    return dyn


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
    """Return the entries that identify the dynamics behind a result, for the `about` of a record.

    `robot_hash` is the content hash of the description; it is empty if the description contains Python functions.
    """
    return {
        "robot": dyn.system.name,
        "robot_hash": dyn.system_hash,
        "friction": dyn.choice.friction,
        "rotors": dyn.choice.rotors,
        "formulation": dyn.formulation,
        "appell": VERSION,
    }
