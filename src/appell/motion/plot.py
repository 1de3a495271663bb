"""Figures of trajectories: position, velocity and acceleration over time, or the joint forces they ask for."""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.motion.path import Trajectory


def new_figure(width: float = 9.0, height: float = 7.0) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def plot_motion(trajectory: Trajectory, samples: int = 401, figure=None) -> Any:
    """Three axes: q, v and a over time."""
    figure = new_figure() if figure is None else figure
    t = trajectory.times(samples)
    axes = figure.subplots(3, 1, sharex=True)
    labels = ("q  (rad, m)", "v  (rad/s, m/s)", "a  (rad/s², m/s²)")
    for axis, values, label in zip(axes, trajectory(t), labels, strict=True):
        axis.plot(t, values, label=trajectory.names)
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    axes[0].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    axes[-1].set_xlabel("t  (s)")
    return figure


def plot_torques(axis, t: np.ndarray, tau: np.ndarray, names: tuple[str, ...]) -> None:
    """Joint forces over time on one axis."""
    axis.plot(t, tau, label=names)
    axis.set(xlabel="t  (s)", ylabel="joint force  (N m, N)")
    axis.grid(alpha=0.3)
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
