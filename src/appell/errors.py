"""The error classes of appell, and the layout of their messages.

A message states what is wrong, with the names involved, then what was expected, where it was read, and what to do:

    ModelError: joint 'elbow' of robot 'puma560' has axis (0, 0, 0), which has no direction.
      expected  a non-zero 3-vector, for example (0, 0, 1)
      read from robots/puma560.urdf, line 41

A description with several errors is rejected with one message that lists them in the order of their lines:

    DescriptionError: robots/puma560.urdf has 2 errors.
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

MAX_LISTED = 20  # names or flaws listed in one message
MAX_NAME_LENGTH = 100  # characters of a name quoted in a message
MAX_COMPARED = 100  # names, nearest in length first, that are compared with an unknown name


class PythonCode(str):
    """Python code in a `Hint`, which has the effect of an option without a value on the command line."""


class Hint(str):
    """A hint with its parameters as data: `Hint("Pass {physical} to load it.", physical=False)`.

    The string itself spells parameters as Python keywords (`physical=False`); the command line spells them as options
    (`--no-physical`). The value `...` stands for the name of a parameter without a value; `PythonCode` for code in its
    place.
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
        """Return a parameter as a Python keyword argument."""
        if isinstance(value, PythonCode):
            return str(value)
        return name if value is ... else f"{name}={value!r}"


def _spelled(template: str, parameters: dict[str, Any], spell: Callable[[str, Any], str]) -> str:
    return template.format(**{name: spell(name, value) for name, value in parameters.items()})


class AppellError(Exception):
    """Base class of all errors that appell raises.

    Parameters
    ----------
    problem : sentence that states what is wrong, with names and values
    expected : what would have been valid
    source : where the value was read, such as "robots/puma560.urdf, line 41"
    hint : what to do, as an imperative; several hints are printed one per line
    """

    parts: tuple[AppellError, ...] = ()  # the individual errors, if this one lists several
    culprit: tuple[str, str] = ("", "")  # kind and name of the part of a robot that caused the error

    def __init__(self, problem: str, *, expected: str = "", source: str = "", hint: str | Sequence[str] = ""):
        self.hints = tuple(filter(None, (hint,) if isinstance(hint, str) else hint))
        self.problem, self.expected, self.source, self.hint = problem, expected, source, next(iter(self.hints), "")
        super().__init__(self.message())

    def message(self, spell: Callable[[str, Any], str] = Hint.in_python) -> str:
        """Return the complete message; `spell(name, value)` formats the parameters named in hints."""
        lines = [self.problem]
        if self.expected:
            lines.append(f"  expected  {self.expected}")
        if self.source:
            lines.append(f"  read from {self.source}")
        for hint in self.hints:
            text = _spelled(hint.template, hint.parameters, spell) if isinstance(hint, Hint) else hint
            lines.append(f"  hint      {text}")
        return "\n".join(lines)


class DescriptionError(AppellError, ValueError):
    """A file or table that does not describe a robot."""


class ModelError(AppellError, ValueError):
    """A robot that cannot exist, or a name that the robot does not have."""


class ArgumentError(AppellError, ValueError):
    """An array or option of the wrong shape, size or kind."""


class TraceError(AppellError, TypeError):
    """Python code that cannot be traced, such as a branch on a traced scalar."""


class CompileError(AppellError, RuntimeError):
    """A tape that is not valid, or that this machine cannot run."""


class SimulationError(AppellError, RuntimeError):
    """A simulation that could not be completed."""


class DeviceError(AppellError, RuntimeError):
    """A robot that cannot be reached, that has a fault, or that does not follow its protocol."""


class SweepError(AppellError, RuntimeError):
    """A sweep that could not continue; results stored so far are kept."""


class CacheWarning(UserWarning):
    """The disk cache could not be used; results are correct, but take longer to compute."""


class ModelWarning(UserWarning):
    """A description that was read although it contains something that no real robot has."""


class LimitWarning(UserWarning):
    """Limits that a description lacks, for which a motion or a simulated robot uses assumed ones."""


class StepWarning(UserWarning):
    """An integration step that is too long for the motion it has to resolve."""


def gathered(
    flaws: Sequence[AppellError], owner: str, kind: type[AppellError] = DescriptionError, at_least: bool = False
) -> AppellError:
    """Combine the errors of one description into one error.

    Parameters
    ----------
    flaws : the errors; a single one is returned unchanged
    owner : name of the file or robot, for the first line of the message
    kind : class of the combined error
    at_least : whether reading stopped early, so that there may be more errors
    """
    if len(flaws) == 1:
        return flaws[0]
    flaws = sorted(flaws, key=lambda flaw: _line(flaw.source))
    lines = [f"{owner} has {'at least ' if at_least else ''}{len(flaws)} errors."]
    labels = [f"line {_line(flaw.source)}" if _line(flaw.source) else "file" for flaw in flaws[:MAX_LISTED]]
    width = max(map(len, labels))
    for label, flaw in zip(labels, flaws, strict=False):
        expected = f"; expected {flaw.expected}" if flaw.expected else ""
        lines.append(f"  {label.ljust(width)}  {flaw.problem.rstrip('.')}{expected}".replace("\n", " "))
    if len(flaws) > MAX_LISTED:
        lines.append(f"  and {len(flaws) - MAX_LISTED} more")
    hints = dict.fromkeys(flaw.hint for flaw in flaws if flaw.hint)
    combined = kind("\n".join(lines), hint=list(hints)[:3])
    combined.parts = tuple(flaws)
    return combined


def _line(source: str) -> int:
    """Return the line number at the end of a source such as "arm.urdf, line 41"; 0 if there is none."""
    number = source.rpartition(", line ")[2]
    return int(number) if number.isdecimal() and number != source else 0


def unknown_name(kind: str, name: str, known: Iterable[str], owner: str) -> str:
    """Return the sentence for an unknown name, which suggests the most similar known name and lists all.

    Parameters
    ----------
    kind : kind of thing that is named, such as "frame"
    name : the unknown name
    known : the names that exist
    owner : what the names belong to, such as "robot 'panda'"

    Examples
    --------
    >>> print(unknown_name("frame", "hnad", ["base", "flange", "hand"], "robot 'panda'"))
    robot 'panda' has no frame 'hnad'. Did you mean 'hand'? It has: base, flange, hand.
    """
    names = list(known)
    likely = sorted(names, key=lambda other: abs(len(other) - len(name)))[:MAX_COMPARED]
    close = get_close_matches(name[:MAX_NAME_LENGTH], likely, n=1)
    guess = f" Did you mean '{close[0]}'?" if close else ""
    listed = ", ".join(names[:MAX_LISTED]) + (f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else "")
    quoted = name if len(name) <= MAX_NAME_LENGTH else f"{name[: MAX_NAME_LENGTH - 3]}..."
    return f"{owner} has no {kind} '{quoted}'.{guess} It has: {listed or 'none'}."


def needed_package(module: str, what: str, install: str) -> Any:
    """Import and return an optional package.

    Parameters
    ----------
    module : name of the module
    what : what needs the package, for the message
    install : argument of `pip install` that provides the package

    Raises
    ------
    ArgumentError
        If the package is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        missing = (getattr(error, "name", None) or module).partition(".")[0]
        raise ArgumentError(
            f"{what} needs the package {missing}, which is not installed.", hint=f"pip install '{install}'"
        ) from None


def is_finite(value: Any) -> bool:
    """Return whether a value is a real number that is finite as a float; False for integers beyond their range."""
    try:
        return isinstance(value, Real) and math.isfinite(value)
    except OverflowError:
        return False


def value_text(value: object) -> str:
    """Return the repr of a value for a message; a phrase for integers beyond the range of floats."""
    try:
        text = repr(value)
    except ValueError:  # Python does not write integers with more than 4300 digits
        text = ""
    return text if text and not (isinstance(value, int) and not is_finite(value)) else "beyond the range of floats"


def check_number(
    what: str, value: object, *, least: float = -math.inf, most: float = math.inf, above: bool = False
) -> None:
    """Raise ArgumentError unless `value` is a finite number in the given range.

    Parameters
    ----------
    what : name of the value, for the message
    value : the value to check; NaN, infinities and bools are rejected
    least, most : bounds, both included
    above : whether the lower bound is excluded
    """
    good = isinstance(value, Real) and not isinstance(value, bool) and is_finite(value)
    if good and (value > least if above else value >= least) and value <= most:  # type: ignore[operator]
        return
    lower = "" if least == -math.inf else f" {'above' if above else 'from'} {least:g}"
    upper = "" if most == math.inf else f" up to {most:g}"
    raise ArgumentError(f"{what} is {value_text(value)}.", expected=f"a finite number{lower}{upper}")


def rows_text(rows: Iterable[int]) -> str:
    """Return row numbers as text, as up to four ranges: "rows 3-7, 12 and 2 more ranges"."""
    ranges: list[list[int]] = []
    for row in sorted({int(row) for row in rows}):
        if ranges and row == ranges[-1][1] + 1:
            ranges[-1][1] = row
        else:
            ranges.append([row, row])
    listed = ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in ranges[:4])
    more = f" and {len(ranges) - 4} more ranges" if len(ranges) > 4 else ""
    return ("row " if len(ranges) == 1 and ranges[0][0] == ranges[0][1] else "rows ") + listed + more
