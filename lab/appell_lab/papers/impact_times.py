"""What Table 3 of Shafei 2018 tells beyond its numbers: the radius of the wall, and when the impacts were applied.

Until the first impact the robot falls as one body, from rest, so that O1 is at (X, X - ½ g t²) when it meets the wall,

    R² = X² + (X + ½ g t²)²            tan α = X / (X + ½ g t²)           X = (1 + √3)/2                           (1)

with α the angle of attack: the printed t and α give R without any dynamics.

An impact that is found late is applied beyond the wall, one that is found early before it. Being elastic it keeps the
energy all the same, but what follows is another motion. `applied` takes every impact of the table by a given time
off, with the equations of the impact (47) as printed, and `times_off` finds times under which the table comes out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from appell.dynamics import Dynamics
from appell.simulation import Solver, simulate
from appell.simulation.contact.impact import impact_equations

WALL = 2.5  # m
START = (1.0 + math.sqrt(3.0)) / 2.0  # m, how far O1 is to the left and below the centre
GRAVITY = 9.81
TABLE_3 = (  # time, angle of attack, relative velocity, impulse, points
    ("0.3851", "33.12", "6.32", "5.26", ("O1", "O5")),
    ("0.5698", "25.38", "8.62", "31.42", ("O2", "O4")),
    ("1.01", "36.87", "8.64", "4.12", ("O8", "O11")),
    ("1.082", "0", "12.48", "57.46", ("O3",)),
    ("1.387", "34.108", "30.14", "15.96", ("O1", "O5")),
)
EXPECTED_OFF = 1e-4  # s, how far off impacts may well be applied
TIGHT: dict[str, Any] = {"solver": Solver(rtol=1e-11, atol=1e-12), "progress": False}


def half_unit(printed: str) -> float:
    """What a printed number leaves open."""
    return 0.5 * 10.0 ** int(Decimal(printed).as_tuple().exponent)


def radius_by_time(t: float) -> float:
    """R of (1), from the time of the first impact."""
    return math.hypot(START, START + 0.5 * GRAVITY * t * t)


def radius_by_angle(degrees: float) -> float:
    """R of (1), from the angle of attack of the first impact."""
    return START / math.sin(math.radians(degrees))


@dataclass(frozen=True)
class Applied:
    """An impact: when, the angle of attack in degrees, the jump of the normal velocity, the impulse on each point."""

    time: float
    angle: float
    jump: float
    impulse: float

    @property
    def numbers(self) -> tuple[float, ...]:
        return self.time, self.angle, self.jump, self.impulse


def applied(dyn: Dynamics, off: Sequence[float] | np.ndarray) -> list[Applied]:
    """The impacts of Table 3, each taken so many seconds after (before, if negative) its points are at the wall."""
    robot, found = dyn.system, []
    t, q, v = 0.0, robot.start, np.zeros(robot.nv)
    for (*_, points), delay in zip(TABLE_3, off, strict=True):
        place = dyn.pose(points[0])
        flight = simulate(
            dyn, q, v, start=t, until=t + 1.0, stop=lambda t, q, v, at=place: WALL - math.hypot(*at(q)[:2, 3]), **TIGHT
        )
        met = float(flight.t[-1])
        t = met + delay
        if delay > 0.0:
            q, v = simulate(dyn, flight.q[-1], flight.v[-1], start=met, until=t, **TIGHT)(t)
        else:
            q, v = flight(t)
        impact, v = _impact(dyn, t, q, v, points)
        found.append(impact)
    return found


def times_off(dyn: Dynamics) -> np.ndarray:
    """How far off every impact was applied, s: the printed numbers in units of their last digit, outliers held low.

    Many sets of times explain the table as well; of those the one is taken that needs little, by a term for each time.
    """
    printed = np.array([[float(x) for x in row[:4]] for row in TABLE_3])
    units = np.array([[2.0 * half_unit(x) for x in row[:4]] for row in TABLE_3])

    def misses(x: np.ndarray) -> np.ndarray:
        found = np.array([impact.numbers for impact in applied(dyn, EXPECTED_OFF * x)])
        return np.concatenate([((found - printed) / units).ravel(), x])

    start = np.zeros(len(TABLE_3))
    return EXPECTED_OFF * least_squares(misses, start, loss="cauchy", diff_step=1e-3, x_scale=0.1, max_nfev=40).x


def _impact(dyn: Dynamics, t: float, q: np.ndarray, v: np.ndarray, points: Sequence[str]) -> tuple[Applied, np.ndarray]:
    jacobians = [dyn.jacobian(name, "LOCAL_WORLD_ALIGNED")(q)[:3] for name in points]
    places = [dyn.pose(name)(q)[:3, 3] for name in points]
    rows = np.array([-x @ J / np.linalg.norm(x) for x, J in zip(places, jacobians, strict=True)])
    left, right = impact_equations(dyn.mass_matrix(q), rows, 1.0)
    solved = np.linalg.solve(left, right @ v)
    speed, approach = float(np.linalg.norm(jacobians[0] @ v)), float(-rows[0] @ v)
    angle = math.degrees(math.acos(min(1.0, approach / speed)))
    return Applied(t, angle, 2.0 * approach, float(solved[len(v)])), solved[: len(v)]
