"""How far a system is from a point that moves on with constant velocity: `deviation`, over abstract scalars.

    one axis      ξ = q - (q₀ + t w)                                                                             (1)
    quaternion    ξ = log((p₀ exp(t w))⁻¹ p), the turn that leads from the point to where the joint is           (2)
    planar        its angle as (1), less whole turns                                                             (3)

The ways of floating and planar joints bend with their turns, and are not measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from appell.algebra.scalar import Scalar, Vector, atan2, cos, nearest, select, sin, sqrt
from appell.model.joints import Floating, Planar, Spherical
from appell.model.system import System

SMALL = 1e-300  # square of half a turn's sine: below this it is no turn at all
TURN = 2.0 * math.pi
Measure = Any  # (t, q) -> ξ


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
