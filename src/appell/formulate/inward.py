"""The inward pass that most methods share: from forces on links to forces at joints.

A joint moves all links outboard of it as one rigid body. With f and n the force and the moment about the origin that
the matter of a link asks for, less what acts on it from outside,

    F_p += R F            N_p += R N + s × R F            τₖ = angularₖ·N + linearₖ·F                          (1)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import ZERO, Vec3
from appell.formulate.link_motion import Step, Steps
from appell.formulate.tree import Tree
from appell.model.frame import WORLD
from appell.model.joints import Partial

Wrench = tuple[Vec3, Vec3]  # force and moment about the link's origin, in link coordinates
Outside = Mapping[str, Wrench] | None  # what acts on links from outside


def joint_forces(tree: Tree, step: Steps, asked: Mapping[str, Wrench], outside: Outside = None) -> list[Scalar]:
    """τ for the wrenches that the links ask for and those that act on them, by (1)."""
    gathered = outboard_wrenches(tree, step, asked, outside)
    return tree.gather({link.name: along(link.partials, gathered[link.name]) for link in tree.links})


def outboard_wrenches(
    tree: Tree, step: Steps, asked: Mapping[str, Wrench], outside: Outside = None
) -> dict[str | None, Wrench]:
    """F and N of every link: what it and all outboard of it ask for; the world's entry is the wrench on the ground."""
    found: dict[str | None, Wrench] = {WORLD: (ZERO, ZERO), **dict(asked.items())}
    for name, (force, moment) in (outside or {}).items():
        found[name] = found[name][0] - force, found[name][1] - moment
    for link in reversed(tree.links):
        force, moment = on_parent(step[link.name], found[link.name])
        found[link.parent] = found[link.parent][0] + force, found[link.parent][1] + moment
    return found


def along(partials: Sequence[Partial], wrench: Wrench) -> list[Scalar]:
    """The forces of a wrench along the partials of a joint."""
    force, moment = wrench
    return [p.angular.dot(moment) + p.linear.dot(force) for p in partials]


def on_parent(step: Step, wrench: Wrench) -> Wrench:
    """A wrench on a link, about the origin and in the axes of its parent."""
    force = step.R @ wrench[0]
    return force, step.R @ wrench[1] + step.s.cross(force)


def less_outside(tree: Tree, step: Steps, tau: Vector, outside: Outside) -> list[Scalar]:
    """τ less the share of wrenches from outside, for methods that do not gather forces themselves."""
    if not outside:
        return list(tau)
    share = joint_forces(tree, step, {link.name: (ZERO, ZERO) for link in tree.links}, outside)
    return [x + y for x, y in zip(tau, share, strict=True)]
