"""Checked conversion of described values: numbers, vectors, poses and bodies.

For messages, `what` is the name of the value ("the mass of link 'arm'"), `owner` the part it belongs to ("link 'arm'")
and `where` the file and line it was read from.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose, as_pose
from appell.algebra.vector import ZERO, Vec3
from appell.errors import DescriptionError
from appell.model.body import INERTIA_FORMS, Body, as_inertia_matrix


def number(value: object, what: str, where: str = "") -> float:
    """Return the value as a float; raise DescriptionError unless it is a finite real number."""
    try:
        if isinstance(value, (bool, str, bytes, np.complexfloating)):  # float() drops the imaginary part
            raise TypeError
        result = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise DescriptionError(f"{what} is {shortened(value)}.", expected="a number", source=where) from None
    if not math.isfinite(result):
        raise DescriptionError(f"{what} is {result}.", expected="a finite number", source=where)
    return result


def numbers(values: object, size: int, what: str, where: str = "") -> tuple[float, ...]:
    """Return `size` finite numbers as a tuple; raise DescriptionError otherwise."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise DescriptionError(f"{what} is {shortened(values)}.", expected=f"{size} numbers", source=where)
    result = tuple(number(value, what, where) for value in values)
    if len(result) != size:
        raise DescriptionError(f"{what} has {len(result)} numbers.", expected=f"{size}", source=where)
    return result


def vector(values: object, what: str, where: str = "") -> Vec3:
    """Return three finite numbers as a `Vec3`."""
    return Vec3.of(numbers(values, 3, what, where))


def pose_from(at: Pose | None, xyz: object, rpy: object, owner: str, where: str = "") -> Pose:
    """Return a pose given as `at`, or as a translation `xyz` in m with roll, pitch and yaw in rad about fixed axes."""
    if at is None:
        rpy = ZERO if rpy is None else vector(rpy, f"rpy of {owner}", where)
        return Pose.from_rpy(rpy, ZERO if xyz is None else vector(xyz, f"xyz of {owner}", where))
    if xyz is not None or rpy is not None:
        raise DescriptionError(f"{owner} has two poses, at= and xyz= or rpy=.", expected="one of them", source=where)
    return as_pose(at, f"at= of {owner}")


def body_from(body: Any, mass: object, com: object, inertia: object, owner: str, where: str = "") -> Any:
    """Return a body given as `body`, or as mass (kg), centre of mass (m) and inertia about that centre (kg m²).

    Returns None if nothing is given, or if mass and inertia are 0.
    """
    if body is not None:
        if not (mass is None and com is None and inertia is None):
            expected = "either body=, or mass=, com= and inertia="
            raise DescriptionError(
                f"{owner} has two bodies, body= and mass=, com= or inertia=.", expected=expected, source=where
            )
        return body
    if mass is None or (mass == 0 and com is None and inertia is None):
        if com is not None or inertia is not None:
            raise DescriptionError(f"{owner} has a centre of mass or an inertia, but no mass.", source=where)
        return None
    if inertia is None:
        hint = "Set inertia=(0, 0, 0) for a point mass."
        raise DescriptionError(f"{owner} has a mass but no inertia.", expected=INERTIA_FORMS, source=where, hint=hint)
    centre = ZERO if com is None else vector(com, f"the centre of mass of {owner}", where)
    result = Body(number(mass, f"the mass of {owner}", where), centre, inertia_matrix(inertia, owner, where))
    return None if result.is_zero else result


def inertia_matrix(inertia: object, owner: str, where: str = "") -> Mat3:
    """Return the inertia matrix of three moments, six entries of the upper triangle row by row, or nine entries."""
    what, matrix = f"the inertia of {owner}", as_inertia_matrix(inertia)
    if matrix is None:
        raise DescriptionError(f"{what} is {shortened(inertia)}.", expected=INERTIA_FORMS, source=where)
    numbers([x for row in matrix.rows for x in row], 9, what, where)
    return matrix


def shortened(value: object, max_length: int = 60) -> str:
    """Return the repr of a value, shortened to be quoted in a message."""
    text = repr(value)
    return text if len(text) <= max_length else text[: max_length - 3] + "..."


# ---- Numbers in text: "pi/2", "-2pi/3", "120 deg", "0.5"
#
# A small grammar instead of an expression evaluator, so that a file cannot contain code:
#
#     number = [sign] digits          number deg
#              [sign] [digits [*]] pi [/ digits]


# Every text matches in at most one way, and possessive quantifiers prevent backtracking: the time is linear in the
# length.
_DIGITS = r"(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?"
_PLAIN = re.compile(rf"[+-]?{_DIGITS}")
_DEGREES = re.compile(rf"([+-]?{_DIGITS})\s*+(?:deg|°)")
_PI = re.compile(rf"([+-]?)\s*+(?:({_DIGITS})\s*+)?(?:\*\s*+)?(?:pi|π)\s*+(?:/\s*+({_DIGITS}))?")
MAX_NUMBER_LENGTH = 1000  # characters
NUMBER_FORMS = 'a number, or a string such as "pi/2", "-2pi/3" or "120 deg"'


def parse_decimal(text: str) -> float | None:
    """Return the finite decimal number of a text; None if it is anything else."""
    if len(text) > MAX_NUMBER_LENGTH or not _PLAIN.fullmatch(text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def parse_quantity(text: str) -> float | None:
    """Return the number of a text such as "pi/2" or "90 deg" (in rad); None if it is not a number."""
    text = text.strip()
    if match := _DEGREES.fullmatch(text):
        value = parse_decimal(match[1])
        return None if value is None else math.radians(value)
    if match := _PI.fullmatch(text):
        factor, divisor = float(match[2] or 1.0), float(match[3] or 1.0)
        value = factor * math.pi / divisor if divisor else math.inf
        return None if not math.isfinite(value) else (-value if match[1] == "-" else value)
    return parse_decimal(text)
