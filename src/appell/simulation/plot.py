"""Figures of a trajectory. Matplotlib is imported when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from appell.simulation.trajectory import Trajectory

PANELS = (("q", "coordinates"), ("v", "velocities"), ("tau", "joint forces"), ("energy", "energy, J"))
MANY = 12  # lines in a panel beyond which a legend says nothing


def plot(trajectory: Trajectory, figure=None):
    """Four panels over time: q, v, tau, energy; vertical lines at impacts."""
    if figure is None:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 9), layout="constrained")
    axes = figure.subplots(len(PANELS), 1, sharex=True)
    for axis, (name, label) in zip(axes, PANELS, strict=True):
        values = getattr(trajectory, name)
        axis.plot(trajectory.t, values, linewidth=1.2)
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
        for event in trajectory.impacts:
            axis.axvline(event.time, color="0.6", linewidth=0.6, linestyle=":")
        one_axis = values.ndim == 2 and len(trajectory.joint_names) == values.shape[1] <= MANY
        if one_axis and name == "q":
            axis.legend(trajectory.joint_names, ncols=6, fontsize=7, loc="upper left")
    energy = trajectory.energy
    spread = max(np.ptp(energy), 1e-6 * max(abs(energy).max(), 1.0))
    axes[-1].set_ylim(energy.min() - spread, energy.max() + spread)
    axes[-1].set_xlabel("time, s")
    figure.suptitle(f"{trajectory.robot_name}: {trajectory.message}", fontsize=10)
    return figure
