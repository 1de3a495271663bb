"""Summary of a control log: errors, torques and deadlines, and their plots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.errors import ArgumentError, DescriptionError
from appell.hardware.loop.reasons import Snapshot, explain
from appell.hardware.loop.supervisor import Fault, Guard, Policy, State
from appell.motion.record import Record
from appell.show.plot.style import darker, label, legend_beside, line_style


@dataclass(frozen=True)
class Summary:
    """Results of the last motion in a log, in SI units: errors by coordinate, torques by actuator."""

    coordinates: tuple[str, ...]
    actuators: tuple[str, ...]
    ticks: int
    duration: float
    largest_error: np.ndarray
    final_error: np.ndarray
    largest_torque: np.ndarray
    skipped: int  # missed ticks
    latest: float  # largest delay of a wake-up
    fault: str


def last_motion(log: Record) -> slice:
    """Return the rows of the last period in state RUNNING."""
    if not len(log):
        raise DescriptionError("the log ends before its first complete row.", source=log.source)
    running = log["state"] == State.RUNNING
    if not running.any():
        faults = fault_text(log)
        raise ArgumentError(f"the log contains no motion, because the loop was never in state RUNNING ({faults}).")
    end = int(np.flatnonzero(running)[-1]) + 1
    begin = end - int(np.argmin(running[:end][::-1])) if not running[:end].all() else 0
    return slice(begin, end)


def summarize(log: Record) -> Summary:
    """Summarise the last motion of a log."""
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
        fault=fault_text(log),
    )


def fault_text(log: Record) -> str:
    """Return the latched faults at the end of a log, with joints, values, limits and remedies."""
    words = log["fault"].astype(int)
    if not words[-1]:
        return "no fault"
    about, texts = log.about, []
    guard = Guard(**about["guard"])
    policy = Policy(**about["policy"])
    last_clear = int(np.flatnonzero(words == 0)[-1]) + 1 if (words == 0).any() else 0
    before = 0
    for row in range(last_clear, len(words)):
        if new := int(words[row]) & ~before:
            snapshot = Snapshot(
                log.names("q"),
                tuple(about["coordinate_units"]),
                log.names("tau"),
                about["device"]["name"],
                guard,
                policy,
                about["period"],
                log["q"][row],
                log["v"][row],
                log["qd"][row],
                log["qm"][row],
                log["faults"][row],
                float(log["done"][row] - log["t"][row]),
                "sent states with old stamps" if log["fresh"][row] and new & Fault.STALE else "",
                about["axis"],
            )
            texts.append(explain(Fault(new), snapshot))
            before |= new
    return "; ".join(texts)


def draw_run(figure: Any, log: Record) -> None:
    """Draw positions with their references, errors and torques of the last motion."""
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
