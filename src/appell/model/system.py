"""A system: what has coordinates, velocities, actuators and a Gibbs function.

A tree of links and a mechanism in closed form give the same few facts, named here; `formulate.equations` makes the
equations of motion of any of them. Q = B(q) τ are the forces of the actuators along the coordinates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, final

import numpy as np

from appell.algebra.matrix import ZEROS
from appell.algebra.scalar import Matrix, Scalar, Vector, is_number
from appell.algebra.vector import Vec3
from appell.errors import ArgumentError, ModelError, unknown_name
from appell.model.actuator import Actuator
from appell.model.body import Body, welded
from appell.model.frame import Frame
from appell.model.limits import LimitArrays

if TYPE_CHECKING:
    from appell.model.constraint import Constraint
    from appell.model.robot import Robot


Rng = np.random.Generator | int | None  # a generator, the seed of one, or none


def vector_of(given: Iterable[float], what: str) -> Vec3:
    """Three numbers as a vector, or an error that says what is not one."""
    try:
        x, y, z = (float(component) for component in given)
    except (TypeError, ValueError):
        raise ModelError(f"{what} is {given!r}.", expected="three numbers, such as (0, 0, -9.81)") from None
    return Vec3(x, y, z)


def generator(rng: Rng) -> np.random.Generator:
    """A generator of random numbers: the one given, one of a seed, or another every time."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise ArgumentError(f"rng is {rng!r}.", expected="a numpy Generator, a whole number as seed, or None") from None


class System(ABC):
    """The facts that every chapter asks of a robot, whatever it is made of."""

    kind: ClassVar[str]  # how messages call it: robot, mechanism
    name: str
    gravity: Vec3
    frames: tuple[Frame, ...]
    free: frozenset[str]  # bodies whose inertial parameters stay inputs
    description: str
    reference: str
    source: str
    tree: Any  # the Robot that it is or is made of; None where there is none
    constraints: Any  # on the tree; none for other systems
    parts: Any  # bodies in closed form; none for trees
    condition_limit: float  # of the actuator Jacobian of a mechanism, beyond which a pose is singular
    outlines: Any  # lines that stand still in the picture of a mechanism; none for trees
    reaches: Any  # how far legs reach; none for trees
    map: Any  # w = N(q) v + n(q, t), from its independent velocities to those of its bodies: a `model.map.Map`

    # ---- what it is made of

    @property
    def is_tree(self) -> bool:
        """Whether it is a tree of links whose own velocities are v."""
        return self.tree is not None and self.map.is_identity

    @property
    def is_constrained(self) -> bool:
        """Whether constraints tie the velocities of its tree."""
        return not self.map.is_identity

    @property
    def is_closed_form(self) -> bool:
        """Whether its poses are functions of its coordinates."""
        return self.tree is None

    def out_of_reach(self, q: Vector) -> str:
        """Why a leg does not close at a pose, as a sentence; empty if all do, or if there are none."""
        return ""

    # ---- q, v and the actuators

    @property
    @abstractmethod
    def coordinate_names(self) -> tuple[str, ...]:
        """A name for every q."""

    @property
    @abstractmethod
    def velocity_names(self) -> tuple[str, ...]:
        """A name for every v."""

    @property
    @abstractmethod
    def actuator_names(self) -> tuple[str, ...]:
        """A name for every tau."""

    @property
    @abstractmethod
    def coordinate_units(self) -> tuple[str, ...]:
        """rad, m, or 1 for a part of a quaternion."""

    @property
    @abstractmethod
    def velocity_units(self) -> tuple[str, ...]:
        """rad or m: what a velocity is the rate of."""

    @property
    @abstractmethod
    def actuator_units(self) -> tuple[str, ...]:
        """rad or m: what an actuator's position is measured in; its force is N m or N."""

    @property
    @abstractmethod
    def actuators(self) -> tuple[Actuator, ...]:
        """What drives each tau."""

    @property
    @abstractmethod
    def drives(self) -> Mapping[str, Actuator]:
        """The actuators by the names of their joints, those of mimic joints too."""

    @property
    def nq(self) -> int:
        return len(self.coordinate_names)

    @property
    def nv(self) -> int:
        return len(self.velocity_names)

    @property
    def nu(self) -> int:
        return len(self.actuator_names)

    @property
    def sizes(self) -> dict[str, int]:
        """How many numbers the arguments of its functions have, by name."""
        return {"q": self.nq, "v": self.nv, "a": self.nv, "tau": self.nu}

    @property
    def prescribed(self) -> tuple[str, ...]:
        """Motions that are given as functions of time, and so are arguments of its functions."""
        return ()

    @property
    @abstractmethod
    def is_flat(self) -> bool:
        """Whether dq/dt is v, number for number."""

    @property
    def quaternions(self) -> tuple[slice, ...]:
        """Where unit quaternions stand in q."""
        return ()

    @abstractmethod
    def rate(self, q: Vector, v: Vector, prescribed: Vector = ()) -> list[Scalar]:
        """q̇(q, v), while motions are prescribed by (s, ṡ, s̈) of each; without them, they rest."""

    def tangents(self, q: Vector) -> Matrix:
        """The directions dq in which q may be varied at fixed time, one column each."""
        return self.map.tangents(q)

    @abstractmethod
    def integrate(self, q, step) -> np.ndarray:
        """The configuration that `step`, a velocity times a time, leads to from q; batches broadcast."""

    @abstractmethod
    def difference(self, q0, q1) -> np.ndarray:
        """The velocity that leads from q0 to q1 in unit time, the inverse of `integrate`; batches broadcast.

        Of all motions the shortest: a floating, spherical or planar joint turns by half a turn at most.
        """

    def bracket(self, v) -> np.ndarray:
        """The matrix of [v, ·], by which velocities in link axes fail to commute; zero where dq/dt is v."""
        return np.zeros((self.nv, self.nv))

    @property
    @abstractmethod
    def start(self) -> np.ndarray:
        """A configuration worth starting from."""

    @property
    @abstractmethod
    def ranges(self) -> tuple[tuple[float, float], ...]:
        """Lowest and highest value of every coordinate, infinite where nothing is known."""

    @property
    def limits(self) -> LimitArrays:
        """Positions, speeds and torques that must be kept to, as arrays: system.limits.upper."""
        return LimitArrays.of(self)

    @abstractmethod
    def random_configuration(self, rng: Rng = None, *, within_limits: bool = True) -> np.ndarray:
        """A q that the system can take; `rng` is a generator, the seed of one, or None for another q every time."""

    # ---- bodies and frames

    @property
    @abstractmethod
    def bodies(self) -> Mapping[str, Body | None]:
        """The bodies by name, in order; None for one without mass."""

    @property
    def body_names(self) -> tuple[str, ...]:
        return tuple(self.bodies)

    @property
    def mass(self) -> float:
        """Of all bodies that move, in kg."""
        return sum(body.mass for body in self.bodies.values() if body is not None)

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Every place that `pose` and `jacobian` know: the bodies, then the named frames."""
        return (*self.body_names, *(frame.name for frame in self.frames))

    def frame(self, name: str) -> Frame:
        """A named frame; a body's name is the frame in which it is described."""
        known = {body: Frame(body, body) for body in self.body_names} | {frame.name: frame for frame in self.frames}
        return self.find("frame", name, known)

    def find(self, kind: str, name: str, known: Mapping[str, Any]):
        """The one of a name, or an error that says which names there are."""
        if name not in known:
            raise ModelError(unknown_name(kind, name, known, self.owner))
        return known[name]

    @property
    def owner(self) -> str:
        """How messages call it: robot 'puma'."""
        return f"{self.kind} '{self.name}'"

    def lacking(self) -> tuple[str, ...]:
        """Bodies without which there are no dynamics."""
        return ()

    def sized(self, name: str, value, size: int) -> np.ndarray:
        """An array with a last axis of `size`, or an error that names the argument."""
        try:
            array = np.asarray(value, float)
        except (TypeError, ValueError):
            raise ArgumentError(f"{name} is {value!r}.", expected=f"{size} numbers for {self.owner}") from None
        if array.shape[-1:] != (size,):
            raise ArgumentError(f"{name} has shape {array.shape}; the last axis of {self.owner} is {size}.")
        return array

    # ---- variations

    def with_free(self, *names: str) -> Self:
        """With the inertial parameters of these bodies (of all, if none is named) left open as inputs."""
        for name in names:
            self.find("body", name, self.bodies)
        return replace(self, free=frozenset(names or self.body_names))  # type: ignore[type-var]

    def with_frames(self, frames: Iterable[Frame]) -> Self:
        return replace(self, frames=(*self.frames, *frames))  # type: ignore[type-var]

    def with_gravity(self, gravity: Iterable[float]) -> Self:
        return replace(self, gravity=gravity)  # type: ignore[type-var]

    def with_payload(
        self, load: float | Body, frame: str | None = None, *, com: Iterable[float] = (0.0, 0.0, 0.0)
    ) -> Self:
        """With a rigid load fixed to a frame (to the last body if None), its inertia added to that of the body there.

        `load` is a Body described in the frame, or a mass in kg, which then is a point at `com` in the frame.
        """
        place = self.frame(frame or self.body_names[-1])
        if place.body is None:
            raise ModelError(f"frame '{place.name}' of {self.owner} does not move.", expected="a frame on a body")
        if place.body in self.free:
            raise ModelError(
                f"the inertia of body '{place.body}' of {self.owner} is free, so it can carry no load of its own.",
                hint="add the load's parameters to those that are given",
            )
        if not isinstance(load, Body):
            if not (is_number(load) and np.isfinite(load) and load > 0.0):
                raise ArgumentError(f"the payload is {load!r}.", expected="a Body, or a positive mass in kg")
            load = Body(float(load), vector_of(com, "the centre of mass of the payload"), ZEROS)
        return self.with_bodies({place.body: welded(self.bodies[place.body], load.moved(place.pose))})

    @abstractmethod
    def locked(self, joints: str | Iterable[str] | Mapping[str, Any]) -> Self:
        """A smaller system with some joints held: {"joint2": 0.3} at a position, ["joint2"] where they start."""

    @abstractmethod
    def with_bodies(self, bodies: Mapping[str, Body | None]) -> Self:
        """With other bodies in place of some of its own."""

    @abstractmethod
    def with_actuators(self, change: Mapping[str, Actuator] | Callable[[str, Actuator], Actuator]) -> Self:
        """With other actuators: some by name, or each as a function of its name and what it was."""


# ---- The map from the independent velocities of a system to the velocities of its bodies: w = N(q) v + n(q, t)
#
#     w    velocities in which the bodies are described: those of all joints of a tree, or v itself
#     N    1 for a tree and for a mechanism in closed form; the basis of the motions that constraints leave otherwise
#     n    the velocity that prescribed motions and turning planes impose; zero for all other systems
#
# Everything that moves a configuration goes through the map of its system: `rate` along a velocity, `integrate` and
# `difference` at fixed time, and `tangents`, the directions in which functions of q are differentiated.


class Map(Protocol):
    """The map of a system, over abstract scalars."""

    @property
    def is_identity(self) -> bool:
        """Whether w is v."""

    @property
    def positions(self) -> Sequence[int]:
        """The velocities w along which configurations are told apart, one for each column of `tangents`."""

    def driven(self, prescribed: Vector) -> Self:
        """The map while motions are prescribed: (s, ṡ, s̈) of each, one after the other; at rest at 0 if empty."""

    def velocity(self, q: Vector, v: Vector) -> list[Scalar]:
        """w = N v + n."""

    def acceleration(self, q: Vector, v: Vector, a: Vector) -> list[Scalar]:
        """dw/dt = N a + ν."""

    def independent(self, q: Vector, w: Vector) -> list[Scalar]:
        """v of a velocity w."""

    def basis(self, q: Vector) -> Matrix:
        """N, one row for each velocity w."""

    def basis_rate(self, q: Vector, v: Vector) -> Matrix:
        """dN/dt along the motion."""

    def project(self, q: Vector, forces: Vector) -> list[Scalar]:
        """Nᵀ f, for forces along w."""

    def pull_back(self, q: Vector, rows: Matrix) -> Matrix:
        """J N, for rows J that multiply w."""

    def congruent(self, q: Vector, matrix: Matrix) -> Matrix:
        """Nᵀ M N, of a symmetric M."""

    def coriolis(self, q: Vector, v: Vector, mass_matrix: Callable, coriolis: Callable) -> Matrix:
        """Nᵀ (M dN/dt + C N), from M(q) and C(q, w) of the bodies."""

    def rate(self, q: Vector, v: Vector) -> list[Scalar]:
        """dq/dt, with the share of n."""

    def tangents(self, q: Vector) -> Matrix:
        """The directions dq in which q may be varied at fixed time, one column each."""

    def closed(self, q: Vector) -> list[Scalar]:
        """One Newton step from a configuration that nearly satisfies the constraints towards one that does."""


@final
@dataclass(frozen=True)
class IdentityMap:
    """The map of a system whose own velocities describe its bodies: w = v."""

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


# The map of a constrained tree is computed from the rows of its constraints, which are formulas. `model` does not
# import `formulate`; this is the one place where it calls it, by name.
CONSTRAINT_MAPS = "appell.formulate.constrained.map"


def constraint_map(
    tree: Robot, constraints: Sequence[Constraint], independent: Any, preferred: Sequence[str], start: np.ndarray
) -> tuple[Any, np.ndarray]:
    """The map of a tree under constraints, and the configuration near `start` that satisfies them.

    `independent` names the velocities of the tree that become v, or is a constraint whose rows do; None: chosen, with
    those of `preferred` first.
    """
    return import_module(CONSTRAINT_MAPS).find_map(tree, constraints, independent, preferred, start)
