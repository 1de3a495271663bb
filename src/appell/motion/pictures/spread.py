"""Figures of many motions: the panels of one record, with the spread of all members about their median in each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from appell.errors import ArgumentError
from appell.motion.pictures.lines import FEW
from appell.motion.pictures.look import COLORS, label
from appell.motion.pictures.panels import Panel
from appell.motion.pictures.plot import plot_record
from appell.motion.pictures.sampling import Samples
from appell.motion.record import Record
from appell.motion.records import Records

BANDS = ((0.05, 0.95, 0.15), (0.25, 0.75, 0.25))  # from, to, and how opaque
MOST = 10  # members drawn as lines of their own


def plot_records(records: Records, quantities: str | Sequence[str], members: Sequence[int] | None, figure: Any) -> Any:
    """The spread of all members, or some of them as lines."""
    if not len(records) or not len(records.t):
        raise ArgumentError("the records have no members or no rows, and there is nothing to draw.")
    if members is not None and not 0 < len(members) <= MOST:
        raise ArgumentError(f"{len(members)} members are to be drawn.", expected=f"1 to {MOST}, or None for all")
    chosen = records if members is None else records[list(members)]
    said = f"{len(records)} members; median, middle half, middle nine tenths"
    message = said if members is None else f"members {', '.join(map(str, members))} of {len(records)}"

    style: dict[str, Any] = {"marker": "o", "markersize": 2.5} if len(records.t) <= FEW else {}

    def draw(axis: Any, record: Record, panel: Panel, samples: Samples | None) -> None:
        for k, title in enumerate(panel.columns):
            color, values = COLORS[k % len(COLORS)], chosen[title]
            if members is None:
                axis.plot(records.t, _quantile(values, 0.5), color=color, **style)
            else:
                axis.plot(records.t, values[0], color=color, **style)
        for k, title in enumerate(panel.columns):
            color, values = COLORS[k % len(COLORS)], chosen[title]
            for low, high, opacity in BANDS if members is None else ():
                edges = _quantile(values, low), _quantile(values, high)
                axis.fill_between(records.t, *edges, color=color, alpha=opacity, linewidth=0.0)
            for line in values[1:] if members is not None else ():
                axis.plot(records.t, line, color=color, linewidth=0.8)
        axis.set_ylabel(label("energy" if panel.quantity == "energy" else panel.what, panel.unit))
        axis.ticklabel_format(useOffset=False, scilimits=(-3, 4))

    return plot_record(_median(chosen, message), quantities, figure, draw)


def _median(records: Records, message: str) -> Record:
    """One record in place of all, which says what is to be drawn."""
    blocks = {name: _quantile(block, 0.5) for name, block in records.blocks.items()}
    names = {name: own for name, own in records.titles.items() if own}
    about = {"robot": records.about.get("robot", ""), "message": message}
    return Record.of(records.t, blocks, names, units=dict(records.units), about=about)


def _quantile(values: np.ndarray, part: float) -> np.ndarray:
    """Over the members whose numbers are finite; not a number where there is none."""
    finite = np.where(np.isfinite(values), values, np.nan)
    empty = np.isnan(finite).all(axis=0)
    return np.where(empty, np.nan, np.nanquantile(np.where(empty, 0.0, finite), part, axis=0))
