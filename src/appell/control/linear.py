"""Linearisation of a system about a point of its motion, for controller design.

A configuration near q is integrate(q, ξ) with a small step ξ. `directions` gives the rate of ξ:

    ξ̇ = D ξ + E δv         δa = ∂a/∂q ξ + ∂a/∂v δv + ∂a/∂τ δτ                                                   (1)
    ẋ = A x + B δτ,  x = (ξ, δv)        A = [D  E; ∂a/∂q  ∂a/∂v]              B = [0; M⁻¹B_τ]                    (2)

with exact derivatives of the compiled forward dynamics; those with respect to q are taken along ξ. The closed loop of a
controller follows from the derivatives of its torque; sampled, x⁺ = Φ x + Γ τ with the torque held for a period.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from appell.control.axes import controlled_indices
from appell.control.controller import Controller
from appell.control.directions import directions, tangents
from appell.control.friction_parts import smooth
from appell.control.laws import Law
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, ModelError, needed_package, unknown_name
from appell.kinematics.assembly import recharted
from appell.model.system import System
from appell.motion.titles import titles

DEPENDENCE_TOLERANCE = 1e-10  # relative to the largest entry of A: smaller entries count as zero
HOLDING_TOLERANCE = 1e-9  # relative to the largest force: residual up to which a state counts as held


@dataclass(frozen=True)
class OperatingPoint:
    """The point at which a system was linearised: its state, all torques, and the actuators that are inputs."""

    system: System
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    inputs: tuple[int, ...]


@dataclass(frozen=True)
class LinearSystem:
    """A linear system with named states and inputs: ẋ = A x + B u or, with a period in s, x⁺ = A x + B u."""

    A: np.ndarray
    B: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    period: float = 0.0
    point: OperatingPoint | None = field(default=None, repr=False, compare=False)

    @property
    def poles(self) -> np.ndarray:
        """Poles of the system in 1/s; those of a discrete system are converted to continuous time."""
        eigenvalues = np.linalg.eigvals(self.A).astype(complex)
        return np.log(eigenvalues) / self.period if self.period else eigenvalues

    @property
    def cyclic(self) -> tuple[str, ...]:
        """Coordinates on which no other state depends, such as position and heading of a vehicle and wheel angles."""
        identity = np.eye(len(self.A)) if self.period else 0.0
        depends = np.abs(self.A - identity) > DEPENDENCE_TOLERANCE * np.abs(self.A).max(initial=0.0)
        cyclic = {k for k, name in enumerate(self.states) if name.startswith("q_")}
        while others := {k for k in cyclic if {*np.flatnonzero(depends[:, k]).tolist()} - cyclic}:
            cyclic -= others
        return tuple(self.states[k] for k in sorted(cyclic))

    def part(self, states: Iterable[str]) -> LinearSystem:
        """Return the system of some states; raise an ArgumentError if they depend on other states."""
        selected = list(states)
        for name in selected:
            if name not in self.states:
                raise ArgumentError(unknown_name("state", str(name), self.states, "the linear system"))
        rows = np.array([self.states.index(name) for name in selected], int)
        others = np.setdiff1d(np.arange(len(self.A)), rows)
        across = np.abs(self.A[np.ix_(rows, others)]) > DEPENDENCE_TOLERANCE * np.abs(self.A).max(initial=0.0)
        if across.any():
            named = ", ".join(self.states[k] for k in others[across.any(axis=0)])
            raise ArgumentError(
                f"{', '.join(selected)} cannot be separated, because they depend on {named}.",
                hint="Include these states.",
            )
        A, B = self.A[np.ix_(rows, rows)], self.B[rows]
        return LinearSystem(A, B, tuple(selected), self.inputs, self.period, self.point)

    def sampled(self, period: float) -> LinearSystem:
        """Return the discrete system with this period in s, inputs held in between (zero-order hold)."""
        from scipy.signal import cont2discrete

        if self.period:
            raise ArgumentError(f"the system is already discrete, with a period of {self.period:g} s.")
        A, B, *_ = cont2discrete((self.A, self.B, np.eye(len(self.A)), np.zeros_like(self.B)), period)
        return LinearSystem(A, B, self.states, self.inputs, period, self.point)

    def to_control(self) -> Any:
        """Return the system as a `control.StateSpace` of the package python-control; its outputs are its states."""
        control = python_control()
        n, m = self.B.shape
        names = {"states": list(self.states), "outputs": [f"{s}_out" for s in self.states], "inputs": list(self.inputs)}
        time = (self.period,) if self.period else ()
        return control.ss(self.A, self.B, np.eye(n), np.zeros((n, m)), *time, **names)


def python_control() -> Any:
    """Import the package python-control, or raise an error that states how to install it."""
    return needed_package("control", "a system of python-control", "appell[tuning]")


def linearize(system: System, q, v=None, tau=None, *, actuators: Iterable[str] | None = None) -> LinearSystem:
    """Linearise a system at a state: A and B of (2), with rotors and viscous friction but without dry friction.

    Parameters
    ----------
    system : System
        A robot, also with constraints, or a mechanism.
    q : array_like, shape (nq,)
        Configuration.
    v : array_like, shape (nv,), optional
        Velocity; zero by default.
    tau : array_like, optional
        Torques of the input actuators, in N m or N; the other actuators have no torque. By default, the smallest
        torques with which the system does not accelerate.
    actuators : iterable of str, optional
        Names of the actuators that are inputs, in this order; by default all of them.

    Returns
    -------
    LinearSystem
        With states q_*, v_* (deviations) and inputs tau_*.

    Raises
    ------
    ArgumentError
        If q violates constraints or is singular, or if the actuators cannot hold the state and `tau` is not given.

    Examples
    --------
    >>> import appell as ap
    >>> linear = ap.control.linearize(ap.load("pendulum"), [3.141592653589793])  # upright
    >>> linear.states, linear.inputs
    (('q_hinge', 'v_hinge'), ('tau_hinge',))
    >>> sorted(linear.poles.real.round(3).tolist())
    [-3.835, 3.835]
    """
    if not isinstance(system, System):
        raise ArgumentError(
            f"the system to linearise is {system!r}.",
            expected="a Robot or a Mechanism; rotors and viscous friction are always included",
            hint="Pass dyn.system instead of dyn." if isinstance(system, Dynamics) else "",
        )
    chosen = _chosen(system, actuators)
    n, q = system.nv, _state(system, "q", q, system.nq)
    system = recharted(checked_system(system), q)
    dyn, v = smooth(system), _state(system, "v", np.zeros(n) if v is None else v, n)
    full = np.zeros(system.nu)
    full[chosen] = _holding(dyn, q, v, chosen) if tau is None else _state(system, "tau", tau, len(chosen))
    da_dq, da_dv, da_dtau = dyn.forward_dynamics.jacobian("q", "v", "tau")(q, v, full)
    if not all(np.isfinite(slopes).all() for slopes in (da_dq, da_dv, da_dtau)):
        raise _singular(system, q)
    tangent = directions(dyn.system, dyn, q, v)
    A = np.block([[tangent.D, tangent.E], [da_dq, da_dv]])
    B = np.vstack([np.zeros((len(tangent.names), len(chosen))), da_dtau[:, chosen]])
    states = (*titles("q", tangent.names), *titles("v", system.velocity_names))
    point = OperatingPoint(system, q, v, full, tuple(chosen))
    return LinearSystem(A, B, states, titles("tau", [system.actuator_names[k] for k in chosen]), point=point)


def _holding(dyn: Dynamics, q: np.ndarray, v: np.ndarray, chosen: list[int]) -> np.ndarray:
    """Return the smallest forces of some actuators without acceleration, or raise an ArgumentError."""
    system, forces = dyn.system, dyn.generalized_forces(q, v, np.zeros_like(v))
    columns = dyn.actuator_jacobian(q).T[:, chosen]
    if not (np.isfinite(forces).all() and np.isfinite(columns).all()):
        raise _singular(system, q)
    tau = np.linalg.lstsq(columns, forces, rcond=None)[0]
    residual = np.abs(forces - columns @ tau)
    if not residual.max(initial=0.0) <= HOLDING_TOLERANCE * max(1.0, np.abs(forces).max(initial=0.0)):
        worst = int(np.argmax(residual))
        raise ArgumentError(
            f"the actuators {', '.join(system.actuator_names[k] for k in chosen)} cannot hold {system.owner} there: "
            f"a force of {residual[worst]:.3g} N m or N remains along '{system.velocity_names[worst]}'.",
            hint=_hint(system),
        )
    return tau


def _hint(system: System) -> str:
    """Return how to find a state that the actuators hold."""
    if system.elastic_joints:
        return "Springs must be deflected: pass q=dyn.flat_state(q, v, a, jerk)[0] of the links at rest, or tau=..."
    if system.flexible:
        return "Links must be bent: pass q=ap.quasi_static(robot, q).q, or tau=..."
    return "Pass tau=... to linearise at a state that is not held."


def _singular(system: System, q: np.ndarray) -> ArgumentError:
    return ArgumentError(
        f"{system.owner} cannot be linearised at q = {q}: the configuration is singular or out of reach, so that its "
        "independent velocities do not determine its motion.",
        hint="Choose another configuration; ap.kinematics.singularity(system, q) names the constraint.",
    )


def _chosen(system: System, actuators: Iterable[str] | None) -> list[int]:
    names = system.actuator_names
    if actuators is None:
        return list(range(len(names)))
    index = {name: k for k, name in enumerate(names)}
    return [system.find("actuator", name, index) for name in ([actuators] if isinstance(actuators, str) else actuators)]


def checked_system(system: System) -> System:
    """Return the system, or raise a ModelError if it has prescribed motions or free inertial parameters."""
    if system.prescribed:
        raise ModelError(
            f"{system.owner} has prescribed motions that change with time: {', '.join(system.prescribed)}.",
            hint="Remove the Prescribed constraints, or replace them by a fixed offset or length.",
        )
    if system.free:
        raise ModelError(
            f"{system.owner} has free inertial parameters: those of {', '.join(sorted(system.free))}.",
            hint="Set them with system.with_bodies(...).",
        )
    return system


def _state(system: System, name: str, value, size: int) -> np.ndarray:
    array = system.sized(name, value, size)
    if array.ndim != 1:
        raise ArgumentError(f"{name} has shape {array.shape}.", expected=f"one state, of shape ({size},)")
    if not np.isfinite(array).all():
        raise ArgumentError(f"{name} is {array}.", expected="finite numbers")
    return array


def linearize_closed_loop(controller: Controller, system: System, q) -> LinearSystem:
    """Linearise the closed loop of a controller that holds a system at q.

    Parameters
    ----------
    controller : Controller
    system : System
        The controlled system, which may differ from the controller's model.
    q : array_like, shape (nq,)

    Returns
    -------
    LinearSystem
        A discrete system with the period of the controller. Its state is (e, ė), and ∫e for a law with integral action;
        its inputs are disturbance torques.
    """
    if not isinstance(controller.design.law, Law):
        raise ArgumentError(
            f"law '{controller.design.law.name}' is not a law of joints, so its closed loop cannot be linearised here.",
            expected="a law of joints, such as tracking or pd-gravity",
        )
    if controller.design.observer is not None:  # without effect on the torques
        controller = Controller(replace(controller.design, observer=None))
    design, q, n, before = controller.design, np.asarray(q, float), system.nv, np.zeros(system.nu)
    rest, target = np.zeros(n), np.stack([q[list(controlled_indices(system))], np.zeros(n), np.zeros(n)])
    slopes = controller.function.jacobian("q", "v", "integral")
    values = dict(zip((array.name for array in slopes.outputs), slopes(q, rest, target, rest, before), strict=True))
    K = [values[f"ddemand_d{name}"] for name in ("q", "v", "integral")]
    plant = linearize(system, q).sampled(design.period)
    K[0] = K[0] @ tangents(system, smooth(system), q)
    phi, gamma = plant.A, plant.B
    if not design.law.integral:
        A = phi + gamma @ np.hstack(K[:2])
        return LinearSystem(A, gamma, plant.states, plant.inputs, design.period)
    A = np.block(
        [[phi + gamma @ np.hstack(K[:2]), gamma @ K[2]], [design.period * np.eye(n), np.zeros((n, n)), np.eye(n)]]
    )
    names = (*plant.states, *titles("integral", system.velocity_names))
    return LinearSystem(A, np.vstack([gamma, np.zeros((n, len(before)))]), names, plant.inputs, design.period)
