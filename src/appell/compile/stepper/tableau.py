"""Explicit Runge-Kutta methods as data.

A step of length h from (t, y) takes slopes kᵢ, from which everything else is a weighted sum:

    kᵢ = f(t + cᵢ h, y + h Σⱼ aᵢⱼ kⱼ)     i < s                                                               (1)
    y' = y + h Σⱼ bⱼ kⱼ                   kₛ = f(t + h, y'), the first slope of the next step                 (2)
    eₘ = h Σⱼ eₘⱼ kⱼ                      what y' is wrong by, to one or two orders                           (3)
    kᵢ = f(t + cᵢ h, y + h Σⱼ aᵢⱼ kⱼ)     i > s: slopes that only the interpolant needs                       (4)
    Rₘ = h Σⱼ dₘⱼ kⱼ                      m > 3: what the interpolant has beyond Hermite's cubic              (5)

A row of coefficients maps the number of a slope to its factor; what is zero is left out. Sources: P. Bogacki, L. F.
Shampine, Appl. Math. Lett. 2 (1989) 321 (RK23); J. R. Dormand, P. J. Prince, J. Comp. Appl. Math. 6 (1980) 19, with the
interpolant of L. F. Shampine, Math. Comp. 46 (1986) 135 (RK45); for DOP853 see there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from appell.compile.stepper import dop853

Row = Mapping[int, float]


@dataclass(frozen=True)
class Tableau:
    """The coefficients of a method."""

    name: str
    root: int  # the error of a step goes with this power of its length
    nodes: tuple[float, ...]  # c in (1)
    stages: tuple[Row, ...]  # a in (1)
    weights: Row  # b in (2)
    errors: tuple[Row, ...]  # e in (3)
    further_nodes: tuple[float, ...] = ()  # c in (4)
    further_stages: tuple[Row, ...] = ()  # a in (4)
    shapes: tuple[Row, ...] = ()  # d in (5)

    @property
    def last(self) -> int:
        """The number of the slope at the end of a step, s."""
        return len(self.nodes)

    @property
    def slopes(self) -> int:
        return len(self.nodes) + 1 + len(self.further_nodes)

    @property
    def degree(self) -> int:
        """Of the interpolant."""
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

DOP853 = Tableau(
    name="DOP853",
    root=8,
    nodes=dop853.NODES,
    stages=dop853.STAGES,
    weights=dop853.WEIGHTS,
    errors=dop853.ERRORS,
    further_nodes=dop853.FURTHER_NODES,
    further_stages=dop853.FURTHER_STAGES,
    shapes=dop853.SHAPES,
)

METHODS = {method.name: method for method in (DOP853, RK45, RK23)}
