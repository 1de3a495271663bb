"""What is to be seen: actors made of parts on bodies, how their bodies move, and what happens meanwhile.

A pose is seven numbers, x y z qx qy qz qw: where a body is in the world, or a part on its body. Lengths are metres,
times seconds, colours red, green, blue and opacity from 0 to 1. A page, a film and a test read the same scene.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

AT_ORIGIN = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
WORLD = -1  # the body of what stands still

# what can be shown and hidden by itself; the first ones are seen unless somebody hides them
LAYERS = ("links", "walls", "loops", "frames", "centers", "inertia")
SHOWN = ("links", "walls", "loops")

Color = tuple[float, float, float, float]


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles; a corner of a triangle is the number of a vertex, and they turn left about the normal outwards."""

    vertices: np.ndarray  # (vertices, 3)
    faces: np.ndarray  # (triangles, 3)
    smooth: bool = False  # shaded across edges, as a ball is and a box is not


@dataclass(frozen=True, eq=False)
class ScenePart:
    """A mesh on a body of its actor."""

    mesh: Mesh  # parts may share one; it travels once
    body: int = WORLD
    pose: Sequence[float] = AT_ORIGIN  # on the body
    color: Color = (0.6, 0.6, 0.6, 1.0)
    layer: str = "links"
    name: str = ""


@dataclass(frozen=True, eq=False)
class Strut:
    """A rod between points of two bodies, as long as they are apart."""

    bodies: tuple[int, int]
    ends: np.ndarray  # (2, 3), each in the axes of its body
    radius: float
    color: Color = (0.6, 0.6, 0.6, 1.0)
    layer: str = "links"
    name: str = ""


@dataclass(frozen=True, eq=False)
class Mark:
    """Something that happens at one time: an impact, a stop, the end of a contact; arrows where it strikes."""

    time: float
    kind: str  # impact, stick, ...: the same kind has the same colour
    label: str = ""  # what a reader is told about it
    arrows: tuple[tuple[np.ndarray, np.ndarray], ...] = ()  # place in the world and vector, as long as it is drawn


@dataclass(frozen=True, eq=False)
class Chart:
    """Curves over time below the scene: energies, torques."""

    title: str
    unit: str
    names: tuple[str, ...]
    t: np.ndarray  # (rows), a time twice where something jumps
    values: np.ndarray  # (rows, names), NaN where nothing is known


@dataclass(frozen=True, eq=False)
class SceneMotion:
    """Where the bodies of an actor are over time; between two frames they go straight and turn the short way."""

    t: np.ndarray  # (frames), a time twice where something jumps
    poses: np.ndarray  # (frames, bodies, 7)
    marks: tuple[Mark, ...] = ()
    charts: tuple[Chart, ...] = ()


@dataclass(frozen=True, eq=False)
class SceneSlider:
    """A number that a viewer may set: a coordinate of a joint."""

    name: str
    unit: str  # rad, m, 1
    lower: float
    upper: float
    value: float


@dataclass(frozen=True, eq=False)
class Handle:
    """A frame that a viewer may take hold of and drag."""

    name: str
    body: int
    pose: Sequence[float] = AT_ORIGIN  # on the body


@dataclass(frozen=True, eq=False)
class Actor:
    """Something that moves: bodies, what is seen of them, and how they move, or where they stand."""

    name: str
    bodies: tuple[str, ...]
    poses: np.ndarray  # (bodies, 7), where they stand as long as nothing moves them
    parts: tuple[ScenePart, ...] = ()
    struts: tuple[Strut, ...] = ()
    motion: SceneMotion | None = None
    sliders: tuple[SceneSlider, ...] = ()  # only a page with somebody behind it can answer to these
    handles: tuple[Handle, ...] = ()


@dataclass(frozen=True, eq=False)
class Scene:
    """Actors over each other at one time, and what stands about them."""

    title: str
    actors: tuple[Actor, ...]
    parts: tuple[ScenePart, ...] = ()  # walls and floors; their body is the world
    up: tuple[float, float, float] = (0.0, 0.0, 1.0)
    notes: tuple[str, ...] = ()  # what a viewer should know: a mesh that was not found, ...
    flat: tuple[float, float, float] | None = None  # the normal of the plane in which everything moves, to look along
    view: tuple[float, float] | None = field(default=None)  # azimuth and elevation in degrees, as chosen by the user

    @property
    def span(self) -> tuple[float, float]:
        """First and last time of all motions; (0, 0) if nothing moves."""
        times = [actor.motion.t for actor in self.actors if actor.motion is not None and len(actor.motion.t)]
        return (min(float(t[0]) for t in times), max(float(t[-1]) for t in times)) if times else (0.0, 0.0)


COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d")  # Okabe and Ito's, but yellow


def paint(color: str, opacity: float = 1.0) -> Color:
    """A colour as it is written, #rrggbb, in numbers from 0 to 1."""
    red, green, blue = (int(color[k : k + 2], 16) / 255.0 for k in (1, 3, 5))
    return red, green, blue, opacity


def numbered(k: int) -> Color:
    """The colour of an actor, a branch or a kind by its number."""
    return paint(COLORS[k % len(COLORS)])


GROUND = "#4d4d4d"  # what stands still
METAL = "#5d636b"  # joints
LIGHT_METAL = "#9aa1aa"  # walls, wheels, struts


def marks_of(scene: Scene) -> list[Mark]:
    """Of all actors, in the order of their times."""
    found = [mark for actor in scene.actors if actor.motion is not None for mark in actor.motion.marks]
    return sorted(found, key=lambda mark: mark.time)


def mark_colors(scene: Scene) -> dict[str, Color]:
    """Impacts always have the same colour; other kinds take the next that is free, as they come."""
    numbers = {"impact": 1}
    for mark in marks_of(scene):
        numbers.setdefault(mark.kind, 0 if len(numbers) == 1 else len(numbers))
    return {kind: numbered(k) for kind, k in numbers.items()}
