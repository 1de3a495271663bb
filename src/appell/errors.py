"""Every error appell raises on purpose, and the layout of its message.

A message says what is wrong with the names in it, then what was expected, where the culprit was read, and what to do:

    ModelError: joint 'elbow' of robot 'puma560' has axis (0, 0, 0), which has no direction.
      expected  a non-zero 3-vector, for example (0, 0, 1)
      read from robots/puma560.urdf, line 41
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Real

SHOWN = 20  # names that a message lists at most


class AppellError(Exception):
    """The root of all errors that appell raises on purpose."""

    def __init__(self, problem: str, *, expected: str = "", source: str = "", hint: str = ""):
        lines = [problem]
        if expected:
            lines.append(f"  expected  {expected}")
        if source:
            lines.append(f"  read from {source}")
        if hint:
            lines.append(f"  try       {hint}")
        super().__init__("\n".join(lines))


class DescriptionError(AppellError, ValueError):
    """A file or table that does not describe a robot."""


class ModelError(AppellError, ValueError):
    """A robot that cannot exist, or a question about a part it does not have."""


class ArgumentError(AppellError, ValueError):
    """An array or option of the wrong shape, size or kind."""


class TraceError(AppellError, TypeError):
    """Python code that cannot be traced, such as a branch on a traced scalar."""


class CompileError(AppellError, RuntimeError):
    """A tape that breaks its own rules, or that the machine cannot run."""


class SimulationError(AppellError, RuntimeError):
    """A run that could not be carried to its end."""


class CacheWarning(UserWarning):
    """The disk cache could not be used; results are right, only slower to come by."""


class ModelWarning(UserWarning):
    """A description that was read, with something in it that no real robot has."""


def unknown_name(kind: str, name: str, known: Iterable[str], owner: str) -> str:
    """The sentence for a name that is not there, with the nearest one that is."""
    names = list(known)
    close = get_close_matches(name, names, n=1)
    guess = f" Did you mean '{close[0]}'?" if close else ""
    listed = ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
    return f"{owner} has no {kind} '{name}'.{guess} It has: {listed or 'none'}."


def check_number(
    what: str, value: object, *, least: float = -math.inf, most: float = math.inf, above: bool = False
) -> None:
    """Raise unless `value` is a finite number from `least` (or above it) to `most`; NaN and infinity never are."""
    good = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if good and (value > least if above else value >= least) and value <= most:  # type: ignore[operator]
        return
    lower = "" if least == -math.inf else f" {'above' if above else 'from'} {least:g}"
    upper = "" if most == math.inf else f" up to {most:g}"
    raise ArgumentError(f"{what} is {value!r}.", expected=f"a finite number{lower}{upper}")


def rows_text(rows: Iterable[int]) -> str:
    """Row numbers as the ranges they make, a few of them."""
    ranges: list[list[int]] = []
    for row in sorted({int(row) for row in rows}):
        if ranges and row == ranges[-1][1] + 1:
            ranges[-1][1] = row
        else:
            ranges.append([row, row])
    listed = ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in ranges[:4])
    more = f" and {len(ranges) - 4} more ranges" if len(ranges) > 4 else ""
    return ("row " if len(ranges) == 1 and ranges[0][0] == ranges[0][1] else "rows ") + listed + more
