"""Forces and moments of multipliers on both sides of a constraint, and the rows that follow from them.

If the multiplier of a row is a force f at a point of side a, the opposite force at a point of side b, and a moment m
between them, then by the equality of powers

    K v = f·(uₐ - u_b) + m·(ωₐ - ω_b)                     uₐ, u_b: velocities of the two points             (1)

**Closures**, from the motions of two frames in the axes of one view. With d = xₐ - x_b, p fixed to side a and s fixed
to side b, dots for time derivatives at a = 0:

    component k  φ = d·eₖ         rate = ḋ·eₖ                     γ = d̈·eₖ                         force eₖ        (2)
    rotation k   φ = vee(Q)·eₖ    rate = (ωₐ - ω_b)·eₖ            γ = (αₐ - α_b)·eₖ               moment eₖ       (3)
    along s      φ = d·s          rate = ḋ·s + d·ṡ                γ = d̈·s + 2 ḋ·ṡ + d·s̈           force s         (4)
    square p s   φ = p·s          rate = (ωₐ - ω_b)·(p × s)       γ = p̈·s + 2 ṗ·ṡ + p·s̈          moment p × s    (5)
    length       φ = |d| - L      rate = e·ḋ,  e = d/|d|          γ = e·d̈ + (ḋ·ḋ - (e·ḋ)²)/|d|    force e         (6)

Q = ½(RₐR_bᵀ - R_bRₐᵀ), for which φ̇ = rate only where φ = 0, which is sufficient. The rate of (4) is s·(uₐ - u_b), with
the velocities of both bodies at the origin of a.

**Rolling bodies and blades**, from the relative velocity of two bodies at their contact. With c the contact, ρ the
vector to it from the centre of a, y that from the origin of b, and u(c), ω the velocity of a body at c,

    V  = uₐ(c) - u_b(c) - W n × y                                      W: the rate of a plane about its normal      (7)
    V̇  = u̇ₐ(c) - u̇_b(c) - W (ṅ × y + n × ẏ)         u̇(c) = u̇ + α × (c - x) + ω × (ċ - u),  ċ = ẋₐ + ρ̇              (8)
    rows V·t, V·l, V·n with γ = V̇·t + V·ṫ ...        t heading, l = n × t, n; the gap of the last has the rate V·n   (9)

ρ̇ is that of the geometric contact point, see `contact`. A blade is the row V·s with ρ = 0 and s fixed to a.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from appell.algebra.matrix import axial
from appell.algebra.scalar import Scalar, Vector, inverse_sqrt, sqrt
from appell.algebra.vector import UNITS, ZERO, Vec3
from appell.formulate.constrained.contact import MovingVector, RollingContact, fixed
from appell.formulate.constrained.frame_motion import FrameMotion, Viewpoint, dot_columns, frame_motion
from appell.formulate.tree import Tree
from appell.model.constraint import POSITION_LABELS, ROTATION_LABELS
from appell.model.frame import Frame


@dataclass(frozen=True)
class Row:
    """One row, K v + b = 0 and K a + γ = 0, at a velocity of the tree."""

    constraint: str  # name of the constraint
    label: str  # of the row within the constraint
    gap: Scalar | None  # φ with φ̇ = K v + b where φ = 0; None for a row that restricts velocities only
    jacobian: list[Scalar]  # K, one entry per v of the tree; a literal 0 for velocities without influence
    offset: Scalar  # b
    drift: Scalar  # γ = K̇ v + ḃ

    def driven(self, position: Scalar, velocity: Scalar, acceleration: Scalar) -> Row:
        """The row if the quantity that it measures follows s(t): b has -ṡ and γ has -s̈ added."""
        gap = None if self.gap is None else self.gap - position
        return replace(self, gap=gap, offset=self.offset - velocity, drift=self.drift - acceleration)


@dataclass(frozen=True)
class Action:
    """Force and moment per unit of the multiplier of one row, in axes of the view."""

    label: str
    gap: Scalar | None
    drift: Scalar
    on_a: Vec3  # points at which the force acts
    on_b: Vec3
    force: Vec3 = ZERO
    moment: Vec3 = ZERO
    offset: Scalar = 0.0


@dataclass(frozen=True)
class Sides:
    """Motions of the two frames of a constraint, in the axes of a view."""

    tree: Tree
    view: Viewpoint
    a: FrameMotion
    b: FrameMotion

    @staticmethod
    def of(tree: Tree, view: Viewpoint, a: Frame, b: Frame, q: Vector, v: Vector) -> Sides:
        return Sides(tree, view, frame_motion(tree, view, a, q, v), frame_motion(tree, view, b, q, v))

    def row(self, constraint: str, action: Action) -> Row:
        """Row of an action, by (1)."""
        powers: dict[str, list[Scalar]] = {}
        dot_columns(self.a.columns, action.force, action.moment, action.on_a, powers)
        dot_columns(self.b.columns, -action.force, -action.moment, action.on_b, powers)
        columns = {name: [[entry] for entry in entries] for name, entries in powers.items()}
        (K,) = self.tree.gather_columns(columns, rows=1)
        return Row(constraint, action.label, action.gap, K, action.offset, action.drift)

    def wrench(self, actions: Sequence[Action], multipliers: Vector) -> tuple[Vec3, Vec3]:
        """Force and moment on side a, at the origin of its frame, in axes of the view."""
        force, moment = ZERO, ZERO
        for action, size in zip(actions, multipliers, strict=True):
            f = size * action.force
            force, moment = force + f, moment + size * action.moment + (action.on_a - self.a.x).cross(f)
        return force, moment


def component(label: str, sides: Sides) -> Action:
    """Action of (2)."""
    k, a, b = POSITION_LABELS.index(label), sides.a, sides.b
    drift = a.acceleration(a.x)[k] - b.acceleration(b.x)[k]
    return Action(label, a.x[k] - b.x[k], drift, a.x, b.x, force=UNITS[k])


def rotation(label: str, sides: Sides) -> Action:
    """Action of (3)."""
    k, a, b = ROTATION_LABELS.index(label), sides.a, sides.b
    gap = 0.5 * axial(a.R @ b.R.T)[k]
    return Action(label, gap, a.alpha[k] - b.alpha[k], a.x, b.x, moment=UNITS[k])


def along(label: str, sides: Sides) -> Action:
    """Action of (4)."""
    a, b = sides.a, sides.b
    s, d = b.axes[int(label[-1]) - 1], a.x - b.x
    rate, second = a.velocity(a.x) - b.velocity(b.x), a.acceleration(a.x) - b.acceleration(b.x)
    drift = second.dot(s) + 2.0 * rate.dot(b.rate(s)) + d.dot(b.second_rate(s))
    return Action(label, d.dot(s), drift, a.x, a.x, force=s)


def square(label: str, sides: Sides) -> Action:
    """Action of (5)."""
    a, b = sides.a, sides.b
    p, s = a.axes[int(label[-2]) - 1], b.axes[int(label[-1]) - 1]
    drift = a.second_rate(p).dot(s) + 2.0 * a.rate(p).dot(b.rate(s)) + p.dot(b.second_rate(s))
    return Action(label, p.dot(s), drift, a.x, b.x, moment=p.cross(s))


def distance(sides: Sides) -> Scalar:
    """Distance between the origins of the two frames."""
    d = sides.a.x - sides.b.x
    return sqrt(d.dot(d))


def length(label: str, sides: Sides, rest: Scalar) -> Action:
    """Action of (6), with the length L = `rest`."""
    a, b = sides.a, sides.b
    D, d = distance(sides), a.x - b.x
    inverse_length = inverse_sqrt(d.dot(d))
    e = inverse_length * d
    rate, second = a.velocity(a.x) - b.velocity(b.x), a.acceleration(a.x) - b.acceleration(b.x)
    drift = e.dot(second) + inverse_length * (rate.dot(rate) - e.dot(rate) * e.dot(rate))
    return Action(label, D - rest, drift, a.x, b.x, force=e)


PRIMITIVES: dict[str, Callable[[str, Sides], Action]] = {
    **dict.fromkeys(POSITION_LABELS, component),
    **dict.fromkeys(ROTATION_LABELS, rotation),
    "along": along,
    "square": square,
}


def closure_action(label: str, sides: Sides) -> Action:
    """Action of a row of a closure by its label: x, rx, along 1, square 13."""
    return PRIMITIVES[label.split()[0]](label, sides)


def contact_actions(labels: Sequence[str], sides: Sides, contact: RollingContact, turning: float) -> list[Action]:
    """Actions of a rolling body, by (9)."""
    relative = ContactVelocity.of(sides, contact.rho, contact.rho_rate).on_turning_plane(sides, turning, contact.n)
    rows = zip(labels, (None, None, contact.gap), (contact.heading, contact.lateral, contact.n), strict=True)
    return [relative.action(label, gap, direction) for label, gap, direction in rows]


def skate_action(label: str, sides: Sides, axis: int) -> Action:
    """Action of a blade: no velocity along an axis of side a."""
    return ContactVelocity.of(sides, ZERO, ZERO).action(label, None, fixed(sides.a, axis))


@dataclass(frozen=True)
class ContactVelocity:
    """Relative velocity V of two bodies at their contact, and its rate."""

    point: MovingVector  # c
    V: Vec3
    rate: Vec3
    plane: Vec3 = ZERO  # contribution of a turning plane to V

    @staticmethod
    def of(sides: Sides, rho: Vec3, rho_rate: Vec3) -> ContactVelocity:
        """Velocity and rate on a plane that does not turn, by (7) and (8)."""
        a, b = sides.a, sides.b
        c, c_rate = a.x + rho, a.velocity(a.x) + rho_rate
        V = a.velocity(c) - b.velocity(c)
        return ContactVelocity(MovingVector(c, c_rate), V, a.velocity_rate(c, c_rate) - b.velocity_rate(c, c_rate))

    def on_turning_plane(self, sides: Sides, turning: float, n: MovingVector) -> ContactVelocity:
        """Velocity on a plane that turns about its normal through the origin of b, by (7) and (8)."""
        if not turning:
            return self
        y = MovingVector(self.point.d - sides.b.x, self.point.rate - sides.b.velocity(sides.b.x))
        moved = n.cross(y)
        V, rate = self.V - turning * moved.d, self.rate - turning * moved.rate
        return ContactVelocity(self.point, V, rate, -turning * moved.d)

    def action(self, label: str, gap: Scalar | None, direction: MovingVector) -> Action:
        drift, c = self.rate.dot(direction.d) + self.V.dot(direction.rate), self.point.d
        return Action(label, gap, drift, c, c, force=direction.d, offset=self.plane.dot(direction.d))
