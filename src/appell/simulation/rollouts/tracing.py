"""Calls of users' functions with traced scalars; a function that cannot be traced is reported with its line.

TraceError: law 'hop' cannot be traced. Line 12 of hop.py, `if q[0] > 0.0:`: a branch depends on a traced scalar ...
"""

from __future__ import annotations

import functools
import linecache
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, TracebackType
from typing import Any

from appell.algebra.scalar import Scalar, is_number, plain
from appell.compile.tape.trace import Traced, flatten
from appell.errors import AppellError, TraceError

PACKAGE_FOLDER = str(Path(__file__).parents[2])
HINT = (
    "Use arithmetic, functions such as ap.sin, ap.exp and ap.maximum, and ap.select(condition, if_positive, otherwise)"
)


def called(function: Callable, what: str, *arguments: Any, source: Callable | None = None) -> Any:
    """Call a function with traced scalars and return its result.

    Parameters
    ----------
    function
        The function.
    what
        Its description in messages, such as "law 'hop'".
    *arguments
        Its arguments.
    source
        The function that the user wrote, if `function` wraps it.

    Raises
    ------
    TraceError
        If the function raises an exception; the message quotes the last line of the user's file that was executed.
    """
    try:
        return function(*arguments)
    except Exception as error:
        if isinstance(error, AppellError) and not isinstance(error, TraceError):
            raise
        reason = error.problem if isinstance(error, AppellError) else f"{type(error).__name__}: {error}"
        hint = (error.hint if isinstance(error, AppellError) else "") or HINT
        where = _line(source or function, error.__traceback__)
        raise TraceError(f"{what} cannot be traced. {where}{reason}", hint=hint) from error


def scalars_of(given: Any, names: Sequence[str], what: str) -> list[Scalar]:
    """Return the result of a function as a list of scalars, one per name; raise `TraceError` otherwise."""
    scalars, shape = flatten(given)
    if shape != (len(names),):
        number = "one number" if shape == () else f"shape {shape}"
        raise TraceError(
            f"{what} returned {'None' if given is None else number}.",
            expected=f"{len(names)} scalars in a list: {', '.join(names)}" if names else "an empty list",
        )
    return [scalar_of(x, what) for x in scalars]


def scalar_of(given: Any, what: str) -> Scalar:
    """Return a number or traced scalar; raise `TraceError` for anything else."""
    if not (is_number(given) or isinstance(given, Traced)):
        raise TraceError(f"{what} returned {given!r}.", expected="numbers and traced scalars")
    return plain(given)


def name_of(function: Callable) -> str:
    """Return the name of a function, or of the class of a callable object."""
    inner = function.func if isinstance(function, functools.partial) else function
    return getattr(inner, "__name__", type(inner).__name__)


def _code(function: Callable) -> CodeType | None:
    """Return the code object of a function, a method or a callable object."""
    inner = function.func if isinstance(function, functools.partial) else function
    inner = getattr(inner, "__func__", inner)
    if not hasattr(inner, "__code__"):
        inner = vars(type(inner)).get("__call__")
    return getattr(inner, "__code__", None)


def _line(function: Callable, trace: TracebackType | None) -> str:
    """Return the last executed line of the user's file as the start of a sentence, or an empty string."""
    code, line = _code(function), None
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file == (code.co_filename if code else None) or (code is None and not file.startswith(PACKAGE_FOLDER)):
            line = file, trace.tb_lineno
        trace = trace.tb_next
    if line is None:
        return ""
    text = linecache.getline(*line).strip()
    return f"Line {line[1]} of {Path(line[0]).name}{f', `{text}`' if text else ''}: "
