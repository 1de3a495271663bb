"""The terms of a mechanism's equations: its poses on a tape, differentiated, and put into the closed form.

Poses and joint positions are traced once, when the terms are made, so that what cannot be traced fails there and by
name. Every other method runs inside the trace of a function that wants the term: it calls derivatives of those tapes
on the traced scalars of that function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar
from appell.compile.taylor import Taylor
from appell.errors import ModelError, TraceError
from appell.formulate import closed_form as form
from appell.parallel.assembly import Assembly, LegJoint, MovingBody
from appell.parallel.solve import solve

Matrix = list[list[Scalar]]


class Terms:
    """M, C, Q and the actuator Jacobian of an assembly, over traced scalars."""

    def __init__(self, assembly: Assembly, condition_limit: float):
        self.assembly = assembly
        self.condition_limit = condition_limit
        self.sigmas = [form.pseudo_inertia(body.body.about_origin) for body in assembly.bodies]
        self.gravities = [body.base.rotation.T @ assembly.gravity for body in assembly.bodies]
        self.places = Taylor("places", assembly.nq, lambda q: [self._place(body, q) for body in assembly.bodies])
        self.drives = self._positions(assembly.actuators)

    @cached_property
    def joints(self) -> Taylor:
        """The positions of all joints, actuators first."""
        return self._positions((*self.assembly.actuators, *self.assembly.passive))

    def _positions(self, joints: Sequence[LegJoint]) -> Taylor:
        def positions(q):
            return [self._named(f"joint '{joint.name}'", joint.position, q) for joint in joints]

        return Taylor("joints", self.assembly.nq, positions)

    def _place(self, body: MovingBody, q) -> Matrix:
        """X = [R s] of a body in its base."""
        pose = self._named(f"the pose of body '{body.name}'", body.pose, q)
        if not isinstance(pose, Pose):
            raise ModelError(f"the pose of body '{body.name}' of {self.assembly.owner} is {pose!r}.", expected="a Pose")
        return [[*row, x] for row, x in zip(pose.rotation.rows, pose.translation, strict=True)]

    def _named(self, what: str, function: Callable, q):
        try:
            return function(q)
        except TraceError as error:
            raise TraceError(f"{what} of {self.assembly.owner} cannot be traced. {error}") from error

    # ---- along the coordinates

    def accelerations(self, q, v, a) -> list[form.Matrix]:
        """A = Ẍ - [0 g] of every body."""
        second = self.places.second_rate(q, v, a)
        return [form.less_gravity(rate, g) for rate, g in zip(second, self.gravities, strict=True)]

    def forces(self, q, v, a) -> list[Scalar]:
        """Q, by one reverse sweep over all poses."""
        weights = [form.times(A, sigma) for A, sigma in zip(self.accelerations(q, v, a), self.sigmas, strict=True)]
        return self.places.pullback(q, weights)

    def mass_matrix(self, q) -> Matrix:
        return form.total([form.mass_matrix(*part) for part in zip(self._partials(q), self.sigmas, strict=True)])

    def coriolis(self, q, v) -> Matrix:
        rates = self._by_coordinate(self.places.partial_rates(q, v))
        parts = zip(self._partials(q), rates, self.sigmas, strict=True)
        return form.total([form.coriolis(*part) for part in parts])

    def regressor(self, q, v, a) -> Matrix:
        """∂Q/∂π, ten columns a body."""
        shares = [form.regressor(*part) for part in zip(self._partials(q), self.accelerations(q, v, a), strict=True)]
        return [[x for share in shares for x in share[k]] for k in range(len(v))]

    def energy(self, q, v) -> tuple[Scalar, Scalar]:
        """T and U."""
        places, rates = self.places.value(q), self.places.rate(q, v)
        T: Scalar = 0.0
        U: Scalar = 0.0
        parts = zip(self.assembly.bodies, places, rates, self.sigmas, self.gravities, strict=True)
        for body, X, rate, sigma, g in parts:
            T = T + form.kinetic_energy(rate, sigma)
            U = U + form.potential_energy(X, sigma, g)
            U = U - body.body.mass * body.base.translation.dot(self.assembly.gravity)
        return T, U

    def _partials(self, q) -> list[list[form.Matrix]]:
        return self._by_coordinate(self.places.partials(q))

    def _by_coordinate(self, nested) -> list[list[form.Matrix]]:
        """The last axis, the coordinate, moved to the front of every body's matrices."""
        coordinates = range(self.assembly.nq)
        return [[[[entry[k] for entry in row] for row in place] for k in coordinates] for place in nested]

    # ---- at the actuators

    def jacobian(self, q) -> Matrix:
        """J, with θ̇ = J v."""
        return self.drives.partials(q)

    def at_actuators(self, q, forces: form.Matrix) -> Matrix:
        """J⁻ᵀ forces, or the smallest solution if there are more actuators than coordinates."""
        J = self.jacobian(q)
        columns = [list(column) for column in zip(*J, strict=True)]
        if len(J) == len(columns):
            return solve(columns, forces, self.condition_limit)
        if len(J) < len(columns):
            raise ModelError(
                f"{self.assembly.owner} has {len(J)} actuators for {len(columns)} coordinates, too few to drive them.",
                expected="at least as many actuators as coordinates",
                hint="generalized_forces(q, v, a) for the forces along the coordinates",
            )
        gram = [[form.inner([x], [y]) for y in columns] for x in columns]
        inner = solve(gram, forces, self.condition_limit**2)
        return [[form.inner([row], [column]) for column in zip(*inner, strict=True)] for row in J]
