"""Numbers as people write them: "pi/2", "-2pi/3", "120 deg", "0.5".

A small grammar instead of an evaluator, so that a file can hold nothing but a number:

    number = [sign] digits          number deg
             [sign] [digits [*]] pi [/ digits]
"""

from __future__ import annotations

import math
import re

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
