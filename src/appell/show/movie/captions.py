"""Captions of a picture: the title, time and playback speed at the top, a timeline with marks at the bottom."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from appell.errors import needed_package
from appell.show.scene.scene import Color, Scene, mark_colors, marks_of, palette_color

INK, FAINT, LINE = (51, 51, 51), (138, 143, 152), (205, 209, 214)
MARGIN_PX = 14  # between text and the border of the picture
FONT_PX, SMALL_FONT_PX, SMALL_LINE_PX = 15, 12, 16  # font sizes, and the line spacing of the small font


class Captions:
    """The captions of all pictures of a scene, shown `slower` than real time by a factor."""

    def __init__(self, scene: Scene, size: tuple[int, int], step: float | None, slower: float = 1.0):
        self.scene, (self.width, self.height), self.step = scene, size, step
        self.first, self.last = scene.span
        self.speed = "" if slower == 1.0 else f"{slower:g} × slower" if slower > 1.0 else f"{1 / slower:g} × faster"
        self.line = self.height - 16
        colors = mark_colors(scene)
        self.marks = sorted({(colors[mark.kind], round(self._x(mark.time))) for mark in marks_of(scene)})

    def write(self, picture: np.ndarray, t: float) -> np.ndarray:
        """Return the picture (height, width, 3) with its captions."""
        image = needed_package("PIL.Image", "a picture", "appell[plots]").fromarray(picture)
        pen = needed_package("PIL.ImageDraw", "a picture", "appell[plots]").Draw(image)
        is_motion = self.last > self.first
        time = f"t = {t:.3f} s" + (f"   {self.speed}" if self.speed else "") if is_motion else ""
        pen.text((self.width - MARGIN_PX, MARGIN_PX), time, INK, _font(FONT_PX), anchor="ra")
        width = self.width - 3 * MARGIN_PX - pen.textlength(time, _font(FONT_PX))
        pen.text(
            (MARGIN_PX, MARGIN_PX),
            _shortened(self.scene.title, width, pen, _font(FONT_PX)),
            INK,
            _font(FONT_PX),
            anchor="la",
        )
        self._names(pen)
        if self.step is not None:
            above = self.height - (44 if is_motion else MARGIN_PX)
            pen.text((self.width - MARGIN_PX, above), f"grid {self.step:g} m", FAINT, _font(SMALL_FONT_PX), anchor="rs")
        if is_motion:
            self._time_line(pen, t)
        return np.asarray(image)

    def _names(self, pen: Any) -> None:
        """Write the names of the actors, if there are several."""
        if len(self.scene.actors) < 2:
            return
        listed = max(1, (self.height // 2 - MARGIN_PX) // SMALL_LINE_PX - 2)
        for k, actor in enumerate(self.scene.actors[:listed]):
            y = MARGIN_PX + (k + 1.5) * SMALL_LINE_PX
            pen.rectangle((MARGIN_PX, y + 1, MARGIN_PX + 10, y + 11), _bytes(palette_color(k)))
            name = _shortened(actor.name, self.width / 2, pen, _font(SMALL_FONT_PX))
            pen.text((MARGIN_PX + 16, y), name, INK, _font(SMALL_FONT_PX), anchor="la")
        if (more := len(self.scene.actors) - listed) > 0:
            corner = (MARGIN_PX + 16, MARGIN_PX + (listed + 1.5) * SMALL_LINE_PX)
            pen.text(corner, f"and {more} more", INK, _font(SMALL_FONT_PX), anchor="la")

    def _time_line(self, pen: Any, t: float) -> None:
        y, now = self.line, self._x(t)
        pen.line((MARGIN_PX, y, self.width - MARGIN_PX, y), LINE, 3)
        pen.line((MARGIN_PX, y, now, y), FAINT, 3)
        for color, x in self.marks:
            pen.line((x, y - 7, x, y + 7), _bytes(color), 2)
        pen.ellipse((now - 5, y - 5, now + 5, y + 5), INK)

    def _x(self, t: float) -> float:
        return MARGIN_PX + (t - self.first) / max(self.last - self.first, 1e-300) * (self.width - 2 * MARGIN_PX)


def _shortened(text: str, width: float, pen: Any, font: Any) -> str:
    """Return the text, shortened to a width in pixels."""
    if pen.textlength(text, font) <= width:
        return text
    while text and pen.textlength(text + "...", font) > width:
        text = text[:-1]
    return text + "..."


def _bytes(color: Color) -> tuple[int, int, int]:
    red, green, blue = (round(255 * part) for part in color[:3])
    return red, green, blue


@lru_cache(maxsize=8)
def _font(size: int) -> Any:
    """Return the font of matplotlib, which has Greek letters, or the default font of Pillow."""
    fonts = needed_package("PIL.ImageFont", "a picture", "appell[plots]")
    try:
        from matplotlib import get_data_path

        return fonts.truetype(f"{get_data_path()}/fonts/ttf/DejaVuSans.ttf", size)
    except (ImportError, OSError):
        return fonts.load_default(size)
