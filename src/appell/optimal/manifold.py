"""Configurations near a configuration, over abstract scalars.

    integrate(q, ξ)          q + N(q) ξ, with quaternions scaled to unit length and loops closed                  (1)
    difference(q₀, q₁)       ξ with integrate(q₀, ξ) = q₁ up to terms of second order                             (2)

N(q) are the columns of q̇ = N(q) v; for a robot with loops, those that leave the loops closed. Quaternions: (1) is
q ⊗ (ξ/2, 1) / |(ξ/2, 1)|, and (2) is `turn`. Newton's method needs no more than agreement to first order: the gaps
between knots, which (2) measures, are zero at its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from appell.algebra.rotation import of_quaternion
from appell.algebra.scalar import Scalar, Vector, cos, dot, select, sin, sqrt
from appell.algebra.vector import Vec3
from appell.compile.function import Function
from appell.compile.tape.trace import flatten
from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.model.joints import Floating, Motion, Planar, Spherical

CLOSING_STEPS = 2  # of Newton's method after a move along the tangent: errors of order |ξ|⁸ remain


def turn(q: Any, reference: Any) -> list[Scalar]:
    """Return the rotation from one quaternion to another as a vector, 2 vec(r⁻¹ ⊗ q), for costs and constraints.

    Its length is 2 sin(θ/2) for the angle θ of the rotation, its direction the axis in body axes. It is zero where both
    are the same orientation, and smooth for all angles below π; q and -q give the same vector.

    Parameters
    ----------
    q, reference : sequences of 4 scalars
        Unit quaternions (x, y, z, w), of numbers or traced scalars.

    Returns
    -------
    list of 3 scalars

    Examples
    --------
    >>> import appell as ap
    >>> ap.turn([0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0])
    [0.0, 0.0, 0.0]
    """
    vector, w = _relative(*(_quaternion(name, x) for name, x in (("q", q), ("reference", reference))))
    return [select(w, x, -x) for x in vector]


def _quaternion(name: str, given: Any) -> list[Scalar]:
    scalars, shape = flatten(given)
    if shape != (4,):
        raise ArgumentError(
            f"{name} of ap.turn has shape {shape}.", expected="a quaternion: four numbers x, y, z, w, such as q[3:7]"
        )
    return scalars


def _relative(q: Vector, reference: Vector) -> tuple[list[Scalar], Scalar]:
    """Return 2 vec(r⁻¹ ⊗ q), and the last component of r⁻¹ ⊗ q."""
    x, y, z, w = q
    a, b, c, d = reference
    vector = [
        2.0 * (d * x - a * w - b * z + c * y),
        2.0 * (d * y + a * z - b * w - c * x),
        2.0 * (d * z - a * y + b * x - c * w),
    ]
    return vector, a * x + b * y + c * z + d * w


class Manifold:
    """Moves and differences of the configurations of a system; ξ has `size` entries named `names`."""

    def __init__(self, dyn: Dynamics):
        self.dyn, self.system, self.is_flat = dyn, dyn.system, dyn.system.is_flat
        tree, constrained = dyn.system.tree, dyn.system.is_constrained
        self.positions = list(dyn.system.map.positions)
        self.size = len(self.positions)
        names = tree.velocity_names if constrained else dyn.system.velocity_names
        self.names = tuple(names[k] for k in self.positions)
        self._parts: list[tuple[Motion, slice]] = []
        if not self.is_flat and tree is not None:
            self._parts = [
                (link.joint.motion, tree.span(link.joint)[0]) for link in tree.moving if not link.joint.mimic
            ]

    def integrate(self, q: Vector, step: Vector) -> list[Scalar]:
        """Return (1)."""
        if self.is_flat:
            return [x + d for x, d in zip(q, step, strict=True)]
        equations = self.dyn.equations
        if not self.system.is_constrained:
            return self.unit([x + d for x, d in zip(q, equations.rate(q, step), strict=True)])
        moved = self.unit([x + dot(row, step) for x, row in zip(q, equations.tangents(q), strict=True)])
        for _ in range(CLOSING_STEPS):
            moved = equations.closed(moved)
        return moved

    def unit(self, q: Sequence[Scalar]) -> list[Scalar]:
        """Return coordinates with quaternions of unit length."""
        q = list(q)
        for span in self.system.quaternions:
            length = sqrt(dot(q[span], q[span]))
            q[span] = [x / length for x in q[span]]
        return q

    def difference(self, start: Vector, end: Vector, nearby: bool = False) -> list[Scalar]:
        """Return (2); `nearby` omits the choice between q and -q, which derivatives at equal arguments do not need."""
        if self.is_flat:
            return [y - x for x, y in zip(start, end, strict=True)]
        entries = [x for motion, span in self._parts for x in _joint_difference(motion, start[span], end[span], nearby)]
        return [entries[k] for k in self.positions]

    @cached_property
    def tangents(self) -> dict[str, Any]:
        """Directions of q for derivatives of functions, as `Function` takes them."""
        return self.dyn.tangents

    @cached_property
    def advance(self) -> Function:
        """Derivatives of q + h N(q) v along q, v and h, in directions at its result `end`: those of a step of Euler."""
        system, equations = self.system, self.dyn.equations

        def body(end, q, v, h):
            end, q, v = list(end), list(q), list(v)
            moved = self.unit([x + h * rate for x, rate in zip(q, equations.rate(q, v), strict=True)])
            return {"x": self.difference(end, moved, nearby=True)}

        inputs = {"end": system.nq, "q": system.nq, "v": system.nv, "h": ()}
        tangents = {"q": self.tangents["q"]}
        return Function.of("advance", inputs, body, owner=system.owner, tangents=tangents).jacobian("q", "v", "h")


def _joint_difference(motion: Motion, start: Vector, end: Vector, nearby: bool) -> list[Scalar]:
    if isinstance(motion, Spherical):
        return _relative(end, start)[0] if nearby else turn(end, start)
    shift = [y - x for x, y in zip(start, end, strict=True)]
    if isinstance(motion, Floating):
        rotation = _relative(end[3:], start[3:])[0] if nearby else turn(end[3:], start[3:])
        return [*(of_quaternion(*start[3:]).T @ Vec3.of(shift[:3])), *rotation]
    if isinstance(motion, Planar):
        c, s = cos(start[2]), sin(start[2])
        return [c * shift[0] + s * shift[1], c * shift[1] - s * shift[0], shift[2]]
    return shift
