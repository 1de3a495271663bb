"""One look for all figures: sizes, letters, colours that colour-blind readers tell apart, units, and files."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import Any

from appell.errors import ArgumentError
from appell.files import check_target, replacing
from appell.show.scene.scene import COLORS

BLUE, RED, GREY = COLORS[0], COLORS[1], "#8a8f98"  # what it is about, what stands out, what is there for orientation
INK, FAINT, SCALE = "#333333", "#e6e8eb", "viridis_r"  # letters and what is exact, grids, and numbers shown as colours
DASHES = ("-", "--", ":", "-.")  # when there are more lines than colours
TITLE, TEXT, SMALL, NOTE = 11.0, 10.0, 9.0, 8.0  # points: titles, axes, ticks and legends, remarks; there are no others
DPI = 130
WIDE = 9.0  # inches
PREFIXES = {3 * k - 18: prefix for k, prefix in enumerate(("a", "f", "p", "n", "µ", "m", "", "k", "M", "G", "T"))}
UNITLESS = frozenset(  # axes of pure numbers
    {
        "additions",
        "branches of 4 links",
        "condition number",
        "impacts in 1.5 s",
        "joints",
        "links in each of 4 branches",
        "multiplications",
        "operations a joint",
        "quaternion [1]",
        "torque / limit",
    }
)

STYLE: dict[Any, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.labelsize": TEXT,
    "axes.titlecolor": INK,
    "axes.titlesize": TITLE,
    "axes.titlelocation": "left",
    "figure.titlesize": TITLE,
    "figure.labelsize": TEXT,
    "font.size": TEXT,
    "grid.color": FAINT,
    "legend.frameon": False,
    "legend.fontsize": SMALL,
    "legend.title_fontsize": SMALL,
    "text.color": INK,
    "xtick.color": INK,
    "xtick.labelsize": SMALL,
    "ytick.color": INK,
    "ytick.labelsize": SMALL,
    "lines.linewidth": 1.5,
}


def label(what: str, unit: str = "") -> str:
    """The text of an axis: 'time t [s]'."""
    return f"{what} [{unit}]" if unit else what


def darker(color: str) -> tuple[float, float, float]:
    """A colour of the palette at half its brightness: seen on a line of the colour itself, and still of it."""
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(color)
    return 0.5 * red, 0.5 * green, 0.5 * blue


def series(k: int) -> dict[str, str]:
    """How the line number k is drawn, so that more lines than there are colours can be told apart."""
    return {"color": COLORS[k % len(COLORS)], "linestyle": DASHES[k // len(COLORS) % len(DASHES)]}


def head(figure: Any, text: str) -> None:
    """The title of a whole figure, at its left edge."""
    figure.suptitle(text, x=0.01, ha="left")


def legend_beside(axes: Any, *lines_and_names: Any, **options: Any) -> None:
    """A legend to the right of the axes, where it covers nothing."""
    place = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5), "borderaxespad": 0.0, "handlelength": 1.6}
    axes.legend(*lines_and_names, **place | options)


def legend_below(figure: Any, axes: Any, columns: int) -> None:
    """The legend of all axes, whose lines are those of one of them, below the figure."""
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=columns)


def prefixed(size: float, unit: str) -> tuple[str, float]:
    """The unit with the prefix that suits a size, and how many of the unit it is: 3e-6, J gives µJ, 1e-6."""
    if not (size > 0.0 and math.isfinite(size)):
        return unit, 1.0
    power = min(max(3 * math.floor(math.log10(size) / 3.0), min(PREFIXES)), max(PREFIXES))
    return PREFIXES[power] + unit, 10.0**power


@contextmanager
def styled() -> Iterator[None]:
    """Figures made inside have the look of all others; without matplotlib, an error that says so."""
    try:
        import matplotlib
        from cycler import cycler
    except ImportError:
        raise ArgumentError(
            "a picture needs matplotlib, which is not installed.", hint="pip install 'appell[plots]'"
        ) from None
    with matplotlib.rc_context(STYLE | {"axes.prop_cycle": cycler(color=COLORS)}):
        yield


def new_figure(width: float, height: float) -> Any:
    """An empty figure of a size in inches, which needs no window and is nobody's current one."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", dpi=DPI)
    FigureCanvasAgg(figure)
    return figure


def check_picture(path: str | FilePath, overwrite: bool = False) -> FilePath:
    """Check the target of a figure before the work; see `files.check_target`."""
    with styled():
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        endings = sorted(f".{ending}" for ending in FigureCanvasAgg.get_supported_filetypes())
    return check_target(path, endings, overwrite)


def save(figure: Any, path: str | FilePath, overwrite: bool = False) -> FilePath:
    """Write a figure in the format of the file's ending."""
    target = check_picture(path, overwrite)
    with styled(), replacing(target, "the figure") as part:
        figure.savefig(part, dpi=DPI, format=target.suffix[1:].lower())
    return target


def written(make: Callable[[], Any], path: str | FilePath | None, overwrite: bool) -> Any:
    """Make a figure and write it to `path`, if there is one, which is checked before the work; return the figure."""
    if path is not None:
        check_picture(path, overwrite)
    figure = make()
    if path is not None:
        save(figure, path, overwrite)
    return figure
