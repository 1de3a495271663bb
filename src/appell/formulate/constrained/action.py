"""What a multiplier does to both sides of a constraint, and the row that follows from it.

A row whose multiplier is a force f at a point of side a, its opposite at a point of side b, and a moment m between them
has, by the equality of powers,

    K v = f·(uₐ - u_b) + m·(ωₐ - ω_b)                     uₐ, u_b: velocities of the two points             (1)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import ZERO, Vec3
from appell.formulate.constrained.frame_motion import FrameMotion, Viewpoint, dot_columns, frame_motion
from appell.formulate.constrained.row import Row
from appell.formulate.tree import Tree
from appell.model.frame import Frame


@dataclass(frozen=True)
class Action:
    """Of the multiplier of one row, in axes of the view."""

    label: str
    gap: Scalar | None
    drift: Scalar
    on_a: Vec3  # the points on which the force acts
    on_b: Vec3
    force: Vec3 = ZERO
    moment: Vec3 = ZERO
    offset: Scalar = 0.0


@dataclass(frozen=True)
class Sides:
    """The two frames of a constraint, seen from one place."""

    tree: Tree
    view: Viewpoint
    a: FrameMotion
    b: FrameMotion

    @staticmethod
    def of(tree: Tree, view: Viewpoint, a: Frame, b: Frame, q: Vector, v: Vector) -> Sides:
        return Sides(tree, view, frame_motion(tree, view, a, q, v), frame_motion(tree, view, b, q, v))

    def row(self, constraint: str, action: Action) -> Row:
        """(1)"""
        on_a = dot_columns(self.a.columns, action.force, action.moment, action.on_a)
        on_b = dot_columns(self.b.columns, -action.force, -action.moment, action.on_b)
        columns = {name: [[entry] for entry in entries] for name, entries in (on_a | on_b).items()}
        (K,) = self.tree.gather_columns(columns, rows=1)
        return Row(constraint, action.label, action.gap, K, action.offset, action.drift)

    def wrench(self, actions: Sequence[Action], multipliers: Vector) -> tuple[Vec3, Vec3]:
        """Force and moment on side a, at the origin of its frame, in axes of the view."""
        force, moment = ZERO, ZERO
        for action, size in zip(actions, multipliers, strict=True):
            f = size * action.force
            force, moment = force + f, moment + size * action.moment + (action.on_a - self.a.x).cross(f)
        return force, moment
