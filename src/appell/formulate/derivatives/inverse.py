"""Derivatives of inverse dynamics with respect to q, v and a, by a recursion over the tree.

For every degree of freedom i, `outboard.joint_wrenches` gives the wrenches on the joints inboard of it, and the terms
(f, n), G that are multiplied with the fields of these joints. One pass from the leaves inward gathers the composites
and carries all of these terms like wrenches and moments,

    f ← R f            n ← R n + s × R f            G ← R G                                                      (1)

to the axes of each joint k on the way, where the partial is constant and has one component:

    ∂τ_k/∂x_i = e_k·f + b_k·n  of the wrench of x_i                                                                (2)
    ∂τ_i/∂q_k, ∂τ_i/∂v_k       by (6) of `outboard`                                                                (3)

A link that moves freely in the world can have any acceleration field c + d × r: such a field is M times a vector x, and
-M⁻¹ of it is -x. Where M⁻¹ times the derivatives is needed, these terms are kept separate and need not be solved for:

    ∂τ/∂q = by_q + M own_q                          ∂τ/∂v = by_v + M own_v                                        (4)

Pairs of joints of which neither is inboard of the other give structural zeros. Cost O(n d), with d the depth of the
tree: for a humanoid, one third of the cost of the differentiated recursion.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from appell.algebra.rotation import Twist
from appell.algebra.scalar import Matrix, Scalar, Vector
from appell.algebra.vector import ZERO
from appell.formulate.derivatives.outboard import AtJoint, Composite, Field, JointWrenches, fields, joint_wrenches
from appell.formulate.gibbs_appell.inverse import required_wrench
from appell.formulate.recursion import (
    Acceleration,
    ExternalWrenches,
    LinkTransform,
    PerLink,
    Wrench,
    accelerations,
    by_tensor,
    link_transforms,
    on_parent,
    velocities,
)
from appell.formulate.tree import Tree, TreeLink
from appell.model.joints import Partial

Blocks = dict[tuple[str, str], Matrix]
FREE_DOF = 6  # degrees of freedom of a free body


class Derivatives(NamedTuple):
    """∂τ/∂q along the velocities, ∂τ/∂v and ∂τ/∂a = M, each nv x nv; the terms own_q and own_v of (4), or None."""

    by_q: Matrix
    by_v: Matrix
    by_a: Matrix
    own_q: Matrix | None = None
    own_v: Matrix | None = None


def inverse_dynamics_derivatives(
    tree: Tree, q: Vector, v: Vector, a: Vector, wrenches: ExternalWrenches = None, *, apart: bool = False
) -> Derivatives:
    """Derivatives of τ(q, v, a), with external wrenches that are constant in the axes of their links.

    With `apart`, the terms of free links are separated as in (4).
    """
    motion = _TreeMotion(tree, q, v, a)
    by_q: Blocks = {}
    by_v: Blocks = {}
    by_a: Blocks = {}
    own_q = own_v = None
    if apart:
        free = [link for link in tree.links if link.parent is None and len(link.partials) == FREE_DOF]
        own_q = tree.gather_matrix(
            {(x.name,) * 2: _in_partials(x, [f.by_q for f in motion.field[x.name]]) for x in free}
        )
        own_v = tree.gather_matrix(
            {(x.name,) * 2: _in_partials(x, [f.by_v for f in motion.field[x.name]]) for x in free}
        )
        for link in free:
            motion.field[link.name] = [replace(f, by_q=Twist(), by_v=Twist()) for f in motion.field[link.name]]
    for link, carried in motion.inward(wrenches or {}):
        i, here = link.name, link
        for inboard in tree.path(i):
            if inboard is not here:
                carried = [_to_parent(terms, motion.transforms[here.name]) for terms in carried]  # (1)
                here = inboard
            k, joint = here.name, motion.field[here.name]
            by_q[i, k] = [[_power(x.by_q, c.a) + x.psi.dot(c.G) for x in joint] for c in carried]  # (3)
            by_v[i, k] = [[_power(x.by_v, c.a) + x.partial.angular.dot(c.G) for x in joint] for c in carried]
            by_a[i, k] = [[_power(x.partial, c.a) for x in joint] for c in carried]
            if here is not link:
                by_q[k, i] = [[_power(x.partial, c.q) for c in carried] for x in joint]  # (2)
                by_v[k, i] = [[_power(x.partial, c.v) for c in carried] for x in joint]
                by_a[k, i] = [list(column) for column in zip(*by_a[i, k], strict=True)]
    by = tree.gather_matrix(by_q), tree.gather_matrix(by_v), tree.gather_symmetric(by_a)
    return Derivatives(*by, own_q, own_v)


class _TreeMotion:
    """Motion of the links and joints of a tree."""

    def __init__(self, tree: Tree, q: Vector, v: Vector, a: Vector):
        self.tree, self.v = tree, v
        self.transforms = link_transforms(tree, q)
        self.motion, self.velocity = accelerations(tree, self.transforms, v, a), velocities(tree, self.transforms, v)
        self.joint: PerLink[AtJoint] = PerLink(tree, self._at_joint)
        self.field: PerLink[list[Field]] = PerLink(tree, lambda x: fields(x.partials, self.joint[x.name]))

    def _at_joint(self, link: TreeLink) -> AtJoint:
        R, s = self.transforms[link.name].R, self.transforms[link.name].s
        motion, velocity = self.motion[link.parent], self.velocity[link.parent]
        at_origin = Acceleration(R.T @ motion.omega, R.T @ motion.alpha, R.T @ (motion.acc + by_tensor(motion, s)))
        linear = R.T @ (velocity.linear + velocity.angular.cross(s))
        return AtJoint(at_origin, linear, self.tree.velocity(link, self.v))

    def inward(self, wrenches: Mapping[str, Wrench]) -> Iterator[tuple[TreeLink, list[JointWrenches]]]:
        """Yield every link and the wrenches of its joint, leaves first; `wrenches` are the external ones."""
        passed: dict[str | None, list[Composite]] = {}
        for link in reversed(self.tree.links):
            name, joint = link.name, self.joint[link.name]
            force, moment = required_wrench(link.inertia, self.motion[name])
            external = wrenches.get(name, (ZERO, ZERO))
            composite = sum(passed.pop(name, ()), Composite(link.inertia, (force - external[0], moment - external[1])))
            yield link, joint_wrenches(link.partials, joint, self.velocity[name], composite)
            if link.parent is not None:
                carried = composite.on_parent(link.partials, joint.rates, self.transforms[name])
                passed.setdefault(link.parent, []).append(carried)


def _to_parent(terms: JointWrenches, transform: LinkTransform) -> JointWrenches:
    """Transform to the parent, by (1)."""
    q, v, a = (on_parent(transform, wrench) for wrench in (terms.q, terms.v, terms.a))
    return JointWrenches(q, v, a, transform.R @ terms.G)


def _in_partials(link: TreeLink, fields: Sequence[Partial]) -> Matrix:
    """Coordinates x of (4): the fields in terms of the link's partials, which are six unit vectors."""
    return [[p.linear.dot(field.linear) + p.angular.dot(field.angular) for field in fields] for p in link.partials]


def _power(field: Partial, wrench: Wrench) -> Scalar:
    return field.linear.dot(wrench[0]) + field.angular.dot(wrench[1])
