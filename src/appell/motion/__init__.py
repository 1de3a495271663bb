"""Trajectories: callables `q, v, a = trajectory(t)` with a duration, a plot and CSV in and out."""

from appell.motion.csv import read_csv
from appell.motion.path import Trajectory
from appell.motion.paths.fourier import Fourier
from appell.motion.paths.line import CartesianLine, zyz
from appell.motion.paths.ramp import Ramp
from appell.motion.paths.scaled import Scaled, time_optimal
from appell.motion.paths.spline import Samples, Spline

__all__ = [
    "CartesianLine",
    "Fourier",
    "Ramp",
    "Samples",
    "Scaled",
    "Spline",
    "Trajectory",
    "read_csv",
    "time_optimal",
    "zyz",
]
