"""Figures of records: one panel per quantity and unit over time, references dotted, events as vertical lines.

Panels of few joints are stacked. Panels of many joints are arranged in a table, with joints by row and quantities by
column, so that forty joints remain readable. Legends are placed beside the panels, where they cover no data.

A panel shows one quantity in one unit, with at most as many lines as there are colours. A quantity that is zero or
constant throughout has no panel and is named in a note. Joints are separated from a floating base: a joint has the same
name in q and v, while a base has positions and quaternions in q, and velocities in v.

A line shows the motion between the rows of a record if that is known, else the rows, which are marked by dots if they
are few. Energy is plotted as the change from its initial value, with a suitable prefix. A constant quantity is drawn as
a level line and not at the scale of its rounding errors.

Figures of many motions (`Records`) have the panels of one record, with the median and the spread of all members.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from textwrap import fill
from typing import Any

import numpy as np

from appell.errors import ArgumentError
from appell.kinematics.mechanisms import Workspace
from appell.motion.record import Record
from appell.motion.records import Records
from appell.motion.titles import parse, titles
from appell.show.plot.sampling import Samples, envelope, sample_motion
from appell.show.plot.style import (
    COLOR_MAP,
    COLORS,
    FIGURE_WIDTH_IN,
    GREY,
    INK,
    NOTE_PT,
    RED,
    darker,
    figure_title,
    label,
    legend_beside,
    new_figure,
    prefixed,
    styled,
)

CONTACT_QUANTITIES = ("normal", "friction")
DEFAULT_QUANTITIES = ("q", "v", "a", "tau", "energy", *CONTACT_QUANTITIES)
QUANTITY_LABELS = {
    "q": "position q",
    "v": "velocity v",
    "a": "acceleration a",
    "tau": "force tau",
    "energy": "energy change",
    "normal": "normal force",
    "friction": "friction",
}
ROTATION_LABELS = {"q": "angle q", "tau": "torque tau"}  # if the unit is that of a rotation
CONSTANT_TOLERANCE = 1e-12  # relative to the largest value: smaller changes are ignored
LENGTH_UNITS = ("m", "N")


@dataclass(frozen=True)
class Panel:
    """Columns of one quantity and unit; panels with the same `row` show the same joints."""

    quantity: str
    columns: tuple[str, ...]
    unit: str
    row: tuple

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its lines; empty for a quantity without joints, such as energy."""
        return tuple(filter(None, (parse(title)[1] for title in self.columns)))

    @property
    def spans(self) -> bool:
        """Whether it spans all columns of a table, as the lines of a record without joints do."""
        return not self.names or self.quantity in CONTACT_QUANTITIES

    @property
    def title(self) -> str:
        """The quantity in words, for labels."""
        if self.quantity == "q" and self.unit == "1":
            return "quaternion"
        rotates = self.unit.startswith(("rad", "deg", "N m")) and " or " not in self.unit
        labels = ROTATION_LABELS if rotates and self.quantity in ROTATION_LABELS else QUANTITY_LABELS
        return labels.get(self.quantity, self.quantity)


def arranged(record: Record, quantities: Sequence[str]) -> tuple[list[Panel], list[str]]:
    """Return the panels of a record, and notes on quantities without a panel.

    `quantities` are names of quantities or columns. If empty, all default quantities are shown except those that are
    zero or constant throughout.
    """
    if quantities:
        return _panels(record, quantities), []
    present = [quantity for quantity in DEFAULT_QUANTITIES if quantity in record] or list(record.quantities[1:])
    panels = _panels(record, present)
    reasons = {panel: reason for panel in panels if (reason := _reason_to_omit(record, panel))}
    shown = [panel for panel in panels if panel not in reasons] or panels[:1]
    omitted: dict[str, dict[str, None]] = {}
    for panel in (panel for panel in reasons if panel not in shown):
        omitted.setdefault(reasons[panel], {})[f"{panel.title} [{panel.unit}]"] = None
    return shown, [f"{reason}: {', '.join(titles)}" for reason, titles in omitted.items()]


def _panels(record: Record, keys: Sequence[str]) -> list[Panel]:
    """Group the columns of quantities, or single columns, by quantity and unit."""
    joints = set(record.names("q")) & set(record.names("v")) if "q" in record and "v" in record else None
    kinds: dict[tuple[str, bool, str], list[str]] = {}
    for key in keys:
        for title in (key,) if key in record.columns else titles(key, record.names(key)):
            quantity, name = parse(title)
            kinds.setdefault((quantity, joints is None or name in joints, record.unit(title)), []).append(title)
    panels = []
    for (quantity, joint, unit), members in kinds.items():
        is_length = unit.split("/")[0] in LENGTH_UNITS
        for k, group in enumerate(_split(list(dict.fromkeys(members)))):
            spans = not parse(group[0])[1] or quantity in CONTACT_QUANTITIES
            row = (quantity, k) if spans else (joint, is_length, k)
            panels.append(Panel(quantity, tuple(group), unit, row))
    return panels


def _split(columns: list[str]) -> list[list[str]]:
    """Distribute lines to panels with at most as many lines as colours; arm_left_1 to arm_left_7 stay together."""
    limit = len(COLORS)
    groups: list[list[str]] = [[]]
    for _, members in groupby(columns, lambda title: _family(parse(title)[1])):
        family = list(members)
        if len(groups[-1]) + len(family) <= limit:
            groups[-1] += family
        else:
            groups += [part.tolist() for part in np.array_split(family, -(-len(family) // limit))]
    return [group for group in groups if group]


def _family(name: str) -> str:
    """Return the common part of the names of one limb: the text before a digit, or before the first underscore."""
    return re.split(r"\d", name)[0] if re.search(r"\d", name) else name.split("_")[0]


def _reason_to_omit(record: Record, panel: Panel) -> str:
    """Return why a panel would show nothing, as the first words of a note; empty if it shows something."""
    values = np.array([record[title] for title in panel.columns])
    if not np.isfinite(values).any():
        return "no finite values"
    largest = np.nanmax(np.abs(values))
    if panel.quantity not in ("q", "energy") and largest == 0.0:
        return "zero throughout"
    if panel.unit == "1" and np.nanmax(np.ptp(values, axis=1)) <= CONSTANT_TOLERANCE * largest:
        return "constant"
    return ""


MAX_DOTS = 60  # rows up to which they are marked by dots
MAX_THICK_ROWS = 2000  # rows above which lines are thinner
LEVEL_TOLERANCE = 1e-6  # relative to the largest value: smaller variations are drawn as a level line
MIN_HELD_INTERVALS = 3  # of constant forces, for a record to count as sampled


def known_between(record: Record, panel: Panel, samples: Samples | None) -> bool:
    """Whether a panel can show the motion between the rows."""
    if panel.quantity == "energy":  # smaller variations are integration errors, which are known at the rows only
        varies = record.dynamics is not None and np.ptp(record.energy) > LEVEL_TOLERANCE * np.abs(record.energy).max()
        return samples is not None and varies
    return samples is not None and panel.quantity in ("q", "v")


def held(record: Record, panel: Panel) -> bool:
    """Whether forces are piecewise constant, as those of a sampled law: several intervals of equal rows."""
    if panel.quantity != "tau" or len(record) < 3:
        return False
    same = (np.diff(record["tau"], axis=0) == 0.0).all(axis=1)
    begin = same & ~np.concatenate([[False], same[:-1]])
    return begin.sum() >= MIN_HELD_INTERVALS and not same.all() and bool(same.mean() > 1.0 / 3.0)


def draw_lines(axis: Any, record: Record, panel: Panel, samples: Samples | None) -> None:
    """Draw the lines of a panel, with references dotted, and label its axis."""
    continuous = known_between(record, panel, samples)
    t, values = _values(record, panel, samples if continuous else None)
    text, tolerance = label(panel.title, panel.unit), LEVEL_TOLERANCE
    if panel.quantity == "energy":
        start, change, tolerance = values[0, 0], values - values[0, 0], 0.0
        size = np.abs(change[np.isfinite(change)]).max(initial=0.0)
        unit, scale = prefixed(float(size), panel.unit)
        values, text = change / scale, f"{label(panel.title, unit)},\nfrom {start:.6g} {panel.unit}"
    style: dict[str, Any] = {} if continuous or len(record) > MAX_DOTS else {"marker": "o", "markersize": 2.5}
    if not continuous and len(record) > MAX_THICK_ROWS:
        style = {"linewidth": 0.8}  # so that noise hides less of the other lines
    if held(record, panel):
        style["drawstyle"] = "steps-post"
    lines = [axis.plot(*envelope(t, column), **style)[0] for column in values.T]
    for line, title in zip(lines, panel.columns, strict=True):
        quantity, name = parse(title)
        if (reference := f"{quantity}d_{name}") in record.columns:
            axis.plot(
                *envelope(record.t, record[reference]), color=darker(line.get_color()), linewidth=1.1, linestyle=":"
            )
    axis.set_ylabel(text)
    axis.ticklabel_format(useOffset=False, scilimits=(-3, 4))
    _widen(axis, values, tolerance)


def _values(record: Record, panel: Panel, samples: Samples | None) -> tuple[np.ndarray, np.ndarray]:
    """Return times and values (times, lines) of a panel."""
    if samples is None:
        return record.t, np.column_stack([record[title] for title in panel.columns])
    if panel.quantity == "energy":
        with np.errstate(invalid="ignore"):  # NaN where a leg is out of reach
            kinetic, potential = record.dynamics.energy(samples.q, samples.v)  # type: ignore[union-attr]
        return samples.t, (kinetic + potential)[:, None]
    states, names = (samples.q if panel.quantity == "q" else samples.v), record.names(panel.quantity)
    return samples.t, states[:, [names.index(parse(title)[1]) for title in panel.columns]]


def _widen(axis: Any, values: np.ndarray, tolerance: float) -> None:
    """Set the limits of an axis to ±10 % around values that vary by less than a relative tolerance."""
    finite = values[np.isfinite(values)]
    largest = np.abs(finite).max(initial=0.0)
    if finite.size and np.ptp(finite) <= tolerance * largest:
        half = 0.1 * largest or 1.0
        axis.set_ylim(finite.mean() - half, finite.mean() + half)


MAX_EVENT_NOTES = 8  # listed below a figure
MAX_FULL_EVENT_LINES = 40  # more events are drawn as short marks
MAX_LEGEND_CHARACTERS = 26  # of a name
MAX_CONTACT_CHARACTERS = 48  # of the name of a contact
EVENT_STYLES: dict[str, tuple[str, Any]] = {
    "impact": (RED, "-"),
    "rest": (COLORS[2], "--"),
    "release": (COLORS[4], "--"),
    "stick": (COLORS[3], "--"),
    "slip": (COLORS[5], "--"),
    "fault": (RED, "--"),
}
Cell = tuple[int, int]  # row and column; a panel without joints spans all columns
Draw = Callable[[Any, Record, Panel, Samples | None], None]  # the lines of a panel on an axis


def plot_record(
    record: Record, quantities: str | Sequence[str] = (), figure: Any = None, draw: Draw = draw_lines
) -> Any:
    """Plot a record over time; see `Record.plot`.

    Parameters
    ----------
    record : the record to plot
    quantities : quantities or columns; by default all that are not zero or constant throughout
    figure : figure to draw into; a new one by default
    draw : draws the lines of one panel: `draw(axis, record, panel, samples)`

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ArgumentError
        If the record has no rows, no columns, or not the requested ones.

    Examples
    --------
    >>> import appell as ap
    >>> record = ap.simulate(ap.load("planar-2r"), until=0.1)
    >>> figure = plot_record(record, ["q", "v"])
    >>> [axis.get_ylabel() for axis in figure.axes]
    ['angle q [rad]', 'velocity v [rad/s]']
    """
    if not len(record):
        raise ArgumentError("the record has no rows to plot.")
    if not record.columns[1:]:
        raise ArgumentError("the record has no columns to plot, only t.")
    panels, notes = arranged(record, (quantities,) if isinstance(quantities, str) else tuple(quantities))
    with styled():
        cells, columns = _arrange_cells(panels)
        rows = 1 + max(row for row, _ in cells)
        figure = figure or new_figure(FIGURE_WIDTH_IN + 1.5 * (columns - 1), 1.3 + (1.5 if rows > 5 else 1.9) * rows)
        grid = figure.add_gridspec(rows, columns)
        samples = samples_between(record, panels)
        axes: list[Any] = []
        for (row, column), panel in zip(cells, panels, strict=True):
            cell = grid[row, :] if panel.spans else grid[row, column]
            axes.append(figure.add_subplot(cell, sharex=axes[0] if axes else None))
            draw(axes[-1], record, panel, samples)
        _add_legends(axes, panels, cells)
        _label_time_axes(axes, panels, cells, record)
        figure.align_ylabels(axes)
        _mark_events(figure, axes, record)
        _add_notes(figure, record, panels, notes, samples)
    return figure


def _arrange_cells(panels: list[Panel]) -> tuple[list[Cell], int]:
    """Return the cell of every panel and the number of columns."""
    rows = list(dict.fromkeys(panel.row for panel in panels if not panel.spans))
    columns = list(dict.fromkeys(panel.quantity for panel in panels if not panel.spans))
    if len(columns) < 2 or not any(row[-1] for row in rows):
        return [(k, 0) for k in range(len(panels))], 1
    rows.sort(key=lambda row: (row[0], not row[1], row[-1]))  # a base before the joints, lengths before angles
    rows += [panel.row for panel in panels if panel.spans]
    cells = [(rows.index(p.row), 0 if p.spans else columns.index(p.quantity)) for p in panels]
    return cells, len(columns)


def samples_between(record: Record, panels: list[Panel]) -> Samples | None:
    """Return the motion between the rows, or None if the record has only rows."""
    known = record.between is not None and "q" in record and "v" in record and np.ptp(record.t) > 0.0
    return sample_motion(record, [panel.columns for panel in panels]) if known else None


def _add_legends(axes: list[Any], panels: list[Panel], cells: list[Cell]) -> None:
    """Add a legend beside the last panel of every row, unless it is equal to that of the row above."""
    previous: list[str] = []
    for row in dict.fromkeys(row for row, _ in cells):
        in_row = [k for k, cell in enumerate(cells) if cell[0] == row]
        last = max(in_row, key=lambda k: cells[k][1])
        names = [panels[k].names for k in in_row]
        prefix = _common_prefix([name for group in names for name in group]) if len(set(names)) > 1 else ""
        together = [dict.fromkeys(filter(None, group)) for group in zip_longest(*names)]
        limit = MAX_CONTACT_CHARACTERS if panels[last].quantity in CONTACT_QUANTITIES else MAX_LEGEND_CHARACTERS
        texts = [
            _short(", ".join([first, *(name[len(prefix) :] for name in more)]), limit) for first, *more in together
        ]
        if texts and texts != previous:
            longest = max(range(len(in_row)), key=lambda k: len(names[k]))
            lines = axes[in_row[longest]].lines[: len(texts)]
            legend_beside(axes[last], lines, texts)
        previous = texts or previous


def _common_prefix(names: list[str]) -> str:
    """Return the common prefix of all names, up to an underscore."""
    first, last = min(names), max(names)
    same = next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[: first[:same].rfind("_") + 1]


def _short(name: str, limit: int) -> str:
    half = limit // 2
    return name if len(name) <= limit else f"{name[: half - 1]}…{name[-half:]}"


def _label_time_axes(axes: list[Any], panels: list[Panel], cells: list[Cell], record: Record) -> None:
    """Label the time axis of the lowest panel of every column, and of the lowest panel that spans all columns."""
    several = len({column for _, column in cells}) > 1
    spans_all = [several and panel.spans for panel in panels]
    last: dict[tuple[int, bool], int] = {}
    for (row, column), spans in zip(cells, spans_all, strict=True):
        last[column, spans] = max(row, last.get((column, spans), 0))
    for axis, (row, column), spans in zip(axes, cells, spans_all, strict=True):
        lowest = row == last[column, spans]
        axis.tick_params(labelbottom=lowest)
        if lowest:
            axis.set_xlabel(label("time t", "s"))
    first, end = record.t[0], record.t[-1]
    margin = 0.0 if end > first else 0.5
    axes[0].set_xlim(first - margin, end + margin)


def _mark_events(figure: Any, axes: list[Any], record: Record) -> None:
    from matplotlib.lines import Line2D

    times_of_kind: dict[str, list[float]] = {}
    for event in record.events:
        times_of_kind.setdefault(event.kind, []).append(event.time)
    crowded = len(record.events) > MAX_FULL_EVENT_LINES
    marks = []
    for kind, times in times_of_kind.items():
        color, style = EVENT_STYLES.get(kind, (GREY, ":"))
        for axis in axes:
            transform = axis.get_xaxis_transform()
            low, line = (0.94, "-") if crowded else (0.0, style)
            axis.vlines(times, low, 1.0, color, line, linewidth=0.8, transform=transform, zorder=1)
        number = "" if len(times) == 1 else f" ({len(times)})"
        marks.append(Line2D([], [], color=color, linestyle=style, linewidth=0.8, label=kind + number))
    if marks:
        figure.legend(handles=marks, loc="outside upper right", ncols=len(marks))


def _add_notes(figure: Any, record: Record, panels: list[Panel], notes: list[str], samples: Samples | None) -> None:
    """Write the robot and the message of the record above a figure, and notes for the reader below it."""
    title = ": ".join(str(record.about[key]) for key in ("robot", "message") if record.about.get(key))
    if title:
        figure_title(figure, fill(title, 90))
    if any(f"{panel.quantity}d" in record for panel in panels):
        notes = [*notes, "dotted: reference"]
    noted = [event for event in record.events if event.note]
    if 0 < len(noted) <= MAX_EVENT_NOTES:
        notes = [*notes, *(f"{event.kind} at {event.time:.3g} s: {event.note}" for event in noted)]
    rows = [panel for panel in panels if not known_between(record, panel, samples)]
    if rows and len(record) <= MAX_DOTS:
        kinds = {panel.quantity: "held constant" if held(record, panel) else "linear" for panel in rows}
        for kind in dict.fromkeys(kinds.values()):
            which = ", ".join(quantity for quantity, interpolation in kinds.items() if interpolation == kind)
            notes = [*notes, f"{which}: known at the dots, {kind} between them"]
    if notes:
        figure.supxlabel(fill("; ".join(notes) + ".", 125), x=0.01, ha="left", fontsize=NOTE_PT)


BANDS = ((0.05, 0.95, 0.15), (0.25, 0.75, 0.25))  # lower and upper quantile, and opacity
MAX_MEMBER_LINES = 10  # members drawn as separate lines


def plot_records(records: Records, quantities: str | Sequence[str], members: Sequence[int] | None, figure: Any) -> Any:
    """Plot the spread of all members, or some members as lines; see `Records.plot`."""
    if not len(records) or not len(records.t):
        raise ArgumentError("the records have no members or no rows to plot.")
    if members is not None and not 0 < len(members) <= MAX_MEMBER_LINES:
        raise ArgumentError(
            f"members has {len(members)} entries.", expected=f"1 to {MAX_MEMBER_LINES}, or None for all"
        )
    chosen = records if members is None else records[list(members)]
    spread = f"{len(records)} members; median, middle 50 % and middle 90 %"
    message = spread if members is None else f"members {', '.join(map(str, members))} of {len(records)}"

    style: dict[str, Any] = {"marker": "o", "markersize": 2.5} if len(records.t) <= MAX_DOTS else {}

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
        axis.set_ylabel(label("energy" if panel.quantity == "energy" else panel.title, panel.unit))
        axis.ticklabel_format(useOffset=False, scilimits=(-3, 4))

    return plot_record(_median(chosen, message), quantities, figure, draw)


def _median(records: Records, message: str) -> Record:
    """Return a record of the medians, which determines the panels."""
    blocks = {name: _quantile(block, 0.5) for name, block in records.blocks.items()}
    names = {name: titles for name, titles in records.titles.items() if titles}
    about = {"robot": records.about.get("robot", ""), "message": message}
    return Record.of(records.t, blocks, names, units=dict(records.units), about=about)


def _quantile(values: np.ndarray, part: float) -> np.ndarray:
    """Return the quantile over the members with finite values; NaN where there is none."""
    finite = np.where(np.isfinite(values), values, np.nan)
    empty = np.isnan(finite).all(axis=0)
    return np.where(empty, np.nan, np.nanquantile(np.where(empty, 0.0, finite), part, axis=0))


def plot_workspace(workspace: Workspace, figure: Any = None, highest: float = 1e3) -> Any:
    """See `Workspace.plot`."""
    if len(workspace.names) != 2:
        raise ArgumentError(
            f"cannot plot a map over {', '.join(workspace.names)}.", expected="a grid of two coordinates"
        )
    units = dict(zip(workspace.mechanism.coordinate_names, workspace.mechanism.coordinate_units, strict=True))
    shown = np.ma.masked_invalid(np.where(workspace.reachable, workspace.condition, np.nan))
    with styled():
        from matplotlib.colors import LogNorm

        figure = figure or new_figure(7.0, 5.5)
        axes = figure.add_subplot()
        style = {"norm": LogNorm(1.0, highest), "cmap": COLOR_MAP, "shading": "nearest"}
        image = axes.pcolormesh(*workspace.values, shown.T, **style)
        if workspace.reachable.any() and not workspace.reachable.all():
            axes.contour(*workspace.values, workspace.reachable.T.astype(float), levels=[0.5], colors=INK, linewidths=1)
        figure.colorbar(image, ax=axes, label="condition number", extend="max")
        axes.set(
            xlabel=label(workspace.names[0], units[workspace.names[0]]),
            ylabel=label(workspace.names[1], units[workspace.names[1]]),
            title=f"{workspace.mechanism.name}: {workspace.share:.0%} in reach; condition of the actuator Jacobian",
        )
    return figure
