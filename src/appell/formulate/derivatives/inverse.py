"""Derivatives of inverse dynamics by q, v and a, along the tree.

`shares` gives for every degree of freedom i the wrenches that a joint inboard of it feels, and (f, n), G that meet the
fields of a joint inboard of it. One pass from the leaves inward gathers the composites, and carries all of these as
wrenches and moments are,

    f ← R f            n ← R n + s × R f            G ← R G                                                      (1)

to the axes of each joint k on the way, where the partial is constant and has one component:

    ∂τ_k/∂x_i = e_k·f + b_k·n  of the wrench of x_i                                                                (2)
    ∂τ_i/∂q_k, ∂τ_i/∂v_k       by (3) of `shares`                                                                  (3)

A link that moves freely in the world can accelerate as the field of any of its own steps: c + d × r is a column of M
times numbers x, and -M⁻¹ of it is -x. Who wants M⁻¹ of the derivatives takes these apart and spares the solving:

    ∂τ/∂q = by_q + M own_q                          ∂τ/∂v = by_v + M own_v                                        (4)

Joints of which neither is above the other give structural zeros. Cost O(n d), with d the depth of the tree: a third of
the differentiated recursion's for a humanoid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from appell.algebra.scalar import Matrix, Scalar, Vector
from appell.algebra.vector import ZERO
from appell.formulate.derivatives.outboard import AtJoint, Field, Matter, Share, fields, shares
from appell.formulate.gibbs_appell.inverse import asked
from appell.formulate.recursion import (
    Acceleration,
    OfLinks,
    Outside,
    Step,
    Wrench,
    accelerations,
    by_tensor,
    on_parent,
    steps,
    velocities,
)
from appell.formulate.tree import Tree, TreeLink
from appell.model.joints import Partial

Blocks = dict[tuple[str, str], Matrix]
ALL = 6  # ways to move
NOTHING = Partial(ZERO, ZERO)


class Derivatives(NamedTuple):
    """∂τ/∂q along the velocities, ∂τ/∂v and ∂τ/∂a = M, each nv x nv; what is taken apart by (4), or None."""

    by_q: Matrix
    by_v: Matrix
    by_a: Matrix
    own_q: Matrix | None = None
    own_v: Matrix | None = None


def inverse_dynamics_derivatives(
    tree: Tree, q: Vector, v: Vector, a: Vector, wrenches: Outside = None, *, apart: bool = False
) -> Derivatives:
    """The derivatives of τ(q, v, a), with outside wrenches that are constant in the axes of their links.

    With `apart`, those of free links as (4) says.
    """
    moves = _Moves(tree, q, v, a)
    by_q: Blocks = {}
    by_v: Blocks = {}
    by_a: Blocks = {}
    own_q = own_v = None
    if apart:
        free = [link for link in tree.links if link.parent is None and len(link.partials) == ALL]
        own_q = tree.gather_matrix({(x.name,) * 2: _own(x, [f.by_q for f in moves.field[x.name]]) for x in free})
        own_v = tree.gather_matrix({(x.name,) * 2: _own(x, [f.by_v for f in moves.field[x.name]]) for x in free})
        for link in free:
            moves.field[link.name] = [replace(f, by_q=NOTHING, by_v=NOTHING) for f in moves.field[link.name]]
    for link, carried in moves.inward(wrenches or {}):
        i, here = link.name, link
        for inboard in tree.path(i):
            if inboard is not here:
                carried = [_to_parent(share, moves.step[here.name]) for share in carried]  # (1)
                here = inboard
            k, own = here.name, moves.field[here.name]
            by_q[i, k] = [[_work(x.by_q, c.a) + x.psi.dot(c.G) for x in own] for c in carried]  # (3)
            by_v[i, k] = [[_work(x.by_v, c.a) + x.partial.angular.dot(c.G) for x in own] for c in carried]
            by_a[i, k] = [[_work(x.partial, c.a) for x in own] for c in carried]
            if here is not link:
                by_q[k, i] = [[_work(x.partial, c.q) for c in carried] for x in own]  # (2)
                by_v[k, i] = [[_work(x.partial, c.v) for c in carried] for x in own]
                by_a[k, i] = [list(column) for column in zip(*by_a[i, k], strict=True)]
    by = tree.gather_matrix(by_q), tree.gather_matrix(by_v), tree.gather_symmetric(by_a)
    return Derivatives(*by, own_q, own_v)


class _Moves:
    """How the tree moves, link by link."""

    def __init__(self, tree: Tree, q: Vector, v: Vector, a: Vector):
        self.tree, self.v = tree, v
        self.step = steps(tree, q)
        self.motion, self.velocity = accelerations(tree, self.step, v, a), velocities(tree, self.step, v)
        self.joint: OfLinks[AtJoint] = OfLinks(tree, self._at_joint)
        self.field: OfLinks[list[Field]] = OfLinks(tree, lambda x: fields(x.partials, self.joint[x.name]))

    def _at_joint(self, link: TreeLink) -> AtJoint:
        R, s = self.step[link.name].R, self.step[link.name].s
        motion, velocity = self.motion[link.parent], self.velocity[link.parent]
        at_origin = Acceleration(R.T @ motion.omega, R.T @ motion.alpha, R.T @ (motion.acc + by_tensor(motion, s)))
        linear = R.T @ (velocity.linear + velocity.omega.cross(s))
        return AtJoint(at_origin, linear, self.tree.velocity(link, self.v))

    def inward(self, wrenches: Mapping[str, Wrench]) -> Iterator[tuple[TreeLink, list[Share]]]:
        """The shares of every link, leaves first, with wrenches that act from outside."""
        handed: dict[str | None, list[Matter]] = {}
        for link in reversed(self.tree.links):
            name, joint = link.name, self.joint[link.name]
            force, moment = asked(link.inertia, self.motion[name])
            outside = wrenches.get(name, (ZERO, ZERO))
            matter = sum(handed.pop(name, ()), Matter(link.inertia, (force - outside[0], moment - outside[1])))
            yield link, shares(link.partials, joint, self.velocity[name], matter)
            if link.parent is not None:
                carried = matter.on_parent(link.partials, joint.rates, self.step[name])
                handed.setdefault(link.parent, []).append(carried)


def _to_parent(share: Share, step: Step) -> Share:
    """(1)."""
    q, v, a = (on_parent(step, wrench) for wrench in (share.q, share.v, share.a))
    return Share(q, v, a, step.R @ share.G)


def _own(link: TreeLink, fields: Sequence[Partial]) -> Matrix:
    """The numbers x of (4): the fields in terms of the link's partials, which are six unit vectors."""
    return [[p.linear.dot(field.linear) + p.angular.dot(field.angular) for field in fields] for p in link.partials]


def _work(field: Partial, wrench: Wrench) -> Scalar:
    return field.linear.dot(wrench[0]) + field.angular.dot(wrench[1])
