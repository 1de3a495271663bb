"""A tape as SymPy expressions.

    symbolic = dyn.inverse_dynamics.to_sympy()
    symbolic.arguments["q"]       symbols q0, q1, ... as a column
    symbolic.common               pairs (x0, expression), each in terms of earlier ones
    symbolic.results["tau"]       expressions in arguments and common symbols
    symbolic.expanded()           the same without common symbols, for small robots only

A value that is used more than once gets its own symbol: fully expanded, the torques of an arm with six joints do not
fit into memory. Integers are exact; all other numbers are the doubles of the tape. Powers of two that only prevent
squares from overflowing (LEVEL) are replaced by 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

from appell.compile.c.signature import identifiers
from appell.compile.exchange.python_text import docstring, is_python_name
from appell.compile.exchange.replay import functions, half_to_even
from appell.compile.function import Function
from appell.compile.tape.ops import Op
from appell.compile.tape.tape import Array, Tape
from appell.errors import ArgumentError, needed_package

MAX_EXPANDED_OPERATIONS = 20_000  # larger expressions would soon fill the memory
_NAMES = {Op.ABS: "Abs", Op.MINIMUM: "Min", Op.MAXIMUM: "Max", Op.POWER: "Pow", Op.ARCSIN: "asin", Op.ARCCOS: "acos"}
_USED_BY_MODULES = (  # names in the text of `sympy_text`
    *("Symbol", "Matrix", "ImmutableDenseNDimArray", "Piecewise", "sqrt", "sin", "cos", "atan2", "floor", "ceiling"),
    *("Abs", "Mod", "sign", "pi", "E", "I", "common", "arguments", "results"),
)


@dataclass(frozen=True)
class Symbolic:
    """The expressions of a function: scalars, columns, matrices, and arrays of more than two axes."""

    name: str
    arguments: dict[str, Any]
    common: tuple[tuple[Any, Any], ...]
    results: dict[str, Any]

    def expanded(self) -> dict[str, Any]:
        """Return the results in terms of the arguments alone."""
        known: dict[Any, Any] = {}
        size = 0
        for symbol, expression in self.common:
            known[symbol] = expression.xreplace(known)
            size += known[symbol].count_ops()
            if size > MAX_EXPANDED_OPERATIONS:
                raise ArgumentError(
                    f"'{self.name}' without common symbols has more than {MAX_EXPANDED_OPERATIONS} operations.",
                    hint="Use .common and .results, which share common expressions.",
                )
        return {name: _replaced(value, known) for name, value in self.results.items()}


def symbolic(function: Function) -> Symbolic:
    """Return the expressions of a function."""
    sympy = needed_package("sympy", "to_sympy", "appell[sympy]")
    tape, table = function.tape, _table(sympy)
    scalars = _symbols(sympy, tape)
    unused = iter(scalars)
    arguments = {array.name: _shaped(sympy, array, list(islice(unused, array.size))) for array in tape.inputs}
    common: list[tuple[Any, Any]] = []
    values: list[Any] = []
    uses = tape.uses()
    names = {str(scalar) for scalar in scalars}
    for index, (op, *operands) in enumerate(tape.nodes):
        if op == Op.INPUT:
            values.append(scalars[operands[0]])
        elif op == Op.CONST:
            values.append(_number(sympy, operands[0]))
        else:
            expression = table[Op(op)](*(values[k] for k in operands))
            if uses[index] > 1 and not (expression.is_Atom or (-expression).is_Atom):
                symbol = sympy.Symbol(_common_name(len(common), names), real=True)
                common.append((symbol, expression))
                expression = symbol
            values.append(expression)
    return Symbolic(tape.name, arguments, tuple(common), _results(sympy, tape, values))


def sympy_text(function: Function) -> str:
    """Return a Python module that defines the symbols and expressions: `arguments`, `common`, `results`."""
    expressions, shown = symbolic(function), _exact_printer()
    title = docstring(f"{function.name}, written by appell: arguments, common, results.")
    lines = [f'"""{title}"""', "", "from sympy import *", ""]
    symbols = [x for array in function.inputs for x in _flat(expressions.arguments[array.name], array)]
    symbols += [symbol for symbol, _ in expressions.common]
    lines += [f"{symbol} = Symbol('{symbol}', real=True)" for symbol in symbols]
    lines += ["common = [", *(f"    ({symbol}, {shown(value)})," for symbol, value in expressions.common), "]"]
    for name in ("arguments", "results"):
        lines += [
            f"{name} = {{",
            *(f"    {key!r}: {shown(value)}," for key, value in getattr(expressions, name).items()),
            "}",
        ]
    return "\n".join(lines) + "\n"


def _exact_printer() -> Any:
    """Return a printer that prints all digits of a double."""
    from sympy.printing.str import StrPrinter

    class Exact(StrPrinter):
        def _print_Float(self, number: Any) -> str:
            return repr(float(number))

    return Exact({"full_prec": False}).doprint


def _table(sympy: Any) -> dict[Op, Any]:
    return functions(sympy, _NAMES) | {
        Op.SELECT: lambda x, y, z: sympy.Piecewise((y, x > 0), (z, True)),
        Op.ROUND: lambda x: half_to_even(x, sympy.floor, sympy.ceiling),
        Op.LEVEL: lambda x: sympy.Integer(1),
    }


def _number(sympy: Any, value: float) -> Any:
    return sympy.Integer(int(value)) if value == int(value) and abs(value) < 1e9 else sympy.Float(value)


def _symbols(sympy: Any, tape: Tape) -> list[Any]:
    """Return the symbols of all scalar inputs: q0, q1, ... for a vector, M0_1 for a matrix, with names for Python."""
    names = [
        array.name + "_".join(array.element(k)[len(array.name) + 1 : -1].split(", "))
        for array in tape.inputs
        for k in range(array.size)
    ]
    valid = identifiers(names, lambda name: is_python_name(name) and name not in _USED_BY_MODULES)
    return [sympy.Symbol(name, real=True) for name in valid]


def _shaped(sympy: Any, array: Array, scalars: list[Any]) -> Any:
    if not array.shape:
        return scalars[0]
    if len(array.shape) > 2:
        return sympy.ImmutableDenseNDimArray(scalars, array.shape)
    return sympy.ImmutableMatrix(array.shape[0], array.size // array.shape[0], scalars)


def _flat(value: Any, array: Array) -> list[Any]:
    return list(value.flat() if hasattr(value, "flat") else value) if array.shape else [value]


def _results(sympy: Any, tape: Tape, values: list[Any]) -> dict[str, Any]:
    nodes = iter(tape.results)
    return {
        array.name: _shaped(sympy, array, [values[next(nodes)] for _ in range(array.size)]) for array in tape.outputs
    }


def _replaced(value: Any, known: dict[Any, Any]) -> Any:
    if hasattr(value, "applyfunc"):
        return value.applyfunc(lambda x: x.xreplace(known))
    return value.xreplace(known)


def _common_name(number: int, names: set[str]) -> str:
    """Return x0, x1, ...; c0, c1, ... if the name of an argument starts with x; c_0, c_1, ... if one starts with c."""
    prefix = "c" if any(name.startswith("x") for name in names) else "x"
    while any(name.startswith(prefix) for name in names):
        prefix += "_"
    return f"{prefix}{number}"
