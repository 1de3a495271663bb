"""The style of all figures: sizes, fonts, colours that are safe for colour-blind readers, units, and files."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import Any

from appell.errors import ArgumentError
from appell.files import check_target, replacing
from appell.show.scene.scene import COLORS

BLUE, RED, GREY = COLORS[0], COLORS[1], "#8a8f98"  # main data, highlights, context
INK, GRID_COLOR = "#333333", "#e6e8eb"  # text and exact values; grid lines
COLOR_MAP = "viridis_r"  # of numbers shown as colours
DASHES = ("-", "--", ":", "-.")  # used in turn when there are more lines than colours
TITLE_PT, TEXT_PT, SMALL_PT, NOTE_PT = 11.0, 10.0, 9.0, 8.0  # titles; axes; ticks and legends; notes; no other sizes
DPI = 130
FIGURE_WIDTH_IN = 9.0
PREFIXES = {3 * k - 18: prefix for k, prefix in enumerate(("a", "f", "p", "n", "µ", "m", "", "k", "M", "G", "T"))}

STYLE: dict[Any, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.labelsize": TEXT_PT,
    "axes.titlecolor": INK,
    "axes.titlesize": TITLE_PT,
    "axes.titlelocation": "left",
    "figure.titlesize": TITLE_PT,
    "figure.labelsize": TEXT_PT,
    "font.size": TEXT_PT,
    "grid.color": GRID_COLOR,
    "legend.frameon": False,
    "legend.fontsize": SMALL_PT,
    "legend.title_fontsize": SMALL_PT,
    "text.color": INK,
    "xtick.color": INK,
    "xtick.labelsize": SMALL_PT,
    "ytick.color": INK,
    "ytick.labelsize": SMALL_PT,
    "lines.linewidth": 1.5,
}


def label(quantity: str, unit: str = "") -> str:
    """Return the label of an axis, such as 'time t [s]'."""
    return f"{quantity} [{unit}]" if unit else quantity


def darker(color: str) -> tuple[float, float, float]:
    """Return a colour at half its brightness, for a line that is drawn over a line of the colour itself."""
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(color)
    return 0.5 * red, 0.5 * green, 0.5 * blue


def line_style(k: int) -> dict[str, str]:
    """Return the colour and dash pattern of line k, which distinguish more lines than there are colours."""
    return {"color": COLORS[k % len(COLORS)], "linestyle": DASHES[k // len(COLORS) % len(DASHES)]}


def figure_title(figure: Any, text: str) -> None:
    """Set the title of a figure at its left edge."""
    figure.suptitle(text, x=0.01, ha="left")


def legend_beside(axes: Any, *lines_and_names: Any, **options: Any) -> None:
    """Add a legend to the right of the axes, where it covers no data."""
    position = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5), "borderaxespad": 0.0, "handlelength": 1.6}
    axes.legend(*lines_and_names, **position | options)


def legend_below(figure: Any, axes: Any, columns: int) -> None:
    """Add a legend below the figure with the lines of one of its axes."""
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=columns)


def prefixed(size: float, unit: str) -> tuple[str, float]:
    """Return the unit with a prefix that suits a size, and its factor: 3e-6 and "J" give ("µJ", 1e-6)."""
    if not (size > 0.0 and math.isfinite(size)):
        return unit, 1.0
    power = min(max(3 * math.floor(math.log10(size) / 3.0), min(PREFIXES)), max(PREFIXES))
    return PREFIXES[power] + unit, 10.0**power


@contextmanager
def styled() -> Iterator[None]:
    """Apply the style to figures made in this context; raise ArgumentError without matplotlib."""
    try:
        import matplotlib
        from cycler import cycler
    except ImportError:
        raise ArgumentError(
            "figures need matplotlib, which is not installed.", hint="Run pip install 'appell[plots]'."
        ) from None
    with matplotlib.rc_context(STYLE | {"axes.prop_cycle": cycler(color=COLORS)}):
        yield


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure of a size in inches, without a window and independent of pyplot."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", dpi=DPI)
    FigureCanvasAgg(figure)
    return figure


def check_picture(path: str | FilePath, overwrite: bool = False) -> FilePath:
    """Check the file of a figure before it is drawn; see `files.check_target`."""
    with styled():
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        endings = sorted(f".{ending}" for ending in FigureCanvasAgg.get_supported_filetypes())
    return check_target(path, endings, overwrite)


def save(figure: Any, path: str | FilePath, overwrite: bool = False) -> FilePath:
    """Write a figure in the format given by the suffix of the file."""
    target = check_picture(path, overwrite)
    with styled(), replacing(target, "the figure") as part:
        figure.savefig(part, dpi=DPI, format=target.suffix[1:].lower())
    return target


def draw_and_save(make: Callable[[], Any], path: str | FilePath | None, overwrite: bool) -> Any:
    """Make a figure, write it to `path` unless that is None, and return it; the path is checked before drawing."""
    if path is not None:
        check_picture(path, overwrite)
    figure = make()
    if path is not None:
        save(figure, path, overwrite)
    return figure
