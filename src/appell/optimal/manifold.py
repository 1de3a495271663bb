"""Configurations near a configuration, over abstract scalars.

    integrate(q, ξ)          q + N(q) ξ, with quaternions scaled to unit length and loops closed                  (1)
    difference(q₀, q₁)       ξ with integrate(q₀, ξ) = q₁ up to terms of second order                             (2)

N(q) are the columns of q̇ = N(q) v; for a robot with loops, those that leave the loops closed. Quaternions: (1) is
q ⊗ (ξ/2, 1) / |(ξ/2, 1)|, and (2) is `turn`. Newton's method needs no more than agreement to first order: the gaps
between knots, which (2) measures, are zero at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import factorial
from typing import Any

import numpy as np

from appell.algebra.rotation import of_quaternion
from appell.algebra.scalar import Matrix, Scalar, Vector, cos, dot, select, sin, sqrt
from appell.algebra.vector import Vec3
from appell.compile.function import Function
from appell.compile.tape.trace import flatten
from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.model.joints import Floating, Motion, Planar, Spherical, quaternion_rate
from appell.model.robot import refuse_flexible
from appell.simulation.rollouts.formula import CLOSING_STEPS


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
        self._parts: list[tuple[Motion, slice, slice]] = []  # with the spans of q and v
        if not self.is_flat and tree is not None:
            refuse_flexible(dyn.system, "optimal control of robots with joints of several axes")
            self._parts = [(link.joint.motion, *tree.span(link.joint)) for link in tree.moving]

    @property
    def shifts(self) -> frozenset[int]:
        """Entries of ξ that are displacements along the axes of a body that itself turns."""
        linear = {Floating: 3, Planar: 2}
        entries = [k for motion, _, v in self._parts for k in range(v.start, v.start + linear.get(type(motion), 0))]
        return frozenset(self.positions.index(k) for k in entries if k in self.positions)

    def integrate(self, q: Vector, step: Vector) -> list[Scalar]:
        """Return (1)."""
        if self.is_flat:
            return [x + d for x, d in zip(q, step, strict=True)]
        equations = self.dyn.equations
        if not self.system.is_constrained:
            return self.unit([x + d for x, d in zip(q, equations.rate(q, step), strict=True)])
        moved = self.unit([x + dot(row, step) for x, row in zip(q, equations.tangents(q), strict=True)])
        return self._closed(moved)

    def _closed(self, q: list[Scalar]) -> list[Scalar]:
        for _ in range(CLOSING_STEPS):
            q = self.dyn.equations.closed(q)
        return q

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
        parts = (_joint_difference(motion, start[span], end[span], nearby) for motion, span, _ in self._parts)
        entries = [x for part in parts for x in part]
        return [entries[k] for k in self.positions]

    def exponential(self, q: Vector, step: Vector) -> list[Scalar]:
        """Return the configuration of a tree after unit time with the velocity `step`, for turns below 2 rad."""
        if self.is_flat:
            return self.integrate(q, step)
        moved = list(q)
        for motion, of_q, of_v in self._parts:
            moved[of_q] = _joint_exponential(motion, q[of_q], step[of_v])
        return moved

    def advance_slopes(self, end: Vector, q: Vector, v: Vector, h: Scalar) -> tuple[Matrix, Matrix, list[Scalar]]:
        """Return the derivatives of q + h N(q) v, scaled to unit quaternions, by q, v and h at its result `end`."""
        return self._slopes(self._advance, end, q, v, h)

    def exponential_slopes(self, end: Vector, q: Vector, v: Vector, h: Scalar) -> tuple[Matrix, Matrix, list[Scalar]]:
        """Return the derivatives of exponential(q, h v) by q, v and h at its result `end`."""
        return self._slopes(self._exponential, end, q, v, h)

    def _slopes(self, function: Function, end: Vector, q: Vector, v: Vector, h: Scalar) -> tuple:
        n = self.size
        if self.is_flat:
            one, lengths = ([[x if i == j else 0.0 for j in range(n)] for i in range(n)] for x in (1.0, h))
            return one, lengths, list(v)
        by_q, by_v, by_h = (np.asarray(x, object) for x in function(list(end), list(q), list(v), h))
        return by_q.tolist(), by_v.tolist(), np.ravel(by_h).tolist()

    @cached_property
    def _advance(self) -> Function:
        def moved(q: Vector, v: Vector, h: Scalar) -> list[Scalar]:
            equations = self.dyn.equations
            moved = self.unit([x + h * rate for x, rate in zip(q, equations.rate(q, v), strict=True)])
            one_axis = all(motion.nv == 1 for motion, *_ in self._parts)
            return moved if one_axis or not self.system.is_constrained else self._closed(moved)

        return self._directions("advance", moved)

    @cached_property
    def _exponential(self) -> Function:
        return self._directions("exponential", lambda q, v, h: self.exponential(q, [h * x for x in v]))

    def _directions(self, name: str, move: Callable[[Vector, Vector, Scalar], list[Scalar]]) -> Function:
        """Return the derivatives of a move by q, v and h, as a function of its result and of these."""

        def body(end, q, v, h):
            return {"x": self.difference(list(end), move(list(q), list(v), h), nearby=True)}

        inputs = {"end": self.system.nq, "q": self.system.nq, "v": self.system.nv, "h": ()}
        function = Function.of(name, inputs, body, owner=self.system.owner, tangents=self.dyn.tangents)
        return function.jacobian("q", "v", "h")


SERIES = 9  # terms: below rounding error up to 2 rad, without the division by the angle that a closed form has


def _series(x: Scalar, first: int) -> Scalar:
    """Return Σ (-x)ᵏ / (2k + first)!, which is cos √x for 0 and sin √x / √x for 1."""
    total: Scalar = 0.0
    for k in reversed(range(SERIES)):
        total = 1.0 / factorial(2 * k + first) - x * total
    return total


def _joint_exponential(motion: Motion, q: Vector, step: Vector) -> list[Scalar]:
    if isinstance(motion, Spherical):
        return _turned(q, step)
    if isinstance(motion, Floating):
        linear, angular = Vec3.of(step[:3]), Vec3.of(step[3:])
        shift = of_quaternion(*q[3:]) @ _screw(linear, angular)
        return [*(x + d for x, d in zip(q[:3], shift, strict=True)), *_turned(q[3:], step[3:])]
    if isinstance(motion, Planar):
        shift = _screw(Vec3(step[0], step[1], 0.0), Vec3(0.0, 0.0, step[2]))
        c, s = cos(q[2]), sin(q[2])
        return [q[0] + c * shift.x - s * shift.y, q[1] + s * shift.x + c * shift.y, q[2] + step[2]]
    return [x + d for x, d in zip(q, step, strict=True)]


def _screw(linear: Vec3, angular: Vec3) -> Vec3:
    """Return the displacement after unit time of a body with constant velocity in its own axes."""
    square, once = angular.dot(angular), angular.cross(linear)
    return linear + _series(square, 2) * once + _series(square, 3) * angular.cross(once)


def _turned(q: Vector, rotation: Vector) -> list[Scalar]:
    """Return q ⊗ exp(rotation / 2)."""
    quarter = 0.25 * dot(rotation, rotation)
    scale, w = _series(quarter, 1), _series(quarter, 0)
    rates = quaternion_rate(q, [scale * x for x in rotation])  # ½ q ⊗ (rotation, 0)
    return [w * x + d for x, d in zip(q, rates, strict=True)]


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
