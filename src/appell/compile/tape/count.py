"""Operation counts of tapes, as they are reported in publications."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from dataclasses import astuple, dataclass, fields

from appell.compile.tape.ops import TRANSCENDENTAL, Op
from appell.compile.tape.tape import Tape


@dataclass(frozen=True)
class OpCount:
    """Numbers of operations by kind.

    A subtraction counts as an addition; |x|, sign, minimum, maximum, rounding and LEVEL count as selections; exp, log,
    power, tanh, arcsin, arccos and erf count as trigonometric functions, whose cost is similar; a change of sign is not
    counted.
    """

    mul: int = 0
    add: int = 0
    div: int = 0
    sqrt: int = 0
    trig: int = 0
    select: int = 0

    @property
    def total(self) -> int:
        """Number of operations of all kinds."""
        return sum(astuple(self))

    def __add__(self, other: OpCount) -> OpCount:
        return OpCount(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def __rmul__(self, times: int) -> OpCount:
        return OpCount(*(times * number for number in astuple(self)))

    def __str__(self) -> str:
        names = [field.name for field in fields(self)]
        widths = [max(len(name), len(str(value))) for name, value in zip(names, astuple(self), strict=True)]
        head = "  ".join(name.rjust(width) for name, width in zip(names, widths, strict=True))
        row = "  ".join(str(value).rjust(width) for value, width in zip(astuple(self), widths, strict=True))
        return f"{head}\n{row}"


COST = {
    **dict.fromkeys((Op.CONST, Op.INPUT, Op.NEG), OpCount()),
    **dict.fromkeys((Op.ADD, Op.SUB), OpCount(add=1)),
    Op.MUL: OpCount(mul=1),
    Op.DIV: OpCount(div=1),
    Op.SQRT: OpCount(sqrt=1),
    **dict.fromkeys((Op.SIN, Op.COS, Op.ATAN2, *TRANSCENDENTAL), OpCount(trig=1)),
    **dict.fromkeys((Op.SELECT, Op.ROUND, Op.LEVEL, Op.ABS, Op.SIGN, Op.MINIMUM, Op.MAXIMUM), OpCount(select=1)),
    **dict.fromkeys((Op.FMA, Op.FMS, Op.FNMA), OpCount(mul=1, add=1)),
}


def known(tape: Tape, inputs: Container[int] = ()) -> list[bool]:
    """Return for every node whether it depends only on constants and on these scalar inputs."""
    is_known: list[bool] = []
    for op, *operands in tape.nodes:
        if op <= Op.INPUT:
            is_known.append(op == Op.CONST or operands[0] in inputs)
        else:
            is_known.append(all(is_known[k] for k in operands))
    return is_known


def count(tape: Tape, constants: Container[int] = ()) -> OpCount:
    """Return the operations of a tape that remain if these scalar inputs are constants."""
    kinds = Counter(node[0] for node, done in zip(tape.nodes, known(tape, constants), strict=True) if not done)
    return OpCount(
        *(sum(getattr(COST[op], field.name) * number for op, number in kinds.items()) for field in fields(OpCount))
    )
