"""Bodies whose poses are known functions of the coordinates: all of their dynamics from one integral.

A point with body coordinates (x, y, z) stands in the world at X r, with r = (x, y, z, 1) and X(q) = [R s], three rows
of four. All that matters of the body is the constant Σ = ∫ r rᵀ dm, four by four. With A = Ẍ - [0 g] and the inner
product ⟨A, B⟩ = Σ AᵢⱼBᵢⱼ, the Gibbs function is

    S = ½ ∫ |A r|² dm = ½ ⟨A, A Σ⟩                                                                             (1)

and, because ∂Ẍ/∂aₖ = ∂ₖX = ∂X/∂qₖ and q̇ = v, Appell's equations read

    Qₖ  = ∂S/∂aₖ = ⟨∂ₖX, A Σ⟩                                                                                  (2)
    Mⱼₖ = ⟨∂ⱼX, ∂ₖX Σ⟩                                                                                         (3)
    Cⱼₖ = ⟨∂ⱼX, d(∂ₖX)/dt Σ⟩          so that Ṁⱼₖ - 2Cⱼₖ = ⟨d(∂ⱼX)/dt, ∂ₖX Σ⟩ - ⟨∂ⱼX, d(∂ₖX)/dt Σ⟩ is skew     (4)
    T   = ½ ⟨Ẋ, Ẋ Σ⟩                 U = -⟨[0 g], X Σ⟩                                                        (5)

summed over all bodies. No angular velocity appears: gyroscopic terms are in Ẍ. It takes nothing but derivatives of X,
so it holds for any mechanism whose poses can be written down, closed loops included. Abedloo et al. 2014 derive M, C
and G so for spherical robots (`formulate.spherical`) and name the method promising for others.

`ClosedFormBodies` sums these shares over the bodies of a mechanism. How poses and joint positions are differentiated is
not decided here: a `Differentiate` is passed in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Protocol, final

from appell.algebra.loops import Loops
from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.algebra.scalar import Matrix, Scalar, Vector
from appell.algebra.solve import LDL
from appell.algebra.vector import ZERO, Vec3
from appell.errors import TraceError
from appell.formulate.kinematics import REFERENCES, PointMotion, Wrenches
from appell.model.body import Inertia
from appell.model.frame import Frame
from appell.model.joints import Partial
from appell.model.mechanism import LegJoint, Mechanism, MovingBody

Rows = Sequence[Vector]  # 3x4 for a place X and its derivatives, 4x4 for Σ


def inner(A: Rows, B: Rows) -> Scalar:
    """⟨A, B⟩."""
    return sum((a * b for x, y in zip(A, B, strict=True) for a, b in zip(x, y, strict=True)), start=0.0)


def times(A: Rows, sigma: Rows) -> Matrix:
    """A Σ, of a symmetric Σ."""
    return [[sum((a * s for a, s in zip(row, column, strict=True)), start=0.0) for column in sigma] for row in A]


def less_gravity(acceleration: Rows, gravity: Vec3) -> Matrix:
    """A = Ẍ - [0 g]."""
    return [[*row[:3], row[3] - g] for row, g in zip(acceleration, gravity, strict=True)]


def body_gibbs_function(A: Rows, sigma: Rows) -> Scalar:
    """The share of one body in S, by (1)."""
    return 0.5 * inner(A, times(A, sigma))


def body_mass_matrix(partials: Sequence[Rows], sigma: Rows) -> Matrix:
    """The share of one body in M, by (3); `partials` are ∂ₖX."""
    weighted = [times(partial, sigma) for partial in partials]
    lower = [[inner(partials[j], weighted[k]) for k in range(j + 1)] for j in range(len(partials))]
    return [[lower[max(j, k)][min(j, k)] for k in range(len(partials))] for j in range(len(partials))]


def body_coriolis(partials: Sequence[Rows], rates: Sequence[Rows], sigma: Rows) -> Matrix:
    """The share of one body in C, by (4); `rates` are d(∂ₖX)/dt."""
    weighted = [times(rate, sigma) for rate in rates]
    return [[inner(partial, column) for column in weighted] for partial in partials]


def body_kinetic_energy(velocity: Rows, sigma: Rows) -> Scalar:
    """The share of one body in T, by (5)."""
    return 0.5 * inner(velocity, times(velocity, sigma))


def body_first_moment(place: Rows, sigma: Rows) -> Vec3:
    """∫ X r dm of one body, its share in U = -g·Σ ∫ X r dm and in the centre of mass."""
    return Vec3.of(row[3] for row in times(place, sigma))


def body_momentum(place: Rows, velocity: Rows, sigma: Rows) -> tuple[Vec3, Vec3]:
    """∫ Ẋr dm and ∫ Xr × Ẋr dm of one body, X in world axes: with H = Ẋ Σ Xᵀ, the latter is the vector of H - Hᵀ."""
    weighted = times(velocity, sigma)
    H = [[inner([row], [other]) for other in place] for row in weighted]
    return (
        Vec3.of(row[3] for row in weighted),
        Vec3(H[2][1] - H[1][2], H[0][2] - H[2][0], H[1][0] - H[0][1]),
    )


def pose_of(place: Rows) -> Pose:
    """The pose of X = [R s]."""
    return Pose(Mat3.of(row[:3] for row in place), Vec3.of(row[3] for row in place))


def applied(place: Rows, point: Vector) -> Vec3:
    """X r, or a derivative of it."""
    return Vec3.of(inner([row], [point]) for row in place)


def turned(rotation: Mat3, place: Rows) -> Matrix:
    """X in other axes."""
    columns = [rotation @ Vec3.of(row[k] for row in place) for k in range(4)]
    return [list(row) for row in zip(*columns, strict=True)]


def body_regressor(partials: Sequence[Rows], A: Rows) -> Matrix:
    """∂Q/∂π of one body, a row of ten for each coordinate: (2) is linear in Σ, and Σ in the ten parameters.

    With B = (∂ₖX)ᵀ A, Qₖ = ⟨B, Σ⟩. In Σ stand m, h, and ½ tr(I) 1 - I, so Ixx takes ½ (Byy + Bzz - Bxx) and Ixy takes
    -(Bxy + Byx).
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
    """The sum of all bodies' shares."""
    return [[sum(entries, start=0.0) for entries in zip(*rows, strict=True)] for rows in zip(*matrices, strict=True)]


class Differentiable(Protocol):
    """A nested list of scalars as a function of q, and its derivatives along a motion with q̇ = v, v̇ = a."""

    def value(self, q: Vector) -> Any: ...

    def rate(self, q: Vector, v: Vector) -> Any: ...

    def second_rate(self, q: Vector, v: Vector, a: Vector) -> Any: ...

    def partials(self, q: Vector) -> Any:
        """∂/∂q, one more axis at the end."""

    def partial_rates(self, q: Vector, v: Vector) -> Any:
        """d/dt ∂/∂q."""

    def pullback(self, q: Vector, weights: Any) -> list[Scalar]:
        """⟨∂ₖ value, weights⟩."""


Differentiate = Callable[[str, int, Callable[[Vector], Any]], Differentiable]  # name, size of q, function


class Curves:
    """The poses and joint positions of a mechanism, differentiable; made once, used for all of its functions."""

    def __init__(self, mechanism: Mechanism, differentiate: Differentiate):
        self.mechanism, self.differentiate = mechanism, differentiate
        self.places = self._curve("places", lambda q: [self._place(part, q) for part in mechanism.parts])
        self.drives = self._positions(mechanism.driven)

    @cached_property
    def joints(self) -> Differentiable:
        """The positions of all joints, actuators first."""
        return self._positions((*self.mechanism.driven, *self.mechanism.passive))

    def _positions(self, joints: Sequence[LegJoint]) -> Differentiable:
        return self._curve(
            "joints", lambda q: [self._named(f"joint '{joint.name}'", joint.position, q) for joint in joints]
        )

    def _curve(self, name: str, function: Callable[[Vector], Any]) -> Differentiable:
        return self.differentiate(name, self.mechanism.nq, function)

    def _place(self, part: MovingBody, q: Vector) -> Matrix:
        """X of a body in its base."""
        return self._named(f"the pose of body '{part.name}'", part.pose, q).rows

    def _named(self, what: str, function: Callable, q: Vector):
        try:
            return function(q)
        except TraceError as error:
            raise TraceError(f"{what} of {self.mechanism.owner} cannot be traced. {error}") from error


@final
class ClosedFormBodies:
    """The bodies of a mechanism; `inertias` replace those of some of them, as scalars.

    `explicit` has M, C and G written out (`formulate.spherical`); they replace the differentiated ones.
    """

    def __init__(self, curves: Curves, inertias: Sequence[Inertia], explicit: Any = None, reference: str = "LOCAL"):
        self.mechanism, self.curves, self.inertias = curves.mechanism, curves, inertias
        self.explicit, self.reference = explicit, reference
        self.sigmas = [inertia.pseudo for inertia in inertias]
        self.gravities = [part.base.rotation.T @ self.mechanism.gravity for part in self.mechanism.parts]

    def run_by(self, loops: Loops) -> ClosedFormBodies:
        """The same: nothing is written as loops."""
        return self

    # ---- bodies

    def gibbs_function(self, q: Vector, v: Vector, a: Vector) -> Scalar:
        shares = zip(self._accelerations(q, v, a), self.sigmas, strict=True)
        return sum((body_gibbs_function(A, sigma) for A, sigma in shares), start=0.0)

    def forces(self, q: Vector, v: Vector, a: Vector, wrenches: Wrenches) -> list[Scalar]:
        """Q, by one reverse sweep over all poses, less what wrenches do along the coordinates."""
        if self.explicit:
            return self._less_outside(q, self.explicit.forces(q, v, a), wrenches)
        weights = [times(A, sigma) for A, sigma in zip(self._accelerations(q, v, a), self.sigmas, strict=True)]
        return self._less_outside(q, self.curves.places.pullback(q, weights), wrenches)

    def mass_matrix(self, q: Vector) -> Matrix:
        if self.explicit:
            return self.explicit.mass_matrix(q)
        return total([body_mass_matrix(*part) for part in zip(self._partials(q), self.sigmas, strict=True)])

    def coriolis(self, q: Vector, v: Vector) -> Matrix:
        if self.explicit:
            return self.explicit.coriolis(q, v)
        rates = self._by_coordinate(self.curves.places.partial_rates(q, v))
        parts = zip(self._partials(q), rates, self.sigmas, strict=True)
        return total([body_coriolis(*part) for part in parts])

    def regressor(self, q: Vector, v: Vector, a: Vector, columns: Sequence[int] | None = None) -> Matrix:
        shares = [body_regressor(*part) for part in zip(self._partials(q), self._accelerations(q, v, a), strict=True)]
        rows = [[x for share in shares for x in share[k]] for k in range(len(v))]
        return rows if columns is None else [[row[k] for k in columns] for row in rows]

    def kinetic_energy(self, q: Vector, v: Vector) -> Scalar:
        rates = self.curves.places.rate(q, v)
        return sum((body_kinetic_energy(*part) for part in zip(rates, self.sigmas, strict=True)), start=0.0)

    def potential_energy(self, q: Vector) -> Scalar:
        return -self.mechanism.gravity.dot(self._first_moment(q))

    def forward(self, q: Vector, v: Vector, forces: Vector, wrenches: Wrenches) -> Any:
        return NotImplemented

    def inverse(self, mass_matrix: Matrix, q: Vector) -> Matrix:
        """M⁻¹ by LDLᵀ."""
        return LDL.of(mass_matrix).inverse()

    def momentum(self, q: Vector, v: Vector) -> tuple[Vec3, Vec3]:
        places, rates = self._in_world(self.curves.places.value(q)), self.curves.places.rate(q, v)
        linear, angular = ZERO, ZERO
        for X, rate, part, sigma in zip(places, rates, self.mechanism.parts, self.sigmas, strict=True):
            p, L = body_momentum(X, turned(part.base.rotation, rate), sigma)
            linear, angular = linear + p, angular + L
        return linear, angular - self.center_of_mass(q).cross(linear)

    def center_of_mass(self, q: Vector) -> Vec3:
        return (1.0 / sum((inertia.mass for inertia in self.inertias), start=0.0)) * self._first_moment(q)

    def _first_moment(self, q: Vector) -> Vec3:
        places = zip(self._in_world(self.curves.places.value(q)), self.sigmas, strict=True)
        return sum((body_first_moment(X, sigma) for X, sigma in places), start=ZERO)

    def _accelerations(self, q: Vector, v: Vector, a: Vector) -> list[Matrix]:
        """A = Ẍ - [0 g] of every body."""
        second = self.curves.places.second_rate(q, v, a)
        return [less_gravity(rate, g) for rate, g in zip(second, self.gravities, strict=True)]

    def _partials(self, q: Vector) -> list[list[Matrix]]:
        return self._by_coordinate(self.curves.places.partials(q))

    def _by_coordinate(self, nested) -> list[list[Matrix]]:
        """The last axis, the coordinate, moved to the front of every body's matrices."""
        coordinates = range(self.mechanism.nq)
        return [[[[entry[k] for entry in row] for row in place] for k in coordinates] for place in nested]

    def _in_world(self, places: Sequence[Matrix]) -> list[Matrix]:
        pairs = zip(self.mechanism.parts, places, strict=True)
        return [(part.base @ pose_of(place)).rows for part, place in pairs]

    # ---- frames

    def pose(self, frame: Frame, q: Vector) -> Pose:
        if frame.body is None:
            return frame.pose
        part = self._part(frame)
        return part.base @ part.pose(q) @ frame.pose

    def jacobian(self, frame: Frame, reference: str, q: Vector) -> Matrix:
        """Of every coordinate, vee(Rᵀ∂R) and Rᵀ∂s of the frame, in its own axes; then as the reference wants them."""
        if frame.body is None:
            return [[0.0] * self.mechanism.nv for _ in range(6)]
        number = self.mechanism.body_names.index(frame.body)
        R = pose_of(self.curves.places.value(q)[number]).rotation
        to_frame = frame.pose.rotation.T
        columns = []
        for partial in self._partials(q)[number]:
            turn, shift = Mat3.of(row[:3] for row in partial), Vec3.of(row[3] for row in partial)
            spin = R.T @ turn
            angular = to_frame @ Vec3(spin.rows[2].y, spin.rows[0].z, spin.rows[1].x)
            linear = to_frame @ (R.T @ (shift + turn @ frame.pose.translation))
            moved = REFERENCES[reference](self.pose(frame, q), Partial(angular, linear))
            columns.append([*moved.linear, *moved.angular])
        return [list(row) for row in zip(*columns, strict=True)]

    def velocity(self, frame: Frame, reference: str, q: Vector, v: Vector) -> list[Scalar]:
        return [inner([row], [v]) for row in self.jacobian(frame, reference, q)]

    def positions(self, frames: Sequence[Frame], q: Vector) -> list[Vec3]:
        return [self.pose(frame, q).translation for frame in frames]

    def point_motions(self, frames: Sequence[Frame], q: Vector, v: Vector) -> list[PointMotion]:
        places, rates = self.curves.places.value(q), self.curves.places.rate(q, v)
        drifts, partials = self.curves.places.second_rate(q, v, [0.0] * len(v)), self._partials(q)
        found = []
        for frame in frames:
            k, part = self.mechanism.body_names.index(frame.body), self._part(frame)
            at = [*frame.pose.translation, 1.0]
            x, u, w, *columns = (
                part.base.rotation @ applied(matrix, at) for matrix in (places[k], rates[k], drifts[k], *partials[k])
            )
            J = [list(row) for row in zip(*columns, strict=True)]
            found.append(PointMotion(part.base.translation + x, u, w, J))
        return found

    def _part(self, frame: Frame) -> MovingBody:
        return self.mechanism.parts[self.mechanism.body_names.index(frame.body)]

    def _less_outside(self, q: Vector, forces: Vector, wrenches: Wrenches) -> list[Scalar]:
        """Q - Jᵀw, the power of a wrench being that of its forces along the coordinates."""
        for frame, wrench in wrenches.items():
            columns = zip(*self.jacobian(frame, self.reference, q), strict=True)
            forces = [Q - inner([column], [wrench]) for Q, column in zip(forces, columns, strict=True)]
        return list(forces)
