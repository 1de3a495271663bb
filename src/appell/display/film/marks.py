"""The marks of a scene: what happens, and in which colour; the same as on its page."""

from __future__ import annotations

from appell.display.scene import Color, Mark, Scene

# Okabe and Ito's colours without yellow, which colour-blind readers tell apart, as in all figures
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d")


def marks(scene: Scene) -> list[Mark]:
    """Of all actors, in the order of their times."""
    found = [mark for actor in scene.actors if actor.motion is not None for mark in actor.motion.marks]
    return sorted(found, key=lambda mark: mark.time)


def kind_colors(scene: Scene) -> dict[str, Color]:
    """Impacts always have the same colour; other kinds take the next that is free, as they come."""
    numbers = {"impact": 1}
    for mark in marks(scene):
        numbers.setdefault(mark.kind, 0 if len(numbers) == 1 else len(numbers))
    return {kind: _color(COLORS[k % len(COLORS)]) for kind, k in numbers.items()}


def _color(text: str) -> Color:
    red, green, blue = (int(text[k : k + 2], 16) / 255.0 for k in (1, 3, 5))
    return red, green, blue, 1.0
