"""The arm near a point of its motion, as the linear system that tools for tuning want.

    ẋ = A x + B τ,  x = (δq, δv)        A = [0  1; ∂a/∂q  ∂a/∂v]        B = [0; M⁻¹]                           (1)

from exact derivatives of the compiled forward dynamics. With a controller the closed loop follows by differentiating
its torque the same way; sampled, x⁺ = Φ x + Γ τ with the torque held for a period.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.control.friction_parts import FrictionParts
from appell.control.law.controller import Controller
from appell.errors import ArgumentError
from appell.model.system import System
from appell.motion.record import titles


@dataclass(frozen=True)
class LinearSystem:
    """ẋ = A x + B u; with a period, x⁺ = A x + B u. States and inputs have names."""

    A: np.ndarray
    B: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    period: float = 0.0

    @property
    def poles(self) -> np.ndarray:
        """In 1/s, of a sampled system too."""
        found = np.linalg.eigvals(self.A).astype(complex)
        return np.log(found) / self.period if self.period else found

    def sampled(self, period: float) -> LinearSystem:
        """The same seen at multiples of a period, inputs held in between."""
        from scipy.signal import cont2discrete

        if self.period:
            raise ArgumentError("the system is sampled already.")
        A, B, *_ = cont2discrete((self.A, self.B, np.eye(len(self.A)), np.zeros_like(self.B)), period)
        return LinearSystem(A, B, self.states, self.inputs, period)

    def to_control(self) -> Any:
        """The system as a state space of the python-control package; its outputs are its states."""
        try:
            import control
        except ImportError:
            raise ArgumentError("the package python-control is not installed.", hint="pip install control") from None
        n, m = self.B.shape
        names = {"states": list(self.states), "outputs": [f"{s}_out" for s in self.states], "inputs": list(self.inputs)}
        time = (self.period,) if self.period else ()
        return control.ss(self.A, self.B, np.eye(n), np.zeros((n, m)), *time, **names)


def linearize(system: System, q, v=None, tau=None) -> LinearSystem:
    """(1) at a state, rotors and viscous friction included, dry friction apart; `tau` holds it there if None."""
    dyn, n = FrictionParts(system).smooth, system.nq
    q = np.asarray(q, float)
    v = np.zeros(n) if v is None else np.asarray(v, float)
    if q.shape != (n,) or v.shape != (n,):
        raise ArgumentError(f"q and v have shapes {q.shape} and {v.shape}.", expected=f"({n},) each")
    if tau is None:
        tau = dyn.inverse_dynamics(q, v, np.zeros(n))
    da_dq, da_dv, da_dtau = dyn.forward_dynamics.jacobian("q", "v", "tau")(q, v, np.asarray(tau, float))
    A = np.block([[np.zeros((n, n)), np.eye(n)], [da_dq, da_dv]])
    B = np.vstack([np.zeros_like(da_dtau), da_dtau])
    states = (*titles("q", system.coordinate_names), *titles("v", system.velocity_names))
    return LinearSystem(A, B, states, titles("tau", system.actuator_names))


def linearize_closed_loop(controller: Controller, system: System, q) -> LinearSystem:
    """The error of a controller that holds the arm at q, at its own period.

    The state is (e, ė), and ∫e for a law with integral action; inputs are torques from outside.
    """
    design, q, n, before = controller.design, np.asarray(q, float), system.nq, np.zeros(system.nu)
    rest, target = np.zeros(n), np.stack([q, np.zeros(n), np.zeros(n)])
    slopes = controller.function.jacobian("q", "v", "integral")
    found = dict(zip((array.name for array in slopes.outputs), slopes(q, rest, target, rest, before), strict=True))
    K = [found[f"ddemand_d{name}"] for name in ("q", "v", "integral")]
    plant = linearize(system, q).sampled(design.period)
    phi, gamma = plant.A, plant.B
    if not design.law.integral:
        A = phi + gamma @ np.hstack(K[:2])
        return LinearSystem(A, gamma, plant.states, plant.inputs, design.period)
    A = np.block(
        [[phi + gamma @ np.hstack(K[:2]), gamma @ K[2]], [design.period * np.eye(n), np.zeros((n, n)), np.eye(n)]]
    )
    names = (*plant.states, *titles("integral", system.coordinate_names))
    return LinearSystem(A, np.vstack([gamma, np.zeros((n, len(before)))]), names, plant.inputs, design.period)
