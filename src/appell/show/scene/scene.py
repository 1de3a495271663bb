"""The scene: actors made of parts on bodies, the motion of the bodies, and events during the motion.

A pose is seven numbers, x y z qx qy qz qw: the pose of a body in the world, or of a part on its body. Lengths are in
metres, times in seconds; colours are red, green, blue and opacity from 0 to 1. Pages and movies are drawn from the same
scene.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from appell.algebra.mesh import Color as Color
from appell.algebra.mesh import Mesh as Mesh

AT_ORIGIN = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
WORLD = -1  # body index of parts that are fixed to the world

STANDARD_LAYERS = ("links", "walls", "loops", "frames", "centers", "inertia")  # that scenes contain by default
LAYERS = (*STANDARD_LAYERS, "collisions")  # groups of parts that can be shown or hidden
DEFAULT_LAYERS = ("links", "walls", "loops")  # layers that are visible initially


@dataclass(frozen=True, eq=False)
class ScenePart:
    """A mesh on a body of its actor."""

    mesh: Mesh  # parts may share a mesh, which is then stored once
    body: int = WORLD
    pose: Sequence[float] = AT_ORIGIN  # relative to the body
    color: Color = (0.6, 0.6, 0.6, 1.0)
    layer: str = "links"
    name: str = ""


@dataclass(frozen=True, eq=False)
class Strut:
    """A rod between points of two bodies; its length follows their distance."""

    bodies: tuple[int, int]
    ends: np.ndarray  # (2, 3), each in the axes of its body
    radius: float
    color: Color = (0.6, 0.6, 0.6, 1.0)
    layer: str = "links"
    name: str = ""


@dataclass(frozen=True, eq=False)
class Mark:
    """An event on the timeline, such as an impact, a stop or the end of a contact, with arrows for impulses."""

    time: float
    kind: str  # impact, stick, ...: marks of one kind share a colour
    label: str = ""  # text shown to the reader
    arrows: tuple[tuple[np.ndarray, np.ndarray], ...] = ()  # position and vector in the world, in m as drawn


@dataclass(frozen=True, eq=False)
class Chart:
    """Curves over time below the scene, such as energies and torques."""

    title: str
    unit: str
    names: tuple[str, ...]
    t: np.ndarray  # (rows); a time occurs twice at a discontinuity
    values: np.ndarray  # (rows, names), NaN where unknown


@dataclass(frozen=True, eq=False)
class SceneMotion:
    """Poses of the bodies of an actor over time.

    Between two frames, positions are interpolated linearly and orientations along the shorter rotation.
    """

    t: np.ndarray  # (frames); a time occurs twice at a discontinuity
    poses: np.ndarray  # (frames, bodies, 7)
    marks: tuple[Mark, ...] = ()
    charts: tuple[Chart, ...] = ()


@dataclass(frozen=True, eq=False)
class SceneSlider:
    """A value that the user can set in a live page, such as a joint coordinate."""

    name: str
    unit: str  # rad, m, 1
    lower: float
    upper: float
    value: float


@dataclass(frozen=True, eq=False)
class Handle:
    """A frame that the user can drag in a live page."""

    name: str
    body: int
    pose: Sequence[float] = AT_ORIGIN  # relative to the body


@dataclass(frozen=True, eq=False)
class Actor:
    """A set of bodies with their visible parts, and their motion or fixed poses."""

    name: str
    bodies: tuple[str, ...]
    poses: np.ndarray  # (bodies, 7), used if there is no motion
    parts: tuple[ScenePart, ...] = ()
    struts: tuple[Strut, ...] = ()
    motion: SceneMotion | None = None
    sliders: tuple[SceneSlider, ...] = ()  # used by live pages only
    handles: tuple[Handle, ...] = ()


@dataclass(frozen=True, eq=False)
class SceneSimulation:
    """A simulation that the page runs: WebAssembly modules (see `compile.wasm`) and what the user can change.

    `step` repeats a step of the actor's state q, v, with forces at its handles; `energy` is a function of q, v, the
    parameters of the loaded body and the factor of gravity; `poses` returns rotations R and origins x of all bodies.
    """

    step: bytes
    energy: bytes
    poses: bytes
    q: np.ndarray  # (nq), initial; the initial velocity is zero
    dt: float  # length of a step, s
    mass: float  # of the actor, kg
    controllers: tuple[str, ...]
    settings: tuple[SceneSlider, ...]
    parameters: np.ndarray  # (10), of the loaded body without payload
    payload: np.ndarray  # (10), parameters of a payload of 1 kg
    coordinates: tuple[int, ...]  # coordinates that the sliders of the actor set
    movable: bool  # whether every q is a valid configuration


@dataclass(frozen=True, eq=False)
class Scene:
    """Actors drawn together at the same time, and the walls and floors around them."""

    title: str
    actors: tuple[Actor, ...]
    parts: tuple[ScenePart, ...] = ()  # walls and floors, fixed to the world
    up: tuple[float, float, float] = (0.0, 0.0, 1.0)
    notes: tuple[str, ...] = ()  # remarks for the reader, such as missing meshes
    flat: tuple[float, float, float] | None = None  # normal of the plane of a planar scene
    floor: float | None = None  # height of the ground along `up`, in m; None: below the lowest part
    view: tuple[float, float] | None = field(default=None)  # azimuth and elevation in degrees chosen by the user
    simulation: SceneSimulation | None = None  # of the only actor

    @property
    def span(self) -> tuple[float, float]:
        """First and last time of all motions, in s; (0, 0) without motions."""
        times = [actor.motion.t for actor in self.actors if actor.motion is not None and len(actor.motion.t)]
        return (min(float(t[0]) for t in times), max(float(t[-1]) for t in times)) if times else (0.0, 0.0)


COLORS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#4d4d4d",
)  # Okabe and Ito, no yellow


def paint(color: str, opacity: float = 1.0) -> Color:
    """Convert a colour #rrggbb to numbers from 0 to 1."""
    red, green, blue = (int(color[k : k + 2], 16) / 255.0 for k in (1, 3, 5))
    return red, green, blue, opacity


def palette_color(k: int) -> Color:
    """Return colour k of the palette, which repeats; for actors, branches and kinds of marks."""
    return paint(COLORS[k % len(COLORS)])


GROUND = "#4d4d4d"  # parts fixed to the world
METAL = "#5d636b"  # joints
LIGHT_METAL = "#9aa1aa"  # walls, wheels, struts


def marks_of(scene: Scene) -> list[Mark]:
    """Return the marks of all actors in order of time."""
    marks = [mark for actor in scene.actors if actor.motion is not None for mark in actor.motion.marks]
    return sorted(marks, key=lambda mark: mark.time)


def mark_colors(scene: Scene) -> dict[str, Color]:
    """Return the colour of each kind of mark; impacts have a fixed colour, other kinds the next free one."""
    numbers = {"impact": 1}
    for mark in marks_of(scene):
        numbers.setdefault(mark.kind, 0 if len(numbers) == 1 else len(numbers))
    return {kind: palette_color(k) for kind, k in numbers.items()}
