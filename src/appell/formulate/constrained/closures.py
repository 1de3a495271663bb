"""The rows of closures, from the motions of two frames that are seen from one place.

With d = xₐ - x_b, p fixed to side a and s fixed to side b, dots for time derivatives at a = 0:

    component k  φ = d·eₖ         rate = ḋ·eₖ                     γ = d̈·eₖ                         force eₖ        (1)
    turn k       φ = vee(Q)·eₖ    rate = (ωₐ - ω_b)·eₖ            γ = (αₐ - α_b)·eₖ               moment eₖ       (2)
    along s      φ = d·s          rate = ḋ·s + d·ṡ                γ = d̈·s + 2 ḋ·ṡ + d·s̈           force s         (3)
    square p s   φ = p·s          rate = (ωₐ - ω_b)·(p × s)       γ = p̈·s + 2 ṗ·ṡ + p·s̈          moment p × s    (4)
    length       φ = |d| - L      rate = e·ḋ,  e = d/|d|          γ = e·d̈ + (ḋ·ḋ - (e·ḋ)²)/|d|    force e         (5)

Q = ½(RₐR_bᵀ - R_bRₐᵀ), for which φ̇ = rate only where φ = 0: all that is needed. The rate of (3) is s·(uₐ - u_b), both
velocities those of points at the origin of a.
"""

from __future__ import annotations

from collections.abc import Callable

from appell.algebra.matrix import axial
from appell.algebra.scalar import Scalar, inverse_sqrt, sqrt
from appell.algebra.vector import UNITS
from appell.formulate.constrained.action import Action, Sides
from appell.model.constraint.closures import POSITION, TURN


def component(label: str, sides: Sides) -> Action:
    """(1)"""
    k, a, b = POSITION.index(label), sides.a, sides.b
    drift = a.acceleration(a.x)[k] - b.acceleration(b.x)[k]
    return Action(label, a.x[k] - b.x[k], drift, a.x, b.x, force=UNITS[k])


def turn(label: str, sides: Sides) -> Action:
    """(2)"""
    k, a, b = TURN.index(label), sides.a, sides.b
    gap = 0.5 * axial(a.R @ b.R.T)[k]
    return Action(label, gap, a.alpha[k] - b.alpha[k], a.x, b.x, moment=UNITS[k])


def along(label: str, sides: Sides) -> Action:
    """(3)"""
    a, b = sides.a, sides.b
    s, d = b.axes[int(label[-1]) - 1], a.x - b.x
    rate, second = a.velocity(a.x) - b.velocity(b.x), a.acceleration(a.x) - b.acceleration(b.x)
    drift = second.dot(s) + 2.0 * rate.dot(b.rate(s)) + d.dot(b.second_rate(s))
    return Action(label, d.dot(s), drift, a.x, a.x, force=s)


def square(label: str, sides: Sides) -> Action:
    """(4)"""
    a, b = sides.a, sides.b
    p, s = a.axes[int(label[-2]) - 1], b.axes[int(label[-1]) - 1]
    drift = a.second_rate(p).dot(s) + 2.0 * a.rate(p).dot(b.rate(s)) + p.dot(b.second_rate(s))
    return Action(label, p.dot(s), drift, a.x, b.x, moment=p.cross(s))


def distance(sides: Sides) -> Scalar:
    """From the origin of one frame to that of the other."""
    d = sides.a.x - sides.b.x
    return sqrt(d.dot(d))


def length(label: str, sides: Sides, rest: Scalar) -> Action:
    """(5), with the length at rest."""
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
