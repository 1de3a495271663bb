"""Rows of constraints on a tree: gap, K, b and drift of each row, at a configuration and a velocity of the tree.

The tables `ROWS` and `ACTIONS` at the end list the functions for each kind of constraint. Rows are in the order of the
constraints and, within a constraint, in the order of its labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from appell.algebra.derivative import value_and_rate
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import Vec3
from appell.errors import ModelError
from appell.formulate.constrained import contact as contacts
from appell.formulate.constrained.action import (
    Action,
    Row,
    Sides,
    along,
    closure_action,
    contact_actions,
    distance,
    length,
    skate_action,
)
from appell.formulate.constrained.frame_motion import Viewpoint, view_from, view_of_closure, view_of_wheel
from appell.formulate.flexible.kinematics import Configuration
from appell.formulate.tree import Tree
from appell.model.constraint import (
    AXES,
    POSITION_LABELS,
    Closure,
    Constraint,
    Distance,
    Gear,
    Prescribed,
    Rolling,
    Skate,
    Velocities,
    find_frame,
)
from appell.model.frame import Frame


@dataclass(frozen=True)
class Instant:
    """A tree at a configuration and a velocity."""

    tree: Tree
    q: Vector
    w: Vector

    def sides(self, view: Viewpoint, a: Frame, b: Frame) -> Sides:
        return Sides.of(self.tree, view, a, b, self.q, self.w)


def rows(tree: Tree, constraints: Sequence[Constraint], q: Vector, w: Vector, prescribed: Vector = ()) -> list[Row]:
    """All rows at a configuration q and a velocity w of the tree.

    `prescribed` has (s, ṡ, s̈) of each prescribed motion in turn; if it is empty, they are at rest at 0.
    """
    at, result, motions = Instant(tree, q, w), [], list(prescribed)
    for constraint in constraints:
        for row in rows_of(constraint, at):
            if motions and row.label in constraint.motions:
                row, motions = row.driven(*motions[:3]), motions[3:]
            result.append(row)
    return result


def wrench(tree: Tree, constraint: Constraint, q: Vector, multipliers: Vector) -> tuple[Vec3, Vec3]:
    """Force and moment on side a of a constraint between two frames, at the origin of a, in world axes."""
    sides, actions = actions_of(constraint, Instant(tree, q, [0.0] * tree.robot.nv))
    axes = Configuration(tree, q).frame_pose(sides.view.frame).rotation
    force, moment = sides.wrench(actions, multipliers)
    return axes @ force, axes @ moment


def rows_of(constraint: Constraint, at: Instant) -> list[Row]:
    """Rows of one constraint: by its function in `ROWS`, or from its actions between two frames."""
    if function := _lookup(ROWS, constraint):
        return function(constraint, at)
    sides, actions = actions_of(constraint, at)
    return [sides.row(constraint.name, action) for action in actions]


def actions_of(constraint: Constraint, at: Instant) -> tuple[Sides, list[Action]]:
    """Both sides of a constraint between frames, and the action of each of its rows."""
    if function := _lookup(ACTIONS, constraint):
        return function(constraint, at)
    raise ModelError(
        f"{constraint.owner} has no wrench: it does not act between two frames.",
        expected="a closure, a rolling constraint or a skate",
    )


def _lookup(table: Mapping[type, Callable], constraint: Constraint) -> Callable | None:
    """Entry of a constraint's class, or of the nearest of its base classes that has one."""
    return next((table[kind] for kind in type(constraint).__mro__ if kind in table), None)


# ---- closures


def _closure_actions(constraint: Closure, at: Instant) -> tuple[Sides, list[Action]]:
    sides = _sides(constraint, at)
    return sides, [closure_action(label, sides) for label in constraint.row_labels]


def _distance_actions(constraint: Distance, at: Instant) -> tuple[Sides, list[Action]]:
    sides, rest = _sides(constraint, at), constraint.length
    if rest is None:
        start = replace(at, q=[float(x) for x in at.tree.robot.start], w=[0.0] * at.tree.robot.nv)
        rest = distance(_sides(constraint, start))
    return sides, [length(label, sides, rest) for label in constraint.row_labels]


def _sides(constraint: Closure, at: Instant) -> Sides:
    a, b = _frames(at, constraint.a, constraint.b)
    return at.sides(view_of_closure(at.tree, a, b), a, b)


def _frames(at: Instant, *names: Any) -> tuple[Frame, ...]:
    return tuple(find_frame(at.tree.robot, name) for name in names)


# ---- rolling


def _rolling_actions(constraint: Rolling, at: Instant) -> tuple[Sides, list[Action]]:
    a, b = _frames(at, constraint.frame, constraint.ground)
    from_ground = constraint.ball or constraint.wall is not None
    sides = at.sides(view_from(b) if from_ground else view_of_wheel(at.tree, a, b), a, b)
    contact = _contact(constraint, sides)
    return sides, contact_actions(constraint.row_labels, sides, contact, constraint.turning)


def _contact(constraint: Rolling, sides: Sides) -> contacts.RollingContact:
    wall, radius, axis = constraint.wall, constraint.radius, AXES.index(constraint.axis)
    if wall is None:
        if constraint.ball:
            return contacts.ball_on_plane(sides.a, sides.b, radius)
        return contacts.wheel_on_plane(sides.a, sides.b, axis, radius)
    exact = getattr(wall, "distance", None)
    gap = exact or wall.gap
    field = contacts.SurfaceField(lambda x: gap(*x))
    if not constraint.ball:
        return contacts.wheel_on_surface(sides.a, field, axis, radius)
    return (contacts.ball_at_distance if exact else contacts.ball_on_surface)(sides.a, field, radius)


def _skate_actions(constraint: Skate, at: Instant) -> tuple[Sides, list[Action]]:
    a, b = _frames(at, constraint.frame, constraint.on)
    sides, axis = at.sides(view_from(a), a, b), AXES.index(constraint.across)
    return sides, [skate_action(label, sides, axis) for label in constraint.row_labels]


# ---- constraints that do not act between two frames


def _gear_rows(constraint: Gear, at: Instant) -> list[Row]:
    """Row of Σ cₖ qₖ = c₀; a mimic joint moves as its leader does."""
    tree = at.tree
    ratio = {link.name: constraint.ratios.get(link.joint.name, 0.0) for link in tree.links}
    links = [link for link in tree.links if link.joint.name in constraint.ratios]
    gap: Scalar = -constraint.offset
    for link in links:
        gap = gap + ratio[link.name] * tree.position(link, at.q)[0]
    (K,) = tree.gather_columns({link.name: [[ratio[link.name]]] for link in links}, rows=1)
    return [Row(constraint.name, label, gap, K, 0.0, 0.0) for label in constraint.row_labels]


def _velocity_rows(constraint: Velocities, at: Instant) -> list[Row]:
    """Rows of A v - b = 0, with the drift Ȧ v - ḃ."""
    robot = at.tree.robot
    values, rates = value_and_rate(constraint.table, at.q, robot.rate(at.q, at.w))
    result = []
    for label, (*A, b), (*A_rate, b_rate) in zip(constraint.row_labels, values, rates, strict=True):
        drift = sum((x * v for x, v in zip(A_rate, at.w, strict=True)), start=-b_rate)
        result.append(Row(constraint.name, label, None, A, -b, drift))
    return result


# ---- prescribed motions


def _prescribed_actions(constraint: Prescribed, at: Instant) -> tuple[Sides, list[Action]]:
    """Actions of the inner constraint, with points driven along the axes of b."""
    sides, actions = actions_of(constraint.constraint, at)
    directions = {label: f"along {k + 1}" for k, label in enumerate(POSITION_LABELS)}
    driven = [
        replace(along(directions[action.label], sides), label=action.label)
        if action.label in POSITION_LABELS
        else action
        for action in actions
    ]
    return sides, driven


def _prescribed_rows(constraint: Prescribed, at: Instant) -> list[Row]:
    inner = constraint.constraint
    if isinstance(inner, (Gear, Velocities)):
        return [replace(row, constraint=constraint.name) for row in rows_of(inner, at)]
    sides, actions = actions_of(constraint, at)
    return [sides.row(constraint.name, action) for action in actions]


ACTIONS: dict[type, Callable[..., tuple[Sides, list[Action]]]] = {
    Closure: _closure_actions,
    Distance: _distance_actions,
    Rolling: _rolling_actions,
    Skate: _skate_actions,
    Prescribed: _prescribed_actions,
}
ROWS: dict[type, Callable[..., list[Row]]] = {
    Gear: _gear_rows,
    Velocities: _velocity_rows,
    Prescribed: _prescribed_rows,
}
