"""What a describer may hand over as a number, a vector, a place or a body, and how it is checked.

`who` is the subject of the sentence of a complaint ("link 'arm'"), `where` the file and line it was read from.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.algebra.vector import ZERO, Vec3
from appell.errors import DescriptionError
from appell.model.body import INERTIA_FORMS, Body, inertia_of


def number(value: object, what: str, where: str = "") -> float:
    """A finite real number."""
    try:
        if isinstance(value, (bool, str, bytes)):
            raise TypeError
        result = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise DescriptionError(f"{what} is {shortened(value)}.", expected="a number", source=where) from None
    if not math.isfinite(result):
        raise DescriptionError(f"{what} is {result}.", expected="a finite number", source=where)
    return result


def numbers(values: object, size: int, what: str, where: str = "") -> tuple[float, ...]:
    """So many finite numbers."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise DescriptionError(f"{what} is {shortened(values)}.", expected=f"{size} numbers", source=where)
    result = tuple(number(value, what, where) for value in values)
    if len(result) != size:
        raise DescriptionError(f"{what} has {len(result)} numbers.", expected=f"{size}", source=where)
    return result


def vector(values: object, what: str, where: str = "") -> Vec3:
    return Vec3.of(numbers(values, 3, what, where))


def place(at: Pose | None, xyz: object, rpy: object, who: str, where: str = "") -> Pose:
    """A pose given as one, or as a translation in m with roll, pitch and yaw in rad about the fixed axes."""
    if at is None:
        rpy = ZERO if rpy is None else vector(rpy, f"rpy of {who}", where)
        return Pose.from_rpy(rpy, ZERO if xyz is None else vector(xyz, f"xyz of {who}", where))
    if xyz is not None or rpy is not None:
        raise DescriptionError(f"{who} is placed twice, by at= and by xyz= or rpy=.", expected="one", source=where)
    return at


def matter(body: Body | None, mass: object, com: object, inertia: object, who: str, where: str = "") -> Body | None:
    """A body given as one, or by mass, centre and inertia about that centre; None for nothing, or no mass at all."""
    if body is not None:
        if not (mass is None and com is None and inertia is None):
            expected = "body=, or mass=, com= and inertia="
            raise DescriptionError(f"{who} is given a body twice.", expected=expected, source=where)
        return body
    if mass is None or (mass == 0 and com is None and inertia is None):
        if com is not None or inertia is not None:
            raise DescriptionError(f"{who} has a centre of mass or an inertia but no mass.", source=where)
        return None
    if inertia is None:
        hint = "inertia=(0, 0, 0) for a point mass"
        raise DescriptionError(f"{who} has a mass but no inertia.", expected=INERTIA_FORMS, source=where, hint=hint)
    centre = ZERO if com is None else vector(com, f"the centre of mass of {who}", where)
    found = Body(number(mass, f"the mass of {who}", where), centre, inertia_matrix(inertia, who, where))
    return None if found.is_nothing else found


def inertia_matrix(inertia: object, who: str, where: str = "") -> Mat3:
    """Three moments, six entries of the upper triangle row by row, or nine."""
    what, found = f"the inertia of {who}", inertia_of(inertia)
    if found is None:
        raise DescriptionError(f"{what} is {shortened(inertia)}.", expected=INERTIA_FORMS, source=where)
    numbers([x for row in found.rows for x in row], 9, what, where)
    return found


def shortened(value: object, longest: int = 60) -> str:
    """A culprit as it may be quoted in a message."""
    text = repr(value)
    return text if len(text) <= longest else text[: longest - 3] + "..."


# ---- Numbers as people write them: "pi/2", "-2pi/3", "120 deg", "0.5"
#
# A small grammar instead of an evaluator, so that a file can hold nothing but a number:
#
#     number = [sign] digits          number deg
#              [sign] [digits [*]] pi [/ digits]


# No text can be matched in two ways, and blanks are never given back: the time is linear in the length of the text.
_DIGITS = r"(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?"
_PLAIN = re.compile(rf"[+-]?{_DIGITS}")
_DEGREES = re.compile(rf"([+-]?{_DIGITS})\s*+(?:deg|°)")
_PI = re.compile(rf"([+-]?)\s*+(?:({_DIGITS})\s*+)?(?:\*\s*+)?(?:pi|π)\s*+(?:/\s*+({_DIGITS}))?")
LONGEST = 1000  # characters; no number that people write needs more
FORMS = 'a number, or a text such as "pi/2", "-2pi/3" or "120 deg"'


def plain(text: str) -> float | None:
    """The finite decimal number of a text; None if it is anything else."""
    if len(text) > LONGEST or not _PLAIN.fullmatch(text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def quantity(text: str) -> float | None:
    """The number that a text stands for; None if it does not stand for one."""
    text = text.strip()
    if match := _DEGREES.fullmatch(text):
        value = plain(match[1])
        return None if value is None else math.radians(value)
    if match := _PI.fullmatch(text):
        factor, divisor = float(match[2] or 1.0), float(match[3] or 1.0)
        value = factor * math.pi / divisor if divisor else math.inf
        return None if not math.isfinite(value) else (-value if match[1] == "-" else value)
    return plain(text)
