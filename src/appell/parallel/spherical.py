"""Spherical robots: the catalogue of `Mechanism`, with the paper's own equations as a second way to its terms.

`formulation="differentiated"` takes M, C, G and the actuator Jacobian from differentiating the poses, as for any
mechanism; "explicit" takes them from `formulate.spherical`, where Abedloo et al. 2014 have written them out. Both agree
to rounding in M, G, Q, τ and C v. The matrices C differ by Σ ½ tr(I) Jᵀ(J v)~J over all bodies, which is skew and gives
nothing when it is multiplied by v.
"""

from __future__ import annotations

from appell.algebra.scalar import Scalar
from appell.errors import ArgumentError, unknown_name
from appell.formulate import closed_form as form
from appell.formulate import spherical
from appell.formulate.spherical import SphericalRobot
from appell.parallel.assembly import Assembly
from appell.parallel.mechanism import Mechanism
from appell.parallel.terms import Matrix, Terms

FORMULATIONS = ("differentiated", "explicit")


class ExplicitTerms(Terms):
    """M, C, G and J as the paper writes them; poses and energy stay those of the mechanism."""

    def __init__(self, assembly: Assembly, condition_limit: float, design: SphericalRobot):
        super().__init__(assembly, condition_limit)
        self.design = design

    def mass_matrix(self, q) -> Matrix:
        return spherical.mass_matrix(self.design, q)

    def coriolis(self, q, v) -> Matrix:
        return spherical.coriolis(self.design, q, v)

    def jacobian(self, q) -> Matrix:
        return spherical.actuator_jacobian(self.design, q)

    def forces(self, q, v, a) -> list[Scalar]:
        """Q = M a + C v + G."""
        M, C, G = self.mass_matrix(q), self.coriolis(q, v), spherical.gravity(self.design, q)
        return [
            form.inner([inertia], [a]) + form.inner([velocity], [v]) + weight
            for inertia, velocity, weight in zip(M, C, G, strict=True)
        ]


class SphericalMechanism(Mechanism):
    """A `Mechanism` that knows its `design` as the paper describes it."""

    def __init__(self, *parts, design: SphericalRobot, formulation: str = "differentiated", **options):
        if formulation not in FORMULATIONS:
            raise ArgumentError(unknown_name("formulation", formulation, FORMULATIONS, "a spherical robot"))
        self.design = design
        self.formulation = formulation
        super().__init__(*parts, **options)

    def _make_terms(self) -> Terms:
        if self.formulation == "explicit":
            return ExplicitTerms(self.robot, self.condition_limit, self.design)
        return super()._make_terms()
