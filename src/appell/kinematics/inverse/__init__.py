"""Inverse kinematics: `spherical_wrist` in closed form, `numerical` for any robot and frame."""

from appell.kinematics.inverse.numerical_solver import NumericalSolver, Solution, numerical
from appell.kinematics.inverse.wrist_solver import CONFIGURATIONS, SphericalWrist, row_of, spherical_wrist

__all__ = [
    "CONFIGURATIONS",
    "NumericalSolver",
    "Solution",
    "SphericalWrist",
    "numerical",
    "row_of",
    "spherical_wrist",
]
