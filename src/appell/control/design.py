"""The design of a controller: its law, model, gains, period and limits; and one control step over abstract scalars.

    τ* = law(q, v, reference, ∫e)                                     laws.py                                  (1)
    τ  = clamp(clamp(τ*, ±limit), τ⁻ ± rate T)                                                                 (2)
    ∫e changes by T e unless τ* exceeds τ in the direction in which e acts; it stays within its limit         (3)

(3) is the anti-windup; for a parallel robot, the missing torque is transformed to the coordinates. The torque is held
for a period T, so the model is best evaluated at the middle of the period:

    q̃ = q + εT v + ½(εT)² u          ṽ = v + εT u                     ε = `ahead`, ½ for a held output          (4)

A stop replaces u, whatever the law. All joints are braked with the same time constant, gravity is compensated, and

    u = -(Ks + κ) v - Ks κ (q - q_s)         q_s = q + v / Ks at the start of the stop, passed as q_d          (5)

From there u = -Ks v leads to q_s; disturbances are rejected with the second pole at -κ.

The rotors, viscous friction and offsets of the model are evaluated at the measured motion. Its dry friction is fed
forward at the desired velocity, with a smooth change of sign; at the measured velocity it would chatter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.algebra.loops import UNROLLED, Loops
from appell.algebra.scalar import Scalar, clamp, is_number, select
from appell.compile.tape.traced_array import traced_array
from appell.control.axes import PerAxis, controllable, controlled_indices, per_axis
from appell.control.blocks import Blocks
from appell.control.contact_observer import ContactObserver, excess
from appell.control.friction_parts import FrictionParts
from appell.control.gains import Gains
from appell.control.laws import LAWS, feedback, find_law
from appell.control.rollout_laws import design_law
from appell.control.traced_law import LawState, TracedLaw, resolved
from appell.errors import ArgumentError, Hint, unknown_name
from appell.model.system import System
from appell.simulation.rollouts.laws import KernelLaw

if TYPE_CHECKING:
    from appell.compile.c.source import CSource

ELASTIC_LAWS = ("motor-pd", "torque-feedback", "elastic-tracking")  # laws of `LAWS` for elastic joints
FRICTION_WIDTH = 0.02  # rad/s or m/s; speed within which the feed-forward of dry friction changes sign


@dataclass(frozen=True)
class ControlStep:
    """The result of one control step: torques at the actuators, and the memory in the order of `design.memory`."""

    tau: list[Scalar]
    memory: list[Scalar]
    demand: list[Scalar]  # τ*, before limits
    contact: Scalar = -1.0  # positive if the design's observer detects a contact


@dataclass(frozen=True)
class Design:
    """A control law for a robot, with all options checked before compilation.

    Options with one number per axis also accept one number for all. Gains and the integral are along coordinates,
    torques at actuators; for an arm both are its joints.

    Parameters
    ----------
    model : System
        The model that the controller uses.
    gains : Gains, optional
        Required by the laws of joints; other laws may derive their parameters from them.
    law : str, Law or TracedLaw
        A control law, the name of one of `control.LAWS`, or "module:name" of a law of your own.
    period : float
        Time between two control steps, in s.
    torque_limit : float or sequence, optional
        Largest absolute torque, in N m or N; infinite for no limit. By default the limits of the model's actuators,
        `model.limits.torque`. With the `no_load_speed` of an actuator, its limit falls with its speed.
    torque_rate : float or sequence
        Largest rate of change of the torque, in N m/s or N/s.
    integral_limit : float or sequence
        Largest absolute integral of the error, in rad s or m s.
    ahead : float
        Time, in periods, by which the model is evaluated ahead; ½ suits a torque that is held for a period.
    stop_damping, stop_holding : float
        Ks and κ of a stop, in 1/s.
    parameters : mapping, optional
        Values of the law's parameters that differ from its defaults, by name.
    observer : ContactObserver, optional
        Observer that detects contacts, with any law.

    Examples
    --------
    >>> import appell as ap
    >>> design = ap.control.Design(ap.load("puma"), ap.control.critical(20.0, period=1e-3), law="tracking")
    >>> design.law.name, design.gains.kp[0] > 0.0
    ('tracking', True)
    """

    model: System
    gains: Gains | None = None
    law: Any = "tracking"  # a Law or TracedLaw, or the name of one
    period: float = 1e-3  # s
    torque_limit: PerAxis = None  # N m or N; None: the limits of the model
    torque_rate: PerAxis = 1e9  # N m/s or N/s
    integral_limit: PerAxis = 1e6  # rad s or m s
    ahead: float = 0.5  # periods
    stop_damping: float = 25.0  # Ks, 1/s
    stop_holding: float = 10.0  # κ, 1/s
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)
    observer: ContactObserver | None = None

    def __post_init__(self):
        set_field = object.__setattr__
        controllable(self.model)
        set_field(self, "law", find_law(self.law) if isinstance(self.law, str) else self.law)
        if self.gains is not None:
            set_field(self, "gains", self.gains.of(self.model))
        checked_period(self.period)
        if self.torque_limit is None:
            set_field(self, "torque_limit", self.model.limits.torque)
        limits = {"torque_limit": "actuator", "torque_rate": "actuator", "integral_limit": "coordinate"}
        for name, axis in limits.items():
            set_field(self, name, per_axis(self.model, axis, name, getattr(self, name), least=0.0, above=True))
        if not 0.0 <= self.ahead <= 2.0:
            raise ArgumentError(f"ahead is {self.ahead:g} periods.", expected="a number from 0 to 2; 0.5 is best")
        if not 0.0 < self.stop_damping * self.period < 1.0:
            raise ArgumentError(
                f"stop_damping is {self.stop_damping:g}/s with a period of {self.period:g} s.",
                expected="0 < stop_damping × period < 1",
            )
        if isinstance(self.law, TracedLaw):
            self._check_parameters()
        else:
            self._check_gains()
        if self.model.elastic_joints and self.law.name in LAWS and self.law.name not in ELASTIC_LAWS:
            raise ArgumentError(
                f"law '{self.law.name}' is for rigid joints; {self.model.owner} has elastic ones: "
                f"{', '.join(self.model.elastic_joints)}.",
                expected="law='motor-pd', 'torque-feedback' or 'elastic-tracking', or a law of your own",
                hint="For a controller that ignores the springs, give it a model with rigid joints: model.rigid.",
            )
        _ = self.memory, self.parameter_blocks  # raise errors of their values now

    def _check_parameters(self) -> None:
        known = self.law.parameters
        if unknown := [name for name in self.parameters if name not in known]:
            raise ArgumentError(unknown_name("parameter", unknown[0], known, f"law '{self.law.name}'"))

    def _check_gains(self) -> None:
        if self.parameters:
            raise ArgumentError(
                f"law '{self.law.name}' has gains instead of parameters.", expected="gains=, not parameters="
            )
        if self.gains is None:
            raise ArgumentError(f"no gains are given for law '{self.law.name}'.", expected="Gains(kp, kd)")
        integrates = any(self.gains.ki)
        if integrates and not self.law.integral:
            raise ArgumentError(
                f"law '{self.law.name}' has no integral action, but gain ki is given.",
                hint=Hint("Use {law}.", law="tracking-integral"),
            )
        if self.law.integral and not integrates:
            raise ArgumentError(f"law '{self.law.name}' has integral action, but gain ki is zero.", expected="ki > 0")
        if not any(self.gains.kp):
            raise ArgumentError(
                "gain kp is zero for all joints.", expected="kp > 0, because otherwise the arm is not held in place"
            )

    def kernel_law(self, reference: Any) -> KernelLaw:
        """Return this law for `ap.rollout(..., law=design, reference=path)`."""
        return design_law(self, reference)

    def sensing(self, **sensors: Callable) -> SensedDesign:
        """Return the design with simulated sensors for `ap.rollout(..., law=design.sensing(wrench=function))`.

        A function of (t, q, v) computes the measurements of a sensor over traced scalars.
        """
        return SensedDesign(self, sensors)

    @cached_property
    def parts(self) -> FrictionParts:
        """The equations of the model."""
        return FrictionParts(self.model)

    @cached_property
    def _rigid_parts(self) -> FrictionParts:
        """The equations of the model with rigid joints, for stops and the feed-forward of dry friction."""
        return FrictionParts(self.model.rigid) if self.model.elastic_joints else self.parts

    def coordinates_at(self, q, controlled) -> list[Scalar]:
        """Return the coordinates of the bodies with the controlled ones at given values."""
        given = dict(zip(controlled_indices(self.model), controlled, strict=True))
        return self.parts.links.equations.closed([given.get(k, x) for k, x in enumerate(q[: self.model.link_nq])])

    @cached_property
    def memory(self) -> Blocks:
        """What is carried from step to step: blocks of the law, and the torque `before` of the previous step."""
        observed = {} if self.observer is None else self.observer.blocks(self)
        if not isinstance(self.law, TracedLaw):
            return Blocks(integral=self.model.link_nv, **observed, before=self.model.nu)
        blocks = resolved(self, self.law.memory, "memory")
        return Blocks(**blocks.named(blocks.start), **observed, before=self.model.nu)

    @cached_property
    def parameter_blocks(self) -> Blocks:
        """The parameters of the law and the thresholds of the observer, with their values as initial values."""
        law, thresholds = self.law, {} if self.observer is None else {"threshold": self.observer.thresholds(self)}
        if not isinstance(law, TracedLaw):
            return Blocks(**thresholds)
        blocks = resolved(self, {**law.parameters, **self.parameters, **thresholds}, "parameter")
        for name in self.parameters:
            default = law.parameters[name]
            size = blocks.sizes[name]
            if not callable(default) and np.size(default) not in (1, size):
                raise ArgumentError(
                    f"parameter '{name}' of law '{law.name}' has {size} numbers.", expected=f"{np.size(default)}"
                )
        return blocks

    @property
    def looped(self) -> bool:
        """Whether the law has loops, which stay loops in the compiled step."""
        return getattr(self.law, "looped", False)

    @property
    def sensors(self) -> dict[str, int]:
        """Sizes of the further measurements that the law uses, by name."""
        return dict(getattr(self.law, "sensors", {}))

    def step(
        self,
        q: Sequence,
        v: Sequence,
        reference: Sequence[Sequence],
        memory: Sequence,
        *,
        time: Scalar = 0.0,
        sensors: Mapping[str, Sequence] | None = None,
        parameters: Sequence | None = None,
        stopping: Scalar = 0.0,
        loops: Loops = UNROLLED,
    ) -> ControlStep:
        """Compute (1) to (5) over abstract scalars.

        Parameters
        ----------
        q, v : sequence
            Measured configuration (nq) and velocity (nv).
        reference : sequence
            q_d, v_d and a_d, of shape (3, nv).
        memory : sequence
            Results of the previous step, in the order of `memory`; `memory.start` at first.
        time : scalar
            In s.
        sensors : mapping, optional
            Further measurements by name, with the sizes of `sensors`.
        parameters : sequence, optional
            Parameters of the law in the order of `parameter_blocks`; by default their values.
        stopping : scalar
            1 during a stop, 0 otherwise.
        loops : Loops
            Loops of a law that is `looped`.
        """
        blocks = self.memory.named(memory)
        before, contact, observed = blocks.pop("before"), -1.0, {}
        values = self.parameter_blocks.start.tolist() if parameters is None else parameters
        if self.observer is not None:
            observed = {name: blocks.pop(name) for name in self.observer.blocks(self)}
            observed = self.observer.step(self, q, v, before, observed)
            contact = excess(observed["residual"], values[self.parameter_blocks.at["threshold"]])
        if isinstance(self.law, TracedLaw):
            demand, blocks = self._traced(q, v, reference, blocks, before, time, sensors or {}, values, stopping, loops)
            tau = self._limited(q, v, demand, before)
        else:
            demand = self._demand(q, v, reference, blocks["integral"], stopping)
            tau = self._limited(q, v, demand, before)
            blocks["integral"] = self._integrated(q, reference, blocks["integral"], tau, demand, stopping)
        carried = [x for block in (*blocks.values(), *observed.values()) for x in block]
        return ControlStep(tau, [*carried, *tau], demand, contact)

    def _limited(self, q, v, demand, before) -> list[Scalar]:
        """Return the torques within their limits, (2)."""
        actuators = self.model.actuators
        falling = any(actuator.no_load_speed is not None for actuator in actuators)
        speeds = self.parts.equations.actuator_rates(q, v) if falling else [0.0] * len(demand)
        tau = []
        rows = zip(demand, before, self.torque_limit, self.torque_rate, actuators, speeds, strict=True)
        for desired, last, limit, rate, actuator, speed in rows:
            change = rate * self.period
            limited = actuator.limited(desired, speed, limit)
            tau.append(clamp(limited, last - change, last + change))
        return tau

    def _integrated(self, q, reference, integral, tau, demand, stopping: Scalar) -> list[Scalar]:
        """Return the integral of the error, (3)."""
        missing = [given - desired for given, desired in zip(tau, demand, strict=True)]
        missing = self.parts.equations.along_coordinates(q, missing)
        errors = zip(self._controlled(q), reference[0], integral, missing, self.integral_limit, strict=True)
        total = []
        for position, target, sum_, lack, limit in errors:
            error = position - target
            saturated = lack * error  # > 0 where the error demands more torque than the limits allow
            grown = clamp(sum_ + self.period * error, -limit, limit)
            total.append(select(stopping, sum_, select(saturated, sum_, grown)))
        return total

    def _traced(self, q, v, reference, blocks, before, time, sensors, parameters, stopping: Scalar, loops: Loops):
        """Return torques and memory of a traced law; during a stop, the torques of (5) and the same memory."""

        def arrays(named: Mapping[str, Sequence]) -> dict[str, Any]:
            return {name: traced_array(list(values)) for name, values in named.items()}

        q_d, v_d, a_d = (traced_array(list(row)) for row in reference)
        state = LawState(
            traced_array(list(q)),
            traced_array(list(v)),
            q_d,
            v_d,
            a_d,
            time,
            self.period,
            arrays(blocks),
            arrays(sensors),
            arrays(self.parameter_blocks.named(parameters)),
            traced_array(list(before)),
            self,
            loops,
        )
        tau, changed = self.law.torques(self, state)
        if is_number(stopping) and not stopping > 0.0:
            return tau, changed
        n, braking = self.model.link_nv, self._braking(q, v, reference)
        brake = self._rigid_parts.equations.tau(q[: self.model.link_nq], v[:n], braking, {})
        kept = {
            name: [select(stopping, old, new) for old, new in zip(blocks[name], values, strict=True)]
            for name, values in changed.items()
        }
        return [select(stopping, slow, fast) for slow, fast in zip(brake, tau, strict=True)], kept

    def to_c(self, name: str | None = None, *, dtype: Any = np.float64) -> CSource:
        """Return one control step and its state as C99, bit-identical to `Controller`: to_c("arm").write("folder")."""
        from appell.control.controller import control_code

        return control_code(self, name, dtype)

    def _demand(self, q, v, reference, integral, stopping: Scalar) -> list[Scalar]:
        law, equations = self.law, self.parts.equations
        assert self.gains is not None
        brake = self._braking(q, v, reference)
        given = feedback(law, self.gains, self._controlled(q), v, reference, integral)
        if law.model == "motion":
            dry = self.dry_friction(q, reference[1])
            u = [select(stopping, slow, fast) for slow, fast in zip(brake, given, strict=True)]
            lead = self.ahead * self.period
            moved = zip(q, equations.rate(q, v), equations.rate(q, u), strict=True)
            q = [x + lead * rate + 0.5 * lead * lead * acc for x, rate, acc in moved]  # (4)
            v = [rate + lead * acc for rate, acc in zip(v, u, strict=True)]
            tau = equations.tau(q, v, u, {})
            return [force + select(stopping, 0.0, extra) for force, extra in zip(tau, dry, strict=True)]
        carries = law.model == "gravity"
        still = [select(stopping, rate, 0.0) for rate in v]
        model = equations.tau(q, still, [select(stopping, acc, 0.0) for acc in brake], {})
        pushed = [row[0] for row in equations.at_actuators(q, [[force] for force in given])]
        return [
            (force if carries else select(stopping, force, 0.0)) + select(stopping, 0.0, extra)
            for force, extra in zip(model, pushed, strict=True)
        ]

    def _braking(self, q, v, reference) -> list[Scalar]:
        """Return u of a stop, (5)."""
        damping, stiffness = self.stop_damping + self.stop_holding, self.stop_damping * self.stop_holding
        rows = zip(self._controlled(q), v[: self.model.link_nv], reference[0], strict=True)
        return [-damping * rate - stiffness * (x - target) for x, rate, target in rows]

    def _controlled(self, q) -> list[Scalar]:
        """Return the controlled coordinates of q."""
        return [q[k] for k in controlled_indices(self.model)]

    def dry_friction(self, q, v_desired) -> list[Scalar]:
        """Return the feed-forward torques against dry friction at the desired velocity."""
        equations, dry = self._rigid_parts.equations, self._rigid_parts.dry
        if not self.parts.sticks:
            return [0.0] * self.model.nu
        q = q[: self.model.link_nq]
        rates = equations.drive_rates(q, v_desired)
        forces = [
            replace(friction, width=friction.width or FRICTION_WIDTH).force(rate)
            for friction, rate in zip(dry, rates, strict=True)
        ]
        return equations.drives_at_actuators(q, forces)


@dataclass(frozen=True)
class SensedDesign:
    """A design and functions of (t, q, v) that simulate its further sensors, for rollouts."""

    design: Design
    sensors: Mapping[str, Callable]

    def kernel_law(self, reference: Any) -> KernelLaw:
        """Return this law for `ap.rollout(..., law=..., reference=path)`."""
        return design_law(self.design, reference, self.sensors)


def checked_period(period: float) -> float:
    """Return the period in s, or raise an ArgumentError if it is not a positive number."""
    if not (np.isfinite(period) and period > 0.0):
        raise ArgumentError(f"the period is {period!r} s.", expected="a positive number, such as 0.001")
    return float(period)
