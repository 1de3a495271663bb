"""What a multiplier does to both sides of a constraint, and the row that follows from it.

A row whose multiplier is a force f at a point of side a, its opposite at a point of side b, and a moment m between them
has, by the equality of powers,

    K v = f·(uₐ - u_b) + m·(ωₐ - ω_b)                     uₐ, u_b: velocities of the two points             (1)

The rows of closures, from the motions of two frames that are seen from one place.

With d = xₐ - x_b, p fixed to side a and s fixed to side b, dots for time derivatives at a = 0:

    component k  φ = d·eₖ         rate = ḋ·eₖ                     γ = d̈·eₖ                         force eₖ        (2)
    turn k       φ = vee(Q)·eₖ    rate = (ωₐ - ω_b)·eₖ            γ = (αₐ - α_b)·eₖ               moment eₖ       (3)
    along s      φ = d·s          rate = ḋ·s + d·ṡ                γ = d̈·s + 2 ḋ·ṡ + d·s̈           force s         (4)
    square p s   φ = p·s          rate = (ωₐ - ω_b)·(p × s)       γ = p̈·s + 2 ṗ·ṡ + p·s̈          moment p × s    (5)
    length       φ = |d| - L      rate = e·ḋ,  e = d/|d|          γ = e·d̈ + (ḋ·ḋ - (e·ḋ)²)/|d|    force e         (6)

Q = ½(RₐR_bᵀ - R_bRₐᵀ), for which φ̇ = rate only where φ = 0: all that is needed. The rate of (4) is s·(uₐ - u_b), both
velocities those of points at the origin of a.

The rows of bodies that roll and of blades: the velocity of one body against another where they touch.

With c the contact, ρ the way to it from the centre of a, y that from the origin of b, and u, ω of a point of the body,

    V  = uₐ(c) - u_b(c) - W n × y                                      W: the rate of a plate about its normal      (7)
    V̇  = u̇ₐ(c) - u̇_b(c) - W (ṅ × y + n × ẏ)         u̇(c) = u̇ + α × (c - x) + ω × (ċ - u),  ċ = ẋₐ + ρ̇              (8)
    rows V·t, V·l, V·n with γ = V̇·t + V·ṫ ...        t heading, l = n × t, n; the gap of the last has the rate V·n   (9)

ρ̇ is that of the geometric contact, see `contact`. A blade is the row V·s with ρ = 0 and s fixed to a.
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
from appell.model.constraint import POSITION, TURN
from appell.model.frame import Frame


@dataclass(frozen=True)
class Row:
    """K v + b = 0 and K a + γ = 0 of one row, at a velocity of the tree."""

    constraint: str  # its name
    label: str  # of the row within it
    gap: Scalar | None  # φ with φ̇ = K v + b where φ = 0; None for a row that ties velocities only
    jacobian: list[Scalar]  # K, one entry for each v of the tree; a literal 0 where nothing enters
    offset: Scalar  # b
    drift: Scalar  # γ = K̇ v + ḃ

    def driven(self, position: Scalar, velocity: Scalar, acceleration: Scalar) -> Row:
        """The row of a motion: what it measures follows s(t), so that b = -ṡ and γ has -s̈."""
        gap = None if self.gap is None else self.gap - position
        return replace(self, gap=gap, offset=self.offset - velocity, drift=self.drift - acceleration)


@dataclass(frozen=True)
class Action:
    """Of the multiplier of one row, in axes of the view."""

    label: str
    gap: Scalar | None
    drift: Scalar
    on_a: Vec3  # the points on which the force acts
    on_b: Vec3
    force: Vec3 = ZERO
    moment: Vec3 = ZERO
    offset: Scalar = 0.0


@dataclass(frozen=True)
class Sides:
    """The two frames of a constraint, seen from one place."""

    tree: Tree
    view: Viewpoint
    a: FrameMotion
    b: FrameMotion

    @staticmethod
    def of(tree: Tree, view: Viewpoint, a: Frame, b: Frame, q: Vector, v: Vector) -> Sides:
        return Sides(tree, view, frame_motion(tree, view, a, q, v), frame_motion(tree, view, b, q, v))

    def row(self, constraint: str, action: Action) -> Row:
        """(1)"""
        on_a = dot_columns(self.a.columns, action.force, action.moment, action.on_a)
        on_b = dot_columns(self.b.columns, -action.force, -action.moment, action.on_b)
        columns = {name: [[entry] for entry in entries] for name, entries in (on_a | on_b).items()}
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
    """(2)"""
    k, a, b = POSITION.index(label), sides.a, sides.b
    drift = a.acceleration(a.x)[k] - b.acceleration(b.x)[k]
    return Action(label, a.x[k] - b.x[k], drift, a.x, b.x, force=UNITS[k])


def turn(label: str, sides: Sides) -> Action:
    """(3)"""
    k, a, b = TURN.index(label), sides.a, sides.b
    gap = 0.5 * axial(a.R @ b.R.T)[k]
    return Action(label, gap, a.alpha[k] - b.alpha[k], a.x, b.x, moment=UNITS[k])


def along(label: str, sides: Sides) -> Action:
    """(4)"""
    a, b = sides.a, sides.b
    s, d = b.axes[int(label[-1]) - 1], a.x - b.x
    rate, second = a.velocity(a.x) - b.velocity(b.x), a.acceleration(a.x) - b.acceleration(b.x)
    drift = second.dot(s) + 2.0 * rate.dot(b.rate(s)) + d.dot(b.second_rate(s))
    return Action(label, d.dot(s), drift, a.x, a.x, force=s)


def square(label: str, sides: Sides) -> Action:
    """(5)"""
    a, b = sides.a, sides.b
    p, s = a.axes[int(label[-2]) - 1], b.axes[int(label[-1]) - 1]
    drift = a.second_rate(p).dot(s) + 2.0 * a.rate(p).dot(b.rate(s)) + p.dot(b.second_rate(s))
    return Action(label, p.dot(s), drift, a.x, b.x, moment=p.cross(s))


def distance(sides: Sides) -> Scalar:
    """From the origin of one frame to that of the other."""
    d = sides.a.x - sides.b.x
    return sqrt(d.dot(d))


def length(label: str, sides: Sides, rest: Scalar) -> Action:
    """(6), with the length at rest."""
    a, b = sides.a, sides.b
    D, d = distance(sides), a.x - b.x
    over = inverse_sqrt(d.dot(d))
    e = over * d
    rate, second = a.velocity(a.x) - b.velocity(b.x), a.acceleration(a.x) - b.acceleration(b.x)
    drift = e.dot(second) + over * (rate.dot(rate) - e.dot(rate) * e.dot(rate))
    return Action(label, D - rest, drift, a.x, b.x, force=e)


PRIMITIVES: dict[str, Callable[[str, Sides], Action]] = {
    **dict.fromkeys(POSITION, component),
    **dict.fromkeys(TURN, turn),
    "along": along,
    "square": square,
}


def closure_action(label: str, sides: Sides) -> Action:
    """The action of a row by its label: x, rx, along 1, square 13."""
    return PRIMITIVES[label.split()[0]](label, sides)


def contact_actions(labels: Sequence[str], sides: Sides, contact: RollingContact, turning: float) -> list[Action]:
    """The rows of (9)."""
    slip = Slip.of(sides, contact.rho, contact.rho_rate).on_plate(sides, turning, contact.n)
    ways = zip(labels, (None, None, contact.gap), (contact.heading, contact.lateral, contact.n), strict=True)
    return [slip.action(label, gap, way) for label, gap, way in ways]


def skate_action(label: str, sides: Sides, axis: int) -> Action:
    """No velocity along an axis of side a."""
    return Slip.of(sides, ZERO, ZERO).action(label, None, fixed(sides.a, axis))


@dataclass(frozen=True)
class Slip:
    """V and its rate, where two bodies touch."""

    place: MovingVector  # c
    V: Vec3
    rate: Vec3
    plate: Vec3 = ZERO  # the part of V that no velocity of the robot has

    @staticmethod
    def of(sides: Sides, rho: Vec3, rho_rate: Vec3) -> Slip:
        """(7) and (8) on a plate that rests."""
        a, b = sides.a, sides.b
        c, c_rate = a.x + rho, a.velocity(a.x) + rho_rate
        V = a.velocity(c) - b.velocity(c)
        return Slip(MovingVector(c, c_rate), V, a.velocity_rate(c, c_rate) - b.velocity_rate(c, c_rate))

    def on_plate(self, sides: Sides, turning: float, n: MovingVector) -> Slip:
        """On one that turns about its normal, through the origin of b."""
        if not turning:
            return self
        y = MovingVector(self.place.d - sides.b.x, self.place.rate - sides.b.velocity(sides.b.x))
        moved = n.cross(y)
        return Slip(self.place, self.V - turning * moved.d, self.rate - turning * moved.rate, -turning * moved.d)

    def action(self, label: str, gap: Scalar | None, way: MovingVector) -> Action:
        drift, c = self.rate.dot(way.d) + self.V.dot(way.rate), self.place.d
        return Action(label, gap, drift, c, c, force=way.d, offset=self.plate.dot(way.d))
