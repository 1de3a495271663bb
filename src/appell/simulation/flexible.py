"""Checks of runs with elastic joints or flexible links: deflections, step length, spin, contacts on nodes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ArgumentError, ModelWarning, StepWarning
from appell.model.flexible import FlexibleBody
from appell.model.robot import Link
from appell.motion.event import Event
from appell.simulation.contact.contact import Contact, listed_contacts

MAX_DEFLECTION = 0.1  # of the length of a link: beyond, linear beam theory is not accurate
MAX_SLOPE_RAD = 0.3
MAX_SPIN_RATIO = 0.13  # of the first frequency: beyond, spin changes the frequency of a beam by 1 % or more
MAX_SAMPLED_FREQUENCY = 0.3  # of the sampling rate of a rollout
STABILITY_LIMIT = {"DOP853": 6.4, "RK45": 3.3, "RK23": 2.5}  # of -λ h on the real axis
STABILITY_SHARE = 0.8  # of the limit, from which on stability and not accuracy determines the steps
STIFF_STEPS = 2000  # number of explicit steps from which on an implicit method may be faster (decision 0087)


def warn_contacts(dyn: Dynamics, contacts: Any) -> None:
    """Warn about contacts on nodes: their restitution depends on the number of modes."""
    flexible = {link.name for link in dyn.system.tree.flexible}
    for contact in (contact for contact in listed_contacts(contacts) if isinstance(contact, Contact)):
        names = dyn.system.frame_names if contact.points == "all" else contact.points
        names = (names,) if isinstance(names, str) else tuple(names)
        on_nodes = [name for name in names if (frame := dyn.system.frame(name)).at and frame.body in flexible]
        if on_nodes:
            warnings.warn(
                f"point '{on_nodes[0]}' of a contact is on a flexible link of {dyn.system.owner}: its effective mass, "
                "and with it the motion after an impact, depends on the number of modes. Use a compliant contact "
                "(ap.rollout with a contact spring), or a rigid link at the point.",
                ModelWarning,
                stacklevel=3,
            )


def flexible_events(dyn: Dynamics, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> tuple[Event, ...]:
    """Return one event per link whose deflection leaves the range of linear theory, and warn about spin."""
    tree, events = dyn.system.tree, []
    for link in tree.flexible:
        span = tree.modal_span(link)[0]
        if (event := _large_deflection(link, t, q[:, span])) is not None:
            events.append(event)
            warnings.warn(f"{dyn.system.owner}: {event.note}", ModelWarning, stacklevel=3)
        if not link.body.pairs and any(mode[0] in "yz" for mode in link.modes):  # type: ignore[union-attr]
            _warn_spin(dyn, link, q, v)
    return tuple(events)


def warn_stiff_steps(dyn: Dynamics, q: np.ndarray, method: str, steps: np.ndarray) -> None:
    """Warn if stability bounds the steps of an explicit method, and name the mode or the joint."""
    if method in STABILITY_LIMIT and len(steps) >= STIFF_STEPS:
        _warn_stiff(dyn, q, STABILITY_LIMIT[method], float(np.median(steps)))


def check_sampling(dyn: Dynamics, dt: float) -> None:
    """Raise if a mode is too fast for the step of a rollout."""
    for link in dyn.system.tree.flexible:
        highest = float(link.body.frequencies[-1])  # type: ignore[union-attr]
        if highest * dt > MAX_SAMPLED_FREQUENCY:
            raise ArgumentError(
                f"dt is {dt:g} s, but mode '{fastest_mode(link.body)}' of link '{link.name}' of {dyn.system.owner} "  # type: ignore[arg-type]
                f"vibrates with {highest:.4g} Hz.",
                expected=f"dt of at most {MAX_SAMPLED_FREQUENCY / highest:.3g} s",
                hint="Use shorter steps, or fewer modes.",
            )


def fastest_mode(body: FlexibleBody) -> str:
    """Return the name of the mode with the largest part in the highest natural frequency."""
    values, vectors = np.linalg.eig(np.linalg.solve(body.modal_mass, np.array(body.stiffness)))
    return body.modes[int(np.abs(vectors[:, values.real.argmax()]).argmax())]


def _large_deflection(link: Link, t: np.ndarray, modal: np.ndarray) -> Event | None:
    body = link.body
    assert isinstance(body, FlexibleBody)
    stations = (*body.stations, *body.nodes)
    n = body.mode_count
    shapes = [[list(s) for s in node.shapes[:n]] for node in stations]
    turns = [[list(s) for s in node.rotations] for node in stations]
    deflection, slope = _largest(modal, shapes) / body.size, _largest(modal, turns)
    beyond = np.flatnonzero((deflection > MAX_DEFLECTION) | (slope > MAX_SLOPE_RAD))
    if not beyond.size:
        return None
    note = (
        f"link '{link.name}' is beyond linear theory from t = {t[beyond[0]]:.6g} s on: largest deflection "
        f"{deflection.max():.3g} of its length (limit {MAX_DEFLECTION:g}), slope {slope.max():.3g} rad "
        f"(limit {MAX_SLOPE_RAD:g})"
    )
    return Event(float(t[beyond[0]]), "large deflection", note)


def _largest(modal: np.ndarray, shapes: list) -> np.ndarray:
    """Return the largest displacement of a station at each time, given mode shapes (stations, modes, 3)."""
    columns = np.array(shapes).transpose(1, 2, 0)
    x, y, z = (modal @ columns.reshape(len(columns), -1)).reshape(len(modal), 3, -1).swapaxes(0, 1)
    return np.sqrt((x * x + y * y + z * z).max(axis=1))


def _warn_stiff(dyn: Dynamics, q: np.ndarray, limit: float, step: float) -> None:
    """Warn if λ of M ẍ + D ẋ + K x = 0, with the stiffness and damping of modes and springs at q, bounds the steps."""
    equations, system, at = dyn.equations, dyn.system, [float(x) for x in q]
    N = np.array(equations.basis(at), float)
    names, rows, stiffness, damping = [], [], [], []
    for link in system.flexible:
        names += [f"mode '{link.name}.{mode}'" for mode in link.modes]
        rows.append(N[system.tree.modal_span(link)[1]])
        stiffness.append(np.array(link.body.stiffness))
        damping.append(np.array(link.body.damping))
    for drive, row in zip(equations.drives, np.array(equations.drive_jacobian(at), float), strict=True):
        if spring := drive.elasticity:
            names.append(f"the spring of joint '{drive.name}' (stiffness {spring.stiffness:g})")
            rows.append(row[None])
            stiffness.append(np.array([[spring.stiffness]]))
            damping.append(np.array([[spring.damping]]))
    M, n = np.array(equations.mass_matrix(at), float), system.nv
    K, D = (
        sum(row.T @ matrix @ row for row, matrix in zip(rows, given, strict=True)) for given in (stiffness, damping)
    )
    lower = -np.linalg.solve(M, np.hstack([K, D]))
    values, vectors = np.linalg.eig(np.vstack([np.eye(n, 2 * n, n), lower]))
    k = int(np.abs(values).argmax())
    rate, energies = float(np.abs(values[k])), [np.diag(matrix) for matrix in stiffness]
    if rate * step < STABILITY_SHARE * limit:
        return
    shares = np.concatenate(energies) * np.abs(np.vstack(rows) @ vectors[:n, k]) ** 2
    warnings.warn(
        f"{names[int(shares.argmax())]} of {system.owner} moves at a rate of {rate:.3g}/s: explicit steps of "
        f"{step:.3g} s are bounded by stability (largest stable step {limit / rate:.3g} s), not by accuracy. "
        'Use solver="Radau", softer springs or fewer modes.',
        StepWarning,
        stacklevel=4,
    )


def _warn_spin(dyn: Dynamics, link: Link, q: np.ndarray, v: np.ndarray) -> None:
    lowest = 2.0 * np.pi * float(link.body.frequencies[0])  # type: ignore[union-attr]
    spin = float(np.linalg.norm(np.asarray(dyn.velocity(link.name, q, v))[:, 3:], axis=1).max())
    if spin > MAX_SPIN_RATIO * lowest:
        warnings.warn(
            f"link '{link.name}' of {dyn.system.owner} has no geometric stiffening and rotates with {spin:.3g} rad/s, "
            f"more than {MAX_SPIN_RATIO:g} of its first frequency {lowest:.3g} rad/s. "
            "Use ap.shapes.beam(..., stiffening=True).",
            ModelWarning,
            stacklevel=4,
        )
