"""Figures of records: a panel a quantity and unit over time, references dotted, events as vertical lines.

Few joints stand below one another; many stand in a table, joints by row and quantities by column, so that forty of them
can be read. Legends stand beside the panels and cover nothing.

Which columns of a record share a panel, and which panels share a row.

A panel has one quantity in one unit, and at most as many lines as there are colours. What is zero or at rest throughout
has no panel and is said in a note instead. Joints stand apart from a base that flies: their names are those of both q
and v, while a base has places and quaternions on one side and velocities on the other.

The lines of one panel: the motion itself where it is known between the rows, else the rows, as dots if they are few.

Energy is drawn as a change from its start, in the prefix that suits it; what is level is not drawn as its rounding.

Figures of many motions: the panels of one record, with the spread of all members about their median in each.
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
from appell.show.plot.sampling import Samples, envelope, finely
from appell.show.plot.style import (
    COLORS,
    GREY,
    INK,
    NOTE,
    RED,
    SCALE,
    WIDE,
    darker,
    head,
    label,
    legend_beside,
    new_figure,
    prefixed,
    styled,
)

USUAL = ("q", "v", "a", "tau", "energy")
WORDS = {"q": "position q", "v": "velocity v", "a": "acceleration a", "tau": "force tau", "energy": "energy change"}
TURNS = {"q": "angle q", "tau": "torque tau"}  # where the unit says so
STILL = 1e-12  # of the largest value: what moves less is at rest
LENGTHS = ("m", "N")


@dataclass(frozen=True)
class Panel:
    """Columns of one quantity and unit; panels with the same `row` are about the same joints."""

    quantity: str
    columns: tuple[str, ...]
    unit: str
    row: tuple

    @property
    def names(self) -> tuple[str, ...]:
        """Of its lines; none if the quantity belongs to no joint."""
        return tuple(filter(None, (parse(title)[1] for title in self.columns)))

    @property
    def what(self) -> str:
        """The quantity in words."""
        if self.quantity == "q" and self.unit == "1":
            return "quaternion"
        turning = self.unit.startswith(("rad", "deg", "N m")) and " or " not in self.unit
        return (TURNS if turning and self.quantity in TURNS else WORDS).get(self.quantity, self.quantity)


def arranged(record: Record, quantities: Sequence[str]) -> tuple[list[Panel], list[str]]:
    """The panels of these quantities or columns, or of all usual ones that say something; and notes on the others."""
    if quantities:
        return _panels(record, quantities), []
    usual = [quantity for quantity in USUAL if quantity in record] or list(record.quantities[1:])
    panels = _panels(record, usual)
    said = {panel: sentence for panel in panels if (sentence := _silent(record, panel))}
    shown = [panel for panel in panels if panel not in said] or panels[:1]
    silent: dict[str, dict[str, None]] = {}
    for panel in (panel for panel in said if panel not in shown):
        silent.setdefault(said[panel], {})[f"{panel.what} [{panel.unit}]"] = None
    return shown, [f"{sentence}: {', '.join(whats)}" for sentence, whats in silent.items()]


def _panels(record: Record, keys: Sequence[str]) -> list[Panel]:
    """The columns of quantities, or single ones by their titles, by quantity and unit."""
    joints = set(record.names("q")) & set(record.names("v")) if "q" in record and "v" in record else None
    kinds: dict[tuple[str, bool, str], list[str]] = {}
    for key in keys:
        for title in (key,) if key in record.columns else titles(key, record.names(key)):
            quantity, name = parse(title)
            kinds.setdefault((quantity, joints is None or name in joints, record.unit(title)), []).append(title)
    panels = []
    for (quantity, joint, unit), members in kinds.items():
        way = unit.split("/")[0] in LENGTHS
        for k, share in enumerate(_shares(list(dict.fromkeys(members)))):
            row = (joint, way, k) if parse(share[0])[1] else (quantity,)
            panels.append(Panel(quantity, tuple(share), unit, row))
    return panels


def _shares(columns: list[str]) -> list[list[str]]:
    """Lines for several panels, none with more than there are colours; arm_left_1 ... arm_left_7 stay together."""
    most = len(COLORS)
    shares: list[list[str]] = [[]]
    for _, members in groupby(columns, lambda title: _family(parse(title)[1])):
        family = list(members)
        if len(shares[-1]) + len(family) <= most:
            shares[-1] += family
        else:
            shares += [part.tolist() for part in np.array_split(family, -(-len(family) // most))]
    return [share for share in shares if share]


def _family(name: str) -> str:
    """What joints of one limb have in common: what is before a number, or before the first underscore."""
    return re.split(r"\d", name)[0] if re.search(r"\d", name) else name.split("_")[0]


def _silent(record: Record, panel: Panel) -> str:
    """Why a panel would show nothing, as the beginning of a note; empty if it does show something."""
    values = np.array([record[title] for title in panel.columns])
    if not np.isfinite(values).any():
        return "without numbers"
    most = np.nanmax(np.abs(values))
    if panel.quantity not in ("q", "energy") and most == 0.0:
        return "zero throughout"
    if panel.unit == "1" and np.nanmax(np.ptp(values, axis=1)) <= STILL * most:
        return "does not change"
    return ""


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
        samples = samples_between(record, panels)
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


def samples_between(record: Record, panels: list[Panel]) -> Samples | None:
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


def plot_workspace(workspace: Workspace, figure: Any = None, highest: float = 1e3) -> Any:
    """See `Workspace.plot`."""
    if len(workspace.names) != 2:
        raise ArgumentError(
            f"a map over {', '.join(workspace.names)} cannot be drawn.", expected="a grid of two coordinates"
        )
    units = dict(zip(workspace.mechanism.coordinate_names, workspace.mechanism.coordinate_units, strict=True))
    shown = np.ma.masked_invalid(np.where(workspace.reachable, workspace.condition, np.nan))
    with styled():
        from matplotlib.colors import LogNorm

        figure = figure or new_figure(7.0, 5.5)
        axes = figure.add_subplot()
        look = {"norm": LogNorm(1.0, highest), "cmap": SCALE, "shading": "nearest"}
        image = axes.pcolormesh(*workspace.values, shown.T, **look)
        if workspace.reachable.any() and not workspace.reachable.all():
            axes.contour(*workspace.values, workspace.reachable.T.astype(float), levels=[0.5], colors=INK, linewidths=1)
        figure.colorbar(image, ax=axes, label="condition number", extend="max")
        axes.set(
            xlabel=label(workspace.names[0], units[workspace.names[0]]),
            ylabel=label(workspace.names[1], units[workspace.names[1]]),
            title=f"{workspace.mechanism.name}: {workspace.share:.0%} in reach; condition of the actuator Jacobian",
        )
    return figure
