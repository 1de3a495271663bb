"""Inverse kinematics: `spherical_wrist` in closed form, `numerical` for any robot and any frames or tasks."""

from appell.kinematics.inverse.numerical_solver import NumericalSolver, Solution, numerical
from appell.kinematics.inverse.wrist_solver import CONFIGURATIONS, SphericalWrist, row_of, spherical_wrist
from appell.kinematics.tasks import ComTask, FrameTask

__all__ = [
    "CONFIGURATIONS",
    "ComTask",
    "FrameTask",
    "NumericalSolver",
    "Solution",
    "SphericalWrist",
    "numerical",
    "row_of",
    "spherical_wrist",
]
