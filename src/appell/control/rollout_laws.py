"""Designs and regulators as laws of rollouts.

A design is evaluated once per period with its reference, and keeps the integral of the error and its last torque; its
torque is held in between, as in a control loop. The reference is a path, sampled at the ticks as `loop.reference` does:
its acceleration is taken from the middle of the period, and its end is held. A regulator is evaluated at
every instant, from the deviation ξ of the system from a point that moves on with constant velocity:

    one axis      ξ = q - (q₀ + t w)                                                                             (1)
    quaternion    ξ = log((p₀ exp(t w))⁻¹ p), the turn that leads from the point to where the joint is           (2)
    planar        its angle as (1), less whole turns                                                             (3)

The ways of floating and planar joints bend with their turns, and are not measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.algebra.scalar import Scalar, Vector, atan2, cos, dot, nearest, select, sin, sqrt
from appell.errors import ArgumentError
from appell.model.joints import Floating, Planar, Spherical
from appell.model.robot import ConstrainedRobot
from appell.model.system import System
from appell.simulation.rollouts.laws import KernelLaw

if TYPE_CHECKING:
    from appell.control.design import Design
    from appell.control.regulator import Regulator

SMALL = 1e-300  # square of half a turn's sine: below this it is no turn at all
TURN = 2.0 * math.pi
Measure = Any  # (t, q) -> ξ


def design_law(design: Design, reference: Any) -> KernelLaw:
    """`reference` is a path, a function q, v, a = path(t), or numbers: where to go, and stay."""
    n, nu = design.model.nv, design.model.nu
    telling = _telling(design, reference)

    def torque(t, q, v, memory, told):
        wanted = [told[:n], told[n : 2 * n], told[2 * n :]]
        step = design.step(q, v, wanted, memory[:n], memory[n:])
        return step.tau, [*step.integral, *step.tau]

    return KernelLaw(design.law.name, torque, np.zeros(n + nu), 3 * n, telling, design.period)


def _telling(design: Design, reference: Any) -> Callable[[np.ndarray], np.ndarray]:
    n, period = design.model.nv, design.period
    if reference is None:
        raise ArgumentError(
            f"law '{design.law.name}' has nothing to follow.", expected="reference=, a path, or where to go"
        )
    if not callable(reference):
        place = design.model.sized("reference", reference, n)

        def held(t: np.ndarray) -> np.ndarray:
            found = np.zeros((*place.shape[:-1], len(t), 3 * n))
            found[..., :n] = place[..., None, :]
            return found

        return held
    until = getattr(reference, "duration", np.inf)

    def told(t: np.ndarray) -> np.ndarray:
        q, v, _ = reference(np.minimum(t, until))
        a = reference(np.minimum(t + 0.5 * period, until))[2]
        found = np.stack([np.asarray(x, float) for x in (q, v, a)], axis=1)
        if found.shape != (len(t), 3, n):
            raise ArgumentError(f"the reference moves {found.shape[-1]} coordinates.", expected=f"{n}")
        found[t > until, 1:] = 0.0
        return found.reshape(len(t), 3 * n)

    return told


def regulator_law(regulator: Regulator) -> KernelLaw:
    """The feedback of x = (ξ, v - v₀), as far as a kernel measures ξ."""
    point = regulator.linear.point
    assert point is not None
    system, w0, velocities = point.system, point.v.tolist(), list(range(point.system.nv))
    names, q0, v0 = system.velocity_names, point.q.tolist(), point.v.tolist()
    if isinstance(system, ConstrainedRobot):
        w0 = system.map.tree_velocity(system.tree, q0, v0)
        velocities, names = list(system.map.positions), system.tree.velocity_names
    known, count = measures(system, q0, w0), len(velocities)
    for place in regulator.places:
        if place < count and velocities[place] not in known:
            raise ArgumentError(
                f"the regulator of {system.owner} feeds back '{names[velocities[place]]}', the way of a joint of "
                "several axes, which no kernel measures.",
                expected="turns, and ways of joints of one axis",
                hint="simulate(system, torque=regulator)",
            )
    K, held, inputs = regulator.K.tolist(), point.tau.tolist(), list(point.inputs)

    def torque(t, q, v, memory, told):
        x = [
            known[velocities[place]](t, q) if place < count else v[place - count] - v0[place - count]
            for place in regulator.places
        ]
        tau = list(held)
        for row, k in zip(K, inputs, strict=True):
            tau[k] = tau[k] - dot(row, x)
        return tau, memory

    return KernelLaw("regulator", torque, continuous=True)


def measures(system: System, q0: Sequence[float], w0: Sequence[float]) -> dict[int, Measure]:
    """(t, q) -> ξ by the number of a velocity of the system, or of its tree; w0 are these velocities at the point."""
    if system.tree is None:
        return {k: partial(_along, k, q0[k], w0[k]) for k in range(system.nv)}
    found: dict[int, Measure] = {}
    for link in system.tree.moving:
        motion, (q, v) = link.joint.motion, system.tree.span(link.joint)
        if motion.nv == 1:
            found[v.start] = partial(_along, q.start, q0[q.start], w0[v.start])
        elif isinstance(motion, Planar):
            found[v.stop - 1] = partial(_angle, q.stop - 1, q0[q.stop - 1], w0[v.stop - 1])
        elif isinstance(motion, Floating | Spherical):
            p, w = list(q0[q.stop - 4 : q.stop]), list(w0[v.stop - 3 : v.stop])
            found |= {v.stop - 3 + axis: partial(_turn, q.stop - 4, p, w, axis) for axis in range(3)}
    return found


def _along(k: int, begun: float, rate: float, t: Scalar, q: Vector) -> Scalar:
    return q[k] - (begun + t * rate)  # (1)


def _angle(k: int, begun: float, rate: float, t: Scalar, q: Vector) -> Scalar:
    off = _along(k, begun, rate, t, q)
    return off - TURN * nearest(off / TURN)  # (3)


def _turn(first: int, p0: list[float], w: list[float], axis: int, t: Scalar, q: Vector) -> Scalar:
    """(2) about one axis."""
    speed = math.hypot(*w)
    half = 0.5 * speed * t
    moved = [*((sin(half) / speed) * x if speed else 0.0 for x in w), cos(half) if speed else 1.0]
    x, y, z, c = _product(p0, moved)
    off = _product([-x, -y, -z, c], q[first : first + 4])
    short = [select(off[3], part, -part) for part in off]  # of both ways the shorter
    square = sum((part * part for part in short[:3]), start=0.0)
    sine = sqrt(select(square - SMALL, square, 1.0))
    return select(square - SMALL, 2.0 * atan2(sine, short[3]) / sine, 2.0) * short[axis]


def _product(q: Vector, p: Vector) -> list[Scalar]:
    """q ⊗ p, each (x, y, z, w)."""
    (x, y, z, w), (dx, dy, dz, dw) = q, p
    return [
        w * dx + x * dw + y * dz - z * dy,
        w * dy - x * dz + y * dw + z * dx,
        w * dz + x * dy - y * dx + z * dw,
        w * dw - x * dx - y * dy - z * dz,
    ]
