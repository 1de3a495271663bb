"""Recursions over the links of a tree: motion outward, required forces inward.

R, s are the rotation and offset of a link in its parent; the index p marks the parent, J the motion of the joint. All
vectors are in link coordinates:

    ω  = Rᵀω_p + ω_J                                      ω_J = Σ angular v,  v_J = Σ linear v            (1)
    ω̇  = Rᵀω̇_p + (Rᵀω_p) × ω_J + Σ angular a                                                              (2)
    W  = ω̇~ + ω~ω~                                        so that W r is the acceleration of r about O     (3)
    s̈  = Rᵀ(s̈_p + W_p s) + 2 (Rᵀω_p) × v_J + ω_J × v_J + Σ linear a                                       (4)

Methods that use vectors only write ω̇ × r + ω × (ω × r) for W r; otherwise they are the same. The world is at rest and
accelerates against gravity: s̈ = -g. Mata et al. 2002, §4.1, for any joint.

A joint moves all links outboard of it as one rigid body. F and N start as the force and the moment about the origin
that the motion of a link requires, minus the external wrench on it, and are gathered inward:

    F_p += R F            N_p += R N + s × R F            τₖ = angularₖ·N + linearₖ·F                          (5)

A composite is a link with everything outboard of it, as one rigid body about the link's origin:

    M_p += M        φ_p += Rφ + M s        Ψ_p += RΨRᵀ + (s φ'ᵀ + φ' sᵀ),   φ' = Rφ + ½ M s                  (6)

with φ = ∫ r dm and Ψ = ∫ r rᵀ dm.

The wrench (f, n) that a unit acceleration of joint j requires is carried inward; its component along joint k is

    M_kj = linearₖ·f + angularₖ·n            f ← R f,   n ← R n + s × R f                                       (7)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from appell.algebra.matrix import Mat3, symmetric_product
from appell.algebra.rotation import Pose, Rotation, Twist, compose
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import ZERO, Vec3, total
from appell.formulate.tree import Tree, TreeLink
from appell.model.body import Inertia
from appell.model.frame import WORLD
from appell.model.joints import Partial

T = TypeVar("T")


class PerLink(Generic[T]):
    """One value per link, computed on first use, parents first.

    `compute(link)` may read the value of the link's parent; `world` is the value of the world.
    """

    def __init__(self, tree: Tree, compute: Callable[[TreeLink], T], world: T | None = None):
        self._tree, self._compute = tree, compute
        self._values: dict[str | None, T] = {} if world is None else {WORLD: world}

    def __getitem__(self, name: str | None) -> T:
        missing: list[TreeLink] = []
        for link in self._tree.path(name):
            if link.name in self._values:
                break
            missing.append(link)
        for link in reversed(missing):
            self._values[link.name] = self._compute(link)
        return self._values[name]

    def __setitem__(self, name: str, value: T) -> None:
        self._values[name] = value


@dataclass(frozen=True)
class LinkTransform:
    """Transform from a link to its parent: x_parent = R x + s."""

    R: Rotation
    s: Vec3


LinkTransforms = PerLink[LinkTransform]


def link_transforms(tree: Tree, q: Vector) -> LinkTransforms:
    """Transform of every link to its parent at q."""
    return PerLink(tree, lambda link: joint_transform(link.placement, link.joint.motion.pose(tree.position(link, q))))


def joint_transform(placement: Pose, joint: Pose) -> LinkTransform:
    """Transform of a link to its parent, from the placement of its joint on the parent and the pose of the joint."""
    return LinkTransform(
        compose(placement.rotation, joint.rotation), placement.translation + placement.rotation @ joint.translation
    )


def carried_partials(tree: Tree, transforms: LinkTransforms) -> PerLink[dict[str, list[Partial]]]:
    """For every link, its angular velocity and that of its origin per unit of each v at the link or inboard of it.

    In link coordinates, by the name of the link whose joint has the v. A partial is carried outward by b ← Rᵀ b,
    u ← Rᵀ (u + b × s).
    """

    def carried(link: TreeLink) -> dict[str, list[Partial]]:
        inboard = partials_of[link.parent].items()
        return {name: [carry(transforms[link.name], p) for p in partials] for name, partials in inboard} | {
            link.name: list(link.partials)
        }

    partials_of: PerLink[dict[str, list[Partial]]] = PerLink(tree, carried, world={})
    return partials_of


def carry(transform: LinkTransform, partial: Partial) -> Partial:
    """Velocity field of the parent, at the link's origin and in link coordinates."""
    return partial.to_inner(transform.R, transform.s)


def velocities(tree: Tree, transforms: LinkTransforms, v: Vector) -> PerLink[Twist]:
    """Angular velocity of every link and velocity of its origin, in link coordinates."""

    def velocity(link: TreeLink) -> Twist:
        return next_velocity(transforms[link.name], link.partials, velocity_of[link.parent], tree.velocity(link, v))

    velocity_of = PerLink(tree, velocity, world=Twist())
    return velocity_of


def next_velocity(transform: LinkTransform, partials: Sequence[Partial], parent: Twist, rates: Vector) -> Twist:
    """Velocity of a link from that of its parent and the rates of its joint."""
    R, s = transform.R, transform.s
    omega = R.T @ parent.angular + combine((p.angular for p in partials), rates)
    linear = R.T @ (parent.linear + parent.angular.cross(s)) + combine((p.linear for p in partials), rates)
    return Twist(omega, linear)


def joint_twist(partials: Sequence[Partial], rates: Vector) -> Twist:
    """Velocity of a link relative to its parent."""
    return Twist(combine((p.angular for p in partials), rates), combine((p.linear for p in partials), rates))


@dataclass(frozen=True)
class Acceleration:
    """Angular velocity and acceleration of a link, and acceleration of its origin minus gravity, in link axes."""

    omega: Vec3
    alpha: Vec3
    acc: Vec3
    relative: Vec3 = ZERO  # contribution of the joint's own motion to acc

    @cached_property
    def W(self) -> Mat3:
        """(3), with ω~ω~ = ω ωᵀ - (ω·ω) 1 written out so that every product is computed once."""
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
    """Acceleration of a point r of the link relative to its origin: W r."""
    return motion.W @ r


def by_crosses(motion: Acceleration, r: Vec3) -> Vec3:
    """Acceleration of a point r of the link relative to its origin: ω̇ × r + ω × (ω × r)."""
    return motion.alpha.cross(r) + motion.omega.cross(motion.omega.cross(r))


PointAcceleration = Callable[[Acceleration, Vec3], Vec3]


def accelerations(
    tree: Tree, transforms: LinkTransforms, v: Vector, a: Vector, of_point: PointAcceleration = by_tensor
) -> PerLink[Acceleration]:
    """Acceleration of every link; `of_point` computes that of a point relative to the origin of its link."""

    def acceleration(link: TreeLink) -> Acceleration:
        parent, rates, second_rates = acceleration_of[link.parent], tree.velocity(link, v), tree.velocity(link, a)
        return next_acceleration(transforms[link.name], link.partials, parent, rates, second_rates, of_point)

    acceleration_of = PerLink(tree, acceleration, world=Acceleration(ZERO, ZERO, -tree.gravity))
    return acceleration_of


def next_acceleration(
    transform: LinkTransform,
    partials: Sequence[Partial],
    parent: Acceleration,
    rates: Vector,
    second_rates: Vector,
    of_point: PointAcceleration = by_tensor,
) -> Acceleration:
    """Acceleration of a link from that of its parent and the rates and accelerations of its joint."""
    R, s = transform.R, transform.s
    angular, linear = [p.angular for p in partials], [p.linear for p in partials]
    carried = R.T @ parent.omega
    spin, slide = combine(angular, rates), combine(linear, rates)
    omega = carried + spin  # (1)
    alpha = R.T @ parent.alpha + carried.cross(spin) + combine(angular, second_rates)  # (2)
    relative = 2.0 * carried.cross(slide) + spin.cross(slide) + combine(linear, second_rates)
    acc = R.T @ (parent.acc + of_point(parent, s)) + relative  # (4)
    return Acceleration(omega, alpha, acc, relative)


def combine(vectors: Iterable[Vec3], weights: Iterable[Scalar]) -> Vec3:
    """Linear combination Σ weight vector."""
    return total(weight * vector for vector, weight in zip(vectors, weights, strict=True))


Wrench = tuple[Vec3, Vec3]  # force and moment about the link's origin, in link coordinates
ExternalWrenches = Mapping[str, Wrench] | None  # by link


def joint_forces(
    tree: Tree, transforms: LinkTransforms, required: Mapping[str, Wrench], external: ExternalWrenches = None
) -> list[Scalar]:
    """τ for the wrenches that the motion of the links requires and the external wrenches on them, by (5)."""
    gathered = outboard_wrenches(tree, transforms, required, external)
    return tree.gather({link.name: along(link.partials, gathered[link.name]) for link in tree.links})


def outboard_wrenches(
    tree: Tree, transforms: LinkTransforms, required: Mapping[str, Wrench], external: ExternalWrenches = None
) -> dict[str | None, Wrench]:
    """F and N of every link: required by it and all links outboard of it. The world's entry is the base wrench."""
    gathered: dict[str | None, Wrench] = {WORLD: (ZERO, ZERO), **dict(required.items())}
    for name, (force, moment) in (external or {}).items():
        gathered[name] = gathered[name][0] - force, gathered[name][1] - moment
    for link in reversed(tree.links):
        force, moment = on_parent(transforms[link.name], gathered[link.name])
        gathered[link.parent] = gathered[link.parent][0] + force, gathered[link.parent][1] + moment
    return gathered


def along(partials: Sequence[Partial], wrench: Wrench) -> list[Scalar]:
    """Components of a wrench along the partials of a joint."""
    force, moment = wrench
    return [p.angular.dot(moment) + p.linear.dot(force) for p in partials]


def on_parent(transform: LinkTransform, wrench: Wrench) -> Wrench:
    """Transform a wrench on a link to the origin and the axes of its parent."""
    force = transform.R @ wrench[0]
    return force, transform.R @ wrench[1] + transform.s.cross(force)


def minus_external(tree: Tree, transforms: LinkTransforms, tau: Vector, external: ExternalWrenches) -> list[Scalar]:
    """τ minus the contribution of external wrenches, for methods that do not gather forces inward."""
    if not external:
        return list(tau)
    added = joint_forces(tree, transforms, {link.name: (ZERO, ZERO) for link in tree.links}, external)
    return [x + y for x, y in zip(tau, added, strict=True)]


def composites(tree: Tree, transforms: LinkTransforms) -> dict[str, Inertia]:
    """Composite of every link, in its own axes, by (6)."""
    bodies = {link.name: link.inertia for link in tree.links}
    for link in reversed(tree.links):
        if link.parent is not None:
            bodies[link.parent] = bodies[link.parent] + inertia_on_parent(bodies[link.name], transforms[link.name])
    return bodies


def inertia_on_parent(body: Inertia, transform: LinkTransform) -> Inertia:
    """Transform an inertia to the origin and the axes of the parent, by (6)."""
    R, s = transform.R, transform.s
    rotated = R @ body.first
    middle = rotated + 0.5 * (body.mass * s)
    return Inertia(body.mass, rotated + body.mass * s, R.conjugate(body.second) + symmetric_product(s, middle))


def columns_from_wrenches(
    tree: Tree, transforms: LinkTransforms, wrenches: Mapping[str, Sequence[Wrench]]
) -> list[list[Scalar]]:
    """M(q) from the wrenches that unit accelerations of each joint require at its link, by (7)."""
    blocks: dict[tuple[str, str], list[list[Scalar]]] = {}
    for link in tree.links:
        carried, here = list(wrenches[link.name]), link
        for inboard in (link, *tree.ancestors(link)):
            if inboard is not here:
                R, s = transforms[here.name].R, transforms[here.name].s
                carried = [(f_parent := R @ f, R @ n + s.cross(f_parent)) for f, n in carried]
                here = inboard
            rows = [[p.linear.dot(f) + p.angular.dot(n) for f, n in carried] for p in here.partials]
            blocks[here.name, link.name] = rows
            if here is not link:
                blocks[link.name, here.name] = [list(column) for column in zip(*rows, strict=True)]
    return tree.gather_symmetric(blocks)
