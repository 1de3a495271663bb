"""Draw the pictures of pictures.md: `python docs/pictures.py [FOLDER]`; the default folder is docs/images."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from PIL import Image

import appell as ap
from appell.show.movie.movie import image
from appell.show.plot.style import FIGURE_WIDTH_IN, new_figure, save, styled
from appell.show.stage.scenes import record_scene


def ball(folder: Path) -> None:
    body = ap.Builder("ball", base="floating", root="ball").root_body(1.0, (0, 0, 0), (0.1, 0.1, 0.1)).build()
    floor = ap.Contact("ball", ap.Plane(), restitution=0.7, friction=0.0)
    record = ap.simulate(ap.Dynamics(body), [0, 0, 1, 0, 0, 0, 1], until=2.0, contacts=floor)
    record.plot(folder / "ball.png", overwrite=True)


def systems(folder: Path) -> None:
    """Draw three systems side by side with `ap.draw`."""
    with styled():
        figure = new_figure(FIGURE_WIDTH_IN, 3.4)
        for axes, name in zip(figure.subplots(1, 3), ("panda", "agile-wrist", "stewart-gough"), strict=True):
            ap.draw(ap.load(name), axes=axes)
            axes.set_title(name)
        save(figure, folder / "systems.png", overwrite=True)


def fall(folder: Path) -> None:
    """Draw four instants of a movie: the tree robot of Shafei and Shafei 2018 in a round wall."""
    record = ap.simulate(
        ap.Dynamics(ap.load("tree10")),
        until=1.1,
        contacts=ap.Contact("all", ap.Circle(2.5), restitution=1.0, friction=0.0),
    )
    scene = record_scene(record)
    shots = [image(scene, t, (300, 320)) for t in (0.0, 0.3852, 0.8, 1.0823)]
    Image.fromarray(np.concatenate(shots, axis=1)).quantize(128).save(folder / "fall.png", optimize=True)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "images"
    for draw in (ball, systems, fall):
        draw(target)
