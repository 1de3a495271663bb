"""The parameters to estimate: selected columns of a system's regressor, with their names and described values.

    τ = Y(q, v, a) π                                                                                             (1)

π has ten inertial parameters per body, in the order of the system's bodies. On request it also has parameters of every
actuator, with θ(q) the position of the actuator (in a tree, the coordinate of its joint):

    rotor     Ia θ̈            inertia of rotor and gears, reflected to the joint
    coulomb   fc s(θ̇)         the friction laws of `model.actuator`; a width of the actuator makes s smooth
    static    fs              where the friction law has a static level
    viscous   fv θ̇
    offset    fo              zero offset of the amplifier
    stiffness k (θ - θ₀)      of a spring; always estimated where a joint has one

Friction and rotors that are not selected are left out of the model, as if they were switched off in `Dynamics`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from appell.compile.function import Function
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, ModelError, unknown_name
from appell.formulate.equations import SYMBOLS, Parameter
from appell.model.actuator import Actuator
from appell.model.flexible import FlexibleBody
from appell.model.system import System

if TYPE_CHECKING:
    from appell.identify.base.reduce import BaseParameters

FRICTION = ("coulomb", "static", "viscous", "offset")
DRY = ("coulomb", "static")
DEFAULT_FRICTION = ("coulomb", "viscous", "offset")  # for friction=True
NOT_NEGATIVE = ("rotor", "coulomb", "static", "viscous", "stiffness")
QVA = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class ParameterSet:
    """A system and the parameters of it that are to be estimated; made by `select_parameters`."""

    system: System  # its actuators have the friction law whose levels are estimated
    kinds: tuple[str, ...] = ()  # kinds of actuator parameters to estimate in addition to the inertial ones
    estimates_width: bool = False  # whether a fit also estimates the widths of dry friction

    @cached_property
    def dynamics(self) -> Dynamics:
        """Dynamics with the friction and rotors that are estimated."""
        return Dynamics(self.system, friction=any(k in FRICTION for k in self.kinds), rotors="rotor" in self.kinds)

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """Selected columns of the system's regressor; drives without an actuator, such as mimic joints, have none."""
        names = set(self.system.actuator_names)
        return tuple(
            k
            for k, parameter in enumerate(self.dynamics.parameters)
            if parameter.kind not in SYMBOLS or (parameter.kind in self.kinds and parameter.owner in names)
        )

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """π of (1): name, kind, owner and described value of every parameter."""
        available = self.dynamics.parameters
        return tuple(available[k] for k in self.columns)

    @cached_property
    def nominal(self) -> np.ndarray:
        """π with the values of the description, of shape (len(parameters),)."""
        return np.array([parameter.value for parameter in self.parameters])

    @cached_property
    def regressor(self) -> Function:
        """Y(q, v, a) of (1)."""
        regressor = self.dynamics.regressor
        return regressor if len(self.columns) == regressor.outputs[0].shape[1] else regressor.columns(self.columns)

    @cached_property
    def base(self) -> BaseParameters:
        """The combinations of π that can be identified."""
        from appell.identify.base.reduce import reduced

        return reduced(self)

    def rates(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return θ̇, the velocities of the actuators."""
        if self.system.actuator_names == self.system.velocity_names:
            return v
        return np.einsum("...ij,...j->...i", self.dynamics.actuator_jacobian(q), v)

    def sample(self, count: int, rng: np.random.Generator) -> QVA:
        """Return random q, v and a; those of a mechanism lie around its home, where it can be assembled."""
        v, a = rng.normal(size=(2, count, self.system.nv))
        return np.array([self.system.random_configuration(rng, within_limits=False) for _ in range(count)]), v, a

    def is_massless(self, body: str) -> bool:
        """Return whether the description gives this body no mass on purpose."""
        return self.system.bodies[body] is None and body not in {*self.system.missing_inertias(), *self.system.free}


def select_parameters(
    system: System | ParameterSet,
    *,
    friction: Iterable[str] | bool = (),
    rotor: bool = False,
    width: float | str | None = None,
) -> ParameterSet:
    """Select the parameters of a system to estimate.

    The inertial parameters of all bodies, and the stiffness of springs, are always selected.

    Parameters
    ----------
    system : Robot, Mechanism or ParameterSet
        The system to identify. A ParameterSet is returned as it is; no options are allowed then.
    friction : bool, str or iterable of str
        Kinds of friction parameters: any of "coulomb", "static", "viscous" and "offset"; True selects coulomb, viscous
        and offset. With "coulomb", the static level is estimated where the friction law of an actuator has one; with
        "static", the static level of every actuator is.
    rotor : whether to estimate the rotor inertia of every actuator
    width : float, "described" or None
        Speed within which dry friction changes sign, in rad/s or m/s. "described" takes the value of the description.
        None lets a fit estimate one width per joint.

    Returns
    -------
    ParameterSet

    Raises
    ------
    ArgumentError
        If an option is unknown or out of range.
    ModelError
        If a joint with a spring mimics another joint.

    Examples
    --------
    >>> import appell as ap
    >>> parameters = ap.identify.select_parameters(ap.load("planar-2r"), friction=["viscous"])
    >>> len(parameters.parameters), parameters.base.count
    (22, 8)
    """
    if isinstance(system, ParameterSet):
        if any((friction, rotor, width is not None)):
            raise ArgumentError(
                "friction, rotor or width is given together with a ParameterSet.",
                hint="Pass them to select_parameters() instead.",
            )
        return system
    if not isinstance(system, System):
        raise ArgumentError(f"a {type(system).__name__} cannot be identified.", expected="a Robot or a Mechanism")
    if system.elastic_joints:
        raise ModelError(
            f"the parameters of {system.owner} cannot be selected: its joints {', '.join(system.elastic_joints)} are "
            "elastic.",
            hint="Use identify_elastic_joints(robot, record) for springs and motors, and robot.rigid for the links.",
        )
    if flexible := [name for name, body in system.bodies.items() if isinstance(body, FlexibleBody)]:
        raise ModelError(
            f"the parameters of {system.owner} cannot be selected: its body '{flexible[0]}' is flexible.",
            hint="Use Dynamics(robot).base_regressor with measured modal coordinates, or robot.rigid.",
        )
    chosen = (
        DEFAULT_FRICTION if friction is True else (friction,) if isinstance(friction, str) else tuple(friction or ())
    )
    for kind in chosen:
        if kind not in FRICTION:
            raise ArgumentError(unknown_name("parameter", str(kind), FRICTION, "friction"))
    given = None if width == "described" else width
    if given is not None and (isinstance(given, str) or not 0.0 <= given < np.inf):
        expected = "a speed that is not negative, 'described', or None to estimate it"
        raise ArgumentError(f"the width of Coulomb friction is {given!r}.", expected=expected)

    def with_law(_: str, actuator: Actuator) -> Actuator:
        level, described_width = actuator.friction.static, actuator.friction.width
        if level is None and "static" in chosen:
            level = actuator.friction.coulomb
        law = replace(actuator.friction, static=level, width=described_width if given is None else float(given))
        return replace(actuator, friction=law)

    dry = DRY if any(kind in DRY for kind in chosen) else ()  # two levels of one law
    kinds = ("rotor",) * bool(rotor) + tuple(kind for kind in FRICTION if kind in (*chosen, *dry))
    if sprung := [name for name, actuator in system.drives.items() if actuator.stiffness]:
        if followers := [name for name in sprung if name not in system.actuator_names]:
            raise ModelError(
                f"joint '{followers[0]}' of {system.owner} has a spring and mimics another joint.",
                expected="springs only at joints that have an actuator, for identification",
            )
        kinds = (*kinds, "stiffness")
    return ParameterSet(system.with_actuators(with_law) if chosen else system, kinds, bool(dry) and width is None)
