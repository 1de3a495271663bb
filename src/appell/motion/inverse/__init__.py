"""Inverse kinematics: `spherical_wrist` in closed form, `numerical` for any robot and frame."""

from appell.motion.inverse.numerical_solver import NumericalSolver, numerical
from appell.motion.inverse.solution import Solution
from appell.motion.inverse.wrist_solver import CONFIGURATIONS, SphericalWrist, row_of, spherical_wrist

__all__ = [
    "CONFIGURATIONS",
    "NumericalSolver",
    "Solution",
    "SphericalWrist",
    "numerical",
    "row_of",
    "spherical_wrist",
]
