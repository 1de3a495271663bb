"""Requests of a page, checked and answered: the page itself, its scene, a slider moved, a handle dragged, updates.

This module has no sockets: `server` passes requests as values of JSON and sends the answers. A request that does not
fit the scene raises an ArgumentError. An articulated scene (`Articulated`) answers where bodies go when a slider moves
or a handle is dragged; it gets one request at a time.

Pages receive updates by long polling: the first actor moved, or there is another scene. A page sends the number of the
last update that it has received, and is answered as soon as there is a higher one, or with nothing new after
LONG_POLL_S. A slow page misses intermediate updates and gets the latest.
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

LONG_POLL_S = 20.0  # until a page gets an answer without an update
SMALLEST = 1e-3  # of a quaternion that still says which way to turn


@dataclass(frozen=True, eq=False)
class Reply:
    """Where an actor is now, and what there is to say about it."""

    values: Sequence[float]  # of its sliders
    poses: np.ndarray  # (bodies, 7)
    note: str = ""  # why it is not where it was asked to be


class Articulated(Protocol):
    """What answers for the actors of a scene; it gets one request at a time."""

    def posed(self, actor: int, values: Sequence[float]) -> Reply:
        """Where an actor is with its sliders at these values."""

    def dragged(self, actor: int, handle: int, pose: Sequence[float], values: Sequence[float]) -> Reply:
        """Where an actor is with a handle dragged to a pose, from where these values of its sliders have it."""

    def shown(self, thing: Any) -> Scene | Reply:
        """What is to be seen when Python shows something: another scene, or the first actor elsewhere."""


def plain(answer: Reply) -> dict[str, Any]:
    """An answer as JSON has it."""
    poses = [[float(x) for x in pose] for pose in answer.poses]
    return {"values": [float(x) for x in answer.values], "poses": poses, "note": answer.note}


class Updates:
    """The latest, and its number."""

    def __init__(self):
        self.number = 0
        self._changed = threading.Condition()
        self._staged = 0  # the number of the last scene
        self._moved: dict[str, Any] | None = None  # since then
        self._over = False

    def staged(self) -> None:
        """There is another scene."""
        with self._changed:
            self.number += 1
            self._staged, self._moved = self.number, None
            self._changed.notify_all()

    def moved(self, answer: Reply) -> None:
        """The first actor of the scene is elsewhere."""
        with self._changed:
            self.number += 1
            self._moved = plain(answer)
            self._changed.notify_all()

    def after(self, seen: int, patience: float = LONG_POLL_S) -> dict[str, Any]:
        """What happened after the news of a number, as soon as something did."""
        with self._changed:
            self._changed.wait_for(lambda: self.number > seen or self._over, patience)
            if self._staged > seen:
                return {"number": self.number, "scene": True}
            fresh = self._moved if self.number > seen else None
            told = {key: {} if fresh is None else {"0": fresh[key]} for key in ("poses", "values")}
            return {"number": self.number, **told}

    def close(self) -> None:
        """Nothing will happen any more: let all who wait go."""
        with self._changed:
            self._over = True
            self._changed.notify_all()


class LiveScene:
    """A scene, who answers for its actors, and what pages are told."""

    def __init__(self, scene: Scene, articulated: Articulated | None = None):
        self.scene, self.articulated, self.updates = scene, articulated, Updates()
        self._turn = threading.Lock()
        self._written: tuple[Scene, str] | None = None

    # ---- what pages ask

    def page(self) -> str:
        """The page that asks here; kept as long as the scene is the same."""
        with self._turn:
            if self._written is None or self._written[0] is not self.scene:
                self._written = self.scene, page_text(self.scene, live="./")
            return self._written[1]

    def encoded(self) -> dict[str, Any]:
        return encoded(self.scene)

    def pose(self, asked: Any) -> dict[str, Any]:
        """{"actor": i, "values": [...]}: sliders were moved."""
        with self._turn:
            number, actor = self._actor(asked)
            values = _numbers(asked, "values", len(actor.sliders))
            return plain(self._articulated.posed(number, values))

    def drag(self, asked: Any) -> dict[str, Any]:
        """{"actor": i, "handle": k, "pose": [7 numbers], "values": [...]}: a handle was dragged."""
        with self._turn:
            number, actor = self._actor(asked)
            handle = _index(asked, "handle", len(actor.handles))
            pose = _numbers(asked, "pose", 7)
            if sum(x * x for x in pose[3:]) < SMALLEST**2:
                raise ArgumentError("the quaternion of pose is zero.", expected="x y z qx qy qz qw")
            values = _numbers(asked, "values", len(actor.sliders))
            return plain(self._articulated.dragged(number, handle, pose, values))

    @property
    def _articulated(self) -> Articulated:
        if self.articulated is None:
            raise ArgumentError("nobody answers for this scene: it can be looked at, not moved.")
        return self.articulated

    def _actor(self, asked: Any) -> tuple[int, Actor]:
        if not isinstance(asked, Mapping):
            raise ArgumentError("the body is no object of JSON.", expected='{"actor": 0, ...}')
        number = _index(asked, "actor", len(self.scene.actors))
        return number, self.scene.actors[number]

    # ---- what Python shows

    def show(self, thing: Any) -> None:
        """Bring a scene, or whatever the articulated scene can show, onto all pages."""
        with self._turn:
            if self.articulated is not None:
                found = self.articulated.shown(thing)
            elif isinstance(thing, Scene):
                found = thing
            else:
                raise ArgumentError(f"{type(thing).__name__} cannot be shown here.", expected="a Scene")
            if isinstance(found, Scene):
                self.scene = found
                self.updates.staged()
            else:
                self.scene = _moved(self.scene, found)
                self.updates.moved(found)


def _moved(scene: Scene, answer: Reply) -> Scene:
    """The scene with its first actor where the answer has it, for pages that are opened later."""
    first, *others = scene.actors
    sliders = [replace(slider, value=float(x)) for slider, x in zip(first.sliders, answer.values, strict=True)]
    actor = replace(first, poses=answer.poses, sliders=tuple(sliders))
    return replace(scene, actors=(actor, *others))


def _index(asked: Mapping[str, Any], key: str, count: int) -> int:
    value = asked.get(key)
    if type(value) is not int or not 0 <= value < count:
        expected = f"a whole number from 0 to {count - 1}" if count else f"nothing: there is no {key} to move"
        raise ArgumentError(f"{key} is {_short(value)}.", expected=expected)
    return value


def _numbers(asked: Mapping[str, Any], key: str, count: int) -> list[float]:
    values = asked.get(key)
    if not isinstance(values, Sequence) or isinstance(values, str) or len(values) != count:
        raise ArgumentError(f"{key} is {_short(values)}.", expected=f"a list of {count} numbers")
    for value in values:
        check_number(f"a number of {key}", value if not isinstance(value, str) else _short(value))
    return [float(value) for value in values]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
