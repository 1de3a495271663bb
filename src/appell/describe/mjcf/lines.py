"""Where the parts of a compiled model stand in the texts they were read from.

A compiled model keeps names and order, but no lines. A part is looked for by its name, then by its name behind a
prefix (of an attached model or a replica), then by its number if the texts hold as many of its tag as the model does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from appell.describe.mjcf.screen import Documents
from appell.describe.xml import Element

TAGS = {
    "joint": ("joint", "freejoint"),
    "tendon": ("spatial", "fixed"),
    "actuator": (
        *("motor", "position", "velocity", "intvelocity", "general", "damper", "cylinder", "muscle", "adhesion"),
        *("plugin", "dcmotor", "pid", "so3"),
    ),
    "equality": ("connect", "weld", "joint", "tendon", "flex", "flexvert", "flexstrain", "distance"),
    "flex": ("flex", "flexcomp"),
}
SECTIONS = {"tendon": "tendon", "actuator": "actuator", "equality": "equality"}


@dataclass(frozen=True)
class Lines:
    """The texts of a model; without texts, nothing has a line."""

    documents: Documents | None = None
    source: str = ""
    kinds: dict[str, list[Element]] = field(default_factory=dict, compare=False)  # the tags of a kind, once looked for

    def where(self, kind: str, name: str = "", number: int | None = None, count: int = -1) -> str:
        """File and line of a part: a body, a joint, an actuator."""
        found = self._find(kind, name, number, count)
        return found.where if found is not None else self.source

    def option(self, tag: str, keys: Iterable[str]) -> str:
        """File and line of the last tag that says one of these."""
        keys = set(keys)
        found = [x for x in self._elements() if x.tag == tag and keys & set(x.attributes)]
        return found[-1].where if found else self.source

    def _elements(self) -> Iterable[Element]:
        return () if self.documents is None else self.documents.elements()

    def _find(self, kind: str, name: str, number: int | None, count: int) -> Element | None:
        if kind not in self.kinds:
            self.kinds[kind] = self._candidates(kind)
        candidates = self.kinds[kind]
        for fits in (str.__eq__, str.endswith):
            for element in candidates:
                own = element.attributes.get("name", "")
                if own and name and fits(name, own):
                    return element
        if number is not None and len(candidates) == count:
            return candidates[number]
        return None

    def _candidates(self, kind: str) -> list[Element]:
        tags = TAGS.get(kind, (kind,))
        if kind in SECTIONS:
            sections = [element for element in self._elements() if element.tag == SECTIONS[kind]]
            return [child for section in sections for child in section.children if child.tag in tags]
        apart = {id(x) for top in self._elements() if top.tag in (*SECTIONS, "default") for x in _inside(top)}
        return [element for element in self._elements() if element.tag in tags and id(element) not in apart]


def _inside(element: Element) -> Iterable[Any]:
    for child in element.children:
        yield child
        yield from _inside(child)
