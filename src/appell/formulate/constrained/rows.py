"""The rows of constraints on a tree: gap, K, b and drift of each, at a configuration and a velocity of the tree.

What a constraint is made of is looked up by its kind. Rows come in the order of the constraints, and within one in the
order of its labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch

from appell.algebra.scalar import Vector
from appell.algebra.vector import Vec3
from appell.errors import ModelError
from appell.formulate.constrained.action import Action, Sides
from appell.formulate.constrained.closures import closure_action, distance, length
from appell.formulate.constrained.row import Row
from appell.formulate.constrained.views import view_of_closure
from appell.formulate.kinematics import frame_pose
from appell.formulate.tree import Tree
from appell.model.constraint.closures import Closure, Distance
from appell.model.constraint.constraint import Constraint, find_frame
from appell.model.constraint.gear import Gear
from appell.model.frame import Frame


def rows(tree: Tree, constraints: Sequence[Constraint], q: Vector, w: Vector, prescribed: Vector = ()) -> list[Row]:
    """All rows; w is a velocity of the tree. `prescribed` holds (s, ṡ, s̈) of every motion, one after the other."""
    found, motions = [], [prescribed[k : k + 3] for k in range(0, len(prescribed), 3)]
    for constraint in constraints:
        for row in rows_of(constraint, tree, q, w):
            found.append(row.driven(*motions.pop(0)) if row.label in constraint.motions else row)
    return found


def wrench(tree: Tree, constraint: Constraint, q: Vector, multipliers: Vector) -> tuple[Vec3, Vec3]:
    """Force and moment on side a of a constraint between two frames, at the origin of a, in world axes."""
    sides, actions = actions_of(constraint, tree, q, [0.0] * tree.robot.nv)
    viewed = frame_pose(tree, Frame("view", sides.view.link, sides.view.pose), q).rotation
    force, moment = sides.wrench(actions, multipliers)
    return viewed @ force, viewed @ moment


@singledispatch
def rows_of(constraint: Constraint, tree: Tree, q: Vector, w: Vector) -> list[Row]:
    """The rows of one constraint; by its actions, unless it is no tie between frames."""
    sides, actions = actions_of(constraint, tree, q, w)
    return [sides.row(constraint.name, action) for action in actions]


@singledispatch
def actions_of(constraint: Constraint, tree: Tree, q: Vector, w: Vector) -> tuple[Sides, list[Action]]:
    """Both sides of a constraint between frames, and the action of each of its rows."""
    raise ModelError(
        f"{constraint.owner} does not act between two frames, so that it has no wrench.",
        expected="a closure, a rolling body or a skate",
    )


@actions_of.register
def _(constraint: Closure, tree: Tree, q: Vector, w: Vector) -> tuple[Sides, list[Action]]:
    sides = _sides(constraint, tree, q, w)
    return sides, [closure_action(label, sides) for label in constraint.row_labels]


@actions_of.register
def _(constraint: Distance, tree: Tree, q: Vector, w: Vector) -> tuple[Sides, list[Action]]:
    sides, rest = _sides(constraint, tree, q, w), constraint.length
    if rest is None:
        rest = distance(_sides(constraint, tree, list(tree.robot.start), [0.0] * tree.robot.nv))
    return sides, [length(label, sides, rest) for label in constraint.row_labels]


def _sides(constraint: Closure, tree: Tree, q: Vector, w: Vector) -> Sides:
    a, b = find_frame(tree.robot, constraint.a), find_frame(tree.robot, constraint.b)
    return Sides.of(tree, view_of_closure(tree, a, b), a, b, q, w)


@rows_of.register
def _(constraint: Gear, tree: Tree, q: Vector, w: Vector) -> list[Row]:
    """Σ cₖ qₖ = c₀; a mimic joint moves as its leader does."""
    links = [link for link in tree.links if link.joint.name in constraint.ratios]
    ratios = {link.name: constraint.ratios[link.joint.name] for link in links}
    gap = sum((ratios[link.name] * tree.position(link, q)[0] for link in links), start=-constraint.offset)
    (K,) = tree.gather_columns({name: [[ratio]] for name, ratio in ratios.items()}, rows=1)
    return [Row(constraint.name, label, gap, K, 0.0, 0.0) for label in constraint.row_labels]
