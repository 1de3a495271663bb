"""Recursions over the links of a tree: how they move, outward, and what forces they ask for, inward.

With J the joint's own motion, all in link coordinates and R, s the rotation and offset of the link in its parent:

    ω  = Rᵀω_p + ω_J                                      ω_J = Σ angular v,  v_J = Σ linear v            (1)
    ω̇  = Rᵀω̇_p + (Rᵀω_p) × ω_J + Σ angular a                                                              (2)
    W  = ω̇~ + ω~ω~                                        so that W r is the acceleration of r about O     (3)
    s̈  = Rᵀ(s̈_p + W_p s) + 2 (Rᵀω_p) × v_J + ω_J × v_J + Σ linear a                                       (4)

Methods that keep to vectors write ω̇ × r + ω × (ω × r) for W r; they differ in nothing else. The world stands still
and accelerates against gravity: s̈ = -g. Mata et al. 2002, §4.1, for any joint.

A joint moves all links outboard of it as one rigid body. With f and n the force and the moment about the origin that
the matter of a link asks for, less what acts on it from outside,

    F_p += R F            N_p += R N + s × R F            τₖ = angularₖ·N + linearₖ·F                          (5)

A link with everything outboard of it, as one rigid body about the link's origin, is a composite:

    M_p += M        φ_p += Rφ + M s        Ψ_p += RΨRᵀ + (s φ'ᵀ + φ' sᵀ),   φ' = Rφ + ½ M s                  (6)

with φ = ∫ r dm and Ψ = ∫ r rᵀ dm.

The wrench (f, n) that a unit acceleration of one joint asks for is carried inward; joint k on the way feels

    M_kj = linearₖ·f + angularₖ·n            f ← R f,   n ← R n + s × R f                                       (7)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from appell.algebra.matrix import Mat3, symmetric_product
from appell.algebra.rotation import Pose, Rotation, compose
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import ZERO, Vec3, total
from appell.formulate.tree import Tree, TreeLink
from appell.model.body import Inertia
from appell.model.frame import WORLD
from appell.model.joints import Partial

T = TypeVar("T")


class OfLinks(Generic[T]):
    """`make(link)` may ask for what the parent has; the world has what it is given here."""

    def __init__(self, tree: Tree, make: Callable[[TreeLink], T], world: T | None = None):
        self._tree, self._make = tree, make
        self._known: dict[str | None, T] = {} if world is None else {WORLD: world}

    def __getitem__(self, name: str | None) -> T:
        unknown: list[TreeLink] = []
        for link in self._tree.path(name):
            if link.name in self._known:
                break
            unknown.append(link)
        for link in reversed(unknown):
            self._known[link.name] = self._make(link)
        return self._known[name]

    def __setitem__(self, name: str, value: T) -> None:
        self._known[name] = value


@dataclass(frozen=True)
class Step:
    """From a link to its parent: x_parent = R x + s."""

    R: Rotation
    s: Vec3


Steps = OfLinks[Step]


def steps(tree: Tree, q: Vector) -> Steps:
    """Where every link stands in its parent."""
    return OfLinks(tree, lambda link: step_of(link.placement, link.joint.motion.pose(tree.position(link, q))))


def step_of(placement: Pose, joint: Pose) -> Step:
    """The step of a joint that is placed on its parent and has moved."""
    return Step(
        compose(placement.rotation, joint.rotation), placement.translation + placement.rotation @ joint.translation
    )


def carried_partials(tree: Tree, step: Steps) -> OfLinks[dict[str, list[Partial]]]:
    """For every link, how a unit of each v at it or inboard of it turns the link and moves its origin.

    In coordinates of the link; a partial is carried outward by b ← Rᵀ b, u ← Rᵀ (u + b × s).
    """

    def carried(link: TreeLink) -> dict[str, list[Partial]]:
        inboard = found[link.parent].items()
        return {name: [carry(step[link.name], p) for p in partials] for name, partials in inboard} | {
            link.name: list(link.partials)
        }

    found: OfLinks[dict[str, list[Partial]]] = OfLinks(tree, carried, world={})
    return found


def carry(step: Step, partial: Partial) -> Partial:
    """A velocity field of the parent, seen at the link's origin in the link's coordinates."""
    b, u = partial.angular, partial.linear
    return Partial(step.R.T @ b, step.R.T @ (u + b.cross(step.s)))


@dataclass(frozen=True)
class Velocity:
    """Angular velocity and velocity of the origin, in link coordinates."""

    omega: Vec3 = ZERO
    linear: Vec3 = ZERO


def velocities(tree: Tree, step: Steps, v: Vector) -> OfLinks[Velocity]:
    """The velocity of every link."""

    def moved(link: TreeLink) -> Velocity:
        return next_velocity(step[link.name], link.partials, found[link.parent], tree.velocity(link, v))

    found = OfLinks(tree, moved, world=Velocity())
    return found


def next_velocity(step: Step, partials: Sequence[Partial], parent: Velocity, rates: Vector) -> Velocity:
    """The velocity of a link, from its parent's."""
    R, s = step.R, step.s
    omega = R.T @ parent.omega + combine((p.angular for p in partials), rates)
    linear = R.T @ (parent.linear + parent.omega.cross(s)) + combine((p.linear for p in partials), rates)
    return Velocity(omega, linear)


@dataclass(frozen=True)
class Acceleration:
    """Angular velocity and acceleration, and acceleration of the origin less gravity, in link coordinates."""

    omega: Vec3
    alpha: Vec3
    acc: Vec3
    slip: Vec3 = ZERO  # the part of acc that is not the parent's: motion along the joint itself

    @cached_property
    def W(self) -> Mat3:
        """(3), with ω~ω~ = ω ωᵀ - (ω·ω) 1 written out so that every product is made once."""
        (x, y, z), (ax, ay, az) = self.omega, self.alpha
        xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
        return Mat3.of(
            [
                [-(yy + zz), xy - az, xz + ay],
                [xy + az, -(xx + zz), yz - ax],
                [xz - ay, yz + ax, -(xx + yy)],
            ]
        )


def by_tensor(motion: Acceleration, r: Vec3) -> Vec3:
    """The acceleration of a point r of the link relative to its origin: W r."""
    return motion.W @ r


def by_crosses(motion: Acceleration, r: Vec3) -> Vec3:
    """The same with vector products: ω̇ × r + ω × (ω × r)."""
    return motion.alpha.cross(r) + motion.omega.cross(motion.omega.cross(r))


Swing = Callable[[Acceleration, Vec3], Vec3]


def accelerations(tree: Tree, step: Steps, v: Vector, a: Vector, swing: Swing = by_tensor) -> OfLinks[Acceleration]:
    """The acceleration of every link; `swing` says how that of a point about the origin is computed."""

    def moved(link: TreeLink) -> Acceleration:
        rates, gains = tree.velocity(link, v), tree.velocity(link, a)
        return next_acceleration(step[link.name], link.partials, found[link.parent], rates, gains, swing)

    found = OfLinks(tree, moved, world=Acceleration(ZERO, ZERO, -tree.gravity))
    return found


def next_acceleration(
    step: Step,
    partials: Sequence[Partial],
    parent: Acceleration,
    rates: Vector,
    gains: Vector,
    swing: Swing = by_tensor,
) -> Acceleration:
    """The acceleration of a link, from its parent's."""
    R, s = step.R, step.s
    angular, linear = [p.angular for p in partials], [p.linear for p in partials]
    carried = R.T @ parent.omega
    spin, slide = combine(angular, rates), combine(linear, rates)
    omega = carried + spin  # (1)
    alpha = R.T @ parent.alpha + carried.cross(spin) + combine(angular, gains)  # (2)
    slip = 2.0 * carried.cross(slide) + spin.cross(slide) + combine(linear, gains)
    acc = R.T @ (parent.acc + swing(parent, s)) + slip  # (4)
    return Acceleration(omega, alpha, acc, slip)


def combine(vectors: Iterable[Vec3], weights: Iterable[Scalar]) -> Vec3:
    """Σ weight vector."""
    return total(weight * vector for vector, weight in zip(vectors, weights, strict=True))


Wrench = tuple[Vec3, Vec3]  # force and moment about the link's origin, in link coordinates
Outside = Mapping[str, Wrench] | None  # what acts on links from outside


def joint_forces(tree: Tree, step: Steps, asked: Mapping[str, Wrench], outside: Outside = None) -> list[Scalar]:
    """τ for the wrenches that the links ask for and those that act on them, by (5)."""
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


def composites(tree: Tree, step: Steps) -> dict[str, Inertia]:
    """Every link's composite, in its own axes, by (6)."""
    found = {link.name: link.inertia for link in tree.links}
    for link in reversed(tree.links):
        if link.parent is not None:
            found[link.parent] = found[link.parent] + carried_by_parent(found[link.name], step[link.name])
    return found


def carried_by_parent(body: Inertia, step: Step) -> Inertia:
    """A composite as its parent carries it, by (6)."""
    R, s = step.R, step.s
    turned = R @ body.first
    middle = turned + 0.5 * (body.mass * s)
    return Inertia(body.mass, turned + body.mass * s, R.conjugate(body.second) + symmetric_product(s, middle))


def columns_from_wrenches(tree: Tree, step: Steps, wrenches: Mapping[str, Sequence[Wrench]]) -> list[list[Scalar]]:
    """M(q) from the wrenches at each link for its own partials, by (7)."""
    blocks: dict[tuple[str, str], list[list[Scalar]]] = {}
    for link in tree.links:
        carried, here = list(wrenches[link.name]), link
        for inboard in (link, *tree.ancestors(link)):
            if inboard is not here:
                R, s = step[here.name].R, step[here.name].s
                carried = [(f_parent := R @ f, R @ n + s.cross(f_parent)) for f, n in carried]
                here = inboard
            rows = [[p.linear.dot(f) + p.angular.dot(n) for f, n in carried] for p in here.partials]
            blocks[here.name, link.name] = rows
            if here is not link:
                blocks[link.name, here.name] = [list(column) for column in zip(*rows, strict=True)]
    return tree.gather_symmetric(blocks)
