"""Colours that colour-blind readers tell apart, the same in figures, pages and films, and colours as numbers."""

from __future__ import annotations

from appell.display.scene import Color

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d")  # Okabe and Ito's, but yellow


def paint(color: str, opacity: float = 1.0) -> Color:
    """A colour as it is written, #rrggbb, in numbers from 0 to 1."""
    red, green, blue = (int(color[k : k + 2], 16) / 255.0 for k in (1, 3, 5))
    return red, green, blue, opacity


def numbered(k: int) -> Color:
    """The colour of an actor, a branch or a kind by its number."""
    return paint(COLORS[k % len(COLORS)])
