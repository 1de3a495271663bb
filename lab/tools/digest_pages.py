"""Group `pages`: HTML pages, frames of movies, drawings and plots of fixed robots and motions.

Images are compared by their pixels. The ids of an SVG are derived from a fixed salt, and its date is masked.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from digests import masked

import appell as ap

Entry = tuple[str, Callable[[], Any]]
FRAME = (240, 180)  # pixels


def cases() -> Iterator[Entry]:
    """Yield pages and pictures."""
    for name in ("puma", "tree10", "box", "four-bar", "delta", "agile-wrist"):
        yield f"page of {name}", lambda name=name: page(lambda path, name=name: ap.to_html(ap.load(name), path))
        yield f"drawing of {name}", lambda name=name: pixels(ap.draw(ap.load(name)))
        yield (
            f"drawing of {name} as svg",
            lambda name=name: svg(lambda path, name=name: ap.draw(ap.load(name), path=path)),
        )
    yield "drawing with inertia", lambda: pixels(ap.draw(ap.load("tree10"), inertia=True, walls=[ap.Circle(2.5)]))
    for name, record in (("fall", fall), ("loop", loop), ("mechanism", mechanism)):
        yield f"page of a record: {name}", lambda record=record: page(record().to_html)
        yield f"plot of a record: {name}", lambda record=record: pixels(record().plot())
        yield f"plot of a record: {name} as svg", lambda record=record: svg(record().plot)
        yield f"film of a record: {name}", lambda record=record: film(record())
    yield "page of two records", lambda: page(lambda path: fall().to_html(path, fall(0.5), title="two"))
    yield "plot of many records", lambda: pixels(many().plot())
    yield "page of many records", lambda: page(lambda path: many().to_html(path, [0, 2]))
    yield "map of five-bar", lambda: pixels(five_bar_map().plot())


@cache
def fall(restitution: float = 1.0) -> Any:
    wall = ap.Contact("all", ap.Circle(2.5), restitution, friction=0.0)
    return ap.simulate(ap.Dynamics(ap.load("tree10")), until=0.7, contacts=wall)


@cache
def loop() -> Any:
    return ap.simulate(ap.Dynamics(ap.load("four-bar")), v0=[2.0], until=0.4)


@cache
def mechanism() -> Any:
    return ap.simulate(ap.Dynamics(ap.load("five-bar")), until=0.2, torque=[0.2, -0.1])


@cache
def many() -> Any:
    starts = ap.load("puma").start + 0.1 * np.random.default_rng(5).normal(size=(5, 6))
    return ap.rollout(ap.Dynamics(ap.load("puma")), starts, steps=100, output=ap.simulation.Output(every=5))


def five_bar_map() -> Any:
    axes = {"x": np.linspace(-0.6, 0.6, 25), "y": np.linspace(0.0, 0.7, 25)}
    return ap.kinematics.workspace(ap.Dynamics(ap.load("five-bar")), axes)


def page(write: Callable[[Path], Any]) -> str:
    """Return the text of a page."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        write(path)
        return masked(path.read_text(encoding="utf-8"), folder)


def pixels(figure: Any) -> np.ndarray:
    """Return the pixels of a matplotlib figure."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.array(canvas.buffer_rgba())


def svg(write: Callable[[Path], Any]) -> str:
    """Return the text of an SVG with fixed ids and without its date."""
    import matplotlib

    with tempfile.TemporaryDirectory() as folder, matplotlib.rc_context({"svg.hashsalt": "digests"}):
        path = Path(folder) / "picture.svg"
        write(path)
        return re.sub(r"<dc:date>.*?</dc:date>", "<dc:date/>", path.read_text(encoding="utf-8"))


def film(record: Any) -> list[Any]:
    """Return the number of frames of a GIF, and the pixels of the first, the middle and the last one."""
    from PIL import Image

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film.gif"
        record.movie(path, size=FRAME, slower=2.0)
        with Image.open(path) as image:
            count = image.n_frames
            shown = []
            for number in (0, count // 2, count - 1):
                image.seek(number)
                shown.append(np.array(image.convert("RGB")))
        return [count, shown]
