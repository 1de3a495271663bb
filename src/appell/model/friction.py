"""Friction along a joint: one law for models, plants, controllers and identification.

    f(v) = viscous v + F(v) s(v)             F(v) = coulomb + (static - coulomb) / (1 + (v / stribeck)²)         (1)
    s(v) = sign v,  or  v / √(v² + width²)  where it must not jump                                               (2)

Stribeck's curve falls from the static to the Coulomb level. It is written as a quotient, not as the usual exponential,
as a tape has no exponential: both fall to half of the difference near |v| = stribeck. For a given stribeck and width
the law is linear in its levels, which is what identification needs:

    f = viscous · v + coulomb · (1 - k) s + static · k s      k = 1 / (1 + (v / stribeck)²)                      (3)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from appell.algebra.scalar import Scalar, select, sqrt


@dataclass(frozen=True)
class Friction:
    """Levels at the joint's side of the gear: N m s/rad and N m, or N s/m and N; speeds in rad/s or m/s."""

    viscous: float = 0.0
    coulomb: float = 0.0
    static: float | None = None  # at rest; None: as when moving
    stribeck: float = 0.05
    width: float = 0.0  # the speed within which friction changes sign smoothly; 0: at once

    @property
    def dry(self) -> bool:
        """Whether it jumps at rest, so that it can hold a joint still."""
        return self.width == 0.0 and max(self.coulomb, self.static or 0.0) > 0.0

    def force(self, v: Scalar, s: Scalar | None = None) -> Scalar:
        """f(v), what a motion must overcome; with the direction s given, where it is not to be read off v."""
        columns = self.columns(v, s)
        return sum((getattr(self, kind) * column for kind, column in columns.items()), start=0.0)

    def columns(self, v: Scalar, s: Scalar | None = None) -> dict[str, Scalar]:
        """The factors of the levels in (3), by name."""
        s = direction(v, self.width) if s is None else s
        if self.static is None:
            return {"coulomb": s, "viscous": v}
        k = self._stribeck(v)
        return {"coulomb": (1.0 - k) * s, "static": k * s, "viscous": v}

    def level(self, v: Scalar) -> Scalar:
        """F(v), the bound of dry friction: up to it a joint is held at rest."""
        if self.static is None or self.static == self.coulomb:
            return self.coulomb
        return self.coulomb + (self.static - self.coulomb) * self._stribeck(v)

    def _stribeck(self, v: Scalar) -> Scalar:
        return 1.0 / (1.0 + (v / self.stribeck) * (v / self.stribeck))

    def flaw(self) -> str:
        """What no friction can be of this one, as the end of a sentence; empty if all is well."""
        for kind in ("viscous", "coulomb", "static", "width"):
            value = getattr(self, kind)
            if value is not None and not (math.isfinite(value) and value >= 0.0):
                return f"has {kind} friction {value:g}, which is not a number from 0"
        if self.static is not None and self.static < self.coulomb:
            return f"has static friction {self.static:g} below its Coulomb friction {self.coulomb:g}"
        if not (math.isfinite(self.stribeck) and self.stribeck > 0.0):
            return f"has Stribeck velocity {self.stribeck:g}, which is not positive"
        return ""


def direction(v: Scalar, width: float = 0.0) -> Scalar:
    """s(v) of (2)."""
    if width:
        return v / sqrt(v * v + width * width)
    return select(v, 1.0, select(-v, -1.0, 0.0))
