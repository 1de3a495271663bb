"""What every link of a tree has, each computed when it is first asked for, those inboard of it before it.

An algorithm that goes over the tree limb by limb has in its program, side by side, what belongs together: a machine
keeps a few hundred numbers at hand, and what a leg needs should not wait there until the arms are done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from appell.formulate.tree import Tree, TreeLink
from appell.model.frame import WORLD

T = TypeVar("T")


class OfLinks(Generic[T]):
    """`make(link)` may ask for what the parent has; the world has what it is given here."""

    def __init__(self, tree: Tree, make: Callable[[TreeLink], T], world: T | None = None):
        self._tree, self._make = tree, make
        self._known: dict[str | None, T] = {} if world is None else {WORLD: world}

    def __getitem__(self, name: str | None) -> T:
        unknown: list[TreeLink] = []
        for link in self._tree.path(name):
            if link.name in self._known:
                break
            unknown.append(link)
        for link in reversed(unknown):
            self._known[link.name] = self._make(link)
        return self._known[name]

    def __setitem__(self, name: str, value: T) -> None:
        self._known[name] = value
