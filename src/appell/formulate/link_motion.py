"""How every link moves: rotation, angular velocity and acceleration, acceleration of its origin.

With J the joint's own motion, all in link coordinates and R, s the rotation and offset of the link in its parent:

    ω  = Rᵀω_p + ω_J                                      ω_J = Σ angular v,  v_J = Σ linear v            (1)
    ω̇  = Rᵀω̇_p + (Rᵀω_p) × ω_J + Σ angular a                                                              (2)
    W  = ω̇~ + ω~ω~                                        so that W r is the acceleration of r about O     (3)
    s̈  = Rᵀ(s̈_p + W_p s) + 2 (Rᵀω_p) × v_J + ω_J × v_J + Σ linear a                                       (4)

Methods that keep to vectors write ω̇ × r + ω × (ω × r) for W r; they differ in nothing else. The world stands still
and accelerates against gravity: s̈ = -g. Mata et al. 2002, §4.1, for any joint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose, Rotation, compose
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import ZERO, Vec3, total
from appell.formulate.of_links import OfLinks
from appell.formulate.tree import Tree, TreeLink
from appell.model.joints import Partial


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
