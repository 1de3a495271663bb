"""Results of a function: one array, or several as a named tuple that unpacks in the order of the results.

    J = dyn.inverse_dynamics.jacobian("q", "v")
    J(q, v, a).dtau_dq          dtau_dq, dtau_dv = J(q, v, a)

A result whose name is not an identifier has the field that `identifiers` makes of it.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from functools import cache
from keyword import iskeyword
from typing import Any

from appell.compile.c.signature import identifiers
from appell.compile.tape.tape import Array


def results_type(name: str, outputs: Sequence[Array]) -> type[tuple] | None:
    """Return the type of the named tuple of several results of a function; None if there is one result."""
    return _named_tuple(name, tuple(array.name for array in outputs)) if len(outputs) > 1 else None


def named_results(name: str, outputs: Sequence[Array], values: Sequence[Any]) -> Any:
    """Return a single result as it is, several as a named tuple."""
    made = results_type(name, outputs)
    return values[0] if made is None else tuple.__new__(made, values)


@cache
def _named_tuple(name: str, outputs: tuple[str, ...]) -> type[tuple]:
    title, *fields = identifiers([name, *outputs], _is_field)
    made = namedtuple(title, fields)  # type: ignore[misc]
    # the class is not an attribute of a module, so its instances pickle by the names of the function and its results
    made.__reduce__ = _reduced  # type: ignore[method-assign, assignment]
    made._made_of = name, outputs  # type: ignore[attr-defined]
    return made


def _reduced(self: Any) -> tuple:
    return _restored, (*self._made_of, tuple(self))


def _is_field(name: str) -> bool:
    return name.isidentifier() and not iskeyword(name) and not name.startswith("_")


def _restored(name: str, outputs: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return _named_tuple(name, outputs)._make(values)  # type: ignore[attr-defined]
