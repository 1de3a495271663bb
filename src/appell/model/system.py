"""The interface of every system: coordinates, velocities, actuators, bodies, frames and the velocity map.

Trees of links, constrained trees and mechanisms in closed form implement this interface; `formulate.equations` derives
the equations of motion of any of them. Q = B(q) τ are the forces of the actuators along the velocities.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, final

import numpy as np

from appell.algebra.matrix import ZEROS
from appell.algebra.rotation import as_vector
from appell.algebra.scalar import Matrix, Scalar, Vector, is_number, real_array
from appell.algebra.vector import Vec3
from appell.errors import ArgumentError, ModelError, is_finite, unknown_name, value_text
from appell.model.actuator import Actuator, ActuatorChanges, Elasticity, Friction, elastic_changes, is_elastic
from appell.model.body import Body, welded
from appell.model.frame import Frame
from appell.model.limits import LimitArrays

if TYPE_CHECKING:
    from appell.model.constraint import Constraint
    from appell.model.robot import Robot


Rng = np.random.Generator | int | None  # a generator, a seed, or None for fresh entropy


def generator(rng: Rng) -> np.random.Generator:
    """Random number generator: the one given, one with the given seed, or one with fresh entropy."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise ArgumentError(f"rng is {rng!r}.", expected="a numpy Generator, a whole number as seed, or None") from None


RANDOM_DEFLECTION = 1e-3  # largest deflection of elastic joints in random configurations, rad or m


def deflected(q: np.ndarray, motors: int, rng: np.random.Generator) -> np.ndarray:
    """Return a configuration with its last entries, the positions of motors, moved by small random deflections."""
    q = np.array(q, float)
    if motors:
        q[-motors:] += rng.uniform(-RANDOM_DEFLECTION, RANDOM_DEFLECTION, motors)
    return q


class System(ABC):
    """Base of robots, constrained robots and mechanisms."""

    kind: ClassVar[str]  # in messages: robot, constrained robot or mechanism
    name: str
    gravity: Vec3  # m/s², world axes
    frames: tuple[Frame, ...]
    free: frozenset[str]  # bodies whose inertial parameters are inputs of the functions
    description: str
    reference: str
    source: str
    tree: Any  # the Robot that it is, or on which it is based; None for mechanisms
    constraints: Any  # on the tree; empty for other systems
    parts: Any  # bodies of a mechanism in closed form; empty for trees
    condition_limit: float  # condition number of a mechanism's actuator Jacobian above which a pose is singular
    outlines: Any  # lines fixed in the world in pictures of a mechanism; empty for trees
    reaches: Any  # conditions for the legs of a mechanism to reach; empty for trees
    map: Any  # w = N(q) v + n(q, t), from independent velocities to those of the bodies: a `Map`

    # ---- structure

    @property
    def is_tree(self) -> bool:
        """Whether it is a tree of links without constraints and motors, so that v are the velocities of its joints."""
        return self.tree is not None and self.map.is_identity and not self.elastic_joints

    @property
    def is_constrained(self) -> bool:
        """Whether it is a tree of links under constraints."""
        return not self.map.is_identity

    @property
    def is_closed_form(self) -> bool:
        """Whether it is a mechanism whose poses are functions of its coordinates."""
        return self.tree is None

    @property
    def flexible(self) -> tuple[Any, ...]:
        """Links with a flexible body; only trees have them."""
        return ()

    def reach_sizes(self, q: Vector) -> Iterator[list[Scalar]]:
        """Size, least and most of every condition for a leg to reach."""
        return (reach.values(q[: self.link_nq]) for reach in self.reaches)

    def out_of_reach(self, q: Vector) -> str:
        """Return why a leg does not reach at a configuration, as a sentence; empty if all legs reach."""
        return ""

    # ---- q, v and the actuators

    @property
    @abstractmethod
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the coordinates q."""

    @property
    @abstractmethod
    def velocity_names(self) -> tuple[str, ...]:
        """Names of the velocities v."""

    @property
    @abstractmethod
    def actuator_names(self) -> tuple[str, ...]:
        """Names of the actuator forces tau."""

    @property
    @abstractmethod
    def coordinate_units(self) -> tuple[str, ...]:
        """Units of q: rad, m, or 1 for a component of a quaternion."""

    @property
    @abstractmethod
    def velocity_units(self) -> tuple[str, ...]:
        """Units of the integral of v: rad for rad/s, m for m/s."""

    @property
    @abstractmethod
    def actuator_units(self) -> tuple[str, ...]:
        """Units of the positions of the actuators: rad if tau is in N m, m if it is in N."""

    @property
    @abstractmethod
    def actuators(self) -> tuple[Actuator, ...]:
        """Actuators in the order of tau."""

    @property
    @abstractmethod
    def drives(self) -> Mapping[str, Actuator]:
        """Actuators by the names of their joints, including those of mimic joints."""

    @cached_property
    def elastic_joints(self) -> tuple[str, ...]:
        """Names of the elastic joints. The positions of their motors are the last coordinates, in this order."""
        return tuple(name for name, actuator in self.drives.items() if is_elastic(actuator))

    @property
    def motor_names(self) -> tuple[str, ...]:
        """Names of the motor positions of the elastic joints, the last entries of q and v."""
        return tuple(f"{name}_motor" for name in self.elastic_joints)

    @property
    def link_nq(self) -> int:
        """Number of coordinates of the bodies: those before the motor positions of elastic joints."""
        return self.nq - len(self.elastic_joints)

    @property
    def link_nv(self) -> int:
        """Number of velocities of the bodies: those before the motor velocities of elastic joints."""
        return self.nv - len(self.elastic_joints)

    @property
    def link_side(self) -> Self:
        """What the springs of elastic joints move: the system with rigid joints whose motors have no inertia."""
        ideal = {"elasticity": None, "gear": 1.0, "rotor_inertia": 0.0, "friction": Friction(), "offset": 0.0}
        return self.with_actuators(dict.fromkeys(self.elastic_joints, ideal)) if self.elastic_joints else self

    @property
    def rigid(self) -> Self:
        """The same system with rigid joints, which the rotors of the motors follow, and rigid links."""
        return self.with_elastic_joints(dict.fromkeys(self.elastic_joints)) if self.elastic_joints else self

    @property
    def nq(self) -> int:
        """Number of coordinates q."""
        return len(self.coordinate_names)

    @property
    def nv(self) -> int:
        """Number of velocities v."""
        return len(self.velocity_names)

    @property
    def nu(self) -> int:
        """Number of actuator forces tau."""
        return len(self.actuator_names)

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes of the arguments of the system's functions, by name."""
        return {"q": self.nq, "v": self.nv, "a": self.nv, "tau": self.nu}

    @property
    def prescribed(self) -> tuple[str, ...]:
        """Names of motions that are prescribed as functions of time and are arguments of the system's functions."""
        return ()

    @property
    @abstractmethod
    def is_flat(self) -> bool:
        """Whether dq/dt = v component by component."""

    @property
    def quaternions(self) -> tuple[slice, ...]:
        """Slices of q that are unit quaternions."""
        return ()

    @abstractmethod
    def rate(self, q: Vector, v: Vector, prescribed: Vector = ()) -> list[Scalar]:
        """dq/dt for given q and v. `prescribed` has (s, ṡ, s̈) of each prescribed motion; if empty, they are 0."""

    @property
    def step_scales(self) -> np.ndarray:
        """Factors (nv) of steps of configurations: a few hundredths for modes, which deflect by less than joints."""
        scales = {} if self.tree is None else dict(zip(self.tree.velocity_names, self.tree.step_scales, strict=True))
        return np.array([scales.get(name, 1.0) for name in self.velocity_names])

    def tangents(self, q: Vector) -> Matrix:
        """Directions dq in which q can vary at fixed time, one per column."""
        return self.map.tangents(q)

    @abstractmethod
    def integrate(self, q, step) -> np.ndarray:
        """Configuration reached from q (..., nq) by `step` (..., nv), a velocity times a time."""

    @abstractmethod
    def difference(self, q0, q1) -> np.ndarray:
        """Velocity (..., nv) that leads from q0 to q1 in unit time: the inverse of `integrate`.

        The motion is the shortest one: a floating, spherical or planar joint rotates by at most π.
        """

    def bracket(self, v) -> np.ndarray:
        """Matrix (nv, nv) of the Lie bracket [v, ·] of velocities in link axes; zero where dq/dt = v."""
        return np.zeros((self.nv, self.nv))

    @abstractmethod
    def with_relaxed_springs(self, q) -> np.ndarray:
        """Configurations (..., nq) with the bodies at q (..., link_nq) and every motor where its spring is relaxed."""

    @property
    @abstractmethod
    def start(self) -> np.ndarray:
        """Default start configuration (nq)."""

    @abstractmethod
    def configuration(self, positions: Mapping[str, Any]) -> np.ndarray:
        """Return the start configuration (nq) with some joints at other positions.

        The joints of a constrained robot that are not named move as far as its loops require.

        Parameters
        ----------
        positions : mapping
            Positions by the names of joints or coordinates, rad or m. The position of a floating joint is a pose or its
            seven coordinates, that of a spherical joint a rotation or a quaternion (x, y, z, w).

        Raises
        ------
        ModelError
            If a name is unknown, or the loops cannot be closed while these joints are held.
        ArgumentError
            If a joint cannot be at its position.

        Examples
        --------
        >>> import appell as ap
        >>> ap.load("puma").configuration({"joint2": 1.0})
        array([0., 1., 0., 0., 0., 0.])
        >>> ap.load("four-bar").configuration({"crank": 1.0}).round(4)  # the other bars follow
        array([ 1.    , -0.4119,  1.6743])
        """

    @property
    @abstractmethod
    def ranges(self) -> tuple[tuple[float, float], ...]:
        """Lowest and highest value of every coordinate, infinite where unknown."""

    @property
    def limits(self) -> LimitArrays:
        """Position, speed and torque limits as arrays: `system.limits.upper`."""
        return LimitArrays.of(self)

    @abstractmethod
    def random_configuration(self, rng: Rng = None, *, within_limits: bool = True) -> np.ndarray:
        """Random valid configuration (nq). `rng` is a generator, a seed, or None for a different one at every call."""

    # ---- bodies and frames

    @property
    @abstractmethod
    def bodies(self) -> Mapping[str, Body | None]:
        """Bodies by name, in order; None for a body without mass."""

    @property
    def body_names(self) -> tuple[str, ...]:
        """Names of the bodies, in order."""
        return tuple(self.bodies)

    @property
    def mass(self) -> float:
        """Mass of all moving bodies, kg."""
        return sum(body.mass for body in self.bodies.values() if body is not None)

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Names that `pose` and `jacobian` accept: the bodies, then the named frames."""
        return (*self.body_names, *(frame.name for frame in self.frames))

    def frame(self, name: str) -> Frame:
        """Look up a frame by name. The name of a body stands for the body's own frame."""
        known = {body: Frame(body, body) for body in self.body_names} | {frame.name: frame for frame in self.frames}
        return self.find("frame", name, known)

    def find(self, kind: str, name: str, known: Mapping[str, Any]):
        """Look up a name, or raise a ModelError that lists the known names."""
        if not isinstance(name, str):
            raise ArgumentError(f"a {kind} of {self.owner} is named {value_text(name)}.", expected="one name, a string")
        if name not in known:
            raise ModelError(unknown_name(kind, name, known, self.owner))
        return known[name]

    @property
    def owner(self) -> str:
        """Kind and name for messages: robot 'puma'."""
        return f"{self.kind} '{self.name}'"

    def missing_inertias(self) -> tuple[str, ...]:
        """Bodies whose missing inertia is needed for dynamics."""
        return ()

    def sized(self, name: str, value, size: int) -> np.ndarray:
        """Convert to an array whose last axis has `size` entries, or raise an ArgumentError that names the argument."""
        try:
            array = real_array(value)
        except (TypeError, ValueError, OverflowError):
            raise ArgumentError(
                f"{name} is {value_text(value)}.", expected=f"{size} numbers for {self.owner}"
            ) from None
        if array.shape[-1:] != (size,):
            raise ArgumentError(f"{name} has shape {array.shape}; its last axis must be {size} for {self.owner}.")
        return array

    # ---- variations

    def with_free(self, *names: str) -> Self:
        """Return a copy in which the inertial parameters of these bodies are inputs; of all bodies without a name."""
        for name in names:
            self.find("body", name, self.bodies)
        return replace(self, free=frozenset(names or self.body_names))  # type: ignore[type-var]

    def with_frames(self, frames: Iterable[Frame]) -> Self:
        """Return a copy with additional frames."""
        return replace(self, frames=(*self.frames, *frames))  # type: ignore[type-var]

    def with_gravity(self, gravity: Iterable[float]) -> Self:
        """Return a copy with another gravitational acceleration, m/s² in world axes."""
        return replace(self, gravity=gravity)  # type: ignore[type-var]

    def with_payload(
        self, load: float | Body, frame: str | None = None, *, com: Iterable[float] = (0.0, 0.0, 0.0)
    ) -> Self:
        """Return a copy with a rigid load fixed to a frame. Its inertia is added to that of the body there.

        On a flexible link, the load becomes a link of its own on a fixed joint, because it turns with its node.

        Parameters
        ----------
        load : float or Body
            Mass of a point load, kg, or a Body in the axes of the frame.
        frame : str, optional
            Frame that carries the load; the frame of the last body if None.
        com : sequence of 3 floats
            Position of a point load in the frame, m.

        Returns
        -------
        System
            A system of the same class.

        Raises
        ------
        ModelError
            If the frame is unknown or fixed to the world, or the inertial parameters of its body are inputs.

        Examples
        --------
        >>> import appell as ap
        >>> robot = ap.load("planar-2r")
        >>> loaded = robot.with_payload(0.5, "tool")
        >>> robot.mass, loaded.mass
        (2.0, 2.5)
        """
        target = self.frame(frame or self.body_names[-1])
        if target.body is None:
            raise ModelError(f"frame '{target.name}' of {self.owner} does not move.", expected="a frame on a body")
        if target.body in self.free:
            raise ModelError(
                f"body '{target.body}' of {self.owner} cannot carry a load: its inertial parameters are inputs.",
                hint="Add the parameters of the load to those of the body.",
            )
        if not isinstance(load, Body):
            if not (is_number(load) and is_finite(load) and load > 0.0):
                raise ArgumentError(f"the payload is {value_text(load)}.", expected="a Body, or a positive mass in kg")
            load = Body(float(load), as_vector(com, "the centre of mass of the payload"), ZEROS)
        return self._with_load(target, load)

    def _with_load(self, target: Frame, load: Body) -> Self:
        """Return a copy with a body in the axes of a frame on a body."""
        assert target.body is not None
        return self.with_bodies({target.body: welded(self.bodies[target.body], load.moved(target.pose))})

    @abstractmethod
    def locked(self, joints: str | Iterable[str] | Mapping[str, Any]) -> Self:
        """Return a smaller system in which some joints are locked.

        `{"joint2": 0.3}` locks a joint at a position, `["joint2"]` at its position in the start configuration.
        """

    @abstractmethod
    def with_bodies(self, bodies: Mapping[str, Body | None]) -> Self:
        """Return a copy in which the bodies with these names are replaced."""

    @abstractmethod
    def with_actuators(self, change: ActuatorChanges) -> Self:
        """Return a copy with other actuators.

        Parameters
        ----------
        change : mapping or callable
            For each joint, by name, the fields that change, `{"elbow": {"friction": Friction(viscous=1.0)}}`, or an
            Actuator that replaces all fields. A function of a joint's name and its present actuator is called for
            every joint and returns the new actuator.

        Raises
        ------
        ModelError
            If the system does not have the joint, or an actuator does not have the field.

        Warns
        -----
        ModelWarning
            If an Actuator in a mapping has no limits but replaces one that has.
        """

    def with_elastic_joints(self, springs: Mapping[str, Elasticity | Mapping[str, float] | None]) -> Self:
        """Return a copy in which motors move their joints through springs.

        The positions of the motors, divided by the gear ratio, follow the other coordinates in q, their velocities the
        other velocities in v. At an elastic joint tau acts on the motor.

        Parameters
        ----------
        springs : mapping of str to Elasticity
            Springs by the names of joints; None makes a joint rigid again.

        Raises
        ------
        ModelError
            If a joint is unknown, has several axes or mimics another one, or its motor has no rotor inertia.

        Examples
        --------
        >>> import appell as ap
        >>> arm = ap.load("puma").with_elastic_joints({"joint2": ap.Elasticity(4e4, damping=15.0)})
        >>> arm.velocity_names[-1], arm.actuator_names[-1]
        ('joint2_motor', 'joint6')
        >>> q, v = arm.start, [0.0] * arm.nv
        >>> ap.Dynamics(arm).forward_dynamics(q, v, [0.0] * arm.nu).shape
        (7,)
        """
        return self.with_actuators(elastic_changes(springs, self.owner))


# ---- The map from the independent velocities of a system to the velocities of its bodies: w = N(q) v + n(q, t)
#
#     w    velocities in which the bodies are described: those of all joints of a tree, or v itself
#     N    1 for a tree and for a mechanism in closed form; otherwise a basis of the motions that constraints allow
#     n    the velocity that prescribed motions and turning planes impose; zero for all other systems
#
# All changes of a configuration use the map of the system: `rate` along a velocity, `integrate` and `difference` at
# fixed time, and `tangents`, the directions in which functions of q are differentiated.


class Map(Protocol):
    """The velocity map of a system, formulated with abstract scalars."""

    @property
    def is_identity(self) -> bool:
        """Whether w = v."""

    @property
    def positions(self) -> Sequence[int]:
        """Indices of the velocities w that distinguish configurations, one for each column of `tangents`."""

    def driven(self, prescribed: Vector) -> Self:
        """The map for prescribed motions given as (s, ṡ, s̈) of each in turn; if empty, they are at rest at 0."""

    def velocity(self, q: Vector, v: Vector) -> list[Scalar]:
        """w = N v + n."""

    def acceleration(self, q: Vector, v: Vector, a: Vector) -> list[Scalar]:
        """dw/dt = N a + ν."""

    def independent(self, q: Vector, w: Vector) -> list[Scalar]:
        """The v of a given w."""

    def basis(self, q: Vector) -> Matrix:
        """N, one row per velocity w."""

    def basis_rate(self, q: Vector, v: Vector) -> Matrix:
        """dN/dt along the motion."""

    def project(self, q: Vector, forces: Vector) -> list[Scalar]:
        """Nᵀ f for forces f along w."""

    def pull_back(self, q: Vector, rows: Matrix) -> Matrix:
        """J N for rows J that multiply w."""

    def congruent(self, q: Vector, matrix: Matrix) -> Matrix:
        """Nᵀ M N for a symmetric M."""

    def coriolis(self, q: Vector, v: Vector, mass_matrix: Callable, coriolis: Callable) -> Matrix:
        """Nᵀ (M dN/dt + C N), from M(q) and C(q, w) of the bodies."""

    def rate(self, q: Vector, v: Vector) -> list[Scalar]:
        """dq/dt, including the contribution of n."""

    def tangents(self, q: Vector) -> Matrix:
        """Directions dq in which q can vary at fixed time, one per column."""

    def closed(self, q: Vector) -> list[Scalar]:
        """q after one Newton step towards the constraints, from a configuration that nearly satisfies them."""


@final
@dataclass(frozen=True)
class IdentityMap:
    """The map w = v of a tree without constraints or a mechanism in closed form."""

    system: System

    @property
    def is_identity(self) -> bool:
        return True

    @property
    def positions(self) -> Sequence[int]:
        return range(self.system.nv)

    def driven(self, prescribed: Vector) -> IdentityMap:
        return self

    def velocity(self, q: Vector, v: Vector) -> list[Scalar]:
        return list(v)

    def acceleration(self, q: Vector, v: Vector, a: Vector) -> list[Scalar]:
        return list(a)

    def independent(self, q: Vector, w: Vector) -> list[Scalar]:
        return list(w)

    def basis(self, q: Vector) -> Matrix:
        n = self.system.nv
        return [[float(i == k) for k in range(n)] for i in range(n)]

    def basis_rate(self, q: Vector, v: Vector) -> Matrix:
        n = self.system.nv
        return [[0.0] * n for _ in range(n)]

    def project(self, q: Vector, forces: Vector) -> list[Scalar]:
        return list(forces)

    def pull_back(self, q: Vector, rows: Matrix) -> Matrix:
        return rows

    def congruent(self, q: Vector, matrix: Matrix) -> Matrix:
        return matrix

    def coriolis(self, q: Vector, v: Vector, mass_matrix: Callable, coriolis: Callable) -> Matrix:
        return coriolis(q, v)

    def rate(self, q: Vector, v: Vector) -> list[Scalar]:
        return self.system.rate(q, v)

    def tangents(self, q: Vector) -> Matrix:
        columns = [self.system.rate(q, unit) for unit in self.basis(q)]
        return [list(row) for row in zip(*columns, strict=True)]

    def closed(self, q: Vector) -> list[Scalar]:
        return list(q)


# The map of a constrained tree is computed from the rows of its constraints, which are formulas. `model` must not
# depend on `formulate`; this is the only place where it loads it, by name, when a constrained robot is created.
CONSTRAINT_MAP_MODULE = "appell.formulate.constrained.map"


def constraint_map(
    tree: Robot, constraints: Sequence[Constraint], independent: Any, preferred: Sequence[str], start: np.ndarray
) -> tuple[Any, np.ndarray]:
    """Create the map of a tree under constraints, and find the configuration near `start` that satisfies them.

    `independent` names the velocities of the tree that become v, or is a constraint whose rows define v. If it is None,
    independent velocities are chosen automatically, preferably from `preferred`.
    """
    return import_module(CONSTRAINT_MAP_MODULE).find_map(tree, constraints, independent, preferred, start)
