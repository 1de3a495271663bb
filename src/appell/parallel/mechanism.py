"""Mechanism: the equations of motion of a parallel robot in its own independent coordinates, without constraint forces.

The poses X(q) of all bodies are traced once. Their derivatives along the motion and by the coordinates come from
differentiating that tape, the inverse kinematics of the legs included, and `formulate.closed_form` makes M, C, G and Q
of them. Actuators see the coordinates through θ = θ(q), with θ̇ = J v, so that by the equality of powers

    Q = Jᵀτ         τ = J⁻ᵀ Q(q, v, a)         M a = Jᵀτ - h                                                     (1)

With more actuators than coordinates, τ = J (JᵀJ)⁻¹ Q is the smallest of the torques that do. The functions have the
names and arguments of `Dynamics`, so what runs on one runs on the other; `tau` are actuator forces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.algebra.scalar import select
from appell.algebra.solve import LDL
from appell.algebra.vector import Vec3
from appell.compile.function import Function
from appell.errors import ModelError, unknown_name
from appell.formulate import closed_form as form
from appell.model.body import Body
from appell.parallel import single
from appell.parallel.assembly import Assembly, LegJoint, MovingBody, Polyline, Reach
from appell.parallel.terms import Terms

if TYPE_CHECKING:
    from appell.parallel.workspace import Workspace

CONDITION_LIMIT = 1e10  # of the actuator Jacobian; beyond it, torques are NaN


class Mechanism:
    """A parallel robot: bodies whose poses are functions of independent coordinates, driven at some joints.

    Out of reach, every result that depends on the leg is NaN; `check(q)` names the leg and by how much. Where the
    condition number of the actuator Jacobian is above `condition_limit`, torques are NaN; `check(q)` says how large it
    is.
    """

    wrenches = ()  # of `Dynamics`: outside forces that functions take; none here

    def __init__(
        self,
        name: str,
        coordinates: Sequence[str],
        bodies: Iterable[MovingBody],
        actuators: Iterable[LegJoint],
        *,
        home: Sequence[float],
        passive: Iterable[LegJoint] = (),
        reaches: Iterable[Reach] = (),
        gravity: Iterable[float] = (0.0, 0.0, -9.81),
        outlines: Iterable[Polyline] = (),
        condition_limit: float = CONDITION_LIMIT,
    ):
        self.robot = Assembly(
            name,
            tuple(coordinates),
            tuple(bodies),
            tuple(actuators),
            tuple(passive),
            tuple(reaches),
            Vec3.of(float(x) for x in gravity),
            tuple(float(x) for x in home),
            tuple(outlines),
        )
        self.condition_limit = float(condition_limit)
        self.terms = self._make_terms()  # the equations over traced scalars, for other traces
        single.check_home(self)

    def _make_terms(self) -> Terms:
        return Terms(self.robot, self.condition_limit)

    def __repr__(self) -> str:
        return f"Mechanism({self.robot})"

    def with_bodies(self, bodies: Mapping[str, Body]) -> Mechanism:
        """The same mechanism with other masses and inertias, by the names of bodies; the others stay."""
        robot = self.robot
        for name in bodies:
            self._body(name)
        return Mechanism(
            robot.name,
            robot.coordinates,
            [replace(part, body=bodies.get(part.name, part.body)) for part in robot.bodies],
            robot.actuators,
            home=robot.home,
            passive=robot.passive,
            reaches=robot.reaches,
            gravity=robot.gravity,
            outlines=robot.outlines,
            condition_limit=self.condition_limit,
        )

    # ---- legs

    @cached_property
    def inverse_kinematics(self) -> Function:
        """θ(q), the positions of the actuators; NaN where a leg does not reach."""
        return self._function("inverse_kinematics", "q", lambda q: {"theta": self.terms.drives.value(q)})

    @cached_property
    def joint_motion(self) -> Function:
        """Positions, velocities and accelerations of all joints, actuators first, then the passive ones."""

        def body(q, v, a):
            joints = self.terms.joints
            return {
                "position": joints.value(q),
                "velocity": joints.rate(q, v),
                "acceleration": joints.second_rate(q, v, a),
            }

        return self._function("joint_motion", "q v a", body)

    @cached_property
    def actuator_jacobian(self) -> Function:
        """J(q), with θ̇ = J v."""
        return self._function("actuator_jacobian", "q", lambda q: {"J": self.terms.jacobian(q)})

    @cached_property
    def reach(self) -> Function:
        """For every leg, the size of the part that closes it, and the least and the most that it must measure."""

        def body(q):
            size, least, most = zip(*(reach.values(q) for reach in self._reaches), strict=True)
            return {"size": size, "least": least, "most": most}

        return self._function("reach", "q", body)

    @cached_property
    def survey(self) -> Function:
        """What a map of the workspace is made of: by how much every leg reaches, negative if not, and J."""

        def margin(size, least, most):
            return select((most - size) - (size - least), size - least, most - size)

        def body(q):
            margins = [margin(*reach.values(q)) for reach in self._reaches]
            return {"margin": margins, "J": self.terms.jacobian(q)}

        return self._function("survey", "q", body)

    @lru_cache  # noqa: B019 - lives as long as the catalogue
    def pose(self, body: str) -> Function:
        """The 4x4 pose of a body in the world."""
        part = self._body(body)

        def world(q):
            pose = part.base @ part.pose(q)
            rows = [[*row, x] for row, x in zip(pose.rotation.rows, pose.translation, strict=True)]
            return {"pose": [*rows, [0.0, 0.0, 0.0, 1.0]]}

        return self._function(f"pose_{body}", "q", world)

    # ---- motion and forces

    @cached_property
    def gibbs_function(self) -> Function:
        """S(q, v, a), the acceleration energy less gravity."""

        def body(q, v, a):
            shares = zip(self.terms.accelerations(q, v, a), self.terms.sigmas, strict=True)
            return {"S": sum((form.gibbs_function(A, sigma) for A, sigma in shares), start=0.0)}

        return self._function("gibbs_function", "q v a", body)

    @cached_property
    def generalized_forces(self) -> Function:
        """Q(q, v, a), the forces of a motion along the coordinates."""
        return self._function("generalized_forces", "q v a", lambda q, v, a: {"Q": self.terms.forces(q, v, a)})

    @cached_property
    def inverse_dynamics(self) -> Function:
        """tau(q, v, a), the actuator forces of a motion, by (1)."""

        def body(q, v, a):
            forces = [[x] for x in self.terms.forces(q, v, a)]
            return {"tau": [row[0] for row in self.terms.at_actuators(q, forces)]}

        return self._function("inverse_dynamics", "q v a", body)

    @cached_property
    def forward_dynamics(self) -> Function:
        """a(q, v, tau), the motion that actuator forces bring about."""

        def body(q, v, tau):
            drift, J = self.terms.forces(q, v, [0.0] * len(v)), self.terms.jacobian(q)
            net = [form.inner([column], [tau]) - h for column, h in zip(zip(*J, strict=True), drift, strict=True)]
            return {"a": LDL.of(self.terms.mass_matrix(q)).solve(net)}

        return self._function("forward_dynamics", "q v tau", body)

    @cached_property
    def mass_matrix(self) -> Function:
        """M(q), the inertia matrix along the coordinates."""
        return self._function("mass_matrix", "q", lambda q: {"M": self.terms.mass_matrix(q)})

    @cached_property
    def bias(self) -> Function:
        """h(q, v), the generalised forces at zero acceleration, gravity included."""
        return self._function("bias", "q v", lambda q, v: {"h": self.terms.forces(q, v, [0.0] * len(v))})

    @cached_property
    def gravity(self) -> Function:
        """g(q), the generalised forces that hold the robot still."""
        rest = [0.0] * self.robot.nv
        return self._function("gravity", "q", lambda q: {"g": self.terms.forces(q, rest, rest)})

    @cached_property
    def coriolis(self) -> Function:
        """C(q, v), with C v = bias - gravity and dM/dt - 2C skew."""
        return self._function("coriolis", "q v", lambda q, v: {"C": self.terms.coriolis(q, v)})

    @cached_property
    def regressor(self) -> Function:
        """Y(q, v, a), with tau = Y parameters; ten columns a body, in the order of the bodies."""

        def body(q, v, a):
            return {"Y": self.terms.at_actuators(q, self.terms.regressor(q, v, a))}

        return self._function("regressor", "q v a", body)

    @property
    def parameters(self) -> np.ndarray:
        """The ten inertial parameters of every body, as `regressor` takes them."""
        return np.array([x for body in self.robot.bodies for x in body.body.parameters])

    @cached_property
    def energy(self) -> Function:
        """(T, U)(q, v), kinetic and potential energy; U = 0 with the centre of mass level with the world's origin."""
        return self._function("energy", "q v", lambda q, v: dict(zip("TU", self.terms.energy(q, v), strict=True)))

    @cached_property
    def coordinate_rate(self) -> Function:
        """dq/dt for a given v: v itself."""
        return self._function("coordinate_rate", "q v", lambda q, v: {"rate": v})

    # ---- one pose at a time, grids and figures

    def condition(self, q) -> np.ndarray:
        """The condition number of the actuator Jacobian, infinite where a leg does not reach; q may be a batch."""
        return single.condition(self, q)

    def check(self, q, limit: float | None = None) -> float:
        """The condition number at one pose; an error if a leg does not reach or it is above the limit."""
        return single.check(self, q, self.condition_limit if limit is None else limit)

    def torques(self, q, v, a) -> np.ndarray:
        """The actuator forces of one motion, or an error that says why there are none."""
        self.check(q)
        return self.inverse_dynamics(q, v, a)

    def forward_kinematics(self, theta, start=None, **options) -> np.ndarray:
        """q with θ(q) = theta, by Newton's method from a nearby pose; see `parallel.newton`."""
        from appell.parallel.newton import forward_kinematics

        return forward_kinematics(self, theta, self.robot.home if start is None else start, **options)

    def workspace(self, axes: Mapping[str, Any], at=None) -> Workspace:
        """Reach and condition number over a grid of some coordinates, the others as in `at`; name -> values."""
        from appell.parallel.workspace import workspace

        return workspace(self, axes, self.robot.home if at is None else at)

    def plot(self, q=None, axes=None):
        """A drawing of the robot at one pose, on new axes or given ones; returns the axes."""
        from appell.parallel.figure import plot

        return plot(self, self.robot.home if q is None else q, axes)

    # ---- how an entry is made

    def _function(self, name: str, arguments: str, body: Callable[..., Mapping[str, Any]]) -> Function:
        n = self.robot.nq
        sizes = {"q": n, "v": n, "a": n, "tau": self.robot.nu}
        inputs = {argument: sizes[argument] for argument in arguments.split()}
        doc = getattr(type(self), name, Mechanism.pose).__doc__ or ""
        return Function.of(name, inputs, body, doc, self.robot.owner)

    @property
    def _reaches(self) -> tuple[Reach, ...]:
        if not self.robot.reaches:
            raise ModelError(
                f"{self.robot.owner} was not told how far its legs reach.", hint="Mechanism(..., reaches=[...])"
            )
        return self.robot.reaches

    def _body(self, name: str) -> MovingBody:
        names = [part.name for part in self.robot.bodies]
        if name not in names:
            raise ModelError(unknown_name("body", name, names, self.robot.owner))
        return self.robot.bodies[names.index(name)]
