"""Request handling for live pages: the page, its scene, slider moves, handle drags and updates.

This module uses no sockets: `server` passes requests as decoded JSON and sends the replies. A request that does not fit
the scene raises an ArgumentError. An articulated scene (`Articulated`) computes the poses of the bodies when a slider
or a handle is moved; it receives one request at a time.

Pages receive updates by long polling: either the first actor has moved, or there is another scene. A page sends the
number of the last update that it has received. The reply is sent as soon as there is a newer update, or without one
after LONG_POLL_S. A slow page misses intermediate updates and receives the latest.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from appell.errors import ArgumentError, check_number
from appell.show.page.page_text import encoded, page_text
from appell.show.scene.scene import Actor, Scene

LONG_POLL_S = 20.0  # time after which a request for updates is answered without one
MIN_QUATERNION_NORM = 1e-3


@dataclass(frozen=True, eq=False)
class Reply:
    """The configuration of an actor after a request, with an explanation if it differs from the request."""

    values: Sequence[float]  # of its sliders
    poses: np.ndarray  # (bodies, 7)
    note: str = ""  # why the request could not be fulfilled exactly


class Articulated(Protocol):
    """The interface of an articulated scene, which receives one request at a time."""

    def posed(self, actor: int, values: Sequence[float]) -> Reply:
        """Move an actor to these slider values."""

    def dragged(self, actor: int, handle: int, pose: Sequence[float], values: Sequence[float]) -> Reply:
        """Drag a handle of an actor to a pose, starting from these slider values."""

    def shown(self, thing: Any) -> Scene | Reply:
        """Return what pages show for an argument of `Viewer.show`: another scene, or new poses of the first actor."""


def as_json(answer: Reply) -> dict[str, Any]:
    """Return a reply as a dictionary for JSON."""
    poses = [[float(x) for x in pose] for pose in answer.poses]
    return {"values": [float(x) for x in answer.values], "poses": poses, "note": answer.note}


class Updates:
    """The number and the content of the latest update."""

    def __init__(self):
        self.number = 0
        self._changed = threading.Condition()
        self._scene_number = 0  # number of the last update with a new scene
        self._moved: dict[str, Any] | None = None  # latest move since then
        self._closed = False

    def scene_changed(self) -> None:
        """Announce another scene."""
        with self._changed:
            self.number += 1
            self._scene_number, self._moved = self.number, None
            self._changed.notify_all()

    def moved(self, answer: Reply) -> None:
        """Announce new poses of the first actor."""
        with self._changed:
            self.number += 1
            self._moved = as_json(answer)
            self._changed.notify_all()

    def after(self, seen: int, timeout_s: float = LONG_POLL_S) -> dict[str, Any]:
        """Wait for an update newer than number `seen`, and return the latest."""
        with self._changed:
            self._changed.wait_for(lambda: self.number > seen or self._closed, timeout_s)
            if self._scene_number > seen:
                return {"number": self.number, "scene": True}
            latest = self._moved if self.number > seen else None
            changes = {key: {} if latest is None else {"0": latest[key]} for key in ("poses", "values")}
            return {"number": self.number, **changes}

    def close(self) -> None:
        """Release all waiting requests; there will be no further updates."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class LiveScene:
    """A scene with its articulated scene and the updates for its pages."""

    def __init__(self, scene: Scene, articulated: Articulated | None = None):
        self.scene, self.articulated, self.updates = scene, articulated, Updates()
        self._lock = threading.Lock()
        self._cached_page: tuple[Scene, str] | None = None

    # ---- requests of pages

    def page(self) -> str:
        """Return the text of the live page, cached until the scene changes."""
        with self._lock:
            if self._cached_page is None or self._cached_page[0] is not self.scene:
                self._cached_page = self.scene, page_text(self.scene, live="./")
            return self._cached_page[1]

    def encoded(self) -> dict[str, Any]:
        """Return the scene as a dictionary for JSON."""
        return encoded(self.scene)

    def pose(self, request: Any) -> dict[str, Any]:
        """Answer {"actor": i, "values": [...]}: sliders were moved."""
        with self._lock:
            number, actor = self._actor(request)
            values = _numbers(request, "values", len(actor.sliders))
            return as_json(self._articulated.posed(number, values))

    def drag(self, request: Any) -> dict[str, Any]:
        """Answer {"actor": i, "handle": k, "pose": [7 numbers], "values": [...]}: a handle was dragged."""
        with self._lock:
            number, actor = self._actor(request)
            handle = _index(request, "handle", len(actor.handles))
            pose = _numbers(request, "pose", 7)
            if sum(x * x for x in pose[3:]) < MIN_QUATERNION_NORM**2:
                raise ArgumentError("the quaternion of pose is zero.", expected="x y z qx qy qz qw")
            values = _numbers(request, "values", len(actor.sliders))
            return as_json(self._articulated.dragged(number, handle, pose, values))

    @property
    def _articulated(self) -> Articulated:
        if self.articulated is None:
            raise ArgumentError("this scene cannot be moved: it has no sliders or handles.")
        return self.articulated

    def _actor(self, request: Any) -> tuple[int, Actor]:
        if not isinstance(request, Mapping):
            raise ArgumentError("the body is not a JSON object.", expected='{"actor": 0, ...}')
        number = _index(request, "actor", len(self.scene.actors))
        return number, self.scene.actors[number]

    # ---- updates from Python

    def show(self, thing: Any) -> None:
        """Show a scene, or anything that the articulated scene can show, in all pages."""
        with self._lock:
            if self.articulated is not None:
                update = self.articulated.shown(thing)
            elif isinstance(thing, Scene):
                update = thing
            else:
                raise ArgumentError(f"cannot show a {type(thing).__name__}.", expected="a Scene")
            if isinstance(update, Scene):
                self.scene = update
                self.updates.scene_changed()
            else:
                self.scene = _moved(self.scene, update)
                self.updates.moved(update)


def _moved(scene: Scene, answer: Reply) -> Scene:
    """Return the scene with its first actor moved, for pages that are opened later."""
    first, *others = scene.actors
    sliders = [replace(slider, value=float(x)) for slider, x in zip(first.sliders, answer.values, strict=True)]
    actor = replace(first, poses=answer.poses, sliders=tuple(sliders))
    return replace(scene, actors=(actor, *others))


def _index(request: Mapping[str, Any], key: str, count: int) -> int:
    value = request.get(key)
    if type(value) is not int or not 0 <= value < count:
        expected = f"an integer from 0 to {count - 1}" if count else f"an actor that has a {key}"
        raise ArgumentError(f"{key} is {_short(value)}.", expected=expected)
    return value


def _numbers(request: Mapping[str, Any], key: str, count: int) -> list[float]:
    values = request.get(key)
    if not isinstance(values, Sequence) or isinstance(values, str) or len(values) != count:
        raise ArgumentError(f"{key} is {_short(values)}.", expected=f"a list of {count} numbers")
    for value in values:
        check_number(f"a value of {key}", value if not isinstance(value, str) else _short(value))
    return [float(value) for value in values]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
