"""A system: what has coordinates, velocities, actuators and a Gibbs function.

A tree of links and a mechanism in closed form give the same few facts, named here; `formulate.equations` makes the
equations of motion of any of them. Q = B(q) τ are the forces of the actuators along the coordinates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from appell.algebra.matrix import ZEROS
from appell.algebra.scalar import Scalar, is_number
from appell.algebra.vector import Vec3
from appell.errors import ArgumentError, ModelError, unknown_name
from appell.model.actuator import Actuator
from appell.model.body import Body
from appell.model.frame import Frame
from appell.model.limits import LimitArrays
from appell.model.welding import welded

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
    def rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
        """q̇(q, v)."""

    @abstractmethod
    def integrate(self, q, step) -> np.ndarray:
        """The configuration reached from q by moving with velocity `step` for unit time; batches broadcast."""

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
