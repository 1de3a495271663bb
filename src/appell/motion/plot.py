"""Figures of records: a panel a quantity over time, references dotted, events as vertical lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from appell.motion.record import Record, parse

USUAL = ("q", "v", "a", "tau", "energy")
MANY = 20  # lines beyond which a legend says nothing
HIGH = 6  # names in a column of a legend, so that it is not higher than its panel


def plot_record(record: Record, quantities: Sequence[str] = (), figure=None) -> Any:
    """The panels of these quantities, or of all usual ones, in a matplotlib figure."""
    shown = list(quantities) or [quantity for quantity in USUAL if quantity in record] or list(record.quantities[1:])
    if figure is None:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 1.0 + 2.0 * len(shown)), layout="constrained")
    panels = figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
    named: set[tuple[str, ...]] = set()  # a legend stands beside the first panel with its names
    for axis, quantity in zip(panels, shown, strict=True):
        lines = _draw(axis, record, quantity)
        names = () if quantity in record.columns else record.names(quantity)
        if names not in named and 0 < len(names) <= MANY:
            place = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5), "ncols": -(-len(names) // HIGH)}
            axis.legend(lines, names, frameon=False, fontsize=8, **place)
        named.add(names)
    panels[-1].set_xlabel("t, s")
    title = ": ".join(str(record.about[key]) for key in ("robot", "message") if record.about.get(key))
    figure.suptitle(title, fontsize=10)
    return figure


def _draw(axis: Any, record: Record, quantity: str) -> list:
    values = record[quantity]
    if values.ndim == 2 and values.shape[1] > 10:
        from matplotlib import colormaps

        axis.set_prop_cycle(color=[colormaps["tab20"](k) for k in range(MANY)])
    lines = axis.plot(record.t, values, linewidth=1.2)
    if f"{quantity}d" in record:
        for line, wanted in zip(lines, record[f"{quantity}d"].T, strict=True):
            axis.plot(record.t, wanted, color=line.get_color(), linewidth=1.0, linestyle=":")
    units = dict.fromkeys(record.unit(title) for title in record.columns if parse(title)[0] == quantity)
    axis.set_ylabel(f"{quantity}, {' or '.join(units)}".rstrip(", "))
    axis.grid(alpha=0.3)
    for event in record.events:
        axis.axvline(event.time, color="0.6", linewidth=0.6, linestyle=":")
    if quantity == "energy" and len(values):  # what is conserved is drawn as a line, not as its rounding
        spread = max(np.ptp(values), 1e-6 * max(np.abs(values).max(), 1.0))
        axis.set_ylim(values.min() - spread, values.max() + spread)
    return lines
