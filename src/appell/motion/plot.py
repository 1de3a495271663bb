"""Figures of records: a panel a quantity over time, references dotted, events as vertical lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from appell.motion.record import Record

USUAL = ("q", "v", "a", "tau", "energy")
MANY = 12  # lines beyond which a legend says nothing


def plot_record(record: Record, quantities: Sequence[str] = (), figure=None) -> Any:
    """The panels of these quantities, or of all usual ones, in a matplotlib figure."""
    shown = list(quantities) or [quantity for quantity in USUAL if quantity in record] or list(record.quantities[1:])
    if figure is None:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 1.0 + 2.0 * len(shown)), layout="constrained")
    panels = figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
    for axis, quantity in zip(panels, shown, strict=True):
        _draw(axis, record, quantity)
    panels[-1].set_xlabel("t, s")
    title = ": ".join(str(record.about[key]) for key in ("robot", "message") if record.about.get(key))
    figure.suptitle(title, fontsize=10)
    return figure


def _draw(axis: Any, record: Record, quantity: str) -> None:
    values = record[quantity]
    lines = axis.plot(record.t, values, linewidth=1.2)
    alone = values.ndim == 1
    if not alone and f"{quantity}d" in record:
        for line, wanted in zip(lines, record[f"{quantity}d"].T, strict=True):
            axis.plot(record.t, wanted, color=line.get_color(), linewidth=1.0, linestyle=":")
    if not alone and len(lines) <= MANY:
        names = record.names(quantity)
        axis.legend(lines, names, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)
    units = {record.unit(title) for title in record.columns if title.startswith(quantity)}
    axis.set_ylabel(f"{quantity}, {', '.join(sorted(units))}".rstrip(", "))
    axis.grid(alpha=0.3)
    for event in record.events:
        axis.axvline(event.time, color="0.6", linewidth=0.6, linestyle=":")
    if quantity == "energy" and len(values):  # what is conserved is drawn as a line, not as its rounding
        spread = max(np.ptp(values), 1e-6 * max(np.abs(values).max(), 1.0))
        axis.set_ylim(values.min() - spread, values.max() + spread)
