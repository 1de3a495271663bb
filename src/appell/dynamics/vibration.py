"""Vibration of robots with flexible links or springs: natural frequencies, and deflection at rest.

About a motion with constant velocities v and accelerations a, small deviations x of the coordinates that are not held
satisfy, with the generalised forces Q(q, v, a),

    M ẍ + ∂Q/∂v ẋ + ∂Q/∂q x = 0                                                                               (1)

At rest and without damping, the frequencies are those of the symmetric problem K x = ω² M x. Otherwise they are the
eigenvalues λ of (1) as a system of first order: the frequency is |λ| / 2π and the damping ratio -Re λ / |λ|.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from appell.dynamics.dynamics import Dynamics
from appell.errors import ArgumentError, ModelError, unknown_name
from appell.model.robot import Robot
from appell.model.system import System

MAX_NEWTON_STEPS = 30
MIN_VIBRATION = 3e-7  # relative to the largest rate: rounding errors split a double rate of zero by up to this
NEWTON_TOLERANCE = 1e-12  # residual of the modal forces, relative to the largest generalised force


@dataclass(frozen=True)
class Frequencies:
    """Natural frequencies (Hz) in ascending order, damping ratios, and mode shapes along v, one per row.

    Shapes have a largest component of 1; they are complex if the system is damped or moves. Components of held
    coordinates are zero. Frequency 0 is a motion without restoring force; NaN is a static instability. If the system is
    damped or moves, only motions that vibrate are listed.
    """

    names: tuple[str, ...]
    hertz: np.ndarray
    damping: np.ndarray
    shapes: np.ndarray


@dataclass(frozen=True)
class Equilibrium:
    """Coordinates q (nq) at which the flexible links are at rest, and the joint forces tau (nu) that hold the robot."""

    q: np.ndarray
    tau: np.ndarray


def frequencies(dyn: Dynamics | System, q=None, *, held: str | Iterable[str] = (), v=None, a=None) -> Frequencies:
    """Compute the natural frequencies and mode shapes of a robot about a configuration or a steady motion.

    Parameters
    ----------
    dyn : Dynamics or System
        The robot, with springs or flexible links.
    q : array_like, (nq,), optional
        Coordinates; `system.start` by default. Forces that hold the robot there are assumed to be constant.
    held : names of joints or velocities
        Joints that are held at their position. The others are free.
    v, a : array_like, (nv,), optional
        Velocities and accelerations of a steady motion, such as the spin of a rotating beam; zero by default.

    Returns
    -------
    Frequencies

    Examples
    --------
    >>> import appell as ap, numpy as np
    >>> beam = ap.shapes.beam(1.0, EI=1.0, mass_per_length=1.0, bending=(3, 0))
    >>> hinge = ap.Joint("hinge", ap.Revolute())
    >>> robot = ap.Robot("beam", (ap.Link("beam", None, hinge, beam),), gravity=(0, 0, 0))
    >>> (2 * np.pi * ap.frequencies(robot, held="hinge").hertz).round(3)  # clamped: 1.8751², 4.6941², 7.8548²
    array([ 3.516, 22.034, 61.697])
    """
    dyn = dyn if isinstance(dyn, Dynamics) else Dynamics(dyn)
    system = dyn.system
    q = system.start if q is None else system.sized("q", q, system.nq)
    v, a = (np.zeros(system.nv) if x is None else system.sized(name, x, system.nv) for name, x in (("v", v), ("a", a)))
    free = _free_velocities(system, held)
    M = np.asarray(dyn.mass_matrix(q))[np.ix_(free, free)]
    K = np.asarray(dyn.generalized_forces.jacobian("q")(q, v, a))[np.ix_(free, free)]
    C = np.asarray(dyn.generalized_forces.jacobian("v")(q, v, a))[np.ix_(free, free)]
    scale = np.abs(K).max()
    if not C.any() and np.abs(K - K.T).max() <= 1e-9 * scale:
        L = np.linalg.cholesky(M)
        values, vectors = np.linalg.eigh(np.linalg.solve(L, np.linalg.solve(L, 0.5 * (K + K.T)).T))
        vectors = np.linalg.solve(L.T, vectors)
        values = np.where(np.abs(values) <= 1e-12 * np.abs(values).max(), 0.0, values)
        with np.errstate(invalid="ignore"):
            hertz, damping = np.sqrt(values) / (2.0 * np.pi), np.zeros(len(values))
    else:
        n, inverse = len(free), np.linalg.inv(M)
        state = np.block([[np.zeros((n, n)), np.eye(n)], [-inverse @ K, -inverse @ C]])
        values, vectors = np.linalg.eig(state)
        upper = np.flatnonzero(values.imag > MIN_VIBRATION * np.abs(values).max())
        order = upper[np.argsort(np.abs(values[upper]))]
        hertz, damping = np.abs(values[order]) / (2.0 * np.pi), -values[order].real / np.abs(values[order])
        vectors = vectors[:n, order]
    shapes = np.zeros((len(hertz), system.nv), vectors.dtype)
    shapes[:, free] = (vectors / vectors[np.abs(vectors).argmax(axis=0), range(vectors.shape[1])]).T
    return Frequencies(system.velocity_names, hertz, damping, shapes)


def quasi_static(dyn: Dynamics | Robot, q=None) -> Equilibrium:
    """Compute the deflection of flexible links at rest under gravity, for given positions of the joints.

    Parameters
    ----------
    dyn : Dynamics or Robot
        A robot with flexible links.
    q : array_like, (nq,), optional
        Coordinates; the modal ones are the start of the iteration. `system.start` by default.

    Returns
    -------
    Equilibrium
        `q` with the deflection of the links, and the joint forces `tau`.

    Raises
    ------
    ModelError
        If the robot has no flexible link, or the iteration does not converge: the robot buckles.

    Examples
    --------
    >>> import appell as ap
    >>> beam = ap.shapes.beam(1.0, EI=50.0, mass_per_length=1.0, bending=(0, 2))
    >>> robot = ap.Robot("beam", (ap.Link("beam", None, ap.Joint("hinge", ap.Revolute((0, 1, 0))), beam),))
    >>> result = ap.quasi_static(robot)  # a cantilever droops by ρ A g L⁴ / 8 EI = 0.0245 m
    >>> print(f"{result.q[1:].sum():.4f} m, {result.tau[0]:.3f} N m")
    -0.0245 m, -4.904 N m
    """
    dyn = dyn if isinstance(dyn, Dynamics) else Dynamics(dyn)
    system = dyn.system
    if not system.flexible:
        raise ModelError(f"{system.owner} has no flexible link.", expected="a robot with a FlexibleBody")
    if system.elastic_joints:
        raise ModelError(
            f"joint '{system.elastic_joints[0]}' of {system.owner} is elastic.",
            expected="rigid joints",
            hint="Use robot.with_elastic_joints({name: None}).",
        )
    if system.is_constrained:
        raise ModelError(
            f"quasi_static is for trees; {system.owner} has constraints.",
            hint="Simulate with structural damping until the motion ends.",
        )
    q = np.array(system.start if q is None else system.sized("q", q, system.nq), float)
    modes = [range(system.nv)[system.tree.modal_span(link)[1]] for link in system.tree.flexible]
    coordinates = [range(system.nq)[system.tree.modal_span(link)[0]] for link in system.tree.flexible]
    rows, columns = ([k for span in spans for k in span] for spans in (modes, coordinates))
    slope = dyn.gravity.jacobian("q")
    for _ in range(MAX_NEWTON_STEPS):
        g = np.asarray(dyn.gravity(q))
        step = np.linalg.solve(np.asarray(slope(q))[np.ix_(rows, rows)], g[rows])
        q[columns] -= step
        if np.abs(step).max() <= NEWTON_TOLERANCE * max(np.abs(q[columns]).max(), 1e-3):
            K = np.asarray(slope(q))[np.ix_(rows, rows)]
            if np.linalg.eigvalsh(0.5 * (K + K.T))[0] <= 0.0:
                break
            joints = [system.velocity_names.index(name) for name in system.actuator_names]
            return Equilibrium(q, np.asarray(dyn.gravity(q))[joints])
    raise ModelError(
        f"the flexible links of {system.owner} have no stable deflection at rest near this configuration.",
        expected="links that do not buckle",
        hint="Check the stiffness of the links, or simulate the motion.",
    )


def _free_velocities(system: System, held: str | Iterable[str]) -> list[int]:
    """Indices of the velocities that are not held."""
    names = (held,) if isinstance(held, str) else tuple(held)
    spans = {}
    if system.tree is not None and system.map.is_identity:
        spans = {link.joint.name: range(system.nv)[system.tree.span(link.joint)[1]] for link in system.tree.moving}
    known = {name: (k,) for k, name in enumerate(system.velocity_names)} | spans
    for name in names:
        if name not in known:
            raise ArgumentError(unknown_name("joint or velocity", name, known, system.owner))
    taken = {k for name in names for k in known[name]}
    if len(taken) == system.nv:
        raise ArgumentError(f"all velocities of {system.owner} are held.", expected="at least one that is free")
    return [k for k in range(system.nv) if k not in taken]
