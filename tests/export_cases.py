"""Functions for tests of exports, and their results computed without the exporter."""

from __future__ import annotations

import numpy as np

import appell as ap
from appell.algebra.scalar import atan2, cos, level, nearest, select, sin, sqrt
from appell.compile.function import Function
from appell.compile.tape.trace import inline
from appell_lab.bench.subject import find

EVERY_OP = {"x": 2, "y": (2, 2), "t": ()}
DT = 1e-3


def every_op(x, y, t):
    """Use every instruction that a trace can contain."""
    scale = level(x[0] + 4.0)
    long = scale * sqrt((x[0] / scale) * (x[0] / scale) + (2.0 / scale) * (2.0 / scale))
    angle = atan2(sin(y[0][1]) - 0.3, cos(y[1][0]) + 2.0)
    return {
        "m": [[long, angle], [select(t, x[1] / 3.0, -t), nearest(3.0 * x[1])], [0.0, t]],
        "n": nearest(t) + select(-t, y[0][0], y[1][1]),
        "cube": [[[x[0], 2.5]], [[x[1] * t, t * t]]],
        "functions": [
            *(ap.exp(t), ap.log(t * t + 0.5), ap.tanh(x[0]), ap.arcsin(0.9 * sin(x[1])), ap.arccos(0.9 * cos(t))),
            *(ap.abs(t), ap.sign(x[1]), ap.power(t * t + 1.0, x[0]), ap.power(1.5, t), ap.power(x[1] - 2.0, 3.0)),
            *(ap.minimum(x[0], t), ap.maximum(0.1, x[1]), ap.minimum(y[0][0], 0.2), ap.erf(x[0] - t)),
        ],
    }


def rooted() -> Function:
    """Return the function √x for x > 0, else 3 x."""
    return Function.of("rooted", {"x": ()}, lambda x: {"y": select(x, sqrt(x), 3.0 * x)})


def plain_arguments(function: Function, dyn: ap.Dynamics, count: int) -> list[np.ndarray]:
    """Return arguments of a function of a robot with valid coordinates."""
    rng = np.random.default_rng(0)
    arguments = [rng.uniform(-0.7, 0.7, (count, *array.shape)) for array in function.inputs]
    if not dyn.system.is_flat:
        arguments[0] = np.array([dyn.system.random_configuration(rng) for _ in range(count)])
    return arguments


# robots and functions with bit-identical results in other libraries
SAME_BITS = [
    ("puma", "inverse_dynamics"),
    ("puma", "forward_dynamics"),
    ("puma", "mass_matrix"),
    ("panda", "inverse_dynamics"),
    ("agile-wrist", "inverse_dynamics"),
    ("talos", "inverse_dynamics"),
    ("talos", "mass_matrix"),
]


def case_of(robot: str, name: str) -> tuple[Function, list]:
    """Return a function of a robot, and arguments for it."""
    dyn = ap.Dynamics(find("talos").robot if robot == "talos" else ap.load(robot))
    function = getattr(dyn, name)
    return function, plain_arguments(function, dyn, 5)


def relative(computed, expected) -> float:
    """Return the largest difference, relative to the largest number."""
    computed, expected = np.asarray(computed), np.asarray(expected)
    assert computed.shape == expected.shape
    return float(abs(computed - expected).max() / max(abs(expected).max(), 1e-300))


def arm_step() -> Function:
    """Return one step of the PUMA by the semi-implicit Euler method: (q, v, u) -> (q, v)."""
    formula = ap.Dynamics(ap.load("puma")).forward_dynamics.tape

    def body(q, v, u):
        [a] = inline(formula, q, v, u)
        v = [x + DT * y for x, y in zip(v, a, strict=True)]
        return {"q_next": [x + DT * y for x, y in zip(q, v, strict=True)], "v_next": v}

    return Function.of("step", {"q": 6, "v": 6, "u": 6}, body)


def backward_through_time(step: Function, q, v, u) -> tuple[float, np.ndarray]:
    """Return Σ q² + Σ v² after the steps and its gradient with respect to all torques, by backward products."""
    states = [(q, v)]
    for torque in u:
        states.append(step(*states[-1], torque))
    q, v = states[-1]
    cost, adjoint = float(q @ q + v @ v), np.concatenate([2.0 * q, 2.0 * v])
    jacobian, gradient = step.jacobian("q", "v", "u"), np.empty_like(u)
    for k in reversed(range(len(u))):
        q_q, v_q, q_v, v_v, q_u, v_u = jacobian(*states[k], u[k])
        gradient[k] = adjoint @ np.vstack([q_u, v_u])
        adjoint = adjoint @ np.block([[q_q, q_v], [v_q, v_v]])
    return cost, gradient
