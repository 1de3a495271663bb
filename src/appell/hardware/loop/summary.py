"""What a log says about a run: errors, torques, deadlines, and pictures of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.errors import ArgumentError
from appell.hardware.loop.supervisor import Fault, State, sentences
from appell.motion.record import Record
from appell.show.plot.style import darker, label, legend_beside, line_style


@dataclass(frozen=True)
class Summary:
    """Numbers of the last motion in a log, errors by coordinate and torques by actuator, in SI units."""

    coordinates: tuple[str, ...]
    actuators: tuple[str, ...]
    ticks: int
    duration: float
    largest_error: np.ndarray
    final_error: np.ndarray
    largest_torque: np.ndarray
    skipped: int  # ticks that were slept through
    latest: float  # the latest wake-up after its time
    fault: str


def last_motion(log: Record) -> slice:
    """The rows of the last time that the arm was RUNNING."""
    running = log["state"] == State.RUNNING
    if not running.any():
        raise ArgumentError("the arm never moved in this log.", hint=sentences(Fault(int(log["fault"][-1]))))
    end = int(np.flatnonzero(running)[-1]) + 1
    begin = end - int(np.argmin(running[:end][::-1])) if not running[:end].all() else 0
    return slice(begin, end)


def summarize(log: Record) -> Summary:
    rows = last_motion(log)
    error = log["q"][rows] - log["qd"][rows]
    ticks = log["tick"]
    return Summary(
        coordinates=log.names("q"),
        actuators=log.names("tau"),
        ticks=len(log),
        duration=float(log["t"][-1] - log["t"][0]),
        largest_error=np.abs(error).max(axis=0),
        final_error=error[-1],
        largest_torque=np.abs(log["tau"][rows]).max(axis=0),
        skipped=int((np.diff(ticks) - 1).sum()),
        latest=float((log["woke"] - log["t"]).max()),
        fault=sentences(Fault(int(log["fault"][-1]))),
    )


def draw_run(figure: Any, log: Record) -> None:
    """Positions with their references, errors and torques of the last motion."""
    rows = last_motion(log)
    t = log["t"][rows] - log["t"][rows][0]
    positions, errors, torques = figure.subplots(3, 1, sharex=True)
    for k, name in enumerate(log.names("q")):
        look = line_style(k)
        positions.plot(t, log["q"][rows, k], **look, label=name)
        positions.plot(t, log["qd"][rows, k], color=darker(look["color"]), linestyle=":", linewidth=1.1)
        errors.plot(t, 1e3 * (log["q"][rows, k] - log["qd"][rows, k]), **look, linewidth=1.0)
    for k, (name, tau) in enumerate(zip(log.names("tau"), log["tau"][rows].T, strict=True)):
        torques.plot(t, tau, **line_style(k), linewidth=1.0, label=name)
    positions.set(ylabel=label("position q", "rad or m"), title=f"law '{log.about['law']}' (dotted: reference)")
    legend_beside(positions)
    errors.set(ylabel=label("following error", "mrad or mm"))
    torques.set(ylabel=label("torque tau", "N m or N"), xlabel=label("time t", "s"), xlim=(0.0, float(t[-1])))
    legend_beside(torques)
