"""Passivity-based control and adaptive control (Slotine and Li 1987).

With the sliding variable s of the error e = q - q_d

    v_r = v_d - Λ e        a_r = a_d - Λ ė        s = v - v_r = ė + Λ e                                           (1)

    passivity      τ = M a_r + C v_r + g + f(v_r) - K s                                                          (2)
    adaptive       τ = Y β̂ - K s             dβ̂/dt = -Γ Yᵀ s        Y = Y(q, v, v_r, a_r)                         (3)

Nothing is cancelled: dM/dt - 2C is skew, so that under (2)

    d/dt ½ sᵀM s = -sᵀ(K + F) s                F: viscous friction                                               (4)

so that s and e converge to 0 whatever the motion. Y has the linearly independent columns of the regressor, β their
parameters, and Y β the same value as (2) without K. Under (3), ½ sᵀM s + ½ (β̂ - β)ᵀ Γ⁻¹ (β̂ - β) has the rate (4): the
error converges without knowledge of β, and β̂ stays bounded; it converges to β if the motion excites all parameters.

C v_r is bilinear, and symmetric in v and v_r. The regressor is quadratic in v, so that with h = ½ (v + v_r) and
d = ½ (v - v_r)

    Y(q, v, v_r, a_r) = Y(q, h, a_r) - Y(q, d, 0) + Y(q, 0, 0)                                                   (5)

Terms linear in v, such as viscous friction, become those of h - d = v_r. Dry friction is not adapted: it is fed forward
from the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from appell.control.task_space import joint_gain, joint_inertia_gain
from appell.control.traced_law import LawState, TracedLaw
from appell.dynamics import Dynamics

if TYPE_CHECKING:
    from appell.control.design import Design

ADAPTATION_RATE = 1.0  # of β̂ relative to the size of the parameters, for s of 1 rad/s and Y of 1
SMALL_PARAMETER = 0.1  # of the mean size of all parameters, below which a parameter is not adapted more slowly


def passivity() -> TracedLaw:
    """Return passivity-based control (2).

    Parameters of the law, one number per coordinate: `convergence` Λ (1/s) and `damping` K (N m s/rad). By default they
    place the poles of the error where the gains of the design do, for the inertias at the start.
    """
    return TracedLaw("passivity", _passivity, parameters=_gains())


def adaptive() -> TracedLaw:
    """Return adaptive control (3), whose memory `estimate` is β̂, initially that of the design's model.

    Parameters of the law: `convergence` and `damping` of `passivity`, and `adaptation`, the diagonal of Γ;
    parameters with a zero there keep their values.
    """
    parameters = _gains() | {"adaptation": _adaptation}
    return TracedLaw("adaptive", _adaptive, {"estimate": _base_values}, parameters=parameters)


def bilinear_regressor(dyn: Dynamics, q: Any, v: Any, v_r: Any, a_r: Any) -> Any:
    """Return Y(q, v, v_r, a_r) of (5) for `smooth_parameters`, as an array of traced scalars or numbers."""
    zero, columns = np.zeros(len(v)), list(smooth_parameters(dyn))
    Y = dyn.base_regressor
    return (Y(q, 0.5 * (v + v_r), a_r) - Y(q, 0.5 * (v - v_r), zero) + Y(q, zero, zero))[:, columns]


def smooth_parameters(dyn: Dynamics) -> dict[int, float]:
    """Return the values of the base parameters without dry friction, by their index among all of them."""
    return {k: each.value for k, each in enumerate(dyn.base_parameters) if each.kind != "coulomb"}


def _gains() -> dict[str, Any]:
    return {"convergence": _convergence, "damping": _damping}


def _convergence(design: Design) -> np.ndarray:
    return 0.5 * np.array(joint_gain(design, "kd"))


def _damping(design: Design) -> np.ndarray:
    return 0.5 * joint_inertia_gain(design, "kd")


def _base_values(design: Design) -> np.ndarray:
    return np.array([*smooth_parameters(design.parts.smooth).values()])


def _adaptation(design: Design) -> np.ndarray:
    sizes = np.abs(_base_values(design))
    return ADAPTATION_RATE * np.maximum(sizes, SMALL_PARAMETER * sizes.mean())


def _sliding(state: LawState) -> tuple[Any, Any, Any]:
    """Return v_r, a_r and s of (1)."""
    rate, v = state.parameters["convergence"], state.v
    v_r = state.v_d - rate * (state.q - state.q_d)
    return v_r, state.a_d - rate * (v - state.v_d), v - v_r


def _passivity(dyn: Dynamics, state: LawState):
    q, v = state.q, state.v
    v_r, a_r, s = _sliding(state)
    forces = dyn.mass_matrix(q) @ a_r + dyn.coriolis(q, v) @ v_r + dyn.gravity(q) + dyn.friction(q, v_r)
    return state.at_actuators(forces - state.parameters["damping"] * s) + state.dry_friction(state.v_d)  # (2)


def _adaptive(dyn: Dynamics, state: LawState):
    v_r, a_r, s = _sliding(state)
    Y, estimate = bilinear_regressor(dyn, state.q, state.v, v_r, a_r), state.memory["estimate"]
    braking = state.at_actuators(state.parameters["damping"] * s)
    rates = dyn.actuator_jacobian(state.q) @ s  # work of τ along s
    changed = estimate - state.period * state.parameters["adaptation"] * (Y.T @ rates)  # (3)
    return Y @ estimate - braking + state.dry_friction(state.v_d), {"estimate": changed}
