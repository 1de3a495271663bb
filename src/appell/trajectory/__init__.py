"""Trajectories: callables `q, v, a = trajectory(t)` with a duration, a plot and CSV in and out."""

from appell.trajectory.csv import read_csv
from appell.trajectory.fourier import Fourier
from appell.trajectory.line import CartesianLine, zyz
from appell.trajectory.ramp import Ramp
from appell.trajectory.replay import METHODS, Replay, frame_motion, replay
from appell.trajectory.scaled import Scaled, time_optimal
from appell.trajectory.spline import Samples, Spline
from appell.trajectory.trajectory import Trajectory

__all__ = [
    "METHODS",
    "CartesianLine",
    "Fourier",
    "Ramp",
    "Replay",
    "Samples",
    "Scaled",
    "Spline",
    "Trajectory",
    "frame_motion",
    "read_csv",
    "replay",
    "time_optimal",
    "zyz",
]
