"""The arm near a point of its motion, as the linear system that tools for tuning want.

    ẋ = A x + B τ,  x = (δq, δv)        A = [0  1; ∂a/∂q  ∂a/∂v]        B = [0; M⁻¹]                           (1)

from exact derivatives of the compiled forward dynamics. With a controller the closed loop follows by differentiating
its torque the same way; sampled, x⁺ = Φ x + Γ τ with the torque held for a period.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.algebra.solve import LDL
from appell.compile.function import Function
from appell.control.axes import Axes
from appell.control.law.controller import Controller
from appell.control.model import Model, model_of
from appell.errors import ArgumentError


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


def forward_function(arm: Model) -> Function:
    """a(q, v, tau), rotors and viscous friction included; dry friction apart."""

    def body(q, v, tau):
        rows = zip(arm.along_coordinates(q, tau), arm.bias(q, v), arm.viscous, v, strict=True)
        return {"a": LDL.of(arm.mass_matrix(q)).solve([force - h - drag * rate for force, h, drag, rate in rows])}

    inputs = _state(arm) | {"tau": len(arm.actuators)}
    return Function.of("arm_acceleration", inputs, body, "a(q, v, tau).", arm.coordinates.owner)


def holding_function(arm: Model) -> Function:
    """tau(q, v), with which the motion goes on unaccelerated."""
    still = [0.0] * len(arm.coordinates)

    def body(q, v):
        return {"tau": arm.inverse_dynamics(q, v, still)}

    return Function.of("arm_holding", _state(arm), body, "tau(q, v).", arm.coordinates.owner)


def linearize(arm: Any, q, v=None, tau=None) -> LinearSystem:
    """(1) at a state; `tau` is what holds the arm there if None."""
    arm = model_of(arm)
    n = len(arm.coordinates)
    q = np.asarray(q, float)
    v = np.zeros(n) if v is None else np.asarray(v, float)
    if q.shape != (n,) or v.shape != (n,):
        raise ArgumentError(f"q and v have shapes {q.shape} and {v.shape}.", expected=f"({n},) each")
    function = forward_function(arm)
    if tau is None:
        tau = holding_function(arm)(q, v)
    da_dq, da_dv, da_dtau = function.jacobian("q", "v", "tau")(q, v, np.asarray(tau, float))
    A = np.block([[np.zeros((n, n)), np.eye(n)], [da_dq, da_dv]])
    B = np.vstack([np.zeros_like(da_dtau), da_dtau])
    return LinearSystem(A, B, _names(arm.coordinates, "q", "v"), _names(arm.actuators, "tau"))


def linearize_closed_loop(controller: Controller, arm: Any, q) -> LinearSystem:
    """The error of a controller that holds the arm at q, at its own period.

    The state is (e, ė), and ∫e for a law with integral action; inputs are torques from outside.
    """
    arm, design, q = model_of(arm), controller.design, np.asarray(q, float)
    n, before = len(arm.coordinates), np.zeros(len(arm.actuators))
    rest, target = np.zeros(n), np.stack([q, np.zeros(n), np.zeros(n)])
    slopes = controller.function.jacobian("q", "v", "integral")
    found = dict(zip((array.name for array in slopes.outputs), slopes(q, rest, target, rest, before), strict=True))
    K = [found[f"ddemand_d{name}"] for name in ("q", "v", "integral")]
    plant = linearize(arm, q).sampled(design.period)
    phi, gamma = plant.A, plant.B
    if not design.law.integral:
        A = phi + gamma @ np.hstack(K[:2])
        return LinearSystem(A, gamma, plant.states, plant.inputs, design.period)
    A = np.block(
        [[phi + gamma @ np.hstack(K[:2]), gamma @ K[2]], [design.period * np.eye(n), np.zeros((n, n)), np.eye(n)]]
    )
    names = (*plant.states, *_names(arm.coordinates, "integral"))
    return LinearSystem(A, np.vstack([gamma, np.zeros((n, len(before)))]), names, plant.inputs, design.period)


def _state(arm: Model) -> dict[str, int]:
    return dict.fromkeys("qv", len(arm.coordinates))


def _names(axes: Axes, *kinds: str) -> tuple[str, ...]:
    return tuple(f"{kind}_{name}" for kind in kinds for name in axes.names)
