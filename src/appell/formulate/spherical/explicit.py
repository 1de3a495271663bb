"""A spherical mechanism by the paper's own M, C, G and actuator Jacobian, instead of differentiating its poses.

Both ways agree to rounding in M, G, Q, τ and C v. The matrices C differ by Σ ½ tr(I) Jᵀ(J v)~J over all bodies, which
is skew and gives nothing when it is multiplied by v. Poses, energy and frames are those of the mechanism. Wrenches act
on the platform through its Jacobian, eq. (22). Abedloo et al. 2014.
"""

from __future__ import annotations

from functools import cached_property

from appell.algebra.scalar import Scalar
from appell.formulate import closed_form as form
from appell.formulate.equations import Matrix, Vector, Wrenches
from appell.formulate.mechanism_equations import MechanismEquations
from appell.formulate.spherical import matrices
from appell.formulate.spherical.matrices import SphericalRobot


class SphericalEquations(MechanismEquations):
    """M, C, G and J as the paper writes them."""

    @cached_property
    def robot(self) -> SphericalRobot:
        assert self.mechanism.design is not None
        return SphericalRobot.of(self.mechanism.design, self.inertias, self.mechanism.gravity)

    def body_mass_matrix(self, q: Vector) -> Matrix:
        return matrices.mass_matrix(self.robot, q)

    def body_coriolis(self, q: Vector, v: Vector) -> Matrix:
        return matrices.coriolis(self.robot, q, v)

    def actuator_jacobian(self, q: Vector) -> Matrix:
        return matrices.actuator_jacobian(self.robot, q)

    def body_forces(self, q: Vector, v: Vector, a: Vector, wrenches: Wrenches) -> list[Scalar]:
        """Q = M a + C v + G, less what acts from outside."""
        M, C, G = self.body_mass_matrix(q), self.body_coriolis(q, v), matrices.gravity(self.robot, q)
        forces = [
            form.inner([inertia], [a]) + form.inner([velocity], [v]) + weight
            for inertia, velocity, weight in zip(M, C, G, strict=True)
        ]
        return self._less_outside(q, forces, wrenches)
