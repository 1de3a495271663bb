"""Whether a legend lies over what is drawn: a picture that hides what it shows is worth a word.

Judged by pixels: the figure is drawn without its legends, once with and once without its data. Where the two differ
inside the box of a legend, there is something under it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np


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
