"""Equations of motion of any system, over abstract scalars, composed of three parts:

    bodies       S, Q = ∂S/∂ẇ, M = ∂²S/∂ẇ², C and other terms of the rigid bodies, in their velocities w
    map          the allowed motions: w = N(q) v + n(q, t), dw/dt = N a + ν
    actuation    where tau acts, and the drives at the joints: rotors, friction, offsets, springs

The map is substituted into S before S is differentiated. This is valid because S is differentiated with respect to
accelerations only:

    S*(q, v, a) = S(q, N v + n, N a + ν)           Q* = ∂S*/∂a = Nᵀ (M dw/dt + h)     no multipliers: K N = 0    (1)
    M* = Nᵀ M N              C* = Nᵀ (M dN/dt + C N)                                                             (2)
    h* = C* v + g* + d*      d* = Nᵀ (M dn/dt + C n)       the drift: 0 unless motions are prescribed or planes turn (3)

Drives have positions θ, with θ̇ = D v + const, and add to the terms of the bodies

    Q = Q_bodies + Dᵀ(R θ̈ + f(θ̇) + o + k (θ - θ₀))         M = M_bodies + Dᵀ R D                                 (4)
    S = S_bodies + Σ ½ R θ̈² + (f(θ̇) + o + k (θ - θ₀)) θ̈                                                         (5)
    T = T_bodies + Σ ½ R θ̇²                                 U = U_bodies + Σ ½ k (θ - θ₀)²                       (6)

with the reflected rotor inertias R, friction f and offsets o of the actuators, if these are enabled, and springs of
stiffness k, which are always included. Motors and springs of elastic joints are drives (`formulate.elastic`).
Then for every system M a + h = Q = B τ, Q = ∂S/∂a and h = Q at a = 0.

Dry friction jumps with the sign of θ̇. To follow a motion through such jumps, the directions s of the dry drives can be
given instead of taken from θ̇: f is then smooth. A drive with s = 0 is held at rest by a force that must be solved for.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from itertools import count
from typing import Any, final

from appell.algebra.loops import UNROLLED, Loops
from appell.algebra.rotation import Pose
from appell.algebra.scalar import Matrix, Scalar, Vector, dot
from appell.algebra.solve import LDL
from appell.algebra.vector import Vec3
from appell.errors import ModelError
from appell.formulate.actuation import ClosedFormActuation, Drive, TreeActuation
from appell.formulate.base import Reduction, reduction
from appell.formulate.closed_form import ClosedFormBodies
from appell.formulate.constrained.rows import wrench
from appell.formulate.constrained.schur import Schur
from appell.formulate.elastic import ElasticBodies
from appell.formulate.flexible.bodies import FlexibleBodies
from appell.formulate.flexible.regressor import body_terms
from appell.formulate.kinematics import FrameKinematics, PointMotion, Wrenches
from appell.formulate.regressor import SYMBOLS, Parameter
from appell.formulate.tree_bodies import TreeBodies
from appell.model.body import PARAMETER_NAMES
from appell.model.flexible import FlexibleBody
from appell.model.frame import Frame

__all__ = ["SYMBOLS", "Drive", "Equations", "Matrix", "Parameter", "Wrenches"]


@final
class Equations:
    """All terms of a system's equations of motion; `tau` is at the actuators, everything else along v.

    `friction` and `rotors` enable the friction and offsets, and the rotor inertias, of the drives. `tree` are the
    equations of a constrained robot's tree without its constraints, `solver` the method for its accelerations.
    """

    loops: Loops = UNROLLED  # runs the loops, where the equations are loops

    def __init__(
        self,
        system: Any,
        bodies: TreeBodies | FlexibleBodies | ClosedFormBodies | ElasticBodies,
        velocity_map: Any,
        actuation: TreeActuation | ClosedFormActuation,
        *,
        friction: bool = False,
        rotors: bool = False,
        tree: Equations | None = None,
        solver: str | None = None,
    ):
        self.system, self.bodies, self.map, self.actuation = system, bodies, velocity_map, actuation
        self.friction, self.rotors, self.reference = friction, rotors, bodies.reference
        self.drives: tuple[Drive, ...] = actuation.drives
        self.tree, self.solver = tree, solver

    def run_by(self, loops: Loops) -> Equations:
        """Copy in which `loops` runs the loops."""
        other = copy(self)
        other.loops, other.bodies = loops, self.bodies.run_by(loops)
        return other

    # ---- the map

    def rate(self, q: Vector, v: Vector) -> list[Scalar]:
        """dq/dt."""
        return self.map.rate(q, v)

    def closed(self, q: Vector) -> list[Scalar]:
        """q after one Newton step towards the constraints, from a configuration that nearly satisfies them."""
        return self.map.closed(q)

    def tangents(self, q: Vector) -> Matrix:
        """Directions dq in which the coordinates can move, one per column."""
        return self.map.tangents(q)

    def basis(self, q: Vector) -> Matrix:
        """N."""
        return self.map.basis(q)

    def tree_velocity(self, q: Vector, v: Vector) -> list[Scalar]:
        """w = N v + n."""
        return self.map.velocity(q, v)

    def independent_velocity(self, q: Vector, w: Vector) -> list[Scalar]:
        """v of given velocities w of the tree."""
        return self.map.independent(q, w)

    def tree_acceleration(self, q: Vector, v: Vector, a: Vector) -> list[Scalar]:
        """dw/dt = N a + ν."""
        return self.map.acceleration(q, v, a)

    # ---- the bodies under the map: (1) and (2)

    def body_forces(self, q: Vector, v: Vector, a: Vector, wrenches: Wrenches) -> list[Scalar]:
        w, w_dot = self.map.velocity(q, v), self.map.acceleration(q, v, a)
        return self.map.project(q, self.bodies.forces(q, w, w_dot, wrenches))

    def body_regressor(self, q: Vector, v: Vector, a: Vector, columns: Sequence[int] | None = None) -> Matrix:
        """Regressor of the bodies: ten columns per body, or some of them, in order."""
        w, w_dot = self.map.velocity(q, v), self.map.acceleration(q, v, a)
        Y = self.bodies.regressor(q, w, w_dot, columns)
        if self.map.is_identity:
            return Y
        reduced = [self.map.project(q, column) for column in zip(*Y, strict=True)]
        return [[column[k] for column in reduced] for k in range(self.system.nv)]

    def momentum(self, q: Vector, v: Vector) -> tuple[Vec3, Vec3]:
        """Linear momentum of the bodies, and angular momentum about their centre of mass, in world axes."""
        return self.bodies.momentum(q, self.map.velocity(q, v))

    def centroidal_matrix(self, q: Vector) -> Matrix:
        """A_g, with momentum = A_g v, plus the contribution of n."""
        return self.map.pull_back(q, self.bodies.centroidal_matrix(q))

    def center_of_mass(self, q: Vector) -> Vec3:
        """Centre of mass of all bodies, in world coordinates."""
        return self.bodies.center_of_mass(q)

    # ---- frames

    def pose(self, frame: Frame, q: Vector) -> Pose:
        """Pose of a frame in the world."""
        return self.bodies.pose(frame, q)

    def jacobian(self, frame: Frame, reference: str, q: Vector) -> Matrix:
        """Jacobian J of a frame: (linear, angular) velocity = J v, plus the contribution of n."""
        return self.map.pull_back(q, self.bodies.jacobian(frame, reference, q))

    def velocity(self, frame: Frame, reference: str, q: Vector, v: Vector) -> list[Scalar]:
        """(linear, angular) velocity of a frame."""
        return self.bodies.velocity(frame, reference, q, self.map.velocity(q, v))

    def positions(self, frames: Sequence[Frame], q: Vector) -> list[Vec3]:
        """Positions of the origins of frames in the world."""
        return self.bodies.positions(frames, q)

    def point_motions(self, frames: Sequence[Frame], q: Vector, v: Vector) -> list[PointMotion]:
        """Position, velocity, drift and Jacobian of the origins of frames."""
        points = self.bodies.point_motions(frames, q, self.map.velocity(q, v))
        if self.map.is_identity:
            return points
        drift = self.map.acceleration(q, v, [0.0] * len(v))
        mapped = []
        for point in points:
            added = Vec3.of(dot(row, drift) for row in point.J)
            J = self.map.pull_back(q, point.J)
            mapped.append(PointMotion(point.position, point.velocity, point.drift + added, J))
        return mapped

    def frame_motions(self, frames: Sequence[Frame], q: Vector, v: Vector) -> list[FrameKinematics]:
        """Pose, velocities, their rates at a = 0 and Jacobian of frames of a tree."""
        motions = self.bodies.frame_motions(frames, q, self.map.velocity(q, v))  # type: ignore[union-attr]
        if self.map.is_identity:
            return motions
        a, mapped = self.map.acceleration(q, v, [0.0] * len(v)), []
        for m in motions:
            added = [dot(row, a) for row in m.J]
            drift, alpha = m.drift + Vec3.of(added[:3]), m.alpha + Vec3.of(added[3:])
            mapped.append(replace(m, drift=drift, alpha=alpha, J=self.map.pull_back(q, m.J)))
        return mapped

    # ---- actuators and drives

    def actuator_positions(self, q: Vector) -> list[Scalar]:
        """θ(q) of the actuators."""
        return self.actuation.positions(q)

    def actuator_positions_near(self, q: Vector, theta: Vector) -> list[Scalar]:
        """θ(q) of the actuators, with angles that are defined up to multiples of 2π chosen nearest to theta."""
        return self.actuation.positions_near(q, theta)

    def actuator_jacobian(self, q: Vector) -> Matrix:
        """J, with θ̇ = J v at the actuators, plus the contribution of n."""
        transmission = self.actuation.transmission(q, self.map)
        return transmission.J if transmission else self.map.basis(q)

    def actuator_rates(self, q: Vector, v: Vector) -> list[Scalar]:
        """θ̇ = J v."""
        return [sum((x * rate for x, rate in zip(row, v, strict=True)), start=0.0) for row in self.actuator_jacobian(q)]

    def to_coordinates(self, q: Vector, rates: Vector) -> list[Scalar]:
        """v with J v = rates; the least-squares solution if there are more actuators than velocities."""
        transmission = self.actuation.transmission(q, self.map)
        return transmission.velocity(rates) if transmission else list(rates)

    def at_actuators(self, q: Vector, forces: Matrix) -> Matrix:
        """τ with B τ = forces, column by column."""
        transmission = self.actuation.transmission(q, self.map)
        return transmission.torques(forces) if transmission else forces

    def along_coordinates(self, q: Vector, tau: Vector) -> list[Scalar]:
        """B τ."""
        return self.map.project(q, self.actuation.on_bodies(q, tau))

    def drive_rates(self, q: Vector, v: Vector) -> list[Scalar]:
        """θ̇ of every drive."""
        return self.actuation.drive_rates(q, self.map.velocity(q, v))

    def drive_accelerations(self, q: Vector, v: Vector, a: Vector) -> list[Scalar]:
        """θ̈ of every drive."""
        w, w_dot = self.map.velocity(q, v), self.map.acceleration(q, v, a)
        return self.actuation.drive_accelerations(q, w, w_dot)

    def drive_jacobian(self, q: Vector) -> Matrix:
        """D, with θ̇ = D v + const of every drive: J, and a row for every mimic joint."""
        return self.actuation.drive_jacobian(q, self.map)

    def drives_along(self, q: Vector, forces: Vector) -> list[Scalar]:
        """Forces of the drives, along v."""
        return self.map.project(q, self.actuation.drives_on_bodies(q, forces))

    def drives_at_actuators(self, q: Vector, forces: Vector) -> list[Scalar]:
        """Actuator forces that are equivalent to the given forces of the drives."""
        if self.map.is_identity:
            return self.actuation.at_joints(forces)
        return [row[0] for row in self.at_actuators(q, [[x] for x in self.drives_along(q, forces)])]

    def net(self, q: Vector, tau: Vector, passive: Vector) -> list[Scalar]:
        """Forces along v: B τ minus those of the drives."""
        return self.map.project(q, self.actuation.net(q, tau, passive))

    # ---- forward dynamics

    def forward(self, q: Vector, v: Vector, forces: Vector, wrenches: Wrenches) -> list[Scalar]:
        """a for given forces along v on bodies and rotors, without friction. Selects the method.

        Without constraints: the forward dynamics of the bodies, or a factorisation of M* if they have none. With
        constraints: a factorisation of M*, or multipliers (`solver="schur"`) if v are velocities of the tree.
        """
        if self.map.is_identity:
            a = self.bodies.forward(q, v, forces, wrenches)
            return self._factorised(q, v, forces, wrenches) if a is NotImplemented else a
        w, independent = self.map.velocity(q, v), self.map.partition.independent
        if self.solver != "schur" or not independent:
            return self._eliminated(q, w, forces, wrenches)
        on_tree: list[Scalar] = [0.0] * len(w)
        for k, force in zip(independent, forces, strict=True):
            on_tree[k] = force  # Nᵀ of these are the given forces
        return self.map.at(q, w).independent(self._by_multipliers(q, w, on_tree, wrenches)[0])

    def _factorised(self, q: Vector, v: Vector, forces: Vector, wrenches: Wrenches) -> list[Scalar]:
        rest = [0.0] * len(v)
        h = self.body_forces(q, v, rest, wrenches)
        if self._has_rotors:
            of_rotors = [R * x for R, x in zip(self._rotors, self.drive_accelerations(q, v, rest), strict=True)]
            h = [x + y for x, y in zip(h, self.drives_along(q, of_rotors), strict=True)]
        return LDL.of(self.mass_matrix(q)).solve([Q - x for Q, x in zip(forces, h, strict=True)])

    def _eliminated(self, q: Vector, w: Vector, forces: Vector, wrenches: Wrenches) -> list[Scalar]:
        """Solve M* a = forces - Nᵀ(M ν + h), where M ν + h are the forces that the acceleration ν requires."""
        basis = self.map.at(q, w)
        bias = basis.across(self._with_rotors(self.bodies.forces(q, w, basis.drift, wrenches), basis.drift))
        M = self.map.congruent(q, self._tree_equations.mass_matrix(q))
        return LDL.of(M).solve([Q - h for Q, h in zip(forces, bias, strict=True)])

    def _by_multipliers(
        self, q: Vector, w: Vector, forces: Vector, wrenches: Wrenches
    ) -> tuple[list[Scalar], list[Scalar]]:
        """dw/dt and the multipliers of the active rows, for any w that satisfies the rows."""
        rows = self.map.active_rows(q, w)
        bias = self.bodies.forces(q, w, [0.0] * len(w), wrenches)
        schur = Schur(LDL.of(self._tree_equations.mass_matrix(q)), [row.jacobian for row in rows])
        return schur.solve([Q - h for Q, h in zip(forces, bias, strict=True)], [row.drift for row in rows])

    def _with_rotors(self, forces: Vector, w_dot: Vector) -> list[Scalar]:
        """Forces along the velocities of the tree plus those that the rotors require."""
        if not self._has_rotors:
            return list(forces)
        accelerations = zip(self._rotors, self.actuation.drive_rates((), w_dot), strict=True)
        added = self.actuation.at_joints([R * x for R, x in accelerations])
        return [Q + x for Q, x in zip(forces, added, strict=True)]

    @property
    def _tree_equations(self) -> Equations:
        """Equations of the tree without its constraints."""
        assert self.tree is not None
        return self.tree

    @property
    def is_regular(self) -> bool:
        """Whether forces determine the accelerations. If not, raise a ModelError unless `physical` is False."""
        return self.bodies.is_regular  # type: ignore[union-attr]

    # ---- constraints

    def constrained_acceleration(
        self, q: Vector, w: Vector, forces: Vector, wrenches: Wrenches, directions: Vector | None = None
    ) -> tuple[list[Scalar], list[Scalar]]:
        """dw/dt and the multipliers of all rows, for any w that satisfies them and forces along the tree.

        Accelerations are computed from the multipliers, so that a linkage can pass configurations in which its
        independent velocities become dependent. If links without inertia make the unconstrained tree singular,
        accelerations are computed in independent velocities instead.
        """
        passive = self.actuation.at_joints(self._tree_equations.passive(q, w, directions))
        net = [x - y for x, y in zip(forces, passive, strict=True)]
        if self._tree_is_regular:
            a, multipliers = self._by_multipliers(q, w, net, wrenches)
        else:
            basis = self.map.at(q, w)
            a = basis.acceleration(self._eliminated(q, w, basis.across(net), wrenches))
            required = self._with_rotors(self.bodies.forces(q, w, a, wrenches), a)
            multipliers = basis.multipliers([x - y for x, y in zip(required, net, strict=True)])
        return a, self.map.to_all_rows(multipliers)

    @cached_property
    def _tree_is_regular(self) -> bool:
        """Whether forces determine the accelerations of the tree without its constraints."""
        return not self.bodies.idle_joints  # type: ignore[union-attr]

    def mobility(self, q: Vector) -> Matrix:
        """P = N M*⁻¹ Nᵀ."""
        N = self.basis(q)
        inverse = LDL.of(self.map.congruent(q, self._tree_equations.mass_matrix(q))).inverse()
        half = [[dot(row, column) for column in zip(*inverse, strict=True)] for row in N]
        return [[dot(x, y) for y in N] for x in half]

    def gap(self, q: Vector) -> list[Scalar]:
        """φ of all rows that restrict positions."""
        if not self.map.holonomic:
            raise ModelError(f"{self.system.owner} has no gaps: none of its constraints restricts positions.")
        return self.map.gap(q)

    def row_jacobian(self, q: Vector) -> Matrix:
        """K of all rows."""
        return self.map.row_jacobian(q)

    def row_rates(self, q: Vector, w: Vector) -> list[Scalar]:
        """K w + b of all rows."""
        return self.map.row_rates(q, w)

    def witness(self, q: Vector) -> list[Scalar]:
        """Distance of every active row from a singular configuration: 0 in a singular configuration."""
        return self.map.witness(q)

    def constraint_forces(self, q: Vector, v: Vector, tau: Vector, wrenches: Wrenches) -> list[Scalar]:
        """λ of all rows; 0 for redundant rows."""
        forces = self.actuation.on_bodies(q, tau)
        return self.constrained_acceleration(q, self.map.velocity(q, v), forces, wrenches)[1]

    def constraint_wrench(self, name: str, q: Vector, v: Vector, tau: Vector, wrenches: Wrenches) -> tuple[Vec3, Vec3]:
        """Force and moment on the first side of a constraint, at its origin, in world axes."""
        known = dict(zip(self.system.constraint_names, self.system.constraints, strict=True))
        constraint = self.system.find("constraint", name, known)
        multipliers = self.constraint_forces(q, v, tau, wrenches)[self.map.span(name)]
        return wrench(self.bodies.tree, constraint, q, multipliers)  # type: ignore[union-attr]

    # ---- bodies and drives: (4) to (6)

    def gibbs_function(self, q: Vector, v: Vector, a: Vector) -> Scalar:
        """S(q, v, a), the acceleration energy minus the work of gravity and friction."""
        S = self.bodies.gibbs_function(q, self.map.velocity(q, v), self.map.acceleration(q, v, a))
        if self._has_drive_terms:
            accelerations = self.drive_accelerations(q, v, a)
            for R, f, x in zip(self._rotors, self.passive(q, v), accelerations, strict=True):
                S = S + (0.5 * R) * (x * x) + f * x
        return S

    def forces(self, q: Vector, v: Vector, a: Vector, wrenches: Wrenches) -> list[Scalar]:
        """Q(q, v, a), along v."""
        Q = self.body_forces(q, v, a, wrenches)
        if not self._has_drive_terms:
            return Q
        drives = self.drives_along(q, self._drive_forces(q, v, a))
        return [x + y for x, y in zip(Q, drives, strict=True)]

    def tau(self, q: Vector, v: Vector, a: Vector, wrenches: Wrenches) -> list[Scalar]:
        """τ(q, v, a), at the actuators."""
        columns = self.at_actuators(q, [[x] for x in self.body_forces(q, v, a, wrenches)])
        tau = [row[0] for row in columns]
        if not self._has_drive_terms:
            return tau
        drives = self.drives_at_actuators(q, self._drive_forces(q, v, a))
        return [x + y for x, y in zip(tau, drives, strict=True)]

    def acceleration(
        self, q: Vector, v: Vector, tau: Vector, wrenches: Wrenches, directions: Vector | None = None
    ) -> list[Scalar]:
        """a(q, v, τ), with the directions of dry friction given, or those of the motion if None."""
        passive = self.friction or self._has_springs
        forces = self.net(q, tau, self.passive(q, v, directions)) if passive else self.along_coordinates(q, tau)
        return self.forward(q, v, forces, wrenches)

    def bias(self, q: Vector, v: Vector) -> list[Scalar]:
        """h(q, v)."""
        return self.forces(q, v, [0.0] * len(v), {})

    def friction_forces(self, q: Vector, v: Vector) -> list[Scalar]:
        """Contribution of friction, and of the damping of elastic joints and flexible links, to h, along v."""
        motions = zip(self.drives, self._deflections(q), self.drive_rates(q, v), strict=True)
        along = self.drives_along(q, [drive.friction_force(x, rate, self.friction) for drive, x, rate in motions])
        if not self._deforms:
            return along
        damping = self.bodies.damping_forces(q, self.map.velocity(q, v))  # type: ignore[union-attr]
        return [x + y for x, y in zip(along, self.map.project(q, damping), strict=True)]

    def mass_matrix(self, q: Vector) -> Matrix:
        """M(q)."""
        M = self.map.congruent(q, self.bodies.mass_matrix(q))
        return self._plus_rotors(M, q, self.drive_jacobian(q), symmetric=True) if self._has_rotors else M

    def inverse_mass_matrix(self, q: Vector) -> Matrix:
        """M⁻¹."""
        M = self.mass_matrix(q)
        return self.bodies.inverse(M, q) if self.map.is_identity else LDL.of(M).inverse()

    def coriolis(self, q: Vector, v: Vector) -> Matrix:
        """C(q, v), with C v = bias - gravity - friction - drift and dM/dt - 2C skew; see (3)."""
        C = self.map.coriolis(q, v, self.bodies.mass_matrix, self.bodies.coriolis)
        if not self._has_rotors:
            return C
        return self._plus_rotors(C, q, self.actuation.drive_drift(q, v, self.map), symmetric=False)

    def gravity(self, q: Vector) -> list[Scalar]:
        """g(q), the contribution of gravity, springs and offsets to h: forces along v that balance them at w = 0."""
        w = [0.0] * len(self.map.basis(q))
        Q = self.map.project(q, self.bodies.forces(q, w, w, {}))
        if not self._has_drive_terms:
            return Q
        passive = self._tree_equations.passive(q, w) if self.tree else self.passive(q, w)
        return [x + y for x, y in zip(Q, self.drives_along(q, passive), strict=True)]

    def drift(self, q: Vector, v: Vector) -> list[Scalar]:
        """d(q, v), the contribution of prescribed motions and turning planes to h, along v; zero for other systems.

        Nᵀ (M dn/dt + C n) of (3), including rotors. It depends on v, because turning planes and prescribed velocities
        cause Coriolis forces. In this case no C satisfies both C v = h - h(v = 0) and dM/dt - 2C skew.
        """
        if self.map.is_identity or not len(v):
            return [0.0] * len(v)
        N, N_rate = self.map.basis(q), self.map.basis_rate(q, v)
        w, nu = self.map.velocity(q, v), self.map.acceleration(q, v, [0.0] * len(v))
        n = [x - dot(row, v) for x, row in zip(w, N, strict=True)]
        n_rate = [x - dot(row, v) for x, row in zip(nu, N_rate, strict=True)]
        M, C = self._tree_equations.mass_matrix(q), self.bodies.coriolis(q, w)
        return self.map.project(q, [dot(m, n_rate) + dot(c, n) for m, c in zip(M, C, strict=True)])

    def kinetic_energy(self, q: Vector, v: Vector) -> Scalar:
        """T(q, v), of the bodies and the rotors."""
        T = self.bodies.kinetic_energy(q, self.map.velocity(q, v))
        if self._has_rotors:
            for R, rate in zip(self._rotors, self.drive_rates(q, v), strict=True):
                T = T + (0.5 * R) * (rate * rate)
        return T

    def potential_energy(self, q: Vector) -> Scalar:
        """U(q), of the bodies and the springs."""
        U = self.bodies.potential_energy(q)
        for drive, deflection in zip(self.drives, self._deflections(q), strict=True):
            U = U + drive.spring_energy(deflection) if drive.has_spring else U
        return U

    def regressor(self, q: Vector, v: Vector, a: Vector, columns: Sequence[int] | None = None) -> Matrix:
        """Y(q, v, a), with τ = Y π: columns of all bodies, then of active drives and springs; or some of them.

        With elastic joints or flexible bodies, the rows are those of the velocities: B τ = Y π, with zeros of B τ along
        the elastic joints and the modes.
        """
        bodies = len(self._body_parameters)
        dropped = set() if columns is None else {*range(bodies, len(self.parameters))} - {*columns}
        of_bodies = None if columns is None else [k for k in columns if k < bodies]
        elastic = bool(self.system.elastic_joints) or self._deforms
        of_links = self.body_regressor(q, v, a, of_bodies)
        rows = [list(row) for row in (of_links if elastic else self.at_actuators(q, of_links))]
        number = count(bodies)
        motions = zip(self._deflections(q), self.drive_rates(q, v), self.drive_accelerations(q, v, a), strict=True)
        for k, (drive, motion) in enumerate(zip(self.drives, motions, strict=True)):
            for column in self._regressor_factors(drive, *motion).values():
                if next(number) in dropped:
                    continue
                alone = [column if i == k else 0.0 for i in range(len(self.drives))]
                entries = self.drives_along(q, alone) if elastic else self.drives_at_actuators(q, alone)
                for row, entry in zip(rows, entries, strict=True):
                    row.append(entry)
        return rows

    @cached_property
    def base(self) -> Reduction:
        """Base columns of the regressor and base parameters; no base column is a combination of others."""
        return reduction(self)

    def base_regressor(self, q: Vector, v: Vector, a: Vector) -> Matrix:
        """Y_b(q, v, a), with τ = Y_b β."""
        return self.regressor(q, v, a, self.base.columns)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """π, the parameters of the columns of the regressor."""
        parameters = list(self._body_parameters)
        for drive in self.drives:
            for kind in self._regressor_factors(drive, 0.0, 0.0, 0.0):
                value = float(drive.parameter_values[kind])
                parameters.append(Parameter(f"{SYMBOLS[kind]}{drive.label}", kind, drive.name, value))
        return tuple(parameters)

    @cached_property
    def _body_parameters(self) -> list[Parameter]:
        """Ten parameters per rigid body, and those of `flexible.regressor` of a flexible one."""
        parameters = []
        for k, (name, body) in enumerate(self.system.bodies.items(), start=1):
            if isinstance(body, FlexibleBody):
                values = [(term.kind, term.value) for term in body_terms(body)]
            else:
                values = list(zip(PARAMETER_NAMES, body.parameters if body else (0.0,) * 10, strict=True))
            parameters += [Parameter(f"{kind}{k}", kind, name, value) for kind, value in values]
        return parameters

    @cached_property
    def _deforms(self) -> bool:
        """Whether a body is flexible."""
        return any(isinstance(body, FlexibleBody) for body in self.system.bodies.values())

    def _regressor_factors(
        self, drive: Drive, deflection: Scalar, rate: Scalar, acceleration: Scalar
    ) -> dict[str, Scalar]:
        """Factors of the parameters of a drive in its force, by kind."""
        return drive.regressor_factors(deflection, rate, acceleration, rotors=self.rotors, friction=self.friction)

    @property
    def _has_springs(self) -> bool:
        return any(drive.has_spring for drive in self.drives)

    @property
    def _has_rotors(self) -> bool:
        return self.rotors or any(drive.motor for drive in self.drives)

    @property
    def _has_drive_terms(self) -> bool:
        return self.rotors or self.friction or self._has_springs

    @property
    def _rotors(self) -> list[float]:
        return [drive.rotor(self.rotors) for drive in self.drives]

    @property
    def dry_drives(self) -> tuple[int, ...]:
        """Indices of the drives with dry friction, if friction is enabled."""
        return tuple(k for k, drive in enumerate(self.drives) if self.friction and drive.actuator.friction.dry)

    def _friction_and_offset(self, q: Vector, v: Vector, directions: Vector | None = None) -> list[Scalar]:
        """f(θ̇) + o of every drive; 0 if friction is disabled."""
        if not self.friction:
            return [0.0] * len(self.drives)
        actuators = [drive.actuator for drive in self.drives]
        rates = self.drive_rates(q, v)
        s = {} if directions is None else dict(zip(self.dry_drives, directions, strict=True))
        return [
            actuator.friction.force(rate, s.get(k)) + actuator.offset
            for k, (actuator, rate) in enumerate(zip(actuators, rates, strict=True))
        ]

    def _deflections(self, q: Vector) -> list[Scalar]:
        """θ - θ₀ of every drive with a spring, 0 for others."""
        if not self._has_springs:
            return [0.0] * len(self.drives)
        positions = zip(self.drives, self.actuation.drive_positions(q), strict=True)
        return [drive.deflection(x) for drive, x in positions]

    def passive(self, q: Vector, v: Vector, directions: Vector | None = None) -> list[Scalar]:
        """Passive forces f(θ̇) + o + k (θ - θ₀) of every drive."""
        friction = self._friction_and_offset(q, v, directions)
        if not self._has_springs:
            return friction
        springs = zip(self.drives, friction, self._deflections(q), self.drive_rates(q, v), strict=True)
        return [f + drive.spring_force(deflection, rate) for drive, f, deflection, rate in springs]

    def spring_torques(self, q: Vector, v: Vector) -> list[Scalar]:
        """Forces of the springs of the elastic joints."""
        motions = zip(self.drives, self._deflections(q), self.drive_rates(q, v), strict=True)
        return [drive.spring_force(x, rate) for drive, x, rate in motions if drive.elasticity]

    def _drive_forces(self, q: Vector, v: Vector, a: Vector) -> list[Scalar]:
        """R θ̈ + f(θ̇) + o + k (θ - θ₀)."""
        accelerations = self.drive_accelerations(q, v, a) if self._has_rotors else [0.0] * len(self.drives)
        return [R * x + f for R, x, f in zip(self._rotors, accelerations, self.passive(q, v), strict=True)]

    def _plus_rotors(self, matrix: Matrix, q: Vector, rows: Matrix, *, symmetric: bool) -> Matrix:
        """matrix + B R rows."""
        n = self.system.nv
        weighted = [[R * x for x in row] for R, row in zip(self._rotors, rows, strict=True)]
        columns = [self.drives_along(q, [row[k] for row in weighted]) for k in range(n)]

        def entry(i: int, k: int) -> Scalar:
            return columns[min(i, k)][max(i, k)] if symmetric else columns[k][i]

        return [[matrix[i][k] + entry(i, k) for k in range(n)] for i in range(n)]
