"""One look for all figures: sizes, letters, colours that colour-blind readers tell apart, units, and files."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import Any

from appell.display.palette import COLORS
from appell.display.target import check_target, replacing
from appell.errors import ArgumentError

BLUE, RED, GREY = COLORS[0], COLORS[1], "#8a8f98"  # what it is about, what stands out, what is there for orientation
DPI = 130
WIDE = 9.0  # inches
PREFIXES = {3 * k - 18: prefix for k, prefix in enumerate(("a", "f", "p", "n", "µ", "m", "", "k", "M", "G", "T"))}

STYLE: dict[Any, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.edgecolor": GREY,
    "axes.labelcolor": "#333333",
    "axes.labelsize": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "figure.titlesize": 10,
    "font.size": 9,
    "grid.color": "#e6e8eb",
    "legend.frameon": False,
    "legend.fontsize": 8,
    "xtick.color": "#333333",
    "ytick.color": "#333333",
    "lines.linewidth": 1.5,
}


def label(what: str, unit: str = "") -> str:
    """The text of an axis: 'time t [s]'."""
    return f"{what} [{unit}]" if unit else what


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


def check_picture(path: str | FilePath, endings: tuple[str, ...] = ()) -> FilePath:
    """The path of a picture, or an error if none can be written there; worth asking before the work."""
    return check_target(path, endings or _endings())


def _endings() -> tuple[str, ...]:
    """Of all pictures that matplotlib can write."""
    with styled():
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        return tuple(sorted(f".{ending}" for ending in FigureCanvasAgg.get_supported_filetypes()))


def save(figure: Any, path: str | FilePath) -> FilePath:
    """Write a figure in the format of the file's ending; a file that is there is replaced."""
    found = check_picture(path)
    with styled(), replacing(found) as part:
        figure.savefig(part, dpi=DPI, format=found.suffix[1:].lower())
    return found
