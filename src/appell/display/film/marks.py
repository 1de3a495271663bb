"""The marks of a scene: what happens, when, and in which colour."""

from __future__ import annotations

from appell.display.scene import Color, Mark, Scene

# of Okabe and Ito's colours, which colour-blind readers tell apart
STRIKES, ENDS, HOLDS, OTHERS = (
    (0.835, 0.369, 0.0, 1.0),
    (0.8, 0.475, 0.655, 1.0),
    (0.0, 0.62, 0.451, 1.0),
    (0.3, 0.3, 0.3, 1.0),
)
COLORS: dict[str, Color] = {"impact": STRIKES, "stop": ENDS, "rest": HOLDS, "stick": HOLDS}


def marks(scene: Scene) -> list[Mark]:
    """Of all actors."""
    return [mark for actor in scene.actors if actor.motion is not None for mark in actor.motion.marks]


def color_of(kind: str) -> Color:
    return COLORS.get(kind, OTHERS)
