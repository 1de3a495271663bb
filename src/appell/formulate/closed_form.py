"""Dynamics of bodies whose poses are explicit functions of the coordinates.

A point with body coordinates (x, y, z) has the world position X r, with r = (x, y, z, 1) and the 3x4 matrix X(q) = [R
s]. The body enters only with the constant 4x4 matrix Σ = ∫ r rᵀ dm. With A = Ẍ - [0 g] and the inner product ⟨A, B⟩ = Σ
AᵢⱼBᵢⱼ, the Gibbs function is

    S = ½ ∫ |A r|² dm = ½ ⟨A, A Σ⟩                                                                             (1)

and, because ∂Ẍ/∂aₖ = ∂ₖX = ∂X/∂qₖ and q̇ = v, Appell's equations read

    Qₖ  = ∂S/∂aₖ = ⟨∂ₖX, A Σ⟩                                                                                  (2)
    Mⱼₖ = ⟨∂ⱼX, ∂ₖX Σ⟩                                                                                         (3)
    Cⱼₖ = ⟨∂ⱼX, d(∂ₖX)/dt Σ⟩          so that Ṁⱼₖ - 2Cⱼₖ = ⟨d(∂ⱼX)/dt, ∂ₖX Σ⟩ - ⟨∂ⱼX, d(∂ₖX)/dt Σ⟩ is skew     (4)
    T   = ½ ⟨Ẋ, Ẋ Σ⟩                 U = -⟨[0 g], X Σ⟩                                                        (5)

summed over all bodies. A flexible body has r = (x, 1, f₁, f₂, …) with its shapes and X = [R s c₁R c₂R …] with their
weights (`formulate.flexible.kinematics`): Σ gets wider and stays constant, and K δ + D δ̇ is added along the modes.

No angular velocity appears: gyroscopic terms are part of Ẍ. Only derivatives of X are needed,
so the method applies to any mechanism with explicit poses, including closed loops. Abedloo et al. 2014 derive M, C and
G this way for spherical robots (`formulate.spherical`) and suggest the method for others.

`ClosedFormBodies` sums these terms over the bodies of a mechanism. Poses and joint positions are differentiated by a
`Differentiate` function that the caller passes in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property
from typing import Any, Protocol, final

import numpy as np

from appell.algebra.loops import Loops
from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.algebra.scalar import Matrix, Scalar, Vector
from appell.algebra.solve import LDL
from appell.algebra.vector import ZERO, Vec3
from appell.errors import TraceError
from appell.formulate.flexible.kinematics import Deformation, NodeMotion
from appell.formulate.flexible.regressor import body_terms
from appell.formulate.kinematics import REFERENCES, PointMotion, Wrenches
from appell.model.body import Inertia
from appell.model.flexible import FlexibleBody
from appell.model.frame import Frame
from appell.model.joints import Partial
from appell.model.mechanism import LegJoint, Mechanism, MovingBody

Rows = Sequence[Vector]  # 3x4 for X and its derivatives, 4x4 for Σ


def inner(A: Rows, B: Rows) -> Scalar:
    """⟨A, B⟩."""
    return sum((a * b for x, y in zip(A, B, strict=True) for a, b in zip(x, y, strict=True)), start=0.0)


def times(A: Rows, sigma: Rows) -> Matrix:
    """A Σ for a symmetric Σ."""
    return [[sum((a * s for a, s in zip(row, column, strict=True)), start=0.0) for column in sigma] for row in A]


def half_square(A: Rows, sigma: Rows) -> Scalar:
    """½ ⟨A, A Σ⟩: contribution of one body to S of (1), or for Ẋ to T of (5)."""
    return 0.5 * inner(A, times(A, sigma))


def body_mass_matrix(partials: Sequence[Rows], sigma: Rows) -> Matrix:
    """Contribution of one body to M, by (3); `partials` are ∂ₖX."""
    weighted = [times(partial, sigma) for partial in partials]
    lower = [[inner(partials[j], weighted[k]) for k in range(j + 1)] for j in range(len(partials))]
    return [[lower[max(j, k)][min(j, k)] for k in range(len(partials))] for j in range(len(partials))]


def body_coriolis(partials: Sequence[Rows], rates: Sequence[Rows], sigma: Rows) -> Matrix:
    """Contribution of one body to C, by (4); `rates` are d(∂ₖX)/dt."""
    weighted = [times(rate, sigma) for rate in rates]
    return [[inner(partial, column) for column in weighted] for partial in partials]


def body_first_moment(X: Rows, sigma: Rows) -> Vec3:
    """∫ X r dm of one body, its contribution to U = -g·Σ ∫ X r dm and to the centre of mass."""
    return Vec3.of(row[3] for row in times(X, sigma))


def body_momentum(X: Rows, velocity: Rows, sigma: Rows) -> tuple[Vec3, Vec3]:
    """∫ Ẋr dm and ∫ Xr × Ẋr dm of one body, X in world axes: with H = Ẋ Σ Xᵀ, the latter is the vector of H - Hᵀ."""
    weighted = times(velocity, sigma)
    H = [[inner([row], [other]) for other in X] for row in weighted]
    return (
        Vec3.of(row[3] for row in weighted),
        Vec3(H[2][1] - H[1][2], H[0][2] - H[2][0], H[1][0] - H[0][1]),
    )


def pose_of(X: Rows) -> Pose:
    """Pose of X = [R s]."""
    return Pose(Mat3.of(row[:3] for row in X), Vec3.of(row[3] for row in X))


def applied(X: Rows, point: Vector) -> Vec3:
    """X r, or a derivative of it."""
    return Vec3.of(inner([row], [point]) for row in X)


def rotated(rotation: Mat3, X: Rows) -> Matrix:
    """X in other axes."""
    columns = [list(rotation @ Vec3.of(row[k] for row in X)) for k in range(len(X[0]))]
    return [[column[k] for column in columns] for k in range(3)]


def wide_sigma(body: FlexibleBody) -> Matrix:
    """Σ of a flexible body, with r = (x, 1, f₁, f₂, …)."""
    h = np.array([list(first) for first in body.first], float).ravel()
    P = np.array([[[list(row) for row in block.rows] for block in blocks] for blocks in body.second], float)
    P = P.swapaxes(1, 2).reshape(len(h), len(h))
    return np.insert(np.insert(P, 3, h, axis=0), 3, [*h[:3], body.mass, *h[3:]], axis=1).tolist()


def padded(sigma: Rows, width: int) -> Matrix:
    """Σ with zeros up to a width."""
    rows = [[*row, *[0.0] * (width - len(row))] for row in sigma]
    return rows + [[0.0] * width for _ in range(width - len(rows))]


def body_regressor(partials: Sequence[Rows], A: Rows) -> Matrix:
    """∂Q/∂π of one body, ten columns and one row per coordinate: (2) is linear in Σ, and Σ in the ten parameters.

    With B = (∂ₖX)ᵀ A, Qₖ = ⟨B, Σ⟩. Since Σ contains m, h and ½ tr(I) 1 - I, the factor of Ixx is ½ (Byy + Bzz - Bxx)
    and that of Ixy is -(Bxy + Byx).
    """
    rows = []
    for partial in partials:
        B = [
            [sum((x[i] * y[j] for x, y in zip(partial, A, strict=True)), start=0.0) for j in range(4)] for i in range(4)
        ]
        half = 0.5 * (B[0][0] + B[1][1] + B[2][2])
        first = [B[i][3] + B[3][i] for i in range(3)]
        xy, xz, yz = (-(B[i][j] + B[j][i]) for i, j in ((0, 1), (0, 2), (1, 2)))
        rows.append([B[3][3], *first, half - B[0][0], xy, half - B[1][1], xz, yz, half - B[2][2]])
    return rows


def total(matrices: Sequence[Rows]) -> Matrix:
    """Sum of matrices."""
    return [[sum(entries, start=0.0) for entries in zip(*rows, strict=True)] for rows in zip(*matrices, strict=True)]


def _placed(base: Pose, X: Rows) -> Matrix:
    """X of a body in the world, from that in its base."""
    shapes = rotated(base.rotation, [row[4:] for row in X])
    return [[*row, *wide] for row, wide in zip((base @ pose_of(X)).rows, shapes, strict=True)]


class Differentiable(Protocol):
    """A nested list of scalars as a function of q, and its derivatives along a motion with q̇ = v, v̇ = a."""

    def value(self, q: Vector) -> Any: ...

    def rate(self, q: Vector, v: Vector) -> Any: ...

    def second_rate(self, q: Vector, v: Vector, a: Vector) -> Any: ...

    def partials(self, q: Vector) -> Any:
        """∂/∂q, with the coordinate as an additional last axis."""

    def partial_rates(self, q: Vector, v: Vector) -> Any:
        """d/dt ∂/∂q."""

    def pullback(self, q: Vector, weights: Any) -> list[Scalar]:
        """⟨∂ₖ value, weights⟩."""


Differentiate = Callable[[str, int, Callable[[Vector], Any]], Differentiable]  # name, size of q, function


class PoseFunctions:
    """Poses and joint positions of a mechanism as differentiable functions, created once for all of its equations."""

    def __init__(self, mechanism: Mechanism, differentiate: Differentiate):
        self.mechanism, self.differentiate = mechanism, differentiate
        self.poses = self._function("places", lambda q: [self._pose_rows(part, q) for part in mechanism.parts])
        self.drives = self._positions(mechanism.driven)

    @cached_property
    def joints(self) -> Differentiable:
        """Positions of all joints, actuated joints first."""
        return self._positions((*self.mechanism.driven, *self.mechanism.passive))

    def _positions(self, joints: Sequence[LegJoint]) -> Differentiable:
        return self._function(
            "joints", lambda q: [self._evaluated(f"joint '{joint.name}'", joint.position, q) for joint in joints]
        )

    def _function(self, name: str, function: Callable[[Vector], Any]) -> Differentiable:
        return self.differentiate(name, self.mechanism.nq, function)

    def _pose_rows(self, part: MovingBody, q: Vector) -> Matrix:
        """X of a body in its base."""
        rows = self._evaluated(f"the pose of body '{part.name}'", part.pose, q).rows
        weights = self.deformation(part, q).weights[1:] if part.modes else []
        wide = [[*row, *(c * x for c in weights for x in row[:3])] for row in rows]
        return [[*row, *[0.0] * (self.width - len(row))] for row in wide]

    @cached_property
    def width(self) -> int:
        """Columns of X: 4, and 3 per shape of the flexible body with the largest number of them."""
        counts = (len(part.body.first) for part in self.mechanism.parts if isinstance(part.body, FlexibleBody))
        return 1 + 3 * max(counts, default=1)

    def modes(self, part: MovingBody) -> list[int]:
        """Indices of the modal coordinates of a body."""
        return [self.mechanism.coordinates.index(name) for name in part.modes]

    def deformation(self, part: MovingBody, q: Vector) -> Deformation:
        """Deformation of a flexible body."""
        assert isinstance(part.body, FlexibleBody)
        return Deformation(part.body, [q[k] for k in self.modes(part)])

    def _evaluated(self, name: str, function: Callable, q: Vector):
        """Value of a function of the mechanism, with its name in the error if it cannot be traced."""
        try:
            return function(q)
        except TraceError as error:
            raise TraceError(f"{name} of {self.mechanism.owner} cannot be traced. {error}") from error


@final
class ClosedFormBodies:
    """Bodies of a mechanism with their inertias as scalars.

    `explicit` provides formulas for M, C and G (`formulate.spherical`) that replace the differentiated ones.
    """

    def __init__(
        self, pose_functions: PoseFunctions, inertias: Sequence[Inertia], explicit: Any = None, reference: str = "LOCAL"
    ):
        self.mechanism, self.pose_functions, self.inertias = pose_functions.mechanism, pose_functions, inertias
        self.explicit, self.reference = explicit, reference
        parts = self.mechanism.parts
        self.flexible = [part for part in parts if part.modes]
        pairs = zip(parts, inertias, strict=True)
        width = pose_functions.width
        self.sigmas = [
            padded(wide_sigma(part.body) if part.modes else inertia.pseudo, width)  # type: ignore[arg-type]
            for part, inertia in pairs
        ]
        self.gravities = [part.base.rotation.T @ self.mechanism.gravity for part in parts]

    def run_by(self, loops: Loops) -> ClosedFormBodies:
        """Return self: mechanisms have no loops."""
        return self

    def weighed(self, factor: Scalar) -> ClosedFormBodies:
        """Copy with gravity times a factor."""
        other = copy(self)
        other.gravities = [factor * gravity for gravity in self.gravities]
        return other

    # ---- bodies

    def gibbs_function(self, q: Vector, v: Vector, a: Vector) -> Scalar:
        terms = zip(self._accelerations(q, v, a), self.sigmas, strict=True)
        S = sum((half_square(A, sigma) for A, sigma in terms), start=0.0)
        return sum((force * x for force, x in zip(self._elastic(q, v), a, strict=True) if self.flexible), start=S)

    def forces(self, q: Vector, v: Vector, a: Vector, wrenches: Wrenches) -> list[Scalar]:
        """Q, by one reverse sweep over all poses, minus the contribution of wrenches."""
        if self.explicit:
            return self._minus_external(q, self.explicit.forces(q, v, a), wrenches)
        weights = [times(A, sigma) for A, sigma in zip(self._accelerations(q, v, a), self.sigmas, strict=True)]
        forces = self.pose_functions.poses.pullback(q, weights)
        if self.flexible:
            forces = [x + y for x, y in zip(forces, self._elastic(q, v), strict=True)]
        return self._minus_external(q, forces, wrenches)

    def _elastic(self, q: Vector, v: Vector) -> list[Scalar]:
        """K δ + D δ̇ along all coordinates."""
        return self._along_modes(q, v, lambda body, rates: body.elastic_forces(rates))

    def damping_forces(self, q: Vector, v: Vector) -> list[Scalar]:
        """D δ̇ along all coordinates."""
        return self._along_modes(q, v, lambda body, rates: body.damping_forces(rates))

    def _along_modes(self, q: Vector, v: Vector, force: Callable[[Deformation, Vector], Vector]) -> list[Scalar]:
        forces: list[Scalar] = [0.0] * len(v)
        for part in self.flexible:
            modes = self.pose_functions.modes(part)
            deformation = self.pose_functions.deformation(part, q)
            for k, x in zip(modes, force(deformation, [v[k] for k in modes]), strict=True):
                forces[k] = x
        return forces

    def mass_matrix(self, q: Vector) -> Matrix:
        if self.explicit:
            return self.explicit.mass_matrix(q)
        return total([body_mass_matrix(*part) for part in zip(self._partials(q), self.sigmas, strict=True)])

    def coriolis(self, q: Vector, v: Vector) -> Matrix:
        if self.explicit:
            return self.explicit.coriolis(q, v)
        rates = self._by_coordinate(self.pose_functions.poses.partial_rates(q, v))
        parts = zip(self._partials(q), rates, self.sigmas, strict=True)
        return total([body_coriolis(*part) for part in parts])

    def regressor(self, q: Vector, v: Vector, a: Vector, columns: Sequence[int] | None = None) -> Matrix:
        parts = zip(self.mechanism.parts, self._partials(q), self._accelerations(q, v, a), strict=True)
        terms = [
            self._flexible_regressor(part, partials, A, q, v) if part.modes else body_regressor(partials, A)
            for part, partials, A in parts
        ]
        rows = [[x for term in terms for x in term[k]] for k in range(len(v))]
        return rows if columns is None else [[row[k] for k in columns] for row in rows]

    def _flexible_regressor(self, part: MovingBody, partials: Sequence[Rows], A: Rows, q: Vector, v: Vector) -> Matrix:
        """Columns of the parameters of `flexible.regressor`, one row per coordinate."""
        modes, columns = self.pose_functions.modes(part), []
        for term in body_terms(part.body):  # type: ignore[arg-type]
            weighted = times(A, padded(wide_sigma(term.unit), self.pose_functions.width))
            column = [inner(partial, weighted) for partial in partials]
            unit = Deformation(term.unit, [q[k] for k in modes])
            for k, force in zip(modes, unit.elastic_forces([v[k] for k in modes]), strict=True):
                column[k] = column[k] + force
            columns.append(column)
        return [list(row) for row in zip(*columns, strict=True)]

    def kinetic_energy(self, q: Vector, v: Vector) -> Scalar:
        rates = self.pose_functions.poses.rate(q, v)
        return sum((half_square(*part) for part in zip(rates, self.sigmas, strict=True)), start=0.0)

    def potential_energy(self, q: Vector) -> Scalar:
        U = -self.mechanism.gravity.dot(self._first_moment(q))
        for body in (self.pose_functions.deformation(part, q) for part in self.flexible):
            U = sum((0.5 * (x * f) for x, f in zip(body.modal, body.elastic_forces(), strict=True)), start=U)
        return U

    def forward(self, q: Vector, v: Vector, forces: Vector, wrenches: Wrenches) -> Any:
        """NotImplemented: the caller factorises the mass matrix."""
        return NotImplemented

    def inverse(self, mass_matrix: Matrix, q: Vector) -> Matrix:
        """M⁻¹ by LDLᵀ."""
        return LDL.of(mass_matrix).inverse()

    def momentum(self, q: Vector, v: Vector) -> tuple[Vec3, Vec3]:
        matrices, rates = self._in_world(self.pose_functions.poses.value(q)), self.pose_functions.poses.rate(q, v)
        linear, angular = ZERO, ZERO
        for X, rate, part, sigma in zip(matrices, rates, self.mechanism.parts, self.sigmas, strict=True):
            p, L = body_momentum(X, rotated(part.base.rotation, rate), sigma)
            linear, angular = linear + p, angular + L
        return linear, angular - self.center_of_mass(q).cross(linear)

    def centroidal_matrix(self, q: Vector) -> Matrix:
        units = ([float(i == k) for i in range(self.mechanism.nv)] for k in range(self.mechanism.nv))
        columns = [[x for vector in self.momentum(q, unit) for x in vector] for unit in units]
        return [list(row) for row in zip(*columns, strict=True)]

    def center_of_mass(self, q: Vector) -> Vec3:
        return (1.0 / sum((inertia.mass for inertia in self.inertias), start=0.0)) * self._first_moment(q)

    def _first_moment(self, q: Vector) -> Vec3:
        matrices = zip(self._in_world(self.pose_functions.poses.value(q)), self.sigmas, strict=True)
        return sum((body_first_moment(X, sigma) for X, sigma in matrices), start=ZERO)

    def _accelerations(self, q: Vector, v: Vector, a: Vector) -> list[Matrix]:
        """A = Ẍ - [0 g] of every body."""
        second = self.pose_functions.poses.second_rate(q, v, a)
        pairs = zip(second, self.gravities, strict=True)
        return [[[*row[:3], row[3] - x, *row[4:]] for row, x in zip(rate, g, strict=True)] for rate, g in pairs]

    def _partials(self, q: Vector) -> list[list[Matrix]]:
        return self._by_coordinate(self.pose_functions.poses.partials(q))

    def _by_coordinate(self, nested) -> list[list[Matrix]]:
        """Move the last axis, the coordinate, in front of the matrix of every body."""
        coordinates = range(self.mechanism.nq)
        return [[[[entry[k] for entry in row] for row in matrix] for k in coordinates] for matrix in nested]

    def _in_world(self, matrices: Sequence[Matrix]) -> list[Matrix]:
        pairs = zip(self.mechanism.parts, matrices, strict=True)
        return [_placed(part.base, X) for part, X in pairs]

    # ---- frames

    def pose(self, frame: Frame, q: Vector) -> Pose:
        if frame.body is None:
            return frame.pose
        part = self._part(frame)
        pose = part.base @ part.pose(q)
        return (pose if frame.at is None else pose @ self._node(frame, q).pose) @ frame.pose

    def _node(self, frame: Frame, q: Vector) -> NodeMotion:
        """The node to which a frame is fixed."""
        deformation = self.pose_functions.deformation(self._part(frame), q)
        return NodeMotion(deformation.body.node(frame.at), deformation)  # type: ignore[arg-type]

    def jacobian(self, frame: Frame, reference: str, q: Vector) -> Matrix:
        """For every coordinate, vee(Rᵀ∂R) and Rᵀ∂s of the frame in its own axes, expressed in the reference."""
        if frame.body is None:
            return [[0.0] * self.mechanism.nv for _ in range(6)]
        index = self.mechanism.body_names.index(frame.body)
        R = pose_of(self.pose_functions.poses.value(q)[index]).rotation
        node = None if frame.at is None else self._node(frame, q)
        of_modes = (
            {} if node is None else dict(zip(self.pose_functions.modes(self._part(frame)), node.partials, strict=True))
        )
        to_frame = (frame.pose.rotation if node is None else node.R @ frame.pose.rotation).T
        columns = []
        for k, partial in enumerate(self._partials(q)[index]):
            dR, ds = Mat3.of(row[:3] for row in partial), Vec3.of(row[3] for row in partial)
            spin = R.T @ dR
            angular = Vec3(spin.rows[2].y, spin.rows[0].z, spin.rows[1].x)
            linear = R.T @ (ds + dR @ (frame.pose.translation if node is None else node.rho))
            if k in of_modes:
                angular, linear = angular + of_modes[k].angular, linear + of_modes[k].linear
            column = REFERENCES[reference](self.pose(frame, q), Partial(to_frame @ angular, to_frame @ linear))
            columns.append([*column.linear, *column.angular])
        return [list(row) for row in zip(*columns, strict=True)]

    def velocity(self, frame: Frame, reference: str, q: Vector, v: Vector) -> list[Scalar]:
        return [inner([row], [v]) for row in self.jacobian(frame, reference, q)]

    def positions(self, frames: Sequence[Frame], q: Vector) -> list[Vec3]:
        return [self.pose(frame, q).translation for frame in frames]

    def point_motions(self, frames: Sequence[Frame], q: Vector, v: Vector) -> list[PointMotion]:
        matrices, rates = self.pose_functions.poses.value(q), self.pose_functions.poses.rate(q, v)
        drifts, partials = self.pose_functions.poses.second_rate(q, v, [0.0] * len(v)), self._partials(q)
        points = []
        for frame in frames:
            k, part = self.mechanism.body_names.index(frame.body), self._part(frame)
            at = self._point(part, frame)
            x, u, w, *columns = (
                part.base.rotation @ applied(matrix, at) for matrix in (matrices[k], rates[k], drifts[k], *partials[k])
            )
            J = [list(row) for row in zip(*columns, strict=True)]
            points.append(PointMotion(part.base.translation + x, u, w, J))
        return points

    def _point(self, part: MovingBody, frame: Frame) -> Vector:
        """r of a frame's origin."""
        r: list[Scalar] = [*frame.pose.translation, 1.0]
        if frame.at is not None:
            node = part.body.node(frame.at)  # type: ignore[union-attr]
            r = [*node.position, 1.0, *(x for shape in node.shapes for x in shape)]
        return [*r, *[0.0] * (self.pose_functions.width - len(r))]

    def _part(self, frame: Frame) -> MovingBody:
        return self.mechanism.parts[self.mechanism.body_names.index(frame.body)]

    def _minus_external(self, q: Vector, forces: Vector, wrenches: Wrenches) -> list[Scalar]:
        """Q - Jᵀw for external wrenches w."""
        for frame, wrench in wrenches.items():
            columns = zip(*self.jacobian(frame, self.reference, q), strict=True)
            forces = [Q - inner([column], [wrench]) for Q, column in zip(forces, columns, strict=True)]
        return list(forces)
