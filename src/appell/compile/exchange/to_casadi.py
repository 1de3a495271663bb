"""A tape as a `casadi.Function` of SX symbols, with the names of its arguments and results, as identifiers.

Vectors are columns. Arrays of more than two axes, which CasADi does not have, become matrices: the last axis gives the
columns, all others the rows. Powers of two that only prevent squares from overflowing (LEVEL) are replaced by 1.
CasADi's minimum and maximum of NaN and a number are the number.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from appell.compile.c.signature import identifiers
from appell.compile.exchange.replay import functions, half_to_even, replay
from appell.compile.function import Function
from appell.compile.tape.ops import Op
from appell.compile.tape.tape import Array
from appell.errors import needed_package


def casadi_function(function: Function) -> Any:
    """Return the function of SX symbols."""
    casadi = needed_package("casadi", "to_casadi", "appell[casadi]")
    tape = function.tape
    names = identifiers([array.name for array in (*tape.inputs, *tape.outputs)], str.isidentifier)
    symbols = [casadi.SX.sym(name, *_matrix(array)) for name, array in zip(names, tape.inputs, strict=False)]
    scalars = [x[k] for x in symbols for k in np.ndindex(*x.shape)]
    values = iter(replay(tape, _table(casadi), scalars))
    results = [_shaped(casadi, array, [next(values) for _ in range(array.size)]) for array in tape.outputs]
    (name,) = identifiers([function.name], casadi.Function.check_name)
    return casadi.Function(name, symbols, results, names[: len(symbols)], names[len(symbols) :])


def _table(casadi: Any) -> dict[Op, Any]:
    return functions(casadi, {Op.ABS: "fabs", Op.MINIMUM: "fmin", Op.MAXIMUM: "fmax"}) | {
        Op.SELECT: lambda x, y, z: casadi.if_else(x > 0.0, y, z),
        Op.ROUND: lambda x: half_to_even(x, casadi.floor, casadi.ceil),
        Op.LEVEL: lambda x: 1.0,
    }


def _matrix(array: Array) -> tuple[int, int]:
    """Return the numbers of rows and columns."""
    if len(array.shape) < 2:
        return array.size, 1
    return math.prod(array.shape[:-1]), array.shape[-1]


def _shaped(casadi: Any, array: Array, scalars: list[Any]) -> Any:
    rows, columns = _matrix(array)
    return casadi.reshape(casadi.vertcat(*scalars), columns, rows).T
