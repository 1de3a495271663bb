"""The equations of motion of a constrained robot, in independent velocities v with w = N v + n along its tree.

    S*(q, v, v̇) = S(q, N v + n, N v̇ + ν)          the Gibbs function with the constraints put in                (1)
    Q* = ∂S*/∂v̇ = Nᵀ (M a + h)                     no multipliers: K N = 0                                       (2)
    M* = Nᵀ M N              C* = Nᵀ (M dN/dt + C N)                                                             (3)
    M* v̇ + Nᵀ (M ν + h) = Nᵀ τ                                                                                   (4)

Velocities may be put into S before it is differentiated, because it is differentiated by accelerations only; so (1)
holds for rolling wheels as for closed loops. Forward dynamics eliminates (4) where few freedoms are left, and solves
for the multipliers (`schur`) where few rows are. Everything else is the tree's, seen from v.
"""

from __future__ import annotations

from collections.abc import Sequence

from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar, Vector, dot
from appell.algebra.solve import LDL
from appell.algebra.vector import Vec3
from appell.errors import ModelError
from appell.formulate.actuation import Actuation
from appell.formulate.body_equations import Matrix, Wrenches
from appell.formulate.constrained.basis import Basis
from appell.formulate.constrained.rows import wrench
from appell.formulate.constrained.tree_motion import TreeMotion
from appell.formulate.equations import Equations
from appell.formulate.points import PointMotion
from appell.model.constrained import ConstrainedRobot
from appell.model.frame import Frame

SOLVERS = ("elimination", "schur")
CONDITION_LIMIT = 1e10  # of the actuators' Jacobian; beyond it, torques are NaN


class ConstrainedEquations(Equations):
    """`under` is the tree under its constraints; `solver` says how accelerations are found, by elimination if None."""

    system: ConstrainedRobot

    def __init__(self, robot: ConstrainedRobot, under: TreeMotion, solver: str | None = None):
        self.system, self.under, self.tree, self.manifold = robot, under, under.tree, under.manifold
        self.friction, self.rotors, self.reference = self.tree.friction, self.tree.rotors, self.tree.reference
        self.drives = self.tree.drives
        self.solver = solver

    # ---- the motions that are left

    def tree_velocity(self, q: Vector, v: Vector) -> list[Scalar]:
        return self.under.basis(q).velocity(v)

    def independent_velocity(self, q: Vector, w: Vector) -> list[Scalar]:
        return self.under.basis(q).independent(w)

    def tree_acceleration(self, q: Vector, v: Vector, a: Vector) -> list[Scalar]:
        return self.under.moving(q, v)[1].acceleration(a)

    def basis(self, q: Vector) -> Matrix:
        """N."""
        return self.under.basis(q).N

    def rate(self, q: Vector, v: Vector) -> list[Scalar]:
        return self.tree.rate(q, self.tree_velocity(q, v))

    def closed(self, q: Vector) -> list[Scalar]:
        """Of joints of one axis: those that are independent stay, the others close the loops."""
        step = self.under.closing(q)
        return [x + change for x, change in zip(q, self.tree.rate(q, step), strict=True)]

    def tangents(self, q: Vector) -> Matrix:
        return self.under.position_tangents(q)

    # ---- bodies

    def body_gibbs_function(self, q: Vector, v: Vector, a: Vector) -> Scalar:
        w, basis = self.under.moving(q, v)
        return self.tree.body_gibbs_function(q, w, basis.acceleration(a))  # (1)

    def body_forces(self, q: Vector, v: Vector, a: Vector, wrenches: Wrenches) -> list[Scalar]:
        w, basis = self.under.moving(q, v)
        return basis.across(self.tree.body_forces(q, w, basis.acceleration(a), wrenches))  # (2)

    def body_mass_matrix(self, q: Vector) -> Matrix:
        return _congruent(self.tree.body_mass_matrix(q), self.basis(q))  # (3)

    def body_coriolis(self, q: Vector, v: Vector) -> Matrix:
        w, N = self.tree_velocity(q, v), self.basis(q)
        M, C, Ndot = self.tree.body_mass_matrix(q), self.tree.body_coriolis(q, w), self.under.basis_rate(q, w)
        moved = list(zip(zip(*Ndot, strict=True), zip(*N, strict=True), strict=True))
        inner = [[dot(m, x) + dot(c, y) for x, y in moved] for m, c in zip(M, C, strict=True)]
        return [[dot(x, y) for y in zip(*inner, strict=True)] for x in zip(*N, strict=True)]  # (3)

    def body_regressor(self, q: Vector, v: Vector, a: Vector, columns: Sequence[int] | None = None) -> Matrix:
        w, basis = self.under.moving(q, v)
        Y = self.tree.body_regressor(q, w, basis.acceleration(a), columns)
        reduced = [basis.across(column) for column in zip(*Y, strict=True)]
        return [[column[k] for column in reduced] for k in range(self.system.nv)]

    def body_kinetic_energy(self, q: Vector, v: Vector) -> Scalar:
        return self.tree.body_kinetic_energy(q, self.tree_velocity(q, v))

    def body_potential_energy(self, q: Vector) -> Scalar:
        return self.tree.body_potential_energy(q)

    def momentum(self, q: Vector, v: Vector) -> tuple[Vec3, Vec3]:
        return self.tree.momentum(q, self.tree_velocity(q, v))

    def center_of_mass(self, q: Vector) -> Vec3:
        return self.tree.center_of_mass(q)

    # ---- frames

    def pose(self, frame: Frame, q: Vector) -> Pose:
        return self.tree.pose(frame, q)

    def jacobian(self, frame: Frame, reference: str, q: Vector) -> Matrix:
        return [self.under.basis(q).across(row) for row in self.tree.jacobian(frame, reference, q)]

    def velocity(self, frame: Frame, reference: str, q: Vector, v: Vector) -> list[Scalar]:
        return self.tree.velocity(frame, reference, q, self.tree_velocity(q, v))

    def positions(self, frames: Sequence[Frame], q: Vector) -> list[Vec3]:
        return self.tree.positions(frames, q)

    def point_motions(self, frames: Sequence[Frame], q: Vector, v: Vector) -> list[PointMotion]:
        w, basis = self.under.moving(q, v)
        found = []
        for point in self.tree.point_motions(frames, q, w):
            pulled = Vec3.of(dot(row, basis.drift) for row in point.J)
            J = [basis.across(row) for row in point.J]
            found.append(PointMotion(point.position, point.velocity, point.drift + pulled, J))
        return found

    # ---- forward dynamics

    def forward(self, q: Vector, v: Vector, forces: Vector, wrenches: Wrenches) -> list[Scalar]:
        w, basis = self.under.moving(q, v)
        independent = self.manifold.partition.independent
        if self.solver != "schur" or not independent:
            return self._eliminated(q, w, basis, forces, wrenches)
        on_tree: list[Scalar] = [0.0] * len(w)
        for k, force in zip(independent, forces, strict=True):
            on_tree[k] = force  # Nᵀ of it is what was given
        a, _ = self.under.acceleration(q, w, on_tree, wrenches)
        return basis.independent(a)

    def _eliminated(self, q: Vector, w: Vector, basis: Basis, forces: Vector, wrenches: Wrenches) -> list[Scalar]:
        """(4), with M ν + h as the forces of the acceleration ν."""
        left = basis.across(self.under.with_rotors(self.tree.body_forces(q, w, basis.drift, wrenches), basis.drift))
        M = _congruent(self.tree.mass_matrix(q), basis.N)
        return LDL.of(M).solve([Q - h for Q, h in zip(forces, left, strict=True)])

    def constrained_acceleration(
        self, q: Vector, w: Vector, forces: Vector, wrenches: Wrenches, directions: Vector | None = None
    ) -> tuple[list[Scalar], list[Scalar]]:
        """dw/dt and the multipliers of all rows, for any w that keeps them and forces along the tree.

        Where links without matter leave the tree alone without an answer, by independent velocities all the same.
        """
        left = self._left(q, w, forces, directions)
        if self.under.is_regular:
            a, carried = self.under.acceleration(q, w, left, wrenches)
        else:
            basis = self.under.basis(q, w)
            a = basis.acceleration(self._eliminated(q, w, basis, basis.across(left), wrenches))
            needed = self.under.with_rotors(self.tree.body_forces(q, w, a, wrenches), a)
            carried = basis.multipliers([x - y for x, y in zip(needed, left, strict=True)])
        return a, self.manifold.spread(carried)

    def _left(self, q: Vector, w: Vector, forces: Vector, directions: Vector | None = None) -> list[Scalar]:
        """Forces along the tree, less what friction, offsets and springs of its drives take."""
        passive = self.tree.on_actuators(self.tree.passive(q, w, directions))
        return [x - y for x, y in zip(forces, passive, strict=True)]

    def mobility(self, q: Vector) -> Matrix:
        """P = N M*⁻¹ Nᵀ."""
        N = self.basis(q)
        inverse = LDL.of(_congruent(self.tree.mass_matrix(q), N)).inverse()
        half = [[dot(row, column) for column in zip(*inverse, strict=True)] for row in N]
        return [[dot(x, y) for y in N] for x in half]

    # ---- what the rows do

    def gap(self, q: Vector) -> list[Scalar]:
        if not self.manifold.holonomic:
            raise ModelError(f"no constraint of {self.system.owner} ties positions: there is no gap.")
        return self.under.gap(q)

    def row_jacobian(self, q: Vector) -> Matrix:
        return self.under.row_jacobian(q)

    def row_rates(self, q: Vector, w: Vector) -> list[Scalar]:
        return self.under.row_rates(q, w)

    def witness(self, q: Vector) -> list[Scalar]:
        return self.manifold.witness(self.under.basis(q))

    def constraint_forces(self, q: Vector, v: Vector, tau: Vector, wrenches: Wrenches) -> list[Scalar]:
        """λ of all rows; 0 where others imply a row."""
        return self.constrained_acceleration(q, self.tree_velocity(q, v), self._on_tree(tau), wrenches)[1]

    def constraint_wrench(self, name: str, q: Vector, v: Vector, tau: Vector, wrenches: Wrenches) -> tuple[Vec3, Vec3]:
        """Force and moment on the first side of a constraint, at its origin, in world axes."""
        known = dict(zip(self.system.constraint_names, self.system.constraints, strict=True))
        constraint = self.system.find("constraint", name, known)
        multipliers = self.constraint_forces(q, v, tau, wrenches)[self.manifold.span(name)]
        return wrench(self.tree.tree, constraint, q, multipliers)

    # ---- actuators and drives

    def _on_tree(self, tau: Vector) -> list[Scalar]:
        forces: list[Scalar] = [0.0] * self.tree.system.nv
        for k, force in zip(self.system.actuated, tau, strict=True):
            forces[k] = force
        return forces

    def actuator_positions(self, q: Vector) -> list[Scalar]:
        found = []
        for name, k in zip(self.system.actuator_names, self.system.actuated, strict=True):
            place = self.manifold.coordinate_of(self.tree.robot, k)
            if place is None:
                raise ModelError(
                    f"actuator '{name}' of {self.system.owner} moves a joint of several axes: "
                    "no number measures its position.",
                    expected="actuated joints of one axis",
                    hint="with_loops(..., actuated=[names of joints])",
                )
            found.append(q[place])
        return found

    def actuator_positions_near(self, q: Vector, theta: Vector) -> list[Scalar]:
        return self.actuator_positions(q)

    def actuator_jacobian(self, q: Vector) -> Matrix:
        N = self.basis(q)
        return [N[k] for k in self.system.actuated]

    def _actuation(self, q: Vector) -> Actuation:
        return Actuation(self.actuator_jacobian(q), CONDITION_LIMIT, tuple(self.system.weights.values()))

    def to_coordinates(self, q: Vector, rates: Vector) -> list[Scalar]:
        return self._actuation(q).velocity(rates)

    def along_coordinates(self, q: Vector, tau: Vector) -> list[Scalar]:
        return self.under.basis(q).across(self._on_tree(tau))

    def at_actuators(self, q: Vector, forces: Matrix) -> Matrix:
        return self._actuation(q).torques(forces, self.system.owner)

    def drive_positions(self, q: Vector) -> list[Scalar]:
        return self.tree.drive_positions(q)

    def drive_rates(self, q: Vector, v: Vector) -> list[Scalar]:
        return self.tree.drive_rates(q, self.tree_velocity(q, v))

    def drive_accelerations(self, q: Vector, v: Vector, a: Vector) -> list[Scalar]:
        return self.tree.drive_rates(q, self.tree_acceleration(q, v, a))

    def drive_jacobian(self, q: Vector) -> Matrix:
        return self._of_drives(q, self.basis(q))

    def drive_drift(self, q: Vector, v: Vector) -> Matrix:
        return self._of_drives(q, self.under.basis_rate(q, self.tree_velocity(q, v)))

    def _of_drives(self, q: Vector, matrix: Matrix) -> Matrix:
        """Rates of every drive for columns of velocities of the tree."""
        columns = [self.tree.drive_rates(q, column) for column in zip(*matrix, strict=True)]
        return [list(row) for row in zip(*columns, strict=True)]

    def drives_along(self, q: Vector, forces: Vector) -> list[Scalar]:
        return self.under.basis(q).across(self.tree.on_actuators(forces))

    def drives_at_actuators(self, q: Vector, forces: Vector) -> list[Scalar]:
        return [row[0] for row in self.at_actuators(q, [[x] for x in self.drives_along(q, forces)])]

    def net(self, q: Vector, tau: Vector, passive: Vector) -> list[Scalar]:
        taken = zip(self._on_tree(tau), self.tree.on_actuators(passive), strict=True)
        return self.under.basis(q).across([x - y for x, y in taken])


def _congruent(M: Matrix, N: Matrix) -> Matrix:
    """Nᵀ M N, its upper half taken from the lower."""
    columns = [list(column) for column in zip(*N, strict=True)]
    moved = [[dot(row, column) for row in M] for column in columns]
    f = len(columns)
    lower = [[dot(columns[i], moved[k]) for k in range(i + 1)] for i in range(f)]
    return [[lower[max(i, k)][min(i, k)] for k in range(f)] for i in range(f)]
