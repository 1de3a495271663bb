"""The lines of one panel: the motion itself where it is known between the rows, else the rows, as dots if they are few.

Energy is drawn as a change from its start, in the prefix that suits it; what is level is not drawn as its rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.motion.pictures.look import darker, label, prefixed
from appell.motion.pictures.panels import Panel
from appell.motion.pictures.sampling import Samples, envelope
from appell.motion.record import Record
from appell.motion.titled import parse

FEW, MANY = 60, 2000  # rows: up to the one they are shown as dots, beyond the other with finer lines
LEVEL = 1e-6  # of the largest value
LEVELS = 3  # at which forces are held, if they are


def known_between(record: Record, panel: Panel, samples: Samples | None) -> bool:
    """Whether a panel can show the motion itself, and not its rows only."""
    if panel.quantity == "energy":
        told = record.dynamics is not None and np.ptp(record.energy) > LEVEL * np.abs(record.energy).max()
        return samples is not None and told  # less than that is the error of the steps, and not of what is between them
    return samples is not None and panel.quantity in ("q", "v")


def held(record: Record, panel: Panel) -> bool:
    """Whether these are forces that a sampled law holds: stretches of equal rows, several of them, and most of all."""
    if panel.quantity != "tau" or len(record) < 3:
        return False
    same = (np.diff(record["tau"], axis=0) == 0.0).all(axis=1)
    begin = same & ~np.concatenate([[False], same[:-1]])
    return begin.sum() >= LEVELS and not same.all() and bool(same.mean() > 1.0 / 3.0)


def draw_lines(axis: Any, record: Record, panel: Panel, samples: Samples | None) -> None:
    """The lines of a panel with their references dotted, and the label of its axis."""
    whole = known_between(record, panel, samples)
    t, values = _values(record, panel, samples if whole else None)
    text, level = label(panel.what, panel.unit), LEVEL
    if panel.quantity == "energy":
        start, change, level = values[0, 0], values - values[0, 0], 0.0
        size = np.abs(change[np.isfinite(change)]).max(initial=0.0)
        unit, scale = prefixed(float(size), panel.unit)
        values, text = change / scale, f"{label(panel.what, unit)},\nfrom {start:.6g} {panel.unit}"
    style: dict[str, Any] = {} if whole or len(record) > FEW else {"marker": "o", "markersize": 2.5}
    if not whole and len(record) > MANY:
        style = {"linewidth": 0.8}  # noise is not to hide what is behind it
    if held(record, panel):
        style["drawstyle"] = "steps-post"
    lines = [axis.plot(*envelope(t, column), **style)[0] for column in values.T]
    for line, title in zip(lines, panel.columns, strict=True):
        quantity, name = parse(title)
        if (wanted := f"{quantity}d_{name}") in record.columns:
            axis.plot(*envelope(record.t, record[wanted]), color=darker(line.get_color()), linewidth=1.1, linestyle=":")
    axis.set_ylabel(text)
    axis.ticklabel_format(useOffset=False, scilimits=(-3, 4))
    _widen(axis, values, level)


def _values(record: Record, panel: Panel, samples: Samples | None) -> tuple[np.ndarray, np.ndarray]:
    """Times, and values (times, lines)."""
    if samples is None:
        return record.t, np.column_stack([record[title] for title in panel.columns])
    if panel.quantity == "energy":
        with np.errstate(invalid="ignore"):  # where a leg does not reach, there is no energy
            kinetic, potential = record.dynamics.energy(samples.q, samples.v)  # type: ignore[union-attr]
        return samples.t, (kinetic + potential)[:, None]
    whole, names = (samples.q if panel.quantity == "q" else samples.v), record.names(panel.quantity)
    return samples.t, whole[:, [names.index(parse(title)[1]) for title in panel.columns]]


def _widen(axis: Any, values: np.ndarray, level: float) -> None:
    """Show what varies by less than a share of its size as a level line, a tenth of its size around it."""
    finite = values[np.isfinite(values)]
    most = np.abs(finite).max(initial=0.0)
    if finite.size and np.ptp(finite) <= level * most:
        half = 0.1 * most or 1.0
        axis.set_ylim(finite.mean() - half, finite.mean() + half)
