"""What is wrong with a figure, in sentences: the rules that all figures of the house are held to.

An axis with data has a label with its unit, or is one of the pure numbers that `look.UNITLESS` lists; axes in a row or
a column may share one. Legends cover nothing and tell their lines apart. Letters have the sizes and colours are those
of `look`. Nothing that is written is cut off by the edge of the canvas or runs into other writing.

Whether a legend lies over what is drawn: a picture that hides what it shows is worth a word.

Judged by pixels: the figure is drawn without its legends, once with and once without its data. Where the two differ
inside the box of a legend, there is something under it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from typing import Any

import numpy as np

from appell.show.plot.style import COLORS, NOTE_PT, SMALL_PT, TEXT_PT, TITLE_PT, UNITLESS, darker

UNIT = re.compile(r"\[[^\]]+\]")
NUMBER = re.compile(r"[-−+]?[\d.,]+|\$.*\$")
NEUTRAL = 0.06  # how far the parts of a grey are apart at most
TOUCH = 1.0  # pixels by which the boxes of two texts may overlap


def flaws(figure: Any) -> list[str]:
    """Everything that is to be mended in a matplotlib figure; empty if it is as it should be."""
    hidden = covered(figure)  # draws it, so that all places are known
    found = [f"a legend covers {name}" for name in hidden]
    return [*found, *_labels(figure), *_twins(figure), *_sizes(figure), *_colours(figure), *_places(figure)]


def _labels(figure: Any) -> Iterator[str]:
    """Axes without a name, a unit or enough numbers to read a value off."""
    for axes in _shown(figure):
        for letter, axis in _axis(axes):
            ticks = [text for tick in _ticks(axis) for text in tick]
            numbers = [text for text in ticks if NUMBER.fullmatch(text)]
            if ticks and not numbers:
                continue  # things, and not numbers, stand along this axis
            whose = f"{letter} of '{axes.get_title(loc='left') or axes.get_ylabel() or axes.get_xlabel()}'"
            text = axis.get_label_text() or _shared(figure, axes, letter)
            if not text:
                yield f"{whose} has no label"
            elif text.replace("\n", " ") not in UNITLESS and not UNIT.search(text):
                yield f"{whose} has no unit: '{text}'"
            if ticks and len(numbers) < 2 and letter != "z":
                yield f"{whose} has fewer than two numbers"


def _shown(figure: Any) -> list[Any]:
    """Axes with data whose frame is seen."""
    return [axes for axes in figure.axes if axes.get_visible() and _framed(axes) and axes.has_data()]


def _framed(axes: Any) -> bool:
    """Whether its axes are drawn; those in space draw theirs by themselves."""
    return axes.axison or axes.name == "3d"


def _axis(axes: Any) -> Iterator[tuple[str, Any]]:
    is_bar = hasattr(axes, "_colorbar")
    for letter in "xyz":
        axis = getattr(axes, f"{letter}axis", None)
        if axis is not None and axis.get_visible() and not (is_bar and not _ticks(axis)):
            yield letter, axis


def _ticks(axis: Any) -> list[list[str]]:
    """The texts of the major ticks that are in view."""
    low, high = sorted(axis.get_view_interval())
    seen = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    texts = [[x.get_text() for x in (tick.label1, tick.label2) if x.get_visible() and x.get_text()] for tick in seen]
    return [text for text in texts if text]


def _shared(figure: Any, axes: Any, letter: str) -> str:
    """The label of axes in the same column, or in the same row, or of the whole figure."""
    whole = figure.get_supxlabel() if letter == "x" else figure.get_supylabel()
    start, end = ("x0", "x1") if letter == "x" else ("y0", "y1")
    place = axes.get_position()
    for other in _shown(figure):
        there = other.get_position()
        aligned = all(abs(getattr(place, side) - getattr(there, side)) < 0.02 for side in (start, end))
        if aligned and getattr(other, f"get_{letter}label")():
            return getattr(other, f"get_{letter}label")()
    return whole


def _twins(figure: Any) -> Iterator[str]:
    """Lines of a legend that look the same."""
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
    """All that is written and seen; ticks out of view are not."""
    from matplotlib.axes import Axes
    from matplotlib.text import Text

    unseen: set[int] = set()
    for axes in figure.findobj(Axes):
        for letter in "xyz":
            axis = getattr(axes, f"{letter}axis", None)
            if axis is None:
                continue
            low, high = sorted(axis.get_view_interval())
            away = not _framed(axes) or axes.name == "3d"  # in space, ticks are where they can be
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if away or not low <= tick.get_loc() <= high:
                    unseen |= {id(tick.label1), id(tick.label2)}
            if not _framed(axes):
                unseen.add(id(axis.label))
    return [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip() and id(t) not in unseen]


def _sizes(figure: Any) -> Iterator[str]:
    allowed = (TITLE_PT, TEXT_PT, SMALL_PT, NOTE_PT)
    for text in _texts(figure):
        if text.get_fontsize() not in allowed:
            yield f"'{text.get_text()}' is written in {text.get_fontsize():g} points, not in {allowed}"


def _colours(figure: Any) -> Iterator[str]:
    """What is drawn in a colour that is neither of the palette nor a grey."""
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
                continue  # numbers as colours
            parts += [(artist, artist.get_facecolor()), (artist, artist.get_edgecolor())]
        for artist, given in parts:
            for color in to_rgba_array(given) if not isinstance(artist, Line2D) else [to_rgb(given)]:
                rgb = to_rgb(tuple(color)[:3])
                if max(rgb) - min(rgb) > NEUTRAL and to_hex(rgb) not in allowed:
                    yield f"{artist.get_label() or type(artist).__name__} is drawn in {to_hex(rgb)}"


def _places(figure: Any) -> Iterator[str]:
    """Writing that is cut off, or runs into other writing."""
    texts = _texts(figure)
    boxes = [text.get_window_extent() for text in texts]
    wide, high = figure.canvas.get_width_height()
    for text, box in zip(texts, boxes, strict=True):
        if min(box.x0, box.y0) < -TOUCH or box.x1 > wide + TOUCH or box.y1 > high + TOUCH:
            yield f"'{text.get_text()}' is cut off by the edge"
    for (one, here), (other, there) in combinations(zip(texts, boxes, strict=True), 2):
        across = min(here.x1, there.x1) - max(here.x0, there.x0)
        along = min(here.y1, there.y1) - max(here.y0, there.y0)
        if min(across, along) > TOUCH:
            yield f"'{one.get_text()}' runs into '{other.get_text()}'"


def covered(figure: Any) -> list[str]:
    """The names of curves, bars and texts of a matplotlib figure that are under one of its legends."""
    from matplotlib.legend import Legend

    figure.canvas.draw()  # places everything
    legends = [legend for legend in figure.findobj(Legend) if legend.get_visible()]
    boxes = [_cut(figure, legend.get_window_extent()) for legend in legends]
    if not boxes:
        return []
    data = [artist for axes in figure.axes for artist in _data(axes) if artist.get_visible()]
    with _still(figure), _hidden(legends):
        full = _pixels(figure)
        with _hidden(data):
            empty = _pixels(figure)
            under = [box for box in boxes if (full[box] != empty[box]).any()]
            return [_name(artist) for artist in data if under and _seen(figure, artist, empty, under)]


def _data(axes: Any) -> list[Any]:
    return [*axes.lines, *axes.collections, *axes.patches, *axes.images, *axes.texts]


def _seen(figure: Any, artist: Any, empty: np.ndarray, boxes: Sequence[Any]) -> bool:
    """Whether one thing, drawn alone, is in any of the boxes."""
    artist.set_visible(True)
    alone = _pixels(figure)
    artist.set_visible(False)
    return any((alone[box] != empty[box]).any() for box in boxes)


def _name(artist: Any) -> str:
    from matplotlib.text import Text

    return artist.get_text() if isinstance(artist, Text) else str(artist.get_label())


def _pixels(figure: Any) -> np.ndarray:
    figure.canvas.draw()
    return np.array(figure.canvas.buffer_rgba())


def _cut(figure: Any, box: Any) -> tuple[slice, slice]:
    """The pixels of a box, whose rows are counted from above."""
    height = figure.canvas.get_width_height()[1]
    low, high = (int(np.clip(height - y, 0, height)) for y in (box.y1, box.y0))
    return slice(low, high), slice(max(int(box.x0), 0), max(int(box.x1), 0))


@contextmanager
def _still(figure: Any) -> Iterator[None]:
    """Without laying it out anew at each drawing."""
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
