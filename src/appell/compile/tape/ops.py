"""The instructions of a tape: a closed set, so that every interpretation is a table with one row per instruction.

The operand of CONST is its value, that of INPUT the index of a scalar input; the operands of all others are indices of
earlier nodes. FMA, FMS and FNMA round once; `passes.fuse` makes them, a trace never does.
"""

from __future__ import annotations

from enum import IntEnum


class Op(IntEnum):
    """An instruction of a tape."""

    CONST = 0
    INPUT = 1
    ADD = 2  # x + y
    SUB = 3  # x - y
    MUL = 4  # x y
    DIV = 5  # x / y
    NEG = 6  # -x
    SQRT = 7  # √x
    SIN = 8
    COS = 9
    ATAN2 = 10  # angle of the point (x, y); the operands are y, x
    SELECT = 11  # y if x > 0 else z
    FMA = 12  # x y + z, rounded once
    FMS = 13  # x y - z, rounded once
    FNMA = 14  # z - x y, rounded once
    ROUND = 15  # nearest integer, ties to even
    LEVEL = 16  # power of two of the magnitude of x, never zero; see `algebra.scalar.level`
    ABS = 17  # |x|
    SIGN = 18  # 1, 0 or -1
    MINIMUM = 19  # the smaller of x and y; NaN if one is NaN
    MAXIMUM = 20  # the larger of x and y; NaN if one is NaN
    EXP = 21
    LOG = 22  # natural logarithm
    POWER = 23  # x to the power y
    TANH = 24
    ARCSIN = 25
    ARCCOS = 26
    ERF = 27  # error function


TRANSCENDENTAL = (Op.EXP, Op.LOG, Op.POWER, Op.TANH, Op.ARCSIN, Op.ARCCOS, Op.ERF)  # functions of `llvm.elementary`


ARITY = {
    **dict.fromkeys((Op.CONST, Op.INPUT), 0),
    **dict.fromkeys((Op.NEG, Op.SQRT, Op.SIN, Op.COS, Op.ROUND, Op.LEVEL, Op.ABS, Op.SIGN), 1),
    **dict.fromkeys(TRANSCENDENTAL, 1),
    **dict.fromkeys((Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.ATAN2, Op.MINIMUM, Op.MAXIMUM, Op.POWER), 2),
    **dict.fromkeys((Op.SELECT, Op.FMA, Op.FMS, Op.FNMA), 3),
}
