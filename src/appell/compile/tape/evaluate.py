"""A slow interpreter of tapes: the reference against which all generated code is tested.

Python floats are IEEE doubles rounded to nearest, as in compiled code; fused operations are computed with exact
fractions and rounded once. Functions such as sine and exponential are those of Python's `math`, which may differ from
compiled code in the last two bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from appell.algebra import scalar
from appell.algebra.scalar import level, nearest
from appell.compile.tape.ops import TRANSCENDENTAL, Op
from appell.compile.tape.tape import Tape


def evaluate(tape: Tape, *arguments) -> tuple[np.ndarray, ...]:
    """Return the results of one sample as arrays with the shapes of the outputs."""
    scalars = [float(x) for argument in arguments for x in np.asarray(argument, float).ravel()]
    values: list[float] = []
    for op, *operands in tape.nodes:
        if op <= Op.INPUT:
            values.append(operands[0] if op == Op.CONST else scalars[operands[0]])
        else:
            values.append(MEANING[op](*(values[k] for k in operands)))
    ends = np.cumsum([array.size for array in tape.outputs])
    parts = np.split(np.array([values[k] for k in tape.results]), ends[:-1])
    return tuple(part.reshape(array.shape) for part, array in zip(parts, tape.outputs, strict=True))


def _divide(x: float, y: float) -> float:
    if y == 0.0:
        return math.nan if x == 0.0 or math.isnan(x) else math.copysign(math.inf, x) * math.copysign(1.0, y)
    return x / y


def _fused(x: float, y: float, z: float) -> float:
    if not all(map(math.isfinite, (x, y, z))):
        return x * y + z
    from fractions import Fraction  # takes milliseconds to import, and only tests evaluate fused nodes

    exact = Fraction(x) * Fraction(y) + Fraction(z)
    return float(exact) if exact else x * y + z  # IEEE rules give the sign of an exact zero


MEANING: dict[Op, Callable[..., float]] = {
    Op.ADD: lambda x, y: x + y,
    Op.SUB: lambda x, y: x - y,
    Op.MUL: lambda x, y: x * y,
    Op.DIV: _divide,
    Op.NEG: lambda x: -x,
    Op.SQRT: lambda x: math.sqrt(x) if x >= 0.0 else math.nan,
    Op.SIN: lambda x: scalar.sin(x) if math.isfinite(x) else math.nan,
    Op.COS: lambda x: scalar.cos(x) if math.isfinite(x) else math.nan,
    Op.ATAN2: scalar.atan2,
    Op.SELECT: lambda x, y, z: y if x > 0.0 else z,
    Op.ROUND: nearest,
    Op.LEVEL: level,
    Op.ABS: math.fabs,
    Op.SIGN: scalar.sign,
    Op.MINIMUM: scalar.minimum,
    Op.MAXIMUM: scalar.maximum,
    **{op: getattr(scalar, op.name.lower()) for op in TRANSCENDENTAL},
    Op.FMA: lambda x, y, z: _fused(x, y, z),
    Op.FMS: lambda x, y, z: _fused(x, y, -z),
    Op.FNMA: lambda x, y, z: _fused(-x, y, z),
}
