"""What is sought: some columns of a system's regressor, with their names and what the description says of them.

    τ = Y(q, v, a) π                                                                                             (1)

π has ten inertial parameters a body, in the order of the system's bodies, and on request a few of every actuator, whose
position is θ(q), its own coordinate in a tree:

    rotor     Ia θ̈            inertia of rotor and gears, as the joint feels it
    coulomb   fc s(θ̇)         the laws of `model.friction`; a width on the actuators makes s smooth
    static    fs              where the law has a static level
    viscous   fv θ̇
    offset    fo              the zero of the amplifier
    stiffness k (θ - θ₀)      of a spring, sought wherever there is one: springs always count

What else is not sought does not count, as what is switched off in `Dynamics`.
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
from appell.model.system import System

if TYPE_CHECKING:
    from appell.identify.base.reduce import BaseParameters

FRICTION = ("coulomb", "static", "viscous", "offset")
DRY = ("coulomb", "static")
ALL = ("coulomb", "viscous", "offset")
NOT_NEGATIVE = ("rotor", "coulomb", "static", "viscous", "stiffness")
QVA = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Sought:
    """A system and the kinds of actuator parameters that are sought beside its bodies; made by `seek`."""

    system: System  # its actuators have the friction law whose levels are sought
    kinds: tuple[str, ...] = ()
    finds_width: bool = False  # whether a fit looks for the widths of dry friction, too

    @cached_property
    def dynamics(self) -> Dynamics:
        return Dynamics(self.system, friction=any(k in FRICTION for k in self.kinds), rotors="rotor" in self.kinds)

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """Which columns of the system's regressor; a drive without an actuator name, such as a mimic's, has none."""
        names = set(self.system.actuator_names)
        return tuple(
            k
            for k, parameter in enumerate(self.dynamics.parameters)
            if parameter.kind not in SYMBOLS or (parameter.kind in self.kinds and parameter.owner in names)
        )

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """π of (1): name, kind, owner and described value of each."""
        whole = self.dynamics.parameters
        return tuple(whole[k] for k in self.columns)

    @cached_property
    def nominal(self) -> np.ndarray:
        """π as the description has it."""
        return np.array([parameter.value for parameter in self.parameters])

    @cached_property
    def regressor(self) -> Function:
        """Y(q, v, a) of (1)."""
        whole = self.dynamics.regressor
        return whole if len(self.columns) == whole.outputs[0].shape[1] else whole.columns(self.columns)

    @cached_property
    def base(self) -> BaseParameters:
        """The combinations of π that can be found."""
        from appell.identify.base.reduce import reduced

        return reduced(self)

    def rates(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """θ̇, the velocities of the actuators."""
        if self.system.actuator_names == self.system.velocity_names:
            return v
        return np.einsum("...ij,...j->...i", self.dynamics.actuator_jacobian(q), v)

    def sample(self, count: int, rng: np.random.Generator) -> QVA:
        """Random motions; of a mechanism, about its home and where it can be assembled."""
        v, a = rng.normal(size=(2, count, self.system.nv))
        return np.array([self.system.random_configuration(rng, within_limits=False) for _ in range(count)]), v, a

    def is_massless(self, body: str) -> bool:
        """Whether the description has this body without matter on purpose."""
        return self.system.bodies[body] is None and body not in {*self.system.lacking(), *self.system.free}


def seek(
    system: System | Sought,
    *,
    friction: Iterable[str] | bool = (),
    rotor: bool = False,
    width: float | str | None = None,
) -> Sought:
    """What to find of a system: seek(load("five-bar"), friction=True, rotor=True).

    `friction` is some of coulomb, viscous and offset, or True for all three; with Coulomb friction a static level is
    sought where the law of an actuator has one, and of all actuators if "static" is named. `width` is the speed within
    which dry friction changes sign; "described": that of the description; None: what the data say, joint by joint.
    """
    if isinstance(system, Sought):
        if any((friction, rotor, width is not None)):
            raise ArgumentError("friction, rotor or width is given beside what is sought.", hint="give them to seek()")
        return system
    if not isinstance(system, System):
        raise ArgumentError(f"a {type(system).__name__} cannot be identified.", expected="a Robot or a Mechanism")
    chosen = ALL if friction is True else (friction,) if isinstance(friction, str) else tuple(friction or ())
    for kind in chosen:
        if kind not in FRICTION:
            raise ArgumentError(unknown_name("parameter", str(kind), FRICTION, "friction"))
    given = None if width == "described" else width
    if given is not None and (isinstance(given, str) or not 0.0 <= given < np.inf):
        expected = "a speed that is not negative, 'described', or None to find it"
        raise ArgumentError(f"the width of Coulomb friction is {given!r}.", expected=expected)

    def law(_: str, own: Actuator) -> Actuator:
        level, own_width = own.friction.static, own.friction.width
        if level is None and "static" in chosen:
            level = own.friction.coulomb
        changed = replace(own.friction, static=level, width=own_width if given is None else float(given))
        return replace(own, friction=changed)

    dry = DRY if any(kind in DRY for kind in chosen) else ()  # two levels of one law
    kinds = ("rotor",) * bool(rotor) + tuple(kind for kind in FRICTION if kind in (*chosen, *dry))
    if sprung := [name for name, own in system.drives.items() if own.stiffness]:
        if followers := [name for name in sprung if name not in system.actuator_names]:
            raise ModelError(
                f"joint '{followers[0]}' of {system.owner} has a spring and mimics another joint.",
                expected="springs at joints with actuators of their own, for identification",
            )
        kinds = (*kinds, "stiffness")
    return Sought(system.with_actuators(law) if chosen else system, kinds, bool(dry) and width is None)
