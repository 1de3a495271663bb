"""What follows from Table 3 of Shafei 2018: the radius of the wall, and the times at which impacts were applied.

Until the first impact the robot falls as one body, from rest, so that O1 is at (X, X - ½ g t²) when it meets the wall,

    R² = X² + (X + ½ g t²)²            tan α = X / (X + ½ g t²)           X = (1 + √3)/2                           (1)

with α the angle of attack: the printed t and α give R without any dynamics.

An impact detected late is applied beyond the wall, one detected early before it. Being elastic it conserves energy in
either case, but the motion after it differs. `impacts_with_offsets` applies every impact of the table early or late by
a given time, with the equations of the impact (47) as printed; `fit_time_offsets` fits these times to the table.
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
START = (1.0 + math.sqrt(3.0)) / 2.0  # m, distance of O1 to the left of and below the centre
GRAVITY = 9.81
TABLE_3 = (  # time, angle of attack, relative velocity, impulse, points
    ("0.3851", "33.12", "6.32", "5.26", ("O1", "O5")),
    ("0.5698", "25.38", "8.62", "31.42", ("O2", "O4")),
    ("1.01", "36.87", "8.64", "4.12", ("O8", "O11")),
    ("1.082", "0", "12.48", "57.46", ("O3",)),
    ("1.387", "34.108", "30.14", "15.96", ("O1", "O5")),
)
TIME_SCALE = 1e-4  # s, expected size of the time offsets
TIGHT: dict[str, Any] = {"solver": Solver(rtol=1e-11, atol=1e-12), "progress": False}


def half_unit(printed: str) -> float:
    """Return half a unit of the last printed digit."""
    return 0.5 * 10.0 ** int(Decimal(printed).as_tuple().exponent)


def radius_by_time(t: float) -> float:
    """Return R of (1) from the time of the first impact."""
    return math.hypot(START, START + 0.5 * GRAVITY * t * t)


def radius_by_angle(degrees: float) -> float:
    """Return R of (1) from the angle of attack of the first impact."""
    return START / math.sin(math.radians(degrees))


@dataclass(frozen=True)
class OffsetImpact:
    """An impact: time (s), angle of attack (degrees), jump of normal velocity (m/s), impulse on each point (N s)."""

    time: float
    angle: float
    jump: float
    impulse: float

    @property
    def numbers(self) -> tuple[float, ...]:
        return self.time, self.angle, self.jump, self.impulse


def impacts_with_offsets(dyn: Dynamics, off: Sequence[float] | np.ndarray) -> list[OffsetImpact]:
    """Compute the impacts of Table 3, each applied `off` s after its points reach the wall (before, if negative)."""
    robot, impacts = dyn.system, []
    t, q, v = 0.0, robot.start, np.zeros(robot.nv)
    for (*_, points), delay in zip(TABLE_3, off, strict=True):
        pose = dyn.pose(points[0])
        flight = simulate(
            dyn, q, v, start=t, until=t + 1.0, stop=lambda t, q, v, at=pose: WALL - math.hypot(*at(q)[:2, 3]), **TIGHT
        )
        contact_time = float(flight.t[-1])
        t = contact_time + delay
        if delay > 0.0:
            q, v = simulate(dyn, flight.q[-1], flight.v[-1], start=contact_time, until=t, **TIGHT)(t)
        else:
            q, v = flight(t)
        impact, v = _impact(dyn, t, q, v, points)
        impacts.append(impact)
    return impacts


def fit_time_offsets(dyn: Dynamics) -> np.ndarray:
    """Fit the time offsets (s) of all impacts to the table: residuals in units of the last digit, robust to outliers.

    Many sets of offsets explain the table equally well; a penalty on each offset selects a small one.
    """
    printed = np.array([[float(x) for x in row[:4]] for row in TABLE_3])
    units = np.array([[2.0 * half_unit(x) for x in row[:4]] for row in TABLE_3])

    def residuals(x: np.ndarray) -> np.ndarray:
        computed = np.array([impact.numbers for impact in impacts_with_offsets(dyn, TIME_SCALE * x)])
        return np.concatenate([((computed - printed) / units).ravel(), x])

    start = np.zeros(len(TABLE_3))
    return TIME_SCALE * least_squares(residuals, start, loss="cauchy", diff_step=1e-3, x_scale=0.1, max_nfev=40).x


def _impact(
    dyn: Dynamics, t: float, q: np.ndarray, v: np.ndarray, points: Sequence[str]
) -> tuple[OffsetImpact, np.ndarray]:
    jacobians = [dyn.jacobian(name, "LOCAL_WORLD_ALIGNED")(q)[:3] for name in points]
    positions = [dyn.pose(name)(q)[:3, 3] for name in points]
    rows = np.array([-x @ J / np.linalg.norm(x) for x, J in zip(positions, jacobians, strict=True)])
    left, right = impact_equations(dyn.mass_matrix(q), rows, 1.0)
    solved = np.linalg.solve(left, right @ v)
    velocity, outward = jacobians[0] @ v, positions[0] / np.linalg.norm(positions[0])
    approach = float(outward @ velocity)
    angle = math.degrees(math.atan2(np.linalg.norm(velocity - approach * outward), approach))
    return OffsetImpact(t, angle, 2.0 * approach, float(solved[len(v)])), solved[: len(v)]
