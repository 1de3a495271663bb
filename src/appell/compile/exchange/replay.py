"""A tape over any kind of scalars: a table says what every instruction is there.

    replay(tape, table, [x, y])        the results, in the order of the tape's

What is replayed is the tape as it was traced: fused multiply-adds are an affair of machines. A node is computed by
`table[op](*operands)`, an input is what it is given, and a constant is a Python number unless the table has CONST.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from appell.compile.tape.ops import Op
from appell.compile.tape.tape import Tape

Table = Mapping[Op, Callable[..., Any]]
ARITHMETIC: dict[Op, Callable[..., Any]] = {  # what all languages write alike
    Op.ADD: operator.add,
    Op.SUB: operator.sub,
    Op.MUL: operator.mul,
    Op.DIV: operator.truediv,
    Op.NEG: operator.neg,
}


def replay(tape: Tape, table: Table, scalars: Sequence[Any]) -> list[Any]:
    """The results of a tape on its scalar inputs, in order."""
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
    """The nearest whole number, by what all languages have: one less than x + ½ rounded down, if x = 2k + ½."""
    half = (2 * x - 1) / 4
    return floor((2 * x + 1) / 2) + ceil(half) - floor(half) - 1
