"""Explicit Runge-Kutta methods as data, and their interpolants.

A step of length h from (t, y) computes slopes kᵢ; everything else is a weighted sum of them:

    kᵢ = f(t + cᵢ h, y + h Σⱼ aᵢⱼ kⱼ)     i < s                                                               (1)
    y' = y + h Σⱼ bⱼ kⱼ                   kₛ = f(t + h, y'), the first slope of the next step                 (2)
    eₘ = h Σⱼ eₘⱼ kⱼ                      error of y', in one or two orders                                   (3)
    kᵢ = f(t + cᵢ h, y + h Σⱼ aᵢⱼ kⱼ)     i > s: slopes that only the interpolant needs                       (4)
    Rₘ = h Σⱼ dₘⱼ kⱼ                      m > 3: terms of the interpolant beyond Hermite's cubic              (5)

A row of coefficients maps the index of a slope to its factor; zeros are omitted. Sources: P. Bogacki, L. F. Shampine,
Appl. Math. Lett. 2 (1989) 321 (RK23); J. R. Dormand, P. J. Prince, J. Comp. Appl. Math. 6 (1980) 19, with the
interpolant of L. F. Shampine, Math. Comp. 46 (1986) 135 (RK45); E. Hairer, S. P. Nørsett, G. Wanner, Solving Ordinary
Differential Equations I, 2nd edition, Springer 1993, section II.5 (DOP853, read from `scipy.integrate.DOP853`).

With x from 0 to 1 along the step, all methods give their interpolants in the nested form

    y(x) = y₀ + x (R₁ + (1 - x) (R₂ + x (R₃ + (1 - x) (R₄ + x (R₅ + …)))))                                    (6)
    R₁ = h Σⱼ bⱼ kⱼ      R₂ = h k₀ - R₁      R₃ = 2 R₁ - h (k₀ + kₛ)                                          (7)

R₁ to R₃ are Hermite's cubic through both ends with their slopes; the other terms vanish at both ends together with
their slopes. The factors of (6) are polynomials whose Chebyshev coefficients in u = 2x - 1 are fractions with powers of
two in the denominator, exact in floating point:

    y = Σₖ cₖ Tₖ(u)      c₀ = y₀ + Σₘ C₀ₘ Rₘ      cₖ = Σₘ Cₖₘ Rₘ                                              (8)

The sum runs over R and not over the slopes, because the Rₘ are small where the solution is smooth.
"""

from __future__ import annotations

import runpy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy  # its packages are imported when they are first used
from numpy.polynomial import chebyshev

Row = Mapping[int, float]


@dataclass(frozen=True)
class Tableau:
    """The coefficients of a method."""

    name: str
    root: int  # the error of a step is proportional to this power of its length
    nodes: tuple[float, ...]  # c in (1)
    stages: tuple[Row, ...]  # a in (1)
    weights: Row  # b in (2)
    errors: tuple[Row, ...]  # e in (3)
    further_nodes: tuple[float, ...] = ()  # c in (4)
    further_stages: tuple[Row, ...] = ()  # a in (4)
    shapes: tuple[Row, ...] = ()  # d in (5)

    @property
    def last(self) -> int:
        """Index s of the slope at the end of a step."""
        return len(self.nodes)

    @property
    def slopes(self) -> int:
        """Number of slopes of a step, with those that only the interpolant needs."""
        return len(self.nodes) + 1 + len(self.further_nodes)

    @property
    def degree(self) -> int:
        """Degree of the interpolant."""
        return 3 + len(self.shapes)


RK23 = Tableau(
    name="RK23",
    root=3,
    nodes=(0.0, 1 / 2, 3 / 4),
    stages=({}, {0: 1 / 2}, {1: 3 / 4}),
    weights={0: 2 / 9, 1: 1 / 3, 2: 4 / 9},
    errors=({0: 5 / 72, 1: -1 / 12, 2: -1 / 9, 3: 1 / 8},),
)

RK45 = Tableau(
    name="RK45",
    root=5,
    nodes=(0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0),
    stages=(
        {},
        {0: 1 / 5},
        {0: 3 / 40, 1: 9 / 40},
        {0: 44 / 45, 1: -56 / 15, 2: 32 / 9},
        {0: 19372 / 6561, 1: -25360 / 2187, 2: 64448 / 6561, 3: -212 / 729},
        {0: 9017 / 3168, 1: -355 / 33, 2: 46732 / 5247, 3: 49 / 176, 4: -5103 / 18656},
    ),
    weights={0: 35 / 384, 2: 500 / 1113, 3: 125 / 192, 4: -2187 / 6784, 5: 11 / 84},
    errors=({0: -71 / 57600, 2: 71 / 16695, 3: -71 / 1920, 4: 17253 / 339200, 5: -22 / 525, 6: 1 / 40},),
    shapes=(
        {
            0: -12715105075 / 11282082432,
            2: 87487479700 / 32700410799,
            3: -10690763975 / 1880347072,
            4: 701980252875 / 199316789632,
            5: -1453857185 / 822651844,
            6: 69997945 / 29380423,
        },
    ),
)


@cache
def _dop853() -> Tableau:
    """Return the coefficients of SciPy.

    The file that holds them is executed alone, because the import of `scipy.integrate` takes longer than the
    compilation of the equations of a robot. A SciPy without this file is imported.
    """
    try:
        path = Path(scipy.__file__).parent / "integrate" / "_ivp" / "dop853_coefficients.py"
        values = SimpleNamespace(**runpy.run_path(str(path)))
        n = values.N_STAGES
        values.A, values.A_EXTRA = values.A[:n, :n], values.A[n + 1 :]
        values.C, values.C_EXTRA = values.C[:n], values.C[n + 1 :]
        coefficients: Any = values
    except (OSError, AttributeError):
        coefficients = scipy.integrate.DOP853

    def row(values: np.ndarray) -> Row:
        return {j: value for j, value in enumerate(values.tolist()) if value}

    return Tableau(
        name="DOP853",
        root=8,
        nodes=tuple(coefficients.C.tolist()),
        stages=tuple(map(row, coefficients.A)),
        weights=row(coefficients.B),
        errors=(row(coefficients.E5), row(coefficients.E3)),
        further_nodes=tuple(coefficients.C_EXTRA.tolist()),
        further_stages=tuple(map(row, coefficients.A_EXTRA)),
        shapes=tuple(map(row, coefficients.D)),
    )


METHODS: dict[str, Callable[[], Tableau]] = {"DOP853": _dop853, "RK45": lambda: RK45, "RK23": lambda: RK23}


def chebyshev_factors(degree: int) -> np.ndarray:
    """Return C of (8), (degree + 1, degree): the factor of each R in every coefficient."""
    rising, falling = np.array([0.5, 0.5]), np.array([0.5, -0.5])  # x and 1 - x
    columns, product = [], np.array([1.0])
    for m in range(degree):
        product = chebyshev.chebmul(product, falling if m % 2 else rising)
        columns.append(np.pad(product, (0, degree - m - 1)))
    return np.array(columns).T
