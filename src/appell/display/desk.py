"""What a page may ask for, checked and answered: the page itself, its scene, a slider moved, a handle dragged, news.

Knows no sockets: `server` brings what was asked as values of JSON and takes the answers away. What does not fit the
scene is an ArgumentError with a sentence. The puppet is asked one thing at a time, whoever asks.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from appell.display.encode import encoded
from appell.display.news import News, plain
from appell.display.page_text import page_text
from appell.display.puppets import Puppet, Reply
from appell.display.scene import Actor, Scene
from appell.errors import ArgumentError, check_number

SMALLEST = 1e-3  # of a quaternion that still says which way to turn


class Desk:
    """A scene, who answers for its actors, and what pages are told."""

    def __init__(self, scene: Scene, puppet: Puppet | None = None):
        self.scene, self.puppet, self.news = scene, puppet, News()
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
            return plain(self._puppet.posed(number, values))

    def drag(self, asked: Any) -> dict[str, Any]:
        """{"actor": i, "handle": k, "pose": [7 numbers], "values": [...]}: a handle was dragged."""
        with self._turn:
            number, actor = self._actor(asked)
            handle = _index(asked, "handle", len(actor.handles))
            pose = _numbers(asked, "pose", 7)
            if sum(x * x for x in pose[3:]) < SMALLEST**2:
                raise ArgumentError("the quaternion of pose is zero.", expected="x y z qx qy qz qw")
            values = _numbers(asked, "values", len(actor.sliders))
            return plain(self._puppet.dragged(number, handle, pose, values))

    @property
    def _puppet(self) -> Puppet:
        if self.puppet is None:
            raise ArgumentError("nobody answers for this scene: it can be looked at, not moved.")
        return self.puppet

    def _actor(self, asked: Any) -> tuple[int, Actor]:
        if not isinstance(asked, Mapping):
            raise ArgumentError("the body is no object of JSON.", expected='{"actor": 0, ...}')
        number = _index(asked, "actor", len(self.scene.actors))
        return number, self.scene.actors[number]

    # ---- what Python shows

    def show(self, thing: Any) -> None:
        """Bring a scene, or whatever the puppet can show, onto all pages."""
        with self._turn:
            if self.puppet is not None:
                found = self.puppet.shown(thing)
            elif isinstance(thing, Scene):
                found = thing
            else:
                raise ArgumentError(f"{type(thing).__name__} cannot be shown here.", expected="a Scene")
            if isinstance(found, Scene):
                self.scene = found
                self.news.staged()
            else:
                self.scene = _moved(self.scene, found)
                self.news.moved(found)


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
