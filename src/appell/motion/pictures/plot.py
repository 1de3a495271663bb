"""Figures of records: a panel a quantity and unit over time, references dotted, events as vertical lines.

Few joints stand below one another; many stand in a table, joints by row and quantities by column, so that forty of them
can be read. Legends stand beside the panels and cover nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from textwrap import fill
from typing import Any

import numpy as np

from appell.errors import ArgumentError
from appell.motion.pictures.lines import FEW, draw_lines, held, known_between
from appell.motion.pictures.look import COLORS, GREY, NOTE, RED, WIDE, head, label, legend_beside, new_figure, styled
from appell.motion.pictures.panels import Panel, arranged
from appell.motion.pictures.sampling import Samples, finely
from appell.motion.record import Record

NOTED = 8  # notes of events that there is room for
CROWD = 40  # events beyond which each is a short mark only
LONGEST = 26  # letters of a name in a legend
EVENTS: dict[str, tuple[str, Any]] = {
    "impact": (RED, "-"),
    "rest": (COLORS[2], "--"),
    "release": (COLORS[4], "--"),
    "stick": (COLORS[3], "--"),
    "slip": (COLORS[5], "--"),
    "fault": (RED, "--"),
}
Place = tuple[int, int]  # row and column; a panel that belongs to no joint stretches over all columns


Draw = Callable[[Any, Record, Panel, Samples | None], None]  # the lines of a panel on an axis


def plot_record(
    record: Record, quantities: str | Sequence[str] = (), figure: Any = None, draw: Draw = draw_lines
) -> Any:
    """The panels of these quantities, or of all usual ones that say something, in a matplotlib figure."""
    if not len(record):
        raise ArgumentError("the record has no rows, and there is nothing to draw.")
    if not record.columns[1:]:
        raise ArgumentError("the record has no column but t, and there is nothing to draw.")
    panels, notes = arranged(record, (quantities,) if isinstance(quantities, str) else tuple(quantities))
    with styled():
        places, wide = _places(panels)
        high = 1 + max(row for row, _ in places)
        figure = figure or new_figure(WIDE + 1.5 * (wide - 1), 1.3 + (1.5 if high > 5 else 1.9) * high)
        grid = figure.add_gridspec(high, wide)
        samples = _samples(record, panels)
        axes: list[Any] = []
        for (row, column), panel in zip(places, panels, strict=True):
            place = grid[row, column] if panel.names else grid[row, :]
            axes.append(figure.add_subplot(place, sharex=axes[0] if axes else None))
            draw(axes[-1], record, panel, samples)
        _name_lines(axes, panels, places)
        _name_times(axes, panels, places, record)
        figure.align_ylabels(axes)
        _mark_events(figure, axes, record)
        _tell(figure, record, panels, notes, samples)
    return figure


def _places(panels: list[Panel]) -> tuple[list[Place], int]:
    """Where every panel stands, and the number of columns."""
    rows = list(dict.fromkeys(panel.row for panel in panels if panel.names))
    columns = list(dict.fromkeys(panel.quantity for panel in panels if panel.names))
    if len(columns) < 2 or not any(row[-1] for row in rows):
        return [(k, 0) for k in range(len(panels))], 1
    rows.sort(key=lambda row: (row[0], not row[1], row[-1]))  # a base before the joints, lengths before angles
    rows += [panel.row for panel in panels if not panel.names]
    places = [(rows.index(p.row), columns.index(p.quantity) if p.names else 0) for p in panels]
    return places, len(columns)


def _samples(record: Record, panels: list[Panel]) -> Samples | None:
    """The motion between the rows, where it is known."""
    known = record.between is not None and "q" in record and "v" in record and np.ptp(record.t) > 0.0
    return finely(record, [panel.columns for panel in panels]) if known else None


def _name_lines(axes: list[Any], panels: list[Panel], places: list[Place]) -> None:
    """A legend beside the last panel of every row, unless the row above has the same."""
    before: list[str] = []
    for row in dict.fromkeys(row for row, _ in places):
        here = [k for k, place in enumerate(places) if place[0] == row]
        last = max(here, key=lambda k: places[k][1])
        names = [panels[k].names for k in here]
        front = _front([name for group in names for name in group]) if len(set(names)) > 1 else ""
        together = [dict.fromkeys(filter(None, group)) for group in zip_longest(*names)]
        texts = [_short(", ".join([first, *(name[len(front) :] for name in more)])) for first, *more in together]
        if texts and texts != before:
            most = max(range(len(here)), key=lambda k: len(names[k]))
            lines = axes[here[most]].lines[: len(texts)]
            legend_beside(axes[last], lines, texts)
        before = texts or before


def _front(names: list[str]) -> str:
    """What all names begin with, up to an underscore."""
    first, last = min(names), max(names)
    same = next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[: first[:same].rfind("_") + 1]


def _short(name: str) -> str:
    half = LONGEST // 2
    return name if len(name) <= LONGEST else f"{name[: half - 1]}…{name[-half:]}"


def _name_times(axes: list[Any], panels: list[Panel], places: list[Place], record: Record) -> None:
    """Times below the last panel of every column, and below the last one that stretches over all of them."""
    wide = len({column for _, column in places}) > 1
    across = [wide and not panel.names for panel in panels]
    last: dict[tuple[int, bool], int] = {}
    for (row, column), whole in zip(places, across, strict=True):
        last[column, whole] = max(row, last.get((column, whole), 0))
    for axis, (row, column), whole in zip(axes, places, across, strict=True):
        lowest = row == last[column, whole]
        axis.tick_params(labelbottom=lowest)
        if lowest:
            axis.set_xlabel(label("time t", "s"))
    first, end = record.t[0], record.t[-1]
    room = 0.0 if end > first else 0.5
    axes[0].set_xlim(first - room, end + room)


def _mark_events(figure: Any, axes: list[Any], record: Record) -> None:
    from matplotlib.lines import Line2D

    kinds: dict[str, list[float]] = {}
    for event in record.events:
        kinds.setdefault(event.kind, []).append(event.time)
    crowd = len(record.events) > CROWD
    marks = []
    for kind, times in kinds.items():
        color, style = EVENTS.get(kind, (GREY, ":"))
        for axis in axes:
            across = axis.get_xaxis_transform()
            low, line = (0.94, "-") if crowd else (0.0, style)
            axis.vlines(times, low, 1.0, color, line, linewidth=0.8, transform=across, zorder=1)
        number = "" if len(times) == 1 else f" ({len(times)})"
        marks.append(Line2D([], [], color=color, linestyle=style, linewidth=0.8, label=kind + number))
    if marks:
        figure.legend(handles=marks, loc="outside upper right", ncols=len(marks))


def _tell(figure: Any, record: Record, panels: list[Panel], notes: list[str], samples: Samples | None) -> None:
    """Whose record it is above, and below what a reader has to know."""
    title = ": ".join(str(record.about[key]) for key in ("robot", "message") if record.about.get(key))
    if title:
        head(figure, fill(title, 90))
    if any(f"{panel.quantity}d" in record for panel in panels):
        notes = [*notes, "dotted: reference"]
    told = [event for event in record.events if event.note]
    if 0 < len(told) <= NOTED:
        notes = [*notes, *(f"{event.kind} at {event.time:.3g} s: {event.note}" for event in told)]
    rows = [panel for panel in panels if not known_between(record, panel, samples)]
    if rows and len(record) <= FEW:
        ways = {panel.quantity: "held" if held(record, panel) else "straight" for panel in rows}
        for way in dict.fromkeys(ways.values()):
            which = ", ".join(quantity for quantity, own in ways.items() if own == way)
            notes = [*notes, f"{which}: known at the dots, {way} between them"]
    if notes:
        figure.supxlabel(fill("; ".join(notes) + ".", 125), x=0.01, ha="left", fontsize=NOTE)
