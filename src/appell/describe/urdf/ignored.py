"""Mistakes in URDF files that other readers tolerate: they are ignored here too, with one warning that lists them.

- If a tag that may occur only once is repeated, the first one counts.
- An <inertial> without a <mass> is ignored: simulators compute such inertias from shapes.
- A <mechanicalReduction> that is not a number is ignored; few readers use it.
- A lower limit above the upper limit means that the joint has no limits, as in the files of Bullet.
"""

from __future__ import annotations

from collections.abc import Iterator

from appell.describe.urdf.parts import GEARING, transmissions
from appell.describe.values import parse_decimal
from appell.describe.xml import Element

SINGLE_TAGS = {
    "link": ("inertial", "appell"),
    "joint": ("origin", "parent", "child", "axis", "limit", "mimic", "dynamics", "appell"),
    "inertial": ("origin", "mass", "inertia"),
}


def remove_ignored(document: Element) -> list[str]:
    """Remove what is ignored from a document, and return one note per removal."""
    notes: list[str] = []
    for tag in ("link", "joint"):
        for element in document.all(tag):
            owner = f"{tag} '{element.attributes.get('name', '')}'"
            notes += _remove_repeated(element, owner)
            for inertial in list(element.all("inertial")):
                notes += _remove_repeated(inertial, owner)
                if inertial.children and inertial.only("mass") is None:
                    element.children.remove(inertial)
                    notes.append(f"the <inertial> of {owner}, which has no <mass> (line {inertial.line})")
            for limit in element.all("limit"):
                notes += _remove_inverted_limits(limit, owner)
    for transmission in transmissions(document):
        notes += _remove_invalid_gearings(transmission)
    return notes


def _remove_repeated(element: Element, owner: str) -> Iterator[str]:
    for tag in SINGLE_TAGS[element.tag]:
        first, *others = [*element.all(tag)] or [element]
        for other in others:
            element.children = [child for child in element.children if child is not other]
            if not _equal(first, other):
                yield f"a second <{tag}> of {owner} (line {other.line})"


def _equal(first: Element, second: Element) -> bool:
    """Whether two tags have the same attributes, text and children."""
    if (first.tag, first.attributes, first.content.strip()) != (second.tag, second.attributes, second.content.strip()):
        return False
    return len(first.children) == len(second.children) and all(map(_equal, first.children, second.children))


def _remove_inverted_limits(limit: Element, owner: str) -> Iterator[str]:
    lower, upper = (parse_decimal(limit.attributes.get(key, "").strip()) for key in ("lower", "upper"))
    if lower is not None and upper is not None and lower > upper:
        del limit.attributes["lower"], limit.attributes["upper"]
        yield f"the limits of {owner}, because {lower:g} is above {upper:g} (line {limit.line})"


def _remove_invalid_gearings(transmission: Element) -> Iterator[str]:
    for parent in (transmission, *transmission.all("joint"), *transmission.all("actuator")):
        for tag in (spelling for spellings in GEARING.values() for spelling in spellings):
            for element in list(parent.all(tag)):
                if element.content.strip() and parse_decimal(element.content.strip()) is None:
                    parent.children.remove(element)
                    yield f"a <{tag}> that is not a number (line {element.line})"
