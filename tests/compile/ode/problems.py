"""Differential equations with known solutions, as compiled functions and as Python."""

from __future__ import annotations

import numpy as np
from scipy.special import ellipj, ellipk

from appell.algebra.loops import Loops, Rows
from appell.algebra.scalar import sin, sqrt
from appell.compile.function import Function
from appell.compile.ode.stepper import Rate


def oscillator() -> Rate:
    """ẍ = -k x."""
    rate = Rate.compiled(Function.of("oscillator", {"x": (), "v": (), "k": ()}, _oscillator), 2)
    rate.held["k"][()] = 1.0
    return rate


def _oscillator(x, v, k):
    return {"dx": v, "dv": -k * x}


def kepler(looped: bool = False) -> Rate:
    """A planet around a sun of strength 1; with `looped`, a loop adds up the square of its distance."""

    def body(q, v, *loops):
        square = q[0] * q[0] + q[1] * q[1] if not loops else _square(q, *loops)
        cube = square * sqrt(square)
        return {"dq": list(v), "dv": [-x / cube for x in q]}

    return Rate.compiled(Function.of("kepler", {"q": 2, "v": 2}, body, loops=looped), 2)


def _square(q, loops: Loops):
    total, both = loops.given([[0.0]]), [0, 0]
    reads = [Rows(loops.given([[x] for x in q]), [0, 1]), Rows(total, both)]
    loops.each([lambda x, total_row: [[total_row[0] + x[0] * x[0]]]], both, reads, [Rows(total, both)])
    return loops.values(total)[0][0]


def kepler_slope(t: float, y: np.ndarray) -> np.ndarray:
    return np.concatenate([y[2:], -y[:2] / np.hypot(y[0], y[1]) ** 3])


KEPLER_START = np.array([0.5, 0.0, 0.0, np.sqrt(3.0)])  # the perihelion of an ellipse with half axes 1 and √3/2


def kepler_state(t: float) -> np.ndarray:
    """By Kepler's equation M = E - e sin E."""
    e, E = 0.5, t
    for _ in range(50):
        E -= (E - e * np.sin(E) - t) / (1.0 - e * np.cos(E))
    rate, minor = 1.0 / (1.0 - e * np.cos(E)), np.sqrt(1.0 - e * e)
    return np.array([np.cos(E) - e, minor * np.sin(E), -np.sin(E) * rate, minor * np.cos(E) * rate])


def pendulum() -> Rate:
    """θ̈ = -sin θ."""
    return Rate.compiled(Function.of("pendulum", {"x": (), "v": ()}, lambda x, v: {"dx": v, "dv": -sin(x)}), 2)


def pendulum_state(amplitude: float, t) -> np.ndarray:
    """Released at rest: sin(θ/2) = k sn(K - t), k = sin(amplitude/2)."""
    m = np.sin(0.5 * amplitude) ** 2
    sn, cn, _, _ = ellipj(ellipk(m) - t, m)
    k = np.sqrt(m)
    return np.array([2.0 * np.arcsin(k * sn), -2.0 * k * cn])
