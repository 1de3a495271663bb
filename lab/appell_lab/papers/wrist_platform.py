"""Abedloo 2014, §IV: the platform of the paper as a flat plate, in every branch of the legs, compared with Pinocchio.

The printed mass and inertia about the centre do not determine the distance d of the centre of mass. It is bounded by

    I_xx - m d² + I_yy - m d² ≥ I_zz            d ≤ √((I_xx + I_yy - I_zz) / 2m)                                     (1)

The largest d belongs to a flat plate perpendicular to its axis.
"""

from __future__ import annotations

import math
import warnings
from itertools import product

import numpy as np

from appell.describe.zoo.mechanisms import agile_wrist
from appell.dynamics import Dynamics
from appell.errors import AppellError, ModelWarning
from appell.model.mechanism import Mechanism
from appell_lab.papers.page import Page
from appell_lab.references.pinocchio_loops import LoopPeer
from appell_lab.references.verification import paper_trajectory

MASS, MOMENTS = 1.351, (38.29e-4, 38.29e-4, 4.5e-4)  # kg, kg m² about the centre
PLATE_DISTANCE = 0.05165  # m: the bound of (1), rounded


def farthest() -> float:
    """Return the largest d of (1), m."""
    xx, yy, zz = MOMENTS
    return math.sqrt((xx + yy - zz) / (2.0 * MASS))


def plate(branches: tuple[int, ...]) -> tuple[Mechanism, str]:
    """Return the wrist with a flat platform, and the warnings about it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        wrist = agile_wrist(platform_com=(0.0, 0.0, PLATE_DISTANCE), branches=branches)
    return wrist, "; ".join(str(warning.message) for warning in caught)


def show_platform(page: Page) -> None:
    t = np.linspace(0.0, 4.0, 101)
    motion = paper_trajectory(t)
    page.measure("largest possible distance of the platform's centre of mass [m]", farthest())
    rows, warning, problem = [], "", ""
    for branches in product((1, -1), repeat=3):
        wrist, warning = plate(branches)
        dyn = Dynamics(wrist)
        torques = dyn.inverse_dynamics(*motion)
        explicit = Dynamics(wrist, "explicit").inverse_dynamics(*motion)
        cells = [" ".join(f"{b:+d}" for b in branches), float(np.abs(torques).max())]
        rows.append([*cells, f"{np.abs(torques - explicit).max():.1e}"])
        try:
            loops = LoopPeer(wrist).motor_torques(dyn, *motion)
        except AppellError as error:
            problem = f" The comparison with loops in Pinocchio is left out: {str(error).splitlines()[0]}"
        else:
            rows[-1].append(f"{np.abs(torques - loops).max():.1e}")
    page.table(
        f"The platform as a flat plate, centre of mass {PLATE_DISTANCE} m above the centre, in every branch of the "
        "legs",
        ["branches", "largest torque, N m", "difference, explicit", "difference, loops in Pinocchio"][: len(rows[0])],
        rows,
        note=f"The printed mass and inertia allow centres of mass up to {farthest():.6f} m from the centre. Rounded to "
        f"{PLATE_DISTANCE} m it exceeds the bound slightly and is accepted as a rounded number: '{warning}' "
        f"101 instants of the paper's trajectory.{problem}",
    )
