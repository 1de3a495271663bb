"""The equations of motion of a mechanism, from its poses and their derivatives, in its own independent coordinates.

`closed_form` makes all of them from X(q) = [R s] of every body. Actuators see the coordinates through θ = θ(q), with
θ̇ = J v, so that by the equality of powers B = Jᵀ and

    Q = Jᵀτ         τ = J⁻ᵀ Q(q, v, a)         M a = Jᵀτ - h                                                     (1)

With more actuators than coordinates, τ = J (JᵀJ)⁻¹ Q is the smallest of the torques that do. How poses and joint
positions are differentiated is not decided here: a `Differentiable` is handed in, which knows its derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar, nearest
from appell.algebra.solve import LDL
from appell.algebra.vector import ZERO, Vec3
from appell.errors import TraceError
from appell.formulate import closed_form as form
from appell.formulate.actuation import Actuation
from appell.formulate.drive_equations import DrivesAtActuators
from appell.formulate.equations import Driven, Equations, Matrix, Vector, Wrenches
from appell.formulate.kinematics import REFERENCES
from appell.formulate.points import PointMotion
from appell.model.body import Inertia
from appell.model.frame import Frame
from appell.model.joints import Partial
from appell.model.mechanism import Mechanism
from appell.model.mechanism_parts import LegJoint, MovingBody

TURN = 2.0 * math.pi


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


class MechanismEquations(DrivesAtActuators, Equations):
    """`inertias` replace those of some bodies, as scalars."""

    def __init__(
        self,
        mechanism: Mechanism,
        curves: Curves,
        inertias: Mapping[str, Inertia],
        *,
        friction: bool = False,
        rotors: bool = False,
        reference: str = "LOCAL",
    ):
        self.system, self.mechanism, self.curves = mechanism, mechanism, curves
        self.friction, self.rotors, self.reference = friction, rotors, reference
        self.drives = tuple(
            Driven(joint.name, str(k), joint.actuator) for k, joint in enumerate(mechanism.driven, start=1)
        )
        self.inertias = [inertias.get(part.name, part.body.about_origin) for part in mechanism.parts]
        self.sigmas = [inertia.pseudo for inertia in self.inertias]
        self.gravities = [part.base.rotation.T @ mechanism.gravity for part in mechanism.parts]

    # ---- bodies

    def body_gibbs_function(self, q: Vector, v: Vector, a: Vector) -> Scalar:
        shares = zip(self._accelerations(q, v, a), self.sigmas, strict=True)
        return sum((form.gibbs_function(A, sigma) for A, sigma in shares), start=0.0)

    def body_forces(self, q: Vector, v: Vector, a: Vector, wrenches: Wrenches) -> list[Scalar]:
        """Q, by one reverse sweep over all poses, less what wrenches do along the coordinates."""
        weights = [form.times(A, sigma) for A, sigma in zip(self._accelerations(q, v, a), self.sigmas, strict=True)]
        return self._less_outside(q, self.curves.places.pullback(q, weights), wrenches)

    def body_mass_matrix(self, q: Vector) -> Matrix:
        return form.total([form.mass_matrix(*part) for part in zip(self._partials(q), self.sigmas, strict=True)])

    def body_coriolis(self, q: Vector, v: Vector) -> Matrix:
        rates = self._by_coordinate(self.curves.places.partial_rates(q, v))
        parts = zip(self._partials(q), rates, self.sigmas, strict=True)
        return form.total([form.coriolis(*part) for part in parts])

    def body_regressor(self, q: Vector, v: Vector, a: Vector, columns: Sequence[int] | None = None) -> Matrix:
        shares = [form.regressor(*part) for part in zip(self._partials(q), self._accelerations(q, v, a), strict=True)]
        rows = [[x for share in shares for x in share[k]] for k in range(len(v))]
        return rows if columns is None else [[row[k] for k in columns] for row in rows]

    def body_kinetic_energy(self, q: Vector, v: Vector) -> Scalar:
        rates = self.curves.places.rate(q, v)
        return sum((form.kinetic_energy(*part) for part in zip(rates, self.sigmas, strict=True)), start=0.0)

    def body_potential_energy(self, q: Vector) -> Scalar:
        return -self.mechanism.gravity.dot(self._first_moment(q))

    def momentum(self, q: Vector, v: Vector) -> tuple[Vec3, Vec3]:
        places, rates = self._in_world(self.curves.places.value(q)), self.curves.places.rate(q, v)
        linear, angular = ZERO, ZERO
        for X, rate, part, sigma in zip(places, rates, self.mechanism.parts, self.sigmas, strict=True):
            p, L = form.momentum(X, form.turned(part.base.rotation, rate), sigma)
            linear, angular = linear + p, angular + L
        return linear, angular - self.center_of_mass(q).cross(linear)

    def center_of_mass(self, q: Vector) -> Vec3:
        return (1.0 / sum((inertia.mass for inertia in self.inertias), start=0.0)) * self._first_moment(q)

    def _first_moment(self, q: Vector) -> Vec3:
        places = zip(self._in_world(self.curves.places.value(q)), self.sigmas, strict=True)
        return sum((form.first_moment(X, sigma) for X, sigma in places), start=ZERO)

    def _accelerations(self, q: Vector, v: Vector, a: Vector) -> list[Matrix]:
        """A = Ẍ - [0 g] of every body."""
        second = self.curves.places.second_rate(q, v, a)
        return [form.less_gravity(rate, g) for rate, g in zip(second, self.gravities, strict=True)]

    def _partials(self, q: Vector) -> list[list[form.Matrix]]:
        return self._by_coordinate(self.curves.places.partials(q))

    def _by_coordinate(self, nested) -> list[list[form.Matrix]]:
        """The last axis, the coordinate, moved to the front of every body's matrices."""
        coordinates = range(self.mechanism.nq)
        return [[[[entry[k] for entry in row] for row in place] for k in coordinates] for place in nested]

    def _in_world(self, places: Sequence[Matrix]) -> list[Matrix]:
        pairs = zip(self.mechanism.parts, places, strict=True)
        return [(part.base @ form.pose_of(place)).rows for part, place in pairs]

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
        R = form.pose_of(self.curves.places.value(q)[number]).rotation
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
        return [form.inner([row], [v]) for row in self.jacobian(frame, reference, q)]

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
                part.base.rotation @ form.applied(matrix, at)
                for matrix in (places[k], rates[k], drifts[k], *partials[k])
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
            forces = [Q - form.inner([column], [wrench]) for Q, column in zip(forces, columns, strict=True)]
        return list(forces)

    # ---- actuators

    def forward(self, q: Vector, v: Vector, forces: Vector, wrenches: Wrenches) -> list[Scalar]:
        rest = [0.0] * len(v)
        h = self.body_forces(q, v, rest, wrenches)
        if self.rotors:
            turned = [R * gain for R, gain in zip(self._rotors, self.drive_accelerations(q, v, rest), strict=True)]
            h = [x + y for x, y in zip(h, self.along_coordinates(q, turned), strict=True)]
        return LDL.of(self.mass_matrix(q)).solve([Q - x for Q, x in zip(forces, h, strict=True)])

    def actuator_positions(self, q: Vector) -> list[Scalar]:
        return self.curves.drives.value(q)

    def actuator_positions_near(self, q: Vector, theta: Vector) -> list[Scalar]:
        rows = zip(self.actuator_positions(q), theta, self.mechanism.actuator_units, strict=True)
        return [x + TURN * nearest((near - x) / TURN) if unit == "rad" else x for x, near, unit in rows]

    def actuator_jacobian(self, q: Vector) -> Matrix:
        return self.curves.drives.partials(q)

    def drive_jacobian(self, q: Vector) -> Matrix:
        return self.actuator_jacobian(q)

    def to_coordinates(self, q: Vector, rates: Vector) -> list[Scalar]:
        return self._actuation(q).velocity(rates)

    def along_coordinates(self, q: Vector, tau: Vector) -> list[Scalar]:
        return self._actuation(q).forces(tau)

    def at_actuators(self, q: Vector, forces: Matrix) -> Matrix:
        """By (1)."""
        return self._actuation(q).torques(forces, self.mechanism.owner)

    def _actuation(self, q: Vector) -> Actuation:
        return Actuation(self.actuator_jacobian(q), self.mechanism.condition_limit)

    def drive_positions(self, q: Vector) -> list[Scalar]:
        return self.actuator_positions(q)

    def drive_rates(self, q: Vector, v: Vector) -> list[Scalar]:
        return self.curves.drives.rate(q, v)

    def drive_accelerations(self, q: Vector, v: Vector, a: Vector) -> list[Scalar]:
        return self.curves.drives.second_rate(q, v, a)

    def drive_drift(self, q: Vector, v: Vector) -> Matrix:
        return self.curves.drives.partial_rates(q, v)

    def on_actuators(self, forces: Vector) -> list[Scalar]:
        return list(forces)
