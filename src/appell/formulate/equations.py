"""The equations of motion of any system, over abstract scalars: what its kind gives, and what its actuators add.

A kind of system gives its rigid bodies: S, Q = ∂S/∂a, M = ∂²S/∂a², C and the rest. Its drives stand at θ, and

    Q = Q_bodies + B (R θ̈ + f(θ̇) + o + k (θ - θ₀))          M = M_bodies + B R Bᵀ          θ̇ = Bᵀv               (1)
    S = S_bodies + Σ ½ R θ̈² + (f(θ̇) + o + k (θ - θ₀)) θ̈                                                         (2)
    T = T_bodies + Σ ½ R θ̇²                                 U = U_bodies + Σ ½ k (θ - θ₀)²                       (3)

with reflected rotor inertias R, friction f and offsets o of the actuators, as far as they are switched on, and springs
of stiffness k, which always count. Then for every system M a + h = Q = B τ, Q = ∂S/∂a and h = Q at a = 0.

Dry friction jumps with the sign of θ̇. To follow a motion through such jumps, the directions s of the dry drives are
given instead of read off θ̇: f is smooth then. A drive with s = 0 is held by a force that is to be found.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from itertools import count
from typing import Self

from appell.algebra.loops import UNROLLED, Loops
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.solve import LDL
from appell.formulate.base.reduction import Reduction, reduction
from appell.formulate.body_equations import Matrix, Wrenches
from appell.formulate.drive_equations import DriveEquations
from appell.formulate.parameters import SYMBOLS, Driven, Parameter
from appell.model.body import PARAMETER_NAMES
from appell.model.system import System


class Equations(DriveEquations):
    """All terms of a system's equations of motion; `tau` is at the actuators, everything else along coordinates."""

    system: System
    drives: tuple[Driven, ...]
    friction: bool  # whether friction and offsets of the drives count
    rotors: bool  # whether rotor inertias do
    reference: str  # in which axes wrenches on frames are given
    loops: Loops = UNROLLED  # how loops run, where the equations are written as loops

    def run_by(self, loops: Loops) -> Self:
        """The same equations, with loops run in another way."""
        other = copy(self)
        other.loops = loops
        return other

    # ---- how its coordinates move

    def rate(self, q: Vector, v: Vector) -> list[Scalar]:
        """dq/dt."""
        return self.system.rate(q, v)

    def closed(self, q: Vector) -> list[Scalar]:
        """A configuration that is nearly one of the system's, led back by a step of Newton's method."""
        return list(q)

    def tangents(self, q: Vector) -> Matrix:
        """The directions of dq in which the coordinates may move, a column each; those of unit velocities."""
        n = self.system.nv
        columns = [self.system.rate(q, [float(i == k) for i in range(n)]) for k in range(n)]
        return [list(row) for row in zip(*columns, strict=True)]

    # ---- (1) to (3)

    def gibbs_function(self, q: Vector, v: Vector, a: Vector) -> Scalar:
        """S(q, v, a), the acceleration energy less gravity and friction."""
        S = self.body_gibbs_function(q, v, a)
        if self._drives_count:
            gains = self.drive_accelerations(q, v, a)
            for R, f, gain in zip(self._rotors, self.passive(q, v), gains, strict=True):
                S = S + (0.5 * R) * (gain * gain) + f * gain
        return S

    def forces(self, q: Vector, v: Vector, a: Vector, wrenches: Wrenches) -> list[Scalar]:
        """Q(q, v, a), along the coordinates."""
        Q = self.body_forces(q, v, a, wrenches)
        if not self._drives_count:
            return Q
        drives = self.drives_along(q, self._drive_forces(q, v, a))
        return [x + y for x, y in zip(Q, drives, strict=True)]

    def tau(self, q: Vector, v: Vector, a: Vector, wrenches: Wrenches) -> list[Scalar]:
        """τ(q, v, a), at the actuators."""
        columns = self.at_actuators(q, [[x] for x in self.body_forces(q, v, a, wrenches)])
        tau = [row[0] for row in columns]
        if not self._drives_count:
            return tau
        drives = self.drives_at_actuators(q, self._drive_forces(q, v, a))
        return [x + y for x, y in zip(tau, drives, strict=True)]

    def acceleration(
        self, q: Vector, v: Vector, tau: Vector, wrenches: Wrenches, directions: Vector | None = None
    ) -> list[Scalar]:
        """a(q, v, τ), with the directions of the dry drives as they move, or as given."""
        passive = self.friction or self._sprung
        forces = self.net(q, tau, self.passive(q, v, directions)) if passive else self.along_coordinates(q, tau)
        return self.forward(q, v, forces, wrenches)

    def bias(self, q: Vector, v: Vector) -> list[Scalar]:
        """h(q, v)."""
        return self.forces(q, v, [0.0] * len(v), {})

    def friction_forces(self, q: Vector, v: Vector) -> list[Scalar]:
        """The share of friction in h, along the coordinates."""
        dry = [drive.actuator.friction.force(x) for drive, x in zip(self.drives, self.drive_rates(q, v), strict=True)]
        return self.drives_along(q, dry if self.friction else [0.0] * len(dry))

    def mass_matrix(self, q: Vector) -> Matrix:
        """M(q)."""
        M = self.body_mass_matrix(q)
        return self._plus(M, q, self.drive_jacobian(q), symmetric=True) if self.rotors else M

    def inverse_mass_matrix(self, q: Vector) -> Matrix:
        """M⁻¹, by LDLᵀ: leaves first, so that branches of a tree meet in the solution only."""
        return LDL.of(self.mass_matrix(q)).inverse()

    def coriolis(self, q: Vector, v: Vector) -> Matrix:
        """C(q, v), with C v = bias - gravity - friction and dM/dt - 2C skew."""
        C = self.body_coriolis(q, v)
        return self._plus(C, q, self.drive_drift(q, v), symmetric=False) if self.rotors else C

    def kinetic_energy(self, q: Vector, v: Vector) -> Scalar:
        T = self.body_kinetic_energy(q, v)
        if self.rotors:
            for R, rate in zip(self._rotors, self.drive_rates(q, v), strict=True):
                T = T + (0.5 * R) * (rate * rate)
        return T

    def potential_energy(self, q: Vector) -> Scalar:
        """U(q), of the bodies and of the springs."""
        U = self.body_potential_energy(q)
        for stretch, force in zip(self._stretches(q), self._springs(q), strict=True) if self._sprung else ():
            U = U + 0.5 * (stretch * force)
        return U

    def regressor(self, q: Vector, v: Vector, a: Vector, columns: Sequence[int] | None = None) -> Matrix:
        """Y(q, v, a), with τ = Y π: ten columns a body, then those of drives that count, and of springs; or some."""
        bodies = 10 * len(self.system.bodies)
        dropped = set() if columns is None else {*range(bodies, len(self.parameters))} - {*columns}
        of_bodies = None if columns is None else [k for k in columns if k < bodies]
        rows = [list(row) for row in self.at_actuators(q, self.body_regressor(q, v, a, of_bodies))]
        number = count(bodies)
        motions = zip(self._stretches(q), self.drive_rates(q, v), self.drive_accelerations(q, v, a), strict=True)
        for k, (drive, motion) in enumerate(zip(self.drives, motions, strict=True)):
            for column in self._factors(drive, *motion).values():
                if next(number) in dropped:
                    continue
                alone = [column if i == k else 0.0 for i in range(len(self.drives))]
                for row, entry in zip(rows, self.drives_at_actuators(q, alone), strict=True):
                    row.append(entry)
        return rows

    @cached_property
    def base(self) -> Reduction:
        """Which columns of the regressor are left if none may be a combination of others, and of which parameters."""
        return reduction(self)

    def base_regressor(self, q: Vector, v: Vector, a: Vector) -> Matrix:
        """Y_b(q, v, a), with τ = Y_b β."""
        return self.regressor(q, v, a, self.base.columns)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """π, the columns of the regressor."""
        found = []
        for k, (name, body) in enumerate(self.system.bodies.items(), start=1):
            ten = zip(PARAMETER_NAMES, body.parameters if body else (0.0,) * 10, strict=True)
            found += [Parameter(f"{kind}{k}", kind, name, value) for kind, value in ten]
        for drive in self.drives:
            own = drive.actuator
            values = {**vars(own), **vars(own.friction), "rotor": own.reflected_inertia}
            for kind in self._factors(drive, 0.0, 0.0, 0.0):
                found.append(Parameter(f"{SYMBOLS[kind]}{drive.label}", kind, drive.name, float(values[kind])))
        return tuple(found)

    def _factors(self, drive: Driven, stretch: Scalar, rate: Scalar, gain: Scalar) -> dict[str, Scalar]:
        """What the parameters of a drive are multiplied with."""
        rotor = {"rotor": gain} if self.rotors else {}
        dry = {**drive.actuator.friction.columns(rate), "offset": 1.0} if self.friction else {}
        return rotor | dry | ({"stiffness": stretch} if drive.actuator.stiffness else {})

    @property
    def _sprung(self) -> bool:
        return any(drive.actuator.stiffness for drive in self.drives)

    @property
    def _drives_count(self) -> bool:
        return self.rotors or self.friction or self._sprung

    @property
    def _rotors(self) -> list[float]:
        return [drive.actuator.reflected_inertia if self.rotors else 0.0 for drive in self.drives]

    @property
    def dry_drives(self) -> tuple[int, ...]:
        """The drives with dry friction that counts."""
        return tuple(k for k, drive in enumerate(self.drives) if self.friction and drive.actuator.friction.dry)

    def _dry(self, q: Vector, v: Vector, directions: Vector | None = None) -> list[Scalar]:
        """f(θ̇) + o of every drive; nothing if friction is switched off."""
        if not self.friction:
            return [0.0] * len(self.drives)
        owned = [drive.actuator for drive in self.drives]
        rates = self.drive_rates(q, v)
        s = {} if directions is None else dict(zip(self.dry_drives, directions, strict=True))
        return [
            own.friction.force(rate, s.get(k)) + own.offset
            for k, (own, rate) in enumerate(zip(owned, rates, strict=True))
        ]

    def _stretches(self, q: Vector) -> list[Scalar]:
        """θ - θ₀ of every drive that has a spring, 0 of others."""
        if not self._sprung:
            return [0.0] * len(self.drives)
        owned = [drive.actuator for drive in self.drives]
        return [x - own.rest if own.stiffness else 0.0 for own, x in zip(owned, self.drive_positions(q), strict=True)]

    def _springs(self, q: Vector) -> list[Scalar]:
        """k (θ - θ₀) of every drive."""
        return [drive.actuator.stiffness * x for drive, x in zip(self.drives, self._stretches(q), strict=True)]

    def passive(self, q: Vector, v: Vector, directions: Vector | None = None) -> list[Scalar]:
        """f(θ̇) + o + k (θ - θ₀): what a drive does without being asked."""
        dry = self._dry(q, v, directions)
        return [f + spring for f, spring in zip(dry, self._springs(q), strict=True)] if self._sprung else dry

    def _drive_forces(self, q: Vector, v: Vector, a: Vector) -> list[Scalar]:
        """R θ̈ + f(θ̇) + o + k (θ - θ₀)."""
        gains = self.drive_accelerations(q, v, a) if self.rotors else [0.0] * len(self.drives)
        return [R * gain + f for R, gain, f in zip(self._rotors, gains, self.passive(q, v), strict=True)]

    def drive_jacobian(self, q: Vector) -> Matrix:
        """D, with θ̇ = D v of every drive: Bᵀ, and a row for every mimic joint."""
        n = self.system.nv
        columns = [self.drive_rates(q, [float(i == k) for i in range(n)]) for k in range(n)]
        return [list(row) for row in zip(*columns, strict=True)]

    def _plus(self, matrix: Matrix, q: Vector, rows: Matrix, *, symmetric: bool) -> Matrix:
        """matrix + B R rows."""
        n = self.system.nv
        weighted = [[R * x for x in row] for R, row in zip(self._rotors, rows, strict=True)]
        columns = [self.drives_along(q, [row[k] for row in weighted]) for k in range(n)]

        def entry(i: int, k: int) -> Scalar:
            return columns[min(i, k)][max(i, k)] if symmetric else columns[k][i]

        return [[matrix[i][k] + entry(i, k) for k in range(n)] for i in range(n)]
