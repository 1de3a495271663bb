"""A function as LaTeX: the results of a small robot written out, with symbols for what they share.

    print(dyn.inverse_dynamics.to_latex())

    \\begin{align*}
    x_{1} &= \\sin{\\left(q_{1} \\right)} \\\\
    \\tau_{1} &= 0.25 \\ddot{q}_{1} + 2.4525 x_{1}
    \\end{align*}

Numbers count from 1, as in papers. v and a are q with dots, unless q̇ is not v (quaternions).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.compile.exchange.to_sympy import Symbolic, symbolic
from appell.compile.function import Function
from appell.errors import ArgumentError, needed_package

MOST = 400  # lines: more is nothing to read
DIGITS = 6
_GREEK = {"tau": r"\tau", "theta": r"\theta", "alpha": r"\alpha", "omega": r"\omega"}
_DOTTED = {"v": r"\dot{q}", "a": r"\ddot{q}"}


def latex(function: Function, digits: int = DIGITS) -> str:
    """An align* environment, a line for each common symbol and each result that is not zero."""
    sympy = needed_package("sympy", "to_latex", "appell[sympy]")
    found = symbolic(function)
    lines = _lines(found)
    if len(lines) > MOST:
        raise ArgumentError(
            f"{function.name} of {function.owner or 'a function'} has {len(lines)} equations.",
            expected=f"at most {MOST} for LaTeX",
            hint="to_sympy() for the expressions, to_c() for a program",
        )
    letters = _letters(sympy, found, bool(function.tangents))
    shown = (
        f"{_entry(name, letters)} &= {sympy.latex(_rounded(sympy, expression, digits), symbol_names=letters)}"
        for name, expression in lines
    )
    return "\n".join([r"\begin{align*}", " \\\\\n".join(shown), r"\end{align*}"])


def _lines(found: Symbolic) -> list[tuple[Any, Any]]:
    """What stands left and right of each equals sign: a symbol or the name of an entry, and an expression."""
    lines: list[tuple[Any, Any]] = list(found.common)
    for name, value in found.results.items():
        shape = getattr(value, "shape", ())
        if not shape:
            lines.append(((name, ()), value))
            continue
        for index in np.ndindex(*shape):
            if value[index] != 0:
                column = len(shape) == 2 and shape[1] == 1
                lines.append(((name, index[:1] if column else index), value[index]))
    return lines


def _letters(sympy: Any, found: Symbolic, curved: bool) -> dict[Any, str]:
    """How symbols are printed."""
    letters = {}
    for name, value in found.arguments.items():
        stem = _stem(name, curved)
        shape = getattr(value, "shape", ())
        if not shape:
            letters[value] = stem
            continue
        for index in np.ndindex(*shape):
            letters[value[index]] = stem + _subscript(index[:1] if shape[1:] == (1,) else index)
    for k, (symbol, _) in enumerate(found.common):
        letters[symbol] = f"{str(symbol)[0]}_{{{k + 1}}}"
    return letters


def _entry(name: Any, letters: dict[Any, str]) -> str:
    if isinstance(name, tuple):
        stem, index = name
        return _stem(stem, True) + _subscript(index)
    return letters[name]


def _stem(name: str, curved: bool) -> str:
    if name in _DOTTED and not curved:
        return _DOTTED[name]
    if name in _GREEK:
        return _GREEK[name]
    return name if len(name) == 1 else rf"\mathrm{{{name}}}".replace("_", r"\_")


def _subscript(index: tuple[int, ...]) -> str:
    return f"_{{{','.join(str(k + 1) for k in index)}}}" if index else ""


def _rounded(sympy: Any, expression: Any, digits: int) -> Any:
    """Numbers with fewer digits, for the eye; whole ones as they are."""
    return expression.xreplace({x: sympy.Float(x, digits) for x in expression.atoms(sympy.Float)})
