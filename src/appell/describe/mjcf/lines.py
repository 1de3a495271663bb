"""File and line of the parts of a compiled model.

A compiled model keeps names and order, but no lines. A part is searched by its name, then by its name after a prefix
(of an attached model or a replica), then by its number if the texts contain as many of its tags as the model.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from appell.describe.mjcf.documents import Documents
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
    """The documents of a model; without documents, no part has a line."""

    documents: Documents | None = None
    source: str = ""
    elements_by_kind: dict[str, list[Element]] = field(default_factory=dict, compare=False)  # filled on first use

    def where(self, kind: str, name: str = "", number: int | None = None, count: int = -1) -> str:
        """Return file and line of a part.

        Parameters
        ----------
        kind : "body", "joint", "actuator", ...
        name : name of the part; may be empty
        number : index of the part among those of its kind
        count : number of parts of this kind in the model
        """
        element = self._find(kind, name, number, count)
        return element.where if element is not None else self.source

    def option(self, tag: str, keys: Iterable[str]) -> str:
        """Return file and line of the last tag with one of these attributes."""
        keys = set(keys)
        elements = [x for x in self._elements() if x.tag == tag and keys & set(x.attributes)]
        return elements[-1].where if elements else self.source

    def _elements(self) -> Iterable[Element]:
        return () if self.documents is None else self.documents.elements()

    def _find(self, kind: str, name: str, number: int | None, count: int) -> Element | None:
        if kind not in self.elements_by_kind:
            self.elements_by_kind[kind] = self._candidates(kind)
        candidates = self.elements_by_kind[kind]
        for matches in (str.__eq__, str.endswith):
            for element in candidates:
                element_name = element.attributes.get("name", "")
                if element_name and name and matches(name, element_name):
                    return element
        if number is not None and len(candidates) == count:
            return candidates[number]
        return None

    def _candidates(self, kind: str) -> list[Element]:
        tags = TAGS.get(kind, (kind,))
        if kind in SECTIONS:
            sections = [element for element in self._elements() if element.tag == SECTIONS[kind]]
            return [child for section in sections for child in section.children if child.tag in tags]
        excluded = {id(x) for top in self._elements() if top.tag in (*SECTIONS, "default") for x in _inside(top)}
        return [element for element in self._elements() if element.tag in tags and id(element) not in excluded]


def _inside(element: Element) -> Iterable[Any]:
    for child in element.children:
        yield child
        yield from _inside(child)
