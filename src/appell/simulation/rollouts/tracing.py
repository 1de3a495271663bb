"""What users write over traced scalars, called so that whatever cannot be traced is told with its line and its reason.

TraceError: law 'hop' cannot be traced. Line 12 of hop.py, `if q[0] > 0.0:`: Python asked a traced scalar ...
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

HOUSE = str(Path(__file__).parents[2])
HINT = "ap.select(condition, if_positive, otherwise), ap.sin, ap.cos, ap.sqrt, ap.atan2 and arithmetic can be traced"


def called(function: Callable, what: str, *arguments: Any, source: Callable | None = None) -> Any:
    """What a function gives on traced scalars; `what` is how messages call it: "law 'hop'".

    `source` is what a user wrote of it, if that is another function.
    """
    try:
        return function(*arguments)
    except Exception as error:
        if isinstance(error, AppellError) and not isinstance(error, TraceError):
            raise
        reason = error.problem if isinstance(error, AppellError) else f"{type(error).__name__}: {error}"
        hint = (error.hint if isinstance(error, AppellError) else "") or HINT
        where = _place(source or function, error.__traceback__)
        raise TraceError(f"{what} cannot be traced. {where}{reason}", hint=hint) from error


def scalars_of(given: Any, names: Sequence[str], what: str) -> list[Scalar]:
    """The numbers or traced scalars that a function gave, one for each name."""
    found, shape = flatten(given)
    if shape != (len(names),):
        number = "one number" if shape == () else f"shape {shape}"
        raise TraceError(
            f"{what} gave {'None' if given is None else number}.",
            expected=f"{len(names)} scalars in a list: {', '.join(names)}" if names else "an empty list",
        )
    return [scalar_of(x, what) for x in found]


def scalar_of(given: Any, what: str) -> Scalar:
    if not (is_number(given) or isinstance(given, Traced)):
        raise TraceError(f"{what} gave {given!r}.", expected="numbers and traced scalars")
    return plain(given)


def name_of(function: Callable) -> str:
    inner = function.func if isinstance(function, functools.partial) else function
    return getattr(inner, "__name__", type(inner).__name__)


def _code(function: Callable) -> CodeType | None:
    """The code of a function, of a method, or of an object that can be called."""
    inner = function.func if isinstance(function, functools.partial) else function
    inner = getattr(inner, "__func__", inner)
    if not hasattr(inner, "__code__"):
        inner = vars(type(inner)).get("__call__")
    return getattr(inner, "__code__", None)


def _place(function: Callable, trace: TracebackType | None) -> str:
    """The last line of the user's own file that was run, as the beginning of a sentence."""
    code, place = _code(function), None
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file == (code.co_filename if code else None) or (code is None and not file.startswith(HOUSE)):
            place = file, trace.tb_lineno
        trace = trace.tb_next
    if place is None:
        return ""
    text = linecache.getline(*place).strip()
    return f"Line {place[1]} of {Path(place[0]).name}{f', `{text}`' if text else ''}: "
