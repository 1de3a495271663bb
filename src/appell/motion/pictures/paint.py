"""Colours of parts that nobody coloured: those of all figures, a branch each, or one for a whole actor."""

from __future__ import annotations

from appell.display.scene import Color
from appell.motion.pictures.look import COLORS

GROUND = "#4d4d4d"  # what stands still
METAL = "#5d636b"  # joints
LIGHT = "#9aa1aa"  # walls, wheels, struts


def paint(color: str, opacity: float = 1.0) -> Color:
    """A colour as it is written, #rrggbb, in numbers from 0 to 1."""
    red, green, blue = (int(color[k : k + 2], 16) / 255.0 for k in (1, 3, 5))
    return red, green, blue, opacity


def numbered(k: int) -> Color:
    """The colour of an actor or a branch by its number."""
    return paint(COLORS[k % len(COLORS)])
