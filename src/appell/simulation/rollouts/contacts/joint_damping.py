"""Viscous friction of joints, implicit in a step: stable for any step length, however small the inertias are.

With D = Σₖ dₖ rₖᵀrₖ for the viscous friction dₖ of drives with rates rₖ v, a step of length h follows from

    M (v° - v) = h (F - D (v + θ (v° - v)))          M̂ = M + h Σₖ θₖ dₖ rₖᵀrₖ                                   (1)
    v° = v + h M̂⁻¹ (M a(q, ṽ) + D (ṽ - v))           a(q, ṽ): accelerations at any ṽ, with the friction Dṽ       (2)
    θ = (3 + x) / (6 + x)                            x = h dₖ rₖ diag(M)⁻¹ rₖᵀ                                    (3)

(3) is ½ + x/12 for small x, so that (1) is of second order, and tends to 1 for large x, where a joint is carried by its
friction. Without friction v° = v + h a.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from appell.algebra.scalar import Scalar, Vector, dot
from appell.algebra.solve import LDL
from appell.formulate.equations import Equations


class JointDamping:
    """Equations (1) to (3) at a configuration, for steps of length h."""

    def __init__(self, equations: Equations, q: Vector, h: Scalar):
        self.h, self.levels = h, viscous_levels(equations)
        self._equations, self._q = equations, q

    @cached_property
    def M(self) -> list[list[Scalar]]:
        """Mass matrix."""
        return [list(row) for row in self._equations.mass_matrix(self._q)]

    @cached_property
    def rows(self) -> list[tuple[float, list[Scalar]]]:
        """dₖ and rₖ of all drives with viscous friction."""
        jacobian = self._equations.drive_jacobian(self._q)
        return [(level, list(row)) for level, row in zip(self.levels, jacobian, strict=True) if level]

    @cached_property
    def factor(self) -> LDL:
        """Factors of M̂."""
        n = len(self.M)
        result = [list(row) for row in self.M]
        for level, row in self.rows:
            x = self.h * level * sum((r * r / self.M[i][i] for i, r in enumerate(row)), start=0.0)
            weight = self.h * level * ((3.0 + x) / (6.0 + x))
            for i in range(n):
                for j in range(n):
                    result[i][j] = result[i][j] + weight * (row[i] * row[j])
        return LDL.of(result)

    def velocity_after(self, v: Vector, a: Vector, at: Vector) -> list[Scalar]:
        """Return v° of (2) for the accelerations a at the velocities `at`."""
        if not any(self.levels):
            return [x + self.h * y for x, y in zip(v, a, strict=True)]
        force = [dot(row, a) for row in self.M]
        for level, row in self.rows:
            change = level * (dot(row, at) - dot(row, v))
            force = [f + r * change for f, r in zip(force, row, strict=True)]
        return [x + self.h * y for x, y in zip(v, self.factor.solve(force), strict=True)]


def viscous_levels(equations: Equations) -> list[float]:
    """Return the viscous friction of every drive, N m s or N s/m; zeros if friction is disabled."""
    return [drive.actuator.friction.viscous if equations.friction else 0.0 for drive in equations.drives]


def friction_decay(equations: Equations, q: Vector) -> np.ndarray:
    """Return M⁻¹D, (nv, nv), in 1/s."""
    n = equations.system.nv
    if not any(viscous_levels(equations)):
        return np.zeros((n, n))
    damping = JointDamping(equations, q, 0.0)
    D = sum(level * np.outer(row, row) for level, row in damping.rows)
    return np.linalg.solve(np.array(damping.M, float), D)
