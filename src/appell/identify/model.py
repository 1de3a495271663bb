"""What is identified: joint forces as a product of what is known of the motion and what is not known of the robot.

    τ = Y(q, v, a) π                                                                                             (1)

π has ten inertial parameters a link, in the order of `robot.links`, and on request a few more a joint of one axis:

    rotor     Ia a            inertia of the rotor and gears, reflected to the joint
    coulomb   fc sign(v)      with `width` w > 0, v/√(v² + w²) instead of the sign, which does not jump
    viscous   fv v
    offset    fo              the zero of the amplifier

Any object with a `regressor` of (q, v, a) that has ten columns a body will do, so parallel mechanisms as well as
trees."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from appell.algebra.piecewise import smooth_sign
from appell.algebra.scalar import Scalar, select
from appell.compile.function import Function
from appell.compile.splice import inline
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, unknown_name
from appell.model.body import PARAMETER_NAMES
from appell.model.robot import Robot

FRICTION = ("coulomb", "viscous", "offset")
SYMBOLS = {"rotor": "Ia", "coulomb": "fc", "viscous": "fv", "offset": "fo"}


@dataclass(frozen=True)
class Column:
    """One parameter: its short name, what kind it is, and the link or joint that has it."""

    name: str  # Izz2, fv3: the kind, and the number of the link or of the generalised velocity, from 1
    kind: str
    owner: str

    def __str__(self) -> str:
        return f"{self.name} ('{self.owner}')"


class Model:
    """A robot or mechanism, with the parameters that are to be found for it."""

    def __init__(self, robot: Any, *, friction: Iterable[str] | bool = (), rotor: bool = False, width: float = 0.0):
        chosen = FRICTION if friction is True else (friction,) if isinstance(friction, str) else tuple(friction or ())
        for kind in chosen:
            if kind not in FRICTION:
                raise ArgumentError(unknown_name("friction", str(kind), FRICTION, "a model"))
        if not width >= 0.0:
            raise ArgumentError(f"the width of Coulomb friction is {width}.", expected="a speed that is not negative")
        self.friction = tuple(kind for kind in FRICTION if kind in chosen)
        self.rotor = bool(rotor)
        self.width = float(width)
        self.known_base: Any = None  # kept by `base_parameters`
        self.subject: Any = robot.robot if isinstance(robot, Dynamics) else robot
        if not isinstance(self.subject, Robot) and not hasattr(self.subject, "regressor"):
            expected = "a Robot, or an object with a regressor(q, v, a) such as a parallel mechanism"
            raise ArgumentError(f"a {type(robot).__name__} cannot be identified.", expected=expected)
        if not isinstance(self.subject, Robot) and (self.friction or self.rotor):
            raise ArgumentError(
                f"'{self.name}' is no tree: its forces act on actuators that are not its coordinates.",
                expected="friction and rotor for tree robots only",
            )

    @property
    def robot(self) -> Robot | None:
        """The tree robot, if it is one."""
        return self.subject if isinstance(self.subject, Robot) else None

    @property
    def name(self) -> str:
        return getattr(self.subject, "name", "") or getattr(
            getattr(self.subject, "robot", None), "name", type(self.subject).__name__
        )

    @cached_property
    def inertial(self) -> Function:
        """Y of the inertial parameters alone."""
        return self.subject.regressor if self.robot is None else Dynamics(self.robot).regressor

    @property
    def nq(self) -> int:
        return self.inertial.inputs[0].size

    @property
    def nv(self) -> int:
        return self.inertial.inputs[1].size

    @property
    def is_flat(self) -> bool:
        """Whether dq/dt is v, number for number."""
        return self.nq == self.nv and (
            self.robot is None or all(link.joint.motion.nv == 1 for link in self.robot.moving)
        )

    @property
    def link_names(self) -> tuple[str, ...]:
        bodies = self.inertial.outputs[0].shape[1] // 10
        given = tuple(getattr(self.subject, "link_names", ()))
        return given if len(given) == bodies else tuple(f"body{k + 1}" for k in range(bodies))

    @cached_property
    def velocity_names(self) -> tuple[str, ...]:
        """A name for every v: the joint's, with a number behind it where a joint has several."""
        if self.robot is None:
            given = tuple(getattr(self.subject, "joint_names", ()))
            return given if len(given) == self.nv else tuple(f"joint{k + 1}" for k in range(self.nv))
        return tuple(
            link.joint.name if link.joint.motion.nv == 1 else f"{link.joint.name}_{k + 1}"
            for link in self.robot.moving
            for k in range(link.joint.motion.nv)
        )

    @cached_property
    def axes(self) -> tuple[int, ...]:
        """The velocities of joints with one axis: those that can have friction and a rotor."""
        if self.robot is None:
            return tuple(range(self.nv))
        return tuple(self.robot.span(link.joint)[1].start for link in self.robot.moving if link.joint.motion.nv == 1)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The parameters of (1), in order."""
        found = [
            Column(f"{kind}{k + 1}", kind, link) for k, link in enumerate(self.link_names) for kind in PARAMETER_NAMES
        ]
        kinds = (("rotor",) if self.rotor else ()) + self.friction
        found += [Column(f"{SYMBOLS[kind]}{k + 1}", kind, self.velocity_names[k]) for k in self.axes for kind in kinds]
        return tuple(found)

    @cached_property
    def nominal(self) -> np.ndarray:
        """π as the robot's description has it; zero for what is not described."""
        if self.robot is None:
            return np.array(getattr(self.subject, "parameters", np.zeros(len(self.columns))), float)
        bodies = [link.body.parameters if link.body else (0.0,) * 10 for link in self.robot.links]
        joints = {link.joint.name: link.joint for link in self.robot.links}
        known = {"coulomb": "friction", "viscous": "damping"}
        rest = [
            getattr(joints[column.owner], known[column.kind]) if column.kind in known else 0.0
            for column in self.columns[10 * len(bodies) :]
        ]
        return np.array([x for body in bodies for x in body] + rest)

    @cached_property
    def regressor(self) -> Function:
        """Y(q, v, a) with all columns; `regressor.columns` leaves out what is not asked for."""

        def body(q, v, a):
            rows = zip(inline(self.inertial.tape, q, v, a)[0], self.velocity_names, v, a, strict=True)
            own = self.columns[self.inertial.outputs[0].shape[1] :]
            return {"Y": [[*row, *(self._entry(c, name, rate, b) for c in own)] for row, name, rate, b in rows]}

        doc, inertial = "Y(q, v, a), with tau = Y parameters.", self.inertial
        return Function.of("regressor", inertial.inputs, body, doc, inertial.owner, inertial.tangents)

    def _entry(self, column: Column, name: str, v: Scalar, a: Scalar) -> Scalar:
        """What a joint's own parameter is multiplied with in the row of a velocity."""
        if name != column.owner:
            return 0.0
        match column.kind:
            case "rotor":
                return a
            case "viscous":
                return v
            case "offset":
                return 1.0
        return smooth_sign(v, self.width) if self.width else select(v, 1.0, select(-v, -1.0, 0.0))

    def sample(self, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Random motions, limits aside; of a mechanism, about its home and where it can be assembled."""
        v, a = rng.normal(size=(2, count, self.nv))
        if hasattr(self.subject, "random_configuration"):
            return np.array([self.subject.random_configuration(rng) for _ in range(count)]), v, a
        home = getattr(self.subject, "home", None)
        home = getattr(getattr(self.subject, "robot", None), "home", None) if home is None else home
        q = np.zeros(self.nq) if home is None else np.array(home, float)
        tries = q + rng.uniform(-0.1, 0.1, (8 * count, self.nq))
        with np.errstate(invalid="ignore"):
            Y = np.asarray(self.inertial(tries, v[0], a[0]))
        whole = tries[np.isfinite(Y).all(axis=(1, 2))][:count]
        if len(whole) < count:
            raise ArgumentError(
                f"'{self.name}' can be assembled in {len(whole)} of {8 * count} places about its home.",
                hint="base_parameters(..., motions=(q, v, a)) with motions that it can make",
            )
        return whole, v, a


def as_model(robot: Any, **options) -> Model:
    """A model as it is, anything else wrapped in one."""
    if not isinstance(robot, Model):
        return Model(robot, **options)
    if any(options.values()):
        raise ArgumentError(f"{', '.join(options)} given beside a Model.", hint="give them to Model(...) itself")
    return robot
