"""The marks of a scene: what happens, and in which colour; the same as on its page."""

from __future__ import annotations

from appell.display.palette import numbered
from appell.display.scene import Color, Mark, Scene


def marks(scene: Scene) -> list[Mark]:
    """Of all actors, in the order of their times."""
    found = [mark for actor in scene.actors if actor.motion is not None for mark in actor.motion.marks]
    return sorted(found, key=lambda mark: mark.time)


def kind_colors(scene: Scene) -> dict[str, Color]:
    """Impacts always have the same colour; other kinds take the next that is free, as they come."""
    numbers = {"impact": 1}
    for mark in marks(scene):
        numbers.setdefault(mark.kind, 0 if len(numbers) == 1 else len(numbers))
    return {kind: numbered(k) for kind, k in numbers.items()}
