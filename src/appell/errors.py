"""Every error appell raises on purpose, and the layout of its message.

A message says what is wrong with the names in it, then what was expected, where the culprit was read, and what to do:

    ModelError: joint 'elbow' of robot 'puma560' has axis (0, 0, 0), which has no direction.
      expected  a non-zero 3-vector, for example (0, 0, 1)
      read from robots/puma560.urdf, line 41

What is wrong with a description is said all at once, one flaw below the other in the order of its lines:

    DescriptionError: robots/puma560.urdf has 2 flaws.
      line 41  joint 'elbow' has axis (0, 0, 0), which has no direction; expected a non-zero 3-vector
      line 67  link 'hand' has no <mass>
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from importlib import import_module
from numbers import Real
from typing import Any

SHOWN = 20  # names or flaws that a message lists at most
LONGEST = 100  # characters of a name that it quotes
COMPARED = 100  # names, those nearest in length, among which it looks for one that is like a wrong one


class Hint(str):
    """A hint that carries the parameters it names as data: `Hint("load with {physical}", physical=False)`.

    As a string it has them as Python's keywords; the command line spells them as flags. The value `...` stands for
    the name of a parameter alone.
    """

    template: str
    parameters: dict[str, Any]

    def __new__(cls, template: str, **parameters: Any) -> Hint:
        hint = super().__new__(cls, _spelled(template, parameters, cls.in_python))
        hint.template, hint.parameters = template, parameters
        return hint

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:  # for pickles
        return (self.template,), self.parameters

    @staticmethod
    def in_python(name: str, value: Any) -> str:
        return name if value is ... else f"{name}={value!r}"


def _spelled(template: str, parameters: dict[str, Any], spell: Callable[[str, Any], str]) -> str:
    return template.format(**{name: spell(name, value) for name, value in parameters.items()})


class AppellError(Exception):
    """The root of all errors that appell raises on purpose."""

    parts: tuple[AppellError, ...] = ()  # the flaws, if it tells of several
    culprit: tuple[str, str] = ("", "")  # the part of a robot that is to blame: its kind and name

    def __init__(self, problem: str, *, expected: str = "", source: str = "", hint: str | Sequence[str] = ""):
        self.hints = tuple(filter(None, (hint,) if isinstance(hint, str) else hint))
        self.problem, self.expected, self.source, self.hint = problem, expected, source, next(iter(self.hints), "")
        super().__init__(self.message())

    def message(self, spell: Callable[[str, Any], str] = Hint.in_python) -> str:
        """Return the whole message; `spell` writes a parameter (name, value) that a hint names."""
        lines = [self.problem]
        if self.expected:
            lines.append(f"  expected  {self.expected}")
        if self.source:
            lines.append(f"  read from {self.source}")
        for hint in self.hints:
            text = _spelled(hint.template, hint.parameters, spell) if isinstance(hint, Hint) else hint
            lines.append(f"  try       {text}")
        return "\n".join(lines)


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


class SweepError(AppellError, RuntimeError):
    """Many jobs that could not be carried on; what they had stored stays."""


class CacheWarning(UserWarning):
    """The disk cache could not be used; results are right, only slower to come by."""


class ModelWarning(UserWarning):
    """A description that was read, with something in it that no real robot has."""


class StepWarning(UserWarning):
    """A step that is too long for what it has to follow."""


def gathered(
    flaws: Sequence[AppellError], owner: str, kind: type[AppellError] = DescriptionError, at_least: bool = False
) -> AppellError:
    """One error for all flaws of an owner: the flaw itself if it is the only one, else all of them in a list."""
    if len(flaws) == 1:
        return flaws[0]
    flaws = sorted(flaws, key=lambda flaw: _line(flaw.source))
    lines = [f"{owner} has {'at least ' if at_least else ''}{len(flaws)} flaws."]
    labels = [f"line {_line(flaw.source)}" if _line(flaw.source) else "file" for flaw in flaws[:SHOWN]]
    width = max(map(len, labels))
    for label, flaw in zip(labels, flaws, strict=False):
        wanted = f"; expected {flaw.expected}" if flaw.expected else ""
        lines.append(f"  {label.ljust(width)}  {flaw.problem.rstrip('.')}{wanted}".replace("\n", " "))
    if len(flaws) > SHOWN:
        lines.append(f"  and {len(flaws) - SHOWN} more")
    hints = dict.fromkeys(flaw.hint for flaw in flaws if flaw.hint)
    found = kind("\n".join(lines), hint=list(hints)[:3])
    found.parts = tuple(flaws)
    return found


def _line(source: str) -> int:
    """The line that a source ends with; 0 if it names none."""
    number = source.rpartition(", line ")[2]
    return int(number) if number.isdecimal() and number != source else 0


def unknown_name(kind: str, name: str, known: Iterable[str], owner: str) -> str:
    """The sentence for a name that is not there, with the nearest one that is."""
    names = list(known)
    likely = sorted(names, key=lambda other: abs(len(other) - len(name)))[:COMPARED]
    close = get_close_matches(name[:LONGEST], likely, n=1)
    guess = f" Did you mean '{close[0]}'?" if close else ""
    listed = ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
    quoted = name if len(name) <= LONGEST else f"{name[: LONGEST - 3]}..."
    return f"{owner} has no {kind} '{quoted}'.{guess} It has: {listed or 'none'}."


def needed_package(module: str, what: str, install: str) -> Any:
    """A package that is not always there, or an error that says what needs it and how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        missing = (getattr(error, "name", None) or module).partition(".")[0]
        raise ArgumentError(
            f"{what} needs the package {missing}, which is not installed.", hint=f"pip install '{install}'"
        ) from None


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
