"""What is written on a picture: the title with time and pace above, a time line with marks below."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from appell.errors import needed_package
from appell.show.scene.scene import Color, Scene, mark_colors, marks_of, palette_color

INK, FAINT, LINE = (51, 51, 51), (138, 143, 152), (205, 209, 214)
EDGE = 14  # pixels between letters and the rim
SIZE, SMALL, LEADING = 15, 12, 16  # pixels that letters are high, and from line to line of small ones


class Captions:
    """The writing on all pictures of a scene; the pace says how much slower than life it is shown."""

    def __init__(self, scene: Scene, size: tuple[int, int], step: float | None, slower: float = 1.0):
        self.scene, (self.width, self.height), self.step = scene, size, step
        self.first, self.last = scene.span
        self.pace = "" if slower == 1.0 else f"{slower:g} × slower" if slower > 1.0 else f"{1 / slower:g} × faster"
        self.line = self.height - 16
        colors = mark_colors(scene)
        self.marks = sorted({(colors[mark.kind], round(self._x(mark.time))) for mark in marks_of(scene)})

    def write(self, picture: np.ndarray, t: float) -> np.ndarray:
        """The picture (height, width, 3) with its writing."""
        image = needed_package("PIL.Image", "a picture", "appell[plots]").fromarray(picture)
        pen = needed_package("PIL.ImageDraw", "a picture", "appell[plots]").Draw(image)
        moves = self.last > self.first
        time = f"t = {t:.3f} s" + (f"   {self.pace}" if self.pace else "") if moves else ""
        pen.text((self.width - EDGE, EDGE), time, INK, _font(SIZE), anchor="ra")
        room = self.width - 3 * EDGE - pen.textlength(time, _font(SIZE))
        pen.text((EDGE, EDGE), _cut(self.scene.title, room, pen, _font(SIZE)), INK, _font(SIZE), anchor="la")
        self._names(pen)
        if self.step is not None:
            above = self.height - (44 if moves else EDGE)
            pen.text((self.width - EDGE, above), f"grid {self.step:g} m", FAINT, _font(SMALL), anchor="rs")
        if moves:
            self._time_line(pen, t)
        return np.asarray(image)

    def _names(self, pen: Any) -> None:
        """Who is who, if there are several."""
        if len(self.scene.actors) < 2:
            return
        room = max(1, (self.height // 2 - EDGE) // LEADING - 2)
        for k, actor in enumerate(self.scene.actors[:room]):
            y = EDGE + (k + 1.5) * LEADING
            pen.rectangle((EDGE, y + 1, EDGE + 10, y + 11), _bytes(palette_color(k)))
            name = _cut(actor.name, self.width / 2, pen, _font(SMALL))
            pen.text((EDGE + 16, y), name, INK, _font(SMALL), anchor="la")
        if (more := len(self.scene.actors) - room) > 0:
            pen.text((EDGE + 16, EDGE + (room + 1.5) * LEADING), f"and {more} more", INK, _font(SMALL), anchor="la")

    def _time_line(self, pen: Any, t: float) -> None:
        y, now = self.line, self._x(t)
        pen.line((EDGE, y, self.width - EDGE, y), LINE, 3)
        pen.line((EDGE, y, now, y), FAINT, 3)
        for color, x in self.marks:
            pen.line((x, y - 7, x, y + 7), _bytes(color), 2)
        pen.ellipse((now - 5, y - 5, now + 5, y + 5), INK)

    def _x(self, t: float) -> float:
        return EDGE + (t - self.first) / max(self.last - self.first, 1e-300) * (self.width - 2 * EDGE)


def _cut(text: str, room: float, pen: Any, font: Any) -> str:
    """A text, or as much of it as there is room for."""
    if pen.textlength(text, font) <= room:
        return text
    while text and pen.textlength(text + "...", font) > room:
        text = text[:-1]
    return text + "..."


def _bytes(color: Color) -> tuple[int, int, int]:
    red, green, blue = (round(255 * part) for part in color[:3])
    return red, green, blue


@lru_cache(maxsize=8)
def _font(size: int) -> Any:
    """The letters of figures where matplotlib is, which know Greek; else those that Pillow brings."""
    fonts = needed_package("PIL.ImageFont", "a picture", "appell[plots]")
    try:
        from matplotlib import get_data_path

        return fonts.truetype(f"{get_data_path()}/fonts/ttf/DejaVuSans.ttf", size)
    except (ImportError, OSError):
        return fonts.load_default(size)
