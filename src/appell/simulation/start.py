"""The start of a run: what a user gave for it, checked before any work is done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ArgumentError, check_number
from appell.model.joints.spherical import unit_quaternion
from appell.model.mechanism import Mechanism
from appell.model.system import System
from appell.simulation.contact import Contact, Contacts
from appell.simulation.flow import FreeMotion
from appell.simulation.geometry import Geometry
from appell.simulation.phase import Phase
from appell.simulation.states import numbers


def dynamics_of(given: Dynamics | System, wrenches: Mapping[str, Any] | None, what: str = "simulate") -> Dynamics:
    if wrenches is not None and not isinstance(wrenches, Mapping):
        raise ArgumentError(f"wrenches is {wrenches!r}.", expected="{frame: six numbers, or a function of (t, q, v)}")
    if isinstance(given, System):
        return Dynamics(given, friction=True, rotors=True, wrenches=tuple(wrenches or ()))
    if not isinstance(given, Dynamics):
        raise ArgumentError(
            f"{what} was given {given!r}.", expected="Dynamics, or a robot or mechanism", hint='ap.load("puma")'
        )
    return given


def wanted_times(given: Iterable[float] | None, start: float, until: float) -> np.ndarray | None:
    if given is None:
        return None
    try:
        times = np.array(given if isinstance(given, np.ndarray) else list(given), float)
    except (TypeError, ValueError):
        times = np.zeros(0)
    good = times.ndim == 1 and len(times) and np.isfinite(times).all() and (np.diff(times) > 0.0).all()
    if not good or times[0] < start or times[-1] > until:
        raise ArgumentError(
            f"t_eval is {given!r}.", expected=f"ascending times from {start:g} to {until:g} s, each once"
        )
    return times


def initial_configuration(dyn: Dynamics, q0, start: float, until: float) -> tuple[float, np.ndarray]:
    """When and where a run begins."""
    system = dyn.system
    if system.free:
        raise ArgumentError(
            f"{system.owner} has free inertial parameters, without which it does not move.",
            hint="robot.with_bodies(...)",
        )
    for name, time in (("start", start), ("until", until)):
        check_number(f"{name}, in s,", time)
    if not until > start:
        raise ArgumentError(f"a run cannot last from {start!r} to {until!r}.", expected="until > start, both finite")
    q = numbers(system.start if q0 is None else q0, system.nq, "q0", system.owner)
    if isinstance(system, Mechanism) and (sentence := system.out_of_reach(q.tolist())):
        raise ArgumentError(f"{system.owner} cannot start at q0: {sentence}.", hint="a pose nearer to home")
    if any(not q[span].any() for span in system.quaternions):
        raise ArgumentError(f"q0 of {system.owner} holds a quaternion of zeros.", expected="a length above zero")
    for span in system.quaternions:
        q[span] = unit_quaternion(q[span])
    return float(start), q


def starting_geometry(
    flow: FreeMotion,
    contacts: Contact | Iterable[Contact] | None,
    stops: float | Mapping[str, float] | None,
    t: float,
    y: np.ndarray,
    tolerance: float,
) -> Geometry:
    """The compiled contacts, with every point on the free side of its wall and every joint between its stops."""
    if not isinstance(contacts, Contact | Iterable | None):
        raise ArgumentError(f"contacts is {contacts!r}.", expected="Contact(points, surface, ...), or several")
    found = () if contacts is None else (contacts,) if isinstance(contacts, Contact) else tuple(contacts)
    geometry = Geometry(flow.states, Contacts(flow.states.moving, found, stops), flow.drives).at(y)
    if not len(geometry.contacts):
        return geometry
    geometry.active = geometry.contacts.active(t)
    names, gap, system = geometry.contacts.describe, geometry.motion.gap, flow.system
    if (bad := np.flatnonzero(geometry.active & ~np.isfinite(gap))).size:
        raise ArgumentError(f"the gap between {names(int(bad[0]))} is not a number at the start.")
    with np.errstate(all="ignore"):
        depth = np.where(geometry.active & (gap < 0.0), -gap / geometry.motion.slope, 0.0)
    deep = np.flatnonzero(~(depth <= tolerance))
    if (beyond := [k for k in deep if geometry.contacts.wall[k] < 0]) and len(beyond) == len(deep):
        listed = "; ".join(f"{names(int(k))} ({depth[k]:.3g} beyond it)" for k in beyond)
        raise ArgumentError(
            f"{system.owner} starts outside the range of its joints: {listed}.",
            expected=f"every joint between its stops, or within {tolerance:g} of them",
            hint="another q0, or stops=None",
        )
    if deep.size:
        listed = ", ".join(f"{geometry.contacts.names[k]} ({depth[k]:.3g} m)" for k in deep)
        raise ArgumentError(
            f"{system.owner} starts inside a wall: {names(int(deep[0]))} overlap. Too deep: {listed}.",
            expected=f"every point outside its wall, or within {tolerance:g} m of it",
            hint="another q0, or the other side of the surface (inside=..., the opposite normal)",
        )
    return geometry


def starting_phase(flow: FreeMotion, geometry: Geometry, y: np.ndarray) -> Phase:
    """Nothing rests yet; dry drives slide in the directions of their velocities."""
    return Phase(flow, geometry, np.where(geometry.at(y).rates() < 0.0, -1.0, 1.0))
