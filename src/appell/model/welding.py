"""Bodies that cannot move on each other are one body.

With d from one centre of mass to the other,

    m = m₁ + m₂        c = c₁ + (m₂/m) d        I = I₁ + I₂ + (m₁m₂/m) (d·d 1 - d dᵀ)                            (1)

which never leaves the centres of mass, so that nothing small is lost beside the moments about a distant origin.
"""

from __future__ import annotations

from appell.algebra.matrix import IDENTITY, Mat3, outer
from appell.model.body import Body


def welded(one: Body | None, other: Body | None) -> Body | None:
    """(1), in the same axes; None is no matter."""
    if one is None or other is None:
        return one or other
    mass, d = one.mass + other.mass, other.com - one.com
    share = other.mass / mass if mass else 0.0  # two bodies without mass may have inertia
    apart = (one.mass * share) * (d.dot(d) * IDENTITY - outer(d, d))
    com = one.com + share * d
    return Body(mass, com, Mat3.symmetric(*(one.inertia + other.inertia + apart).upper))
