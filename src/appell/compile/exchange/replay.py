"""Evaluation of a tape on any kind of scalars, with a table of functions, one per instruction.

    replay(tape, table, [x, y])        the results, in the order of the tape

The tape is evaluated as it was traced, without fused multiply-adds. A node is computed by `table[op](*operands)`; a
constant is a Python number unless the table has an entry for CONST.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from appell.compile.tape.ops import Op
from appell.compile.tape.tape import Tape

Table = Mapping[Op, Callable[..., Any]]
ARITHMETIC: dict[Op, Callable[..., Any]] = {  # the same in all libraries
    Op.ADD: operator.add,
    Op.SUB: operator.sub,
    Op.MUL: operator.mul,
    Op.DIV: operator.truediv,
    Op.NEG: operator.neg,
}


def functions(library: Any, names: Mapping[Op, str]) -> dict[Op, Callable[..., Any]]:
    """Return the functions that a library has, by instruction; `names` are those that differ from that of the op."""
    named = {op: names.get(op, op.name.lower()) for op in Op if op > Op.NEG}
    return ARITHMETIC | {op: getattr(library, name) for op, name in named.items() if hasattr(library, name)}


def replay(tape: Tape, table: Table, scalars: Sequence[Any]) -> list[Any]:
    """Return the results of a tape on scalar inputs.

    Parameters
    ----------
    tape : tape to evaluate
    table : function of each instruction
    scalars : scalar inputs, in order
    """
    constant = table.get(Op.CONST, float)
    values: list[Any] = []
    for op, *operands in tape.nodes:
        if op == Op.INPUT:
            values.append(scalars[operands[0]])
        elif op == Op.CONST:
            values.append(constant(operands[0]))
        else:
            values.append(table[Op(op)](*(values[k] for k in operands)))
    return [values[k] for k in tape.results]


def half_to_even(x: Any, floor: Any, ceil: Any) -> Any:
    """Return the nearest integer, ties to even, from floor and ceil: ⌊x + ½⌋, less one if x = 2k + ½."""
    half = (2 * x - 1) / 4
    return floor((2 * x + 1) / 2) + ceil(half) - floor(half) - 1
