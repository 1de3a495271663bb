"""Derivatives of inverse dynamics by q, v and a, along the tree.

`shares` gives for every degree of freedom i the wrenches that a joint inboard of it feels, and (f, n), G that meet the
fields of a joint inboard of it. All are carried inward as wrenches and moments are,

    f ← R f            n ← R n + s × R f            G ← R G                                                      (1)

to the axes of each joint k on the way, where the partial is constant and has one component:

    ∂τ_k/∂x_i = e_k·f + b_k·n  of the wrench of x_i                                                                (2)
    ∂τ_i/∂q_k, ∂τ_i/∂v_k       by (3) of `shares`                                                                  (3)

Joints of which neither is above the other give structural zeros. Cost O(n d), with d the depth of the tree: a third of
the differentiated recursion's for a humanoid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import Vec3
from appell.formulate.composite import composites
from appell.formulate.derivatives.inner_flow import inner_flows
from appell.formulate.derivatives.shares import Matter, Share, shares
from appell.formulate.gibbs_appell.inverse import asked_by_all
from appell.formulate.inward import Outside, Wrench, on_parent, outboard_wrenches
from appell.formulate.link_motion import Acceleration, Step, Velocity, accelerations, by_tensor, steps, velocities
from appell.formulate.tree import Tree
from appell.model.joints import Partial

Matrix = list[list[Scalar]]


class Derivatives(NamedTuple):
    """∂τ/∂q along the velocities, ∂τ/∂v and ∂τ/∂a = M, each nv x nv."""

    by_q: Matrix
    by_v: Matrix
    by_a: Matrix


@dataclass(frozen=True)
class _Carried:
    """What goes inward of one degree of freedom."""

    q: Wrench
    v: Wrench
    a: Wrench
    G: Vec3

    def to_parent(self, step: Step) -> _Carried:
        """(1)."""
        q, v, a = (on_parent(step, wrench) for wrench in (self.q, self.v, self.a))
        return _Carried(q, v, a, step.R @ self.G)


def inverse_dynamics_derivatives(tree: Tree, q: Vector, v: Vector, a: Vector, wrenches: Outside = None) -> Derivatives:
    """The derivatives of τ(q, v, a), with outside wrenches that are constant in the axes of their links."""
    step = steps(tree, q)
    share = _all_shares(tree, step, v, a, wrenches)
    by_q: dict[tuple[str, str], Matrix] = {}
    by_v: dict[tuple[str, str], Matrix] = {}
    by_a: dict[tuple[str, str], Matrix] = {}
    for link in tree.links:
        i = link.name
        carried = [_Carried(own.wrench_q, own.wrench_v, own.wrench_a, own.G) for own in share[i]]
        here = link
        for inboard in (link, *tree.ancestors(link)):
            if inboard is not here:
                carried = [each.to_parent(step[here.name]) for each in carried]
                here = inboard
            k = here.name
            by_q[i, k] = [[_work(x.field_q, c.a) + x.psi.dot(c.G) for x in share[k]] for c in carried]  # (3)
            by_v[i, k] = [[_work(x.field_v, c.a) + x.partial.angular.dot(c.G) for x in share[k]] for c in carried]
            by_a[i, k] = [[_work(x.partial, c.a) for x in share[k]] for c in carried]
            if here is not link:
                by_q[k, i] = [[_work(x.partial, c.q) for c in carried] for x in share[k]]  # (2)
                by_v[k, i] = [[_work(x.partial, c.v) for c in carried] for x in share[k]]
                by_a[k, i] = [list(column) for column in zip(*by_a[i, k], strict=True)]
    return Derivatives(tree.gather_matrix(by_q), tree.gather_matrix(by_v), tree.gather_symmetric(by_a))


def _all_shares(tree: Tree, step: dict[str, Step], v: Vector, a: Vector, wrenches: Outside) -> dict[str, list[Share]]:
    motion, velocity = accelerations(tree, step, v, a), velocities(tree, step, v)
    composite = composites(tree, step)
    flow = inner_flows(tree, step, v, composite)
    gathered = outboard_wrenches(tree, step, asked_by_all(tree, motion), wrenches)
    found = {}
    for link in tree.links:
        name, parent = link.name, link.parent
        acceleration, linear = _at_joint(step[name], motion[parent], velocity[parent])
        matter = Matter(composite[name], flow[name], *gathered[name])
        found[name] = shares(link.partials, tree.velocity(link, v), acceleration, linear, velocity[name], matter)
    return found


def _at_joint(step: Step, motion: Acceleration, velocity: Velocity) -> tuple[Acceleration, Vec3]:
    """The motion of the parent at the link's origin, in link axes: its acceleration, and its linear velocity."""
    R, s = step.R, step.s
    carried = Acceleration(R.T @ motion.omega, R.T @ motion.alpha, R.T @ (motion.acc + by_tensor(motion, s)))
    return carried, R.T @ (velocity.linear + velocity.omega.cross(s))


def _work(field: Partial, wrench: Wrench) -> Scalar:
    return field.linear.dot(wrench[0]) + field.angular.dot(wrench[1])
