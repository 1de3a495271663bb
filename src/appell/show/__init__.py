"""Everything that draws: plots, scenes, pages, a live server and films."""

from appell.show.plot.drawing import draw
from appell.show.stage.output import to_html, view

__all__ = [
    "draw",
    "to_html",
    "view",
]
