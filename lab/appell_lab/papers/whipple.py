"""Whipple's bicycle, linearised about straight running, beside the benchmark of Meijaard 2007.

    M ẍ + u C₁ ẋ + (g K₀ + u² K₂) x = 0          x = (lean, steer), u the speed                                  (1)

The matrices follow from the nonlinear bicycle: M is its inertia matrix; the others are the linear terms of its motion
at rest and at one speed, separated into terms linear and quadratic in the speed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from appell.control.linear import linearize
from appell.describe.load import load
from appell.dynamics import Dynamics
from appell.model.robot import ConstrainedRobot

G, REAR_RADIUS = 9.81, 0.3  # m/s², m
MEIJAARD = (  # Table 2: speed, name of the eigenvalue, real and imaginary part
    (0.0, "fall", "5.53094371765393", "0"),
    (0.0, "steer", "3.13164324790656", "0"),
    (4.0, "weave", "0.41325331521125", "3.07910818603206"),
    (4.0, "capsize", "-1.42944427361326", "0"),
    (4.0, "castering", "-12.15861426576447", "0"),
    (5.0, "weave", "-0.77534188219585", "4.46486771378823"),
    (5.0, "capsize", "-0.32286642900409", "0"),
    (5.0, "castering", "-14.07838969279822", "0"),
    (10.0, "weave", "-3.72016840437287", "10.90681139476287"),
    (10.0, "capsize", "0.16105338653172", "0"),
    (10.0, "castering", "-24.62459635017404", "0"),
)
CANONICAL = (  # matrix, row and column, entry
    ("M", 0, 0, "80.81722"),
    ("M", 0, 1, "2.31941332208709"),
    ("M", 1, 1, "0.29784188199686"),
    ("K0", 0, 0, "-80.95"),
    ("K0", 0, 1, "-2.59951685249872"),
    ("K0", 1, 1, "-0.80329488458618"),
    ("K2", 0, 1, "76.59734589573222"),
    ("K2", 1, 1, "2.65431523794604"),
    ("C1", 0, 1, "33.86641391492494"),
    ("C1", 1, 0, "-0.85035641456978"),
    ("C1", 1, 1, "1.68540397397560"),
)
STABLE_SPEEDS = ("4.29238253634111", "6.02426201538837")  # m/s, where weave becomes stable and capsize unstable
LEAN_AND_STEER = ["q_frame_wx", "q_fork", "v_frame_wx", "v_fork"]


def bicycle() -> ConstrainedRobot:
    """Return the bicycle, upright; its independent velocities are those of lean, rear wheel and steer."""
    robot = load("whipple-bicycle")
    assert isinstance(robot, ConstrainedRobot)
    return robot


@dataclass(frozen=True)
class Canonical:
    """The matrices of (1)."""

    M: np.ndarray
    C1: np.ndarray
    K0: np.ndarray
    K2: np.ndarray

    @staticmethod
    def of(robot: ConstrainedRobot, speed: float = 5.0) -> Canonical:
        """Compute the matrices from the inertia matrix and the linearised motion at rest and at a speed (m/s)."""
        M = Dynamics(robot).mass_matrix(robot.start)[np.ix_([0, 2], [0, 2])]
        still, moving = (-M @ state_matrix(robot, u)[2:] for u in (0.0, speed))
        return Canonical(M, moving[:, 2:] / speed, still[:, :2] / G, (moving - still)[:, :2] / speed**2)

    def poles(self, speed: float) -> np.ndarray:
        rates = -np.linalg.solve(self.M, np.hstack([G * self.K0 + speed**2 * self.K2, speed * self.C1]))
        return np.linalg.eigvals(np.vstack([np.eye(2, 4, 2), rates]))

    def stable_range(self) -> tuple[float, float]:
        """Return the speeds (m/s) between which all eigenvalues have negative real parts."""

        def growth(speed: float) -> float:
            return float(self.poles(speed).real.max())

        return brentq(growth, 4.0, 5.0, xtol=1e-15), brentq(growth, 5.5, 7.0, xtol=1e-15)


def state_matrix(robot: ConstrainedRobot, speed: float) -> np.ndarray:
    """Return the state matrix of lean, steer and their rates in straight, upright running."""
    return linearize(robot, robot.start, [0.0, speed / REAR_RADIUS, 0.0]).part(LEAN_AND_STEER).A
