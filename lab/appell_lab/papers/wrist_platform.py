"""Abedloo 2014, §IV: the platform of the paper as a flat plate, in every assembly of the legs, judged by Pinocchio.

The printed mass and inertia about the centre leave the distance d of the centre of mass open. Of all that are possible,

    I_xx - m d² + I_yy - m d² ≥ I_zz            d ≤ √((I_xx + I_yy - I_zz) / 2m)                                     (1)

the largest is a flat plate square to its axis.
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
from appell_lab.judges.pinocchio_loops import LoopPeer
from appell_lab.judges.verification import paper_trajectory
from appell_lab.papers.page import Page

MASS, MOMENTS = 1.351, (38.29e-4, 38.29e-4, 4.5e-4)  # kg, kg m² about the centre
PLATE = 0.05165  # m: (1), rounded


def farthest() -> float:
    """d of (1)."""
    xx, yy, zz = MOMENTS
    return math.sqrt((xx + yy - zz) / (2.0 * MASS))


def plate(branches: tuple[int, ...]) -> tuple[Mechanism, str]:
    """The wrist with a flat platform, and what was said of it."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ModelWarning)
        wrist = agile_wrist(platform_com=(0.0, 0.0, PLATE), branches=branches)
    return wrist, "; ".join(str(warning.message) for warning in said)


def show_platform(page: Page) -> None:
    t = np.linspace(0.0, 4.0, 101)
    motion = paper_trajectory(t)
    rows, said = [], ""
    for branches in product((1, -1), repeat=3):
        wrist, said = plate(branches)
        dyn = Dynamics(wrist)
        torques = dyn.inverse_dynamics(*motion)
        explicit = Dynamics(wrist, "explicit").inverse_dynamics(*motion)
        rows.append(
            [
                " ".join(f"{b:+d}" for b in branches),
                float(np.abs(torques).max()),
                f"{np.abs(torques - explicit).max():.1e}",
                _from_pinocchio(wrist, dyn, motion, torques),
            ]
        )
    page.table(
        f"The platform as a flat plate, its centre of mass {PLATE} m above the centre, in every branch of the legs",
        ["branches", "largest torque, N m", "explicit differs by", "Pinocchio's loops differ by"],
        rows,
        note=f"The printed mass and inertia allow centres of mass up to {farthest():.6f} m from the centre; beyond, no "
        f'body has them. Rounded to {PLATE} m it is just past, and taken as a rounded number: "{said}" 101 instants '
        "of the paper's trajectory.",
    )


def _from_pinocchio(wrist: Mechanism, dyn: Dynamics, motion, torques: np.ndarray) -> str:
    try:
        peer = LoopPeer(wrist)
    except AppellError as error:
        return str(error).splitlines()[0]
    return f"{np.abs(torques - peer.motor_torques(dyn, *motion)).max():.1e}"
