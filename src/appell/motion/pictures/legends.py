"""Whether a legend lies over a curve: a picture that hides what it shows is worth a word."""

from __future__ import annotations

from typing import Any


def covered(figure: Any) -> list[str]:
    """The names of the curves of a matplotlib figure that pass under one of its legends."""
    from matplotlib.path import Path
    from matplotlib.transforms import Bbox

    figure.draw_without_rendering()  # places everything
    legends = [*figure.legends, *filter(None, (axes.get_legend() for axes in figure.axes))]
    found = []
    for box in (legend.get_window_extent() for legend in legends):
        for axes in figure.axes:
            seen = Bbox.intersection(box, axes.bbox)
            if seen is None or not seen.width * seen.height:
                continue
            for line in axes.lines:
                points = line.get_transform().transform(line.get_xydata())
                if len(points) > 1 and Path(points).intersects_bbox(seen, filled=False):
                    found.append(str(line.get_label()))
    return found
