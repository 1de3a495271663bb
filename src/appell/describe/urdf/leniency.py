"""What every reader of URDF forgives, forgiven here too, with one warning that names all of it.

- Of tags that may stand once only, the first counts.
- An <inertial> without a <mass> says nothing: simulators mean to work it out from shapes.
- A <mechanicalReduction> that is no number is no gear ratio; few readers look at it.
- A lower limit above the upper one means that there are no limits: it is how Bullet's files say so.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

from appell.describe.urdf.parts import GEARING, transmissions
from appell.describe.values import plain
from appell.describe.xml import Element
from appell.errors import SHOWN, ModelWarning

ONCE = {
    "link": ("inertial", "appell"),
    "joint": ("origin", "parent", "child", "axis", "limit", "mimic", "dynamics", "appell"),
    "inertial": ("origin", "mass", "inertia"),
}


def tidied(document: Element) -> list[str]:
    """Take out of a document what is passed over, and tell what that was."""
    notes: list[str] = []
    for tag in ("link", "joint"):
        for element in document.all(tag):
            who = f"{tag} '{element.attributes.get('name', '')}'"
            notes += _repeats(element, who)
            for inertial in list(element.all("inertial")):
                notes += _repeats(inertial, who)
                if inertial.children and inertial.only("mass") is None:
                    element.children.remove(inertial)
                    notes.append(f"the <inertial> of {who} without a <mass> (line {inertial.line})")
            for limit in element.all("limit"):
                notes += _no_limits(limit, who)
    for transmission in transmissions(document):
        notes += _no_numbers(transmission)
    return notes


def warn_of(notes: list[str], source: str) -> None:
    """One warning for all notes."""
    if notes:
        more = f" and {len(notes) - SHOWN} more" if len(notes) > SHOWN else ""
        where = f"\n  read from {source}" if source else ""
        warnings.warn(f"passed over: {'; '.join(notes[:SHOWN])}{more}.{where}", ModelWarning, stacklevel=2)


def _repeats(element: Element, who: str) -> Iterator[str]:
    for tag in ONCE[element.tag]:
        first, *others = [*element.all(tag)] or [element]
        for other in others:
            element.children = [child for child in element.children if child is not other]
            if not _same(first, other):
                yield f"a second <{tag}> of {who} (line {other.line})"


def _same(first: Element, second: Element) -> bool:
    """Whether two tags say the same."""
    if (first.tag, first.attributes, first.content.strip()) != (second.tag, second.attributes, second.content.strip()):
        return False
    return len(first.children) == len(second.children) and all(map(_same, first.children, second.children))


def _no_limits(limit: Element, who: str) -> Iterator[str]:
    lower, upper = (plain(limit.attributes.get(key, "").strip()) for key in ("lower", "upper"))
    if lower is not None and upper is not None and lower > upper:
        del limit.attributes["lower"], limit.attributes["upper"]
        yield f"the limits of {who}, {lower:g} above {upper:g} (line {limit.line})"


def _no_numbers(transmission: Element) -> Iterator[str]:
    for place in (transmission, *transmission.all("joint"), *transmission.all("actuator")):
        for tag in (spelling for spellings in GEARING.values() for spelling in spellings):
            for element in list(place.all(tag)):
                if element.content.strip() and plain(element.content.strip()) is None:
                    place.children.remove(element)
                    yield f"a <{tag}> that is no number (line {element.line})"
