"""A function as LaTeX equations, for small robots, with symbols for common expressions.

    print(dyn.inverse_dynamics.to_latex())

    \\begin{align*}
    x_{1} &= \\sin{\\left(q_{1} \\right)} \\\\
    \\tau_{1} &= 0.25 \\ddot{q}_{1} + 2.4525 x_{1}
    \\end{align*}

Indices start at 1, as in publications. v and a are written as q with dots, unless q̇ differs from v (quaternions).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.compile.exchange.to_sympy import Symbolic, symbolic
from appell.compile.function import Function
from appell.errors import ArgumentError, needed_package

MAX_EQUATIONS = 400
DIGITS = 6  # significant digits of printed numbers
_GREEK = {"tau": r"\tau", "theta": r"\theta", "alpha": r"\alpha", "omega": r"\omega"}
_ESCAPED = str.maketrans(
    {x: f"\\{x}" for x in "{}_&%$#"} | {"\\": r"\backslash ", "^": r"\hat{\ }", "~": r"\sim "}
)  # characters of names that are commands of LaTeX
_DOTTED = {"v": r"\dot{q}", "a": r"\ddot{q}"}


def latex(function: Function, digits: int = DIGITS) -> str:
    """Return an align* environment with one line per common symbol and per result that is not zero."""
    sympy = needed_package("sympy", "to_latex", "appell[sympy]")
    expressions = symbolic(function)
    lines = _lines(expressions)
    if len(lines) > MAX_EQUATIONS:
        raise ArgumentError(
            f"{function.title} has {len(lines)} equations.",
            expected=f"at most {MAX_EQUATIONS} for LaTeX",
            hint="Use to_sympy() for expressions or to_c() for code.",
        )
    letters = _letters(expressions, bool(function.tangents))
    shown = (
        f"{_entry(name, letters)} &= {sympy.latex(_rounded(sympy, expression, digits), symbol_names=letters)}"
        for name, expression in lines
    )
    return "\n".join([r"\begin{align*}", " \\\\\n".join(shown), r"\end{align*}"])


def _lines(expressions: Symbolic) -> list[tuple[Any, Any]]:
    """Return the left and right side of each equation: a symbol or the name of an entry, and an expression."""
    lines: list[tuple[Any, Any]] = list(expressions.common)
    for name, value in expressions.results.items():
        shape = getattr(value, "shape", ())
        if not shape:
            lines.append(((name, ()), value))
            continue
        for index in np.ndindex(*shape):
            if value[index] != 0:
                column = len(shape) == 2 and shape[1] == 1
                lines.append(((name, index[:1] if column else index), value[index]))
    return lines


def _letters(expressions: Symbolic, curved: bool) -> dict[Any, str]:
    """Return the LaTeX text of every symbol; `curved` says whether q̇ may differ from v."""
    letters = {}
    for name, value in expressions.arguments.items():
        stem = _stem(name, curved)
        shape = getattr(value, "shape", ())
        if not shape:
            letters[value] = stem
            continue
        for index in np.ndindex(*shape):
            letters[value[index]] = stem + _subscript(index[:1] if shape[1:] == (1,) else index)
    for k, (symbol, _) in enumerate(expressions.common):
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
    text = name.translate(_ESCAPED)
    return text if len(text) == 1 else rf"\mathrm{{{text}}}"


def _subscript(index: tuple[int, ...]) -> str:
    return f"_{{{','.join(str(k + 1) for k in index)}}}" if index else ""


def _rounded(sympy: Any, expression: Any, digits: int) -> Any:
    """Return an expression with numbers of fewer digits; integers do not change."""
    return expression.xreplace({x: sympy.Float(x, digits) for x in expression.atoms(sympy.Float)})
