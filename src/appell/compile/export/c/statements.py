"""Instructions as statements of C: the emitter of LLVM's code with other words for the same operations.

    const double t7 = P_FMA(t3, t5, t6);

What is written for LLVM by way of an emitter (`emit.sincos`, `emit.arctangent`, `emit.arithmetic`) is written in C by
the same lines, with the same constants in the same order, and so gives the same bits. One statement is one operation on
one number; a vector of them is the C compiler's affair. Integers are unsigned, since C leaves the overflow of others
open, and compared as signed ones. A condition is 0 or 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from appell.compile.emit.arithmetic import EMIT
from appell.compile.emit.emitter import Emitter, Value
from appell.compile.emit.lanes import DOUBLES, FLOAT, FLOATS, Lanes
from appell.compile.ops import Op

_OPERATORS = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^", "shl": "<<", "lshr": ">>"}
_COMPARED = {"icmp sgt": ">", "icmp ne": "!=", "icmp eq": "=="}


class Statements(Emitter):
    """Writes statements; functions and macros of the file begin with `prefix`."""

    def __init__(self, prefix: str, lanes: Lanes):
        super().__init__(lanes, fused=True)
        self.prefix = prefix
        self.real = lanes.scalar
        self.word = f"uint{lanes.integer_bits}_t"

    def text(self, indent: str = "    ") -> str:
        return "".join(f"{indent}{line}\n" for line in self.lines)

    def fresh(self) -> Value:
        """The name of one more variable."""
        self._values += 1
        return f"t{self._values}"

    def named(self, kind: str, expression: str) -> Value:
        """A variable of its own for a value."""
        name = self.fresh()
        self.lines.append(f"const {kind} {name} = {expression};")
        return name

    def real_value(self, expression: str) -> Value:
        return self.named(self.real, expression)

    def call(self, function: str, *operands: Value) -> Value:
        return self.real_value(f"{self.prefix}_{function}({', '.join(operands)})")

    # arithmetic

    def constant(self, value: float) -> Value:
        return number(value, self.lanes)

    def add(self, x: Value, y: Value) -> Value:
        return self.real_value(f"{x} + {y}")

    def sub(self, x: Value, y: Value) -> Value:
        return self.real_value(f"{x} - {y}")

    def mul(self, x: Value, y: Value) -> Value:
        return self.real_value(f"{x} * {y}")

    def div(self, x: Value, y: Value) -> Value:
        return self.real_value(f"{x} / {y}")

    def neg(self, x: Value) -> Value:
        return f"(-{x})"

    def sqrt(self, x: Value) -> Value:
        return self.call("SQRT", x)

    def absolute(self, x: Value) -> Value:
        return self.call("ABS", x)

    def fma(self, x: Value, y: Value, z: Value) -> Value:
        return self.call("FMA", x, y, z)

    # bits

    def pattern(self, value: int) -> Value:
        bits = self.lanes.integer_bits
        return f"UINT{bits}_C(0x{value % (1 << bits):x})"

    def bits(self, x: Value) -> Value:
        return self.named(self.word, f"{self.prefix}_bits({x})")

    def number(self, bits: Value) -> Value:
        return self.call("number", bits)

    def integer(self, operation: str, x: Value, y: Value) -> Value:
        if operation in _COMPARED:
            signed = self.word[1:]
            return self.named("int", f"({signed}){x} {_COMPARED[operation]} ({signed}){y}")
        return self.named(self.word, f"{x} {_OPERATORS[operation]} {y}")

    def compare(self, predicate: str, x: Value, y: Value) -> Value:
        words = {"ord": f"({x} == {x}) & ({y} == {y})", "uno": f"({x} != {x}) | ({y} != {y})"}
        return self.named("int", words[predicate])

    def both(self, one: Value, other: Value) -> Value:
        return self.named("int", f"{one} & {other}")

    def select(self, condition: Value, x: Value, y: Value) -> Value:
        return self.real_value(f"{condition} ? {x} : {y}")


def number(value: float, lanes: Lanes) -> str:
    """A constant to the last bit, as C reads it."""
    if lanes.format is FLOAT:
        with np.errstate(over="ignore", under="ignore"):
            value = float(np.float32(value))
    if not math.isfinite(value):
        word = "NAN" if math.isnan(value) else "INFINITY" if value > 0 else "(-INFINITY)"
        return word if lanes.format is FLOAT else f"((double){word})"
    mantissa, _, exponent = abs(value).hex().partition("p")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    text = f"{mantissa}p{exponent}" + "f" * (lanes.format is FLOAT)
    return f"(-{text})" if math.copysign(1.0, value) < 0.0 else text


def lanes_of(dtype: np.dtype) -> Lanes:
    """The format of one number; how many go abreast is not known here."""
    return FLOATS if dtype == np.float32 else DOUBLES


def _unfolded(op: Op) -> Callable[..., Value]:
    """The row of the emitters' table, as statements."""
    return lambda emit, *operands: getattr(emit, EMIT[op].__name__)(*operands)


OPERATIONS: dict[Op, Callable[..., Value]] = {op: _unfolded(op) for op in EMIT} | {
    Op.ATAN2: lambda emit, y, x: emit.call("atan2", y, x),
    Op.ROUND: lambda emit, x: emit.call("round", x),
    Op.LEVEL: lambda emit, x: emit.call("level", x),
    Op.SELECT: lambda emit, x, y, z: emit.real_value(f"{x} > {emit.constant(0.0)} ? {y} : {z}"),
}
