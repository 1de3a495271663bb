"""Checks of matplotlib figures: the rules that all figures of appell satisfy, with a sentence per violation.

An axis with data has a label with a unit, or is one of the dimensionless quantities of `UNITLESS`; axes in a row
or column may share a label. Legends do not cover data, and their entries are distinguishable. Font sizes and colours
are those of `style`. No text is cut off by the edge of the canvas or overlaps other text.

Covered data are found by pixels: the figure is drawn without its legends, once with and once without its data. Where
the two differ inside the box of a legend, the legend covers something.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from typing import Any

import numpy as np

from appell.show.plot.style import COLORS, NOTE_PT, SMALL_PT, TEXT_PT, TITLE_PT, darker

UNITLESS = frozenset(  # labels of axes without a unit
    {
        "additions",
        "branches of 4 links",
        "condition number",
        "impacts in 1.5 s",
        "joints",
        "links in each of 4 branches",
        "multiplications",
        "operations per joint",
        "quaternion [1]",
        "torque / limit",
    }
)
UNIT = re.compile(r"\[[^\]]+\]")
NUMBER = re.compile(r"[-−+]?[\d.,]+|\$.*\$")
MAX_GREY_SPREAD = 0.06  # largest difference between the components of a colour that counts as grey
TEXT_OVERLAP_PX = 1.0  # pixels by which the boxes of two texts may overlap


def flaws(figure: Any) -> list[str]:
    """Return all violations of the rules in a matplotlib figure."""
    hidden = covered(figure)  # draws the figure, so that all positions are known
    legends = [f"a legend covers {name}" for name in hidden]
    return [*legends, *_labels(figure), *_twins(figure), *_sizes(figure), *_colours(figure), *_positions(figure)]


def _labels(figure: Any) -> Iterator[str]:
    """Yield axes without a label, without a unit, or with fewer than two numbers."""
    for axes in _shown(figure):
        for letter, axis in _axis(axes):
            ticks = [text for tick in _ticks(axis) for text in tick]
            numbers = [text for text in ticks if NUMBER.fullmatch(text)]
            if ticks and not numbers:
                continue  # a categorical axis
            name = f"{letter} of '{axes.get_title(loc='left') or axes.get_ylabel() or axes.get_xlabel()}'"
            text = axis.get_label_text() or _shared(figure, axes, letter)
            if not text:
                yield f"{name} has no label"
            elif text.replace("\n", " ") not in UNITLESS and not UNIT.search(text):
                yield f"{name} has no unit: '{text}'"
            if ticks and len(numbers) < 2 and letter != "z":
                yield f"{name} has fewer than two numbers"


def _shown(figure: Any) -> list[Any]:
    """Return the axes with data whose frame is visible."""
    return [axes for axes in figure.axes if axes.get_visible() and _framed(axes) and axes.has_data()]


def _framed(axes: Any) -> bool:
    """Return whether the axis lines are drawn; 3-D axes draw their own."""
    return axes.axison or axes.name == "3d"


def _axis(axes: Any) -> Iterator[tuple[str, Any]]:
    is_bar = hasattr(axes, "_colorbar")
    for letter in "xyz":
        axis = getattr(axes, f"{letter}axis", None)
        if axis is not None and axis.get_visible() and not (is_bar and not _ticks(axis)):
            yield letter, axis


def _ticks(axis: Any) -> list[list[str]]:
    """Return the texts of the major ticks in view."""
    low, high = sorted(axis.get_view_interval())
    ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    texts = [[x.get_text() for x in (tick.label1, tick.label2) if x.get_visible() and x.get_text()] for tick in ticks]
    return [text for text in texts if text]


def _shared(figure: Any, axes: Any, letter: str) -> str:
    """Return the label of axes in the same column (x) or row (y), or of the figure."""
    figure_label = figure.get_supxlabel() if letter == "x" else figure.get_supylabel()
    start, end = ("x0", "x1") if letter == "x" else ("y0", "y1")
    position = axes.get_position()
    for other in _shown(figure):
        other_position = other.get_position()
        aligned = all(abs(getattr(position, side) - getattr(other_position, side)) < 0.02 for side in (start, end))
        if aligned and getattr(other, f"get_{letter}label")():
            return getattr(other, f"get_{letter}label")()
    return figure_label


def _twins(figure: Any) -> Iterator[str]:
    """Yield entries of a legend that look the same."""
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D

    for legend in figure.findobj(Legend):
        looks: dict[object, str] = {}
        for line, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
            if isinstance(line, Line2D):
                look = (*map(str, (line.get_color(), line.get_linestyle(), line.get_marker(), line.get_alpha())),)
                look += (str(line.get_markerfacecolor()), str(line.get_linewidth()))
                if look in looks:
                    yield f"'{text.get_text()}' and '{looks[look]}' look the same"
                looks[look] = text.get_text()


def _texts(figure: Any) -> list[Any]:
    """Return all visible texts; tick labels out of view are not visible."""
    from matplotlib.axes import Axes
    from matplotlib.text import Text

    invisible: set[int] = set()
    for axes in figure.findobj(Axes):
        for letter in "xyz":
            axis = getattr(axes, f"{letter}axis", None)
            if axis is None:
                continue
            low, high = sorted(axis.get_view_interval())
            ignored = not _framed(axes) or axes.name == "3d"  # matplotlib places the ticks of 3-D axes
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if ignored or not low <= tick.get_loc() <= high:
                    invisible |= {id(tick.label1), id(tick.label2)}
            if not _framed(axes):
                invisible.add(id(axis.label))
    return [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip() and id(t) not in invisible]


def _sizes(figure: Any) -> Iterator[str]:
    """Yield texts in other font sizes."""
    allowed = (TITLE_PT, TEXT_PT, SMALL_PT, NOTE_PT)
    for text in _texts(figure):
        if text.get_fontsize() not in allowed:
            yield f"'{text.get_text()}' has a font size of {text.get_fontsize():g} points, not one of {allowed}"


def _colours(figure: Any) -> Iterator[str]:
    """Yield artists in colours that are neither in the palette nor grey."""
    from matplotlib.collections import Collection
    from matplotlib.colors import to_hex, to_rgb, to_rgba_array
    from matplotlib.lines import Line2D

    allowed = {to_hex(color) for color in COLORS} | {to_hex(darker(color)) for color in COLORS}
    for axes in (axes for axes in figure.axes if not hasattr(axes, "_colorbar")):
        parts: list[tuple[Any, Any]] = []
        for artist in (*axes.lines, *axes.texts):
            parts.append((artist, artist.get_color()))
        for artist in (*axes.patches, *axes.collections):
            if isinstance(artist, Collection) and artist.get_array() is not None:
                continue  # colours that encode numbers
            parts += [(artist, artist.get_facecolor()), (artist, artist.get_edgecolor())]
        for artist, colors in parts:
            for color in to_rgba_array(colors) if not isinstance(artist, Line2D) else [to_rgb(colors)]:
                rgb = to_rgb(tuple(color)[:3])
                if max(rgb) - min(rgb) > MAX_GREY_SPREAD and to_hex(rgb) not in allowed:
                    yield f"{artist.get_label() or type(artist).__name__} is drawn in {to_hex(rgb)}"


def _positions(figure: Any) -> Iterator[str]:
    """Yield texts that are cut off or overlap other texts."""
    texts = _texts(figure)
    boxes = [text.get_window_extent() for text in texts]
    width, height = figure.canvas.get_width_height()
    margin = TEXT_OVERLAP_PX
    for text, box in zip(texts, boxes, strict=True):
        if min(box.x0, box.y0) < -margin or box.x1 > width + margin or box.y1 > height + margin:
            yield f"'{text.get_text()}' is cut off by the edge"
    for (one, first), (other, second) in combinations(zip(texts, boxes, strict=True), 2):
        overlap_x = min(first.x1, second.x1) - max(first.x0, second.x0)
        overlap_y = min(first.y1, second.y1) - max(first.y0, second.y0)
        if min(overlap_x, overlap_y) > margin:
            yield f"'{one.get_text()}' overlaps '{other.get_text()}'"


def covered(figure: Any) -> list[str]:
    """Return the names of the curves, bars and texts that are covered by a legend."""
    from matplotlib.legend import Legend

    figure.canvas.draw()  # computes all positions
    legends = [legend for legend in figure.findobj(Legend) if legend.get_visible()]
    boxes = [_pixels_of(figure, legend.get_window_extent()) for legend in legends]
    if not boxes:
        return []
    data = [artist for axes in figure.axes for artist in _data(axes) if artist.get_visible()]
    with _without_layout(figure), _hidden(legends):
        full = _pixels(figure)
        with _hidden(data):
            empty = _pixels(figure)
            covering = [box for box in boxes if (full[box] != empty[box]).any()]
            return [_name(artist) for artist in data if covering and _is_inside(figure, artist, empty, covering)]


def _data(axes: Any) -> list[Any]:
    return [*axes.lines, *axes.collections, *axes.patches, *axes.images, *axes.texts]


def _is_inside(figure: Any, artist: Any, empty: np.ndarray, boxes: Sequence[Any]) -> bool:
    """Return whether an artist, drawn alone, has pixels in any of the boxes."""
    artist.set_visible(True)
    drawn = _pixels(figure)
    artist.set_visible(False)
    return any((drawn[box] != empty[box]).any() for box in boxes)


def _name(artist: Any) -> str:
    from matplotlib.text import Text

    return artist.get_text() if isinstance(artist, Text) else str(artist.get_label())


def _pixels(figure: Any) -> np.ndarray:
    figure.canvas.draw()
    return np.array(figure.canvas.buffer_rgba())


def _pixels_of(figure: Any, box: Any) -> tuple[slice, slice]:
    """Return the pixels of a box; rows are counted from the top."""
    height = figure.canvas.get_width_height()[1]
    low, high = (int(np.clip(height - y, 0, height)) for y in (box.y1, box.y0))
    return slice(low, high), slice(max(int(box.x0), 0), max(int(box.x1), 0))


@contextmanager
def _without_layout(figure: Any) -> Iterator[None]:
    """Disable the layout engine, so that drawing does not move anything."""
    engine = figure.get_layout_engine()
    figure.set_layout_engine("none")
    try:
        yield
    finally:
        figure.set_layout_engine(engine)


@contextmanager
def _hidden(artists: Sequence[Any]) -> Iterator[None]:
    for artist in artists:
        artist.set_visible(False)
    try:
        yield
    finally:
        for artist in artists:
            artist.set_visible(True)
