"""A tape as SymPy expressions.

    found = dyn.inverse_dynamics.to_sympy()
    found.arguments["q"]          symbols q0, q1, ... as a column
    found.common                  pairs (x0, expression), each in terms of those before it
    found.results["tau"]          expressions in arguments and common symbols
    found.expanded()              the same without common symbols; of the dynamics of a large robot that is no help

What is used more than once gets a symbol of its own: written out, the torques of an arm of six joints have more terms
than a machine has memory. Whole numbers are exact; all others are the doubles of the tape. Powers of two that only keep
squares from overflowing (LEVEL) are 1 here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from appell.compile.exchange.replay import ARITHMETIC, half_to_even
from appell.compile.function import Function
from appell.compile.tape.ops import Op
from appell.compile.tape.tape import Array, Tape
from appell.errors import ArgumentError, needed_package

LARGEST = 20_000  # nodes of a tape without common symbols: written out by then, it fills the memory


@dataclass(frozen=True)
class Symbolic:
    """The expressions of a function: scalars, columns, matrices, and arrays where there are more axes."""

    name: str
    arguments: dict[str, Any]
    common: tuple[tuple[Any, Any], ...]
    results: dict[str, Any]

    def expanded(self) -> dict[str, Any]:
        """The results in terms of the arguments alone."""
        known: dict[Any, Any] = {}
        size = 0
        for symbol, expression in self.common:
            known[symbol] = expression.xreplace(known)
            size += known[symbol].count_ops()
            if size > LARGEST:
                raise ArgumentError(
                    f"'{self.name}' written out has more than {LARGEST} operations.",
                    hint="use .common and .results, which share what is common",
                )
        return {name: _replaced(value, known) for name, value in self.results.items()}


def symbolic(function: Function) -> Symbolic:
    """The expressions of a function."""
    sympy = needed_package("sympy", "to_sympy", "appell[sympy]")
    tape, table = function.tape, _table(sympy)
    arguments = {array.name: _symbols(sympy, array) for array in tape.inputs}
    scalars = [x for array in tape.inputs for x in _flat(arguments[array.name], array)]
    common: list[tuple[Any, Any]] = []
    values: list[Any] = []
    uses = tape.uses()
    taken = {str(scalar) for scalar in scalars}
    for index, (op, *operands) in enumerate(tape.nodes):
        if op == Op.INPUT:
            values.append(scalars[operands[0]])
        elif op == Op.CONST:
            values.append(_number(sympy, operands[0]))
        else:
            expression = table[Op(op)](*(values[k] for k in operands))
            if uses[index] > 1 and not (expression.is_Atom or (-expression).is_Atom):
                symbol = sympy.Symbol(_free(len(common), taken), real=True)
                common.append((symbol, expression))
                expression = symbol
            values.append(expression)
    return Symbolic(tape.name, arguments, tuple(common), _results(sympy, tape, values))


def sympy_text(function: Function) -> str:
    """A Python module that makes the symbols and expressions again: `arguments`, `common`, `results`."""
    found, shown = symbolic(function), _exactly()
    lines = [f'"""{function.name}, written by appell: arguments, common, results."""', "", "from sympy import *", ""]
    symbols = [x for array in function.inputs for x in _flat(found.arguments[array.name], array)]
    symbols += [symbol for symbol, _ in found.common]
    lines += [f"{symbol} = Symbol('{symbol}', real=True)" for symbol in symbols]
    lines += ["common = [", *(f"    ({symbol}, {shown(value)})," for symbol, value in found.common), "]"]
    for name in ("arguments", "results"):
        lines += [
            f"{name} = {{",
            *(f"    {key!r}: {shown(value)}," for key, value in getattr(found, name).items()),
            "}",
        ]
    return "\n".join(lines) + "\n"


def _exactly() -> Any:
    """A printer that gives a number all digits of its double."""
    from sympy.printing.str import StrPrinter

    class Exact(StrPrinter):
        def _print_Float(self, number: Any) -> str:
            return repr(float(number))

    return Exact({"full_prec": False}).doprint


def _table(sympy: Any) -> dict[Op, Any]:
    return {
        **ARITHMETIC,
        Op.SQRT: sympy.sqrt,
        Op.SIN: sympy.sin,
        Op.COS: sympy.cos,
        Op.ATAN2: sympy.atan2,
        Op.SELECT: lambda x, y, z: sympy.Piecewise((y, x > 0), (z, True)),
        Op.ROUND: lambda x: half_to_even(x, sympy.floor, sympy.ceiling),
        Op.LEVEL: lambda x: sympy.Integer(1),
    }


def _number(sympy: Any, value: float) -> Any:
    return sympy.Integer(int(value)) if value == int(value) and abs(value) < 1e9 else sympy.Float(value)


def _symbols(sympy: Any, array: Array) -> Any:
    """Symbols as the array stands: q0, q1, ... of a vector, M0_1 of a matrix."""
    names = [array.name + "_".join(array.element(k)[len(array.name) + 1 : -1].split(", ")) for k in range(array.size)]
    return _shaped(sympy, array, [sympy.Symbol(name, real=True) for name in names])


def _shaped(sympy: Any, array: Array, scalars: list[Any]) -> Any:
    if not array.shape:
        return scalars[0]
    if len(array.shape) > 2:
        return sympy.ImmutableDenseNDimArray(scalars, array.shape)
    return sympy.ImmutableMatrix(array.shape[0], array.size // array.shape[0], scalars)


def _flat(value: Any, array: Array) -> list[Any]:
    return list(value.flat() if hasattr(value, "flat") else value) if array.shape else [value]


def _results(sympy: Any, tape: Tape, values: list[Any]) -> dict[str, Any]:
    found = iter(tape.results)
    return {
        array.name: _shaped(sympy, array, [values[next(found)] for _ in range(array.size)]) for array in tape.outputs
    }


def _replaced(value: Any, known: dict[Any, Any]) -> Any:
    if hasattr(value, "applyfunc"):
        return value.applyfunc(lambda x: x.xreplace(known))
    return value.xreplace(known)


def _free(number: int, taken: set[str]) -> str:
    """x0, x1, ...; c0, c1, ... if an argument is called x."""
    return f"{'c' if any(name.startswith('x') for name in taken) else 'x'}{number}"
