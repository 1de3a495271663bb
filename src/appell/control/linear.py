"""A system near a point of its motion, as the linear system that tools for tuning want.

A configuration near q is what q reaches by a small step ξ, as by `system.integrate`. How ξ changes, `directions` tells:

    ξ̇ = D ξ + E δv         δa = ∂a/∂q ξ + ∂a/∂v δv + ∂a/∂τ δτ                                                   (1)
    ẋ = A x + B δτ,  x = (ξ, δv)        A = [D  E; ∂a/∂q  ∂a/∂v]              B = [0; M⁻¹B_τ]                    (2)

from exact derivatives of the compiled forward dynamics, those by q along ξ. With a controller the closed loop follows
by differentiating its torque the same way; sampled, x⁺ = Φ x + Γ τ with the torque held for a period.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from appell.control.axes import led
from appell.control.controller import Controller
from appell.control.directions import directions, tangents
from appell.control.friction_parts import smooth
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, ModelError, needed_package, unknown_name
from appell.kinematics.assembly import charted
from appell.model.system import System
from appell.motion.titles import titles

CYCLIC = 1e-10  # of the largest entry: below this nothing depends
HOLDS = 1e-9  # of the largest force: what may be left for a state to be held


@dataclass(frozen=True)
class OperatingPoint:
    """Where a system was linearised: its state, all of its torques, and the actuators that are inputs."""

    system: System
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    inputs: tuple[int, ...]


@dataclass(frozen=True)
class LinearSystem:
    """ẋ = A x + B u; with a period, x⁺ = A x + B u. States and inputs have names."""

    A: np.ndarray
    B: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    period: float = 0.0
    point: OperatingPoint | None = field(default=None, repr=False, compare=False)

    @property
    def poles(self) -> np.ndarray:
        """In 1/s, of a sampled system too."""
        found = np.linalg.eigvals(self.A).astype(complex)
        return np.log(found) / self.period if self.period else found

    @property
    def cyclic(self) -> tuple[str, ...]:
        """Coordinates on which nothing else depends, such as place, heading and the angles of wheels: zeros of A."""
        identity = np.eye(len(self.A)) if self.period else 0.0
        tied = np.abs(self.A - identity) > CYCLIC * np.abs(self.A).max(initial=0.0)
        found = {k for k, name in enumerate(self.states) if name.startswith("q_")}
        while loose := {k for k in found if {*np.flatnonzero(tied[:, k]).tolist()} - found}:
            found -= loose
        return tuple(self.states[k] for k in sorted(found))

    def part(self, states: Iterable[str]) -> LinearSystem:
        """Some states alone; an error that names the others if these depend on them."""
        wanted = list(states)
        for name in wanted:
            if name not in self.states:
                raise ArgumentError(unknown_name("state", str(name), self.states, "the linear system"))
        own = np.array([self.states.index(name) for name in wanted], int)
        others = np.setdiff1d(np.arange(len(self.A)), own)
        across = np.abs(self.A[np.ix_(own, others)]) > CYCLIC * np.abs(self.A).max(initial=0.0)
        if across.any():
            named = ", ".join(self.states[k] for k in others[across.any(axis=0)])
            raise ArgumentError(
                f"{', '.join(wanted)} cannot be looked at alone: they depend on {named}.", hint="take these as well"
            )
        A, B = self.A[np.ix_(own, own)], self.B[own]
        return LinearSystem(A, B, tuple(wanted), self.inputs, self.period, self.point)

    def sampled(self, period: float) -> LinearSystem:
        """The same seen at multiples of a period, inputs held in between."""
        from scipy.signal import cont2discrete

        if self.period:
            raise ArgumentError("the system is sampled already.")
        A, B, *_ = cont2discrete((self.A, self.B, np.eye(len(self.A)), np.zeros_like(self.B)), period)
        return LinearSystem(A, B, self.states, self.inputs, period, self.point)

    def to_control(self) -> Any:
        """The system as a state space of the python-control package; its outputs are its states."""
        control = python_control()
        n, m = self.B.shape
        names = {"states": list(self.states), "outputs": [f"{s}_out" for s in self.states], "inputs": list(self.inputs)}
        time = (self.period,) if self.period else ()
        return control.ss(self.A, self.B, np.eye(n), np.zeros((n, m)), *time, **names)


def python_control() -> Any:
    """The package python-control, or an error that says how to get it."""
    return needed_package("control", "a system of python-control", "appell[tuning]")


def linearize(system: System, q, v=None, tau=None, *, actuators: Iterable[str] | None = None) -> LinearSystem:
    """(2) at any state of any system, rotors and viscous friction included, dry friction apart.

    `actuators` names those that are inputs, in this order; all, if None. `tau` is one number for each of them, the
    others do nothing; None: what holds the state still or, with v, keeps its velocity.
    """
    chosen = _chosen(system, actuators)
    n, q = system.nv, _state(system, "q", q, system.nq)
    system = charted(known(system), q)
    dyn, v = smooth(system), _state(system, "v", np.zeros(n) if v is None else v, n)
    full = np.zeros(system.nu)
    full[chosen] = _holding(dyn, q, v, chosen) if tau is None else _state(system, "tau", tau, len(chosen))
    da_dq, da_dv, da_dtau = dyn.forward_dynamics.jacobian("q", "v", "tau")(q, v, full)
    ways = directions(dyn.system, dyn, q, v)
    A = np.block([[ways.D, ways.E], [da_dq, da_dv]])
    B = np.vstack([np.zeros((len(ways.names), len(chosen))), da_dtau[:, chosen]])
    states = (*titles("q", ways.names), *titles("v", system.velocity_names))
    point = OperatingPoint(system, q, v, full, tuple(chosen))
    return LinearSystem(A, B, states, titles("tau", [system.actuator_names[k] for k in chosen]), point=point)


def _holding(dyn: Dynamics, q: np.ndarray, v: np.ndarray, chosen: list[int]) -> np.ndarray:
    """The smallest forces of some actuators with which nothing accelerates, or an error if there are none."""
    system, forces = dyn.system, dyn.generalized_forces(q, v, np.zeros_like(v))
    columns = dyn.actuator_jacobian(q).T[:, chosen]
    found = np.linalg.lstsq(columns, forces, rcond=None)[0]
    left = np.abs(forces - columns @ found)
    if not left.max(initial=0.0) <= HOLDS * max(1.0, np.abs(forces).max(initial=0.0)):
        worst = int(np.argmax(left))
        raise ArgumentError(
            f"the actuators {', '.join(system.actuator_names[k] for k in chosen)} cannot hold {system.owner} there: "
            f"{left[worst]:.3g} are left along '{system.velocity_names[worst]}'.",
            hint="tau=..., for a state that is not held",
        )
    return found


def _chosen(system: System, actuators: Iterable[str] | None) -> list[int]:
    names = system.actuator_names
    if actuators is None:
        return list(range(len(names)))
    known = {name: k for k, name in enumerate(names)}
    return [system.find("actuator", name, known) for name in ([actuators] if isinstance(actuators, str) else actuators)]


def known(system: System) -> System:
    """A system whose inertia is known and that nothing drives, as the numbers of (2) need it."""
    if system.prescribed:
        raise ModelError(
            f"{system.owner} has prescribed motions, {', '.join(system.prescribed)}, that change with time.",
            hint="leave out Prescribed, or hold it by an offset or a length",
        )
    if system.free:
        raise ModelError(
            f"{system.owner} has free inertial parameters, of {', '.join(sorted(system.free))}.",
            hint="system.with_bodies(...)",
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
    """The error of a controller that holds the arm at q, at its own period.

    The state is (e, ė), and ∫e for a law with integral action; inputs are torques from outside.
    """
    design, q, n, before = controller.design, np.asarray(q, float), system.nv, np.zeros(system.nu)
    rest, target = np.zeros(n), np.stack([q[list(led(system))], np.zeros(n), np.zeros(n)])
    slopes = controller.function.jacobian("q", "v", "integral")
    found = dict(zip((array.name for array in slopes.outputs), slopes(q, rest, target, rest, before), strict=True))
    K = [found[f"ddemand_d{name}"] for name in ("q", "v", "integral")]
    K[0] = K[0] @ tangents(system, smooth(system), q)
    plant = linearize(system, q).sampled(design.period)
    phi, gamma = plant.A, plant.B
    if not design.law.integral:
        A = phi + gamma @ np.hstack(K[:2])
        return LinearSystem(A, gamma, plant.states, plant.inputs, design.period)
    A = np.block(
        [[phi + gamma @ np.hstack(K[:2]), gamma @ K[2]], [design.period * np.eye(n), np.zeros((n, n)), np.eye(n)]]
    )
    names = (*plant.states, *titles("integral", system.velocity_names))
    return LinearSystem(A, np.vstack([gamma, np.zeros((n, len(before)))]), names, plant.inputs, design.period)
