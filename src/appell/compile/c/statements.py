"""Instructions as C statements: the emitter of the machine code with C text for the same operations.

    const double t7 = P_FMA(t3, t5, t6);

Code that is written for LLVM through an emitter (sine and cosine, arctangent, arithmetic) is written in C by the same
lines, with the same constants in the same order, and so gives the same bits. One statement is one operation on one
number; the C compiler makes vectors of them. Integers are unsigned, because signed overflow is undefined in C, and
compared as signed ones. A condition is 0 or 1.

An exported file contains the few functions that it needs: sine and cosine, arctangent, exponential, bits of numbers
and others. Only the reduction of huge angles is written twice: LLVM has integers of 256 bits, C99 has words of 32 bits.
The equations are those of Payne and Hanek's method in `compile.llvm`; 192 bits of the window of 2/π and of its product
with the mantissa are stored in six words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from appell.compile.llvm.arithmetic import EMIT
from appell.compile.llvm.emitter import Emitter, Value
from appell.compile.llvm.lanes import DOUBLES, FLOAT, FLOATS, Lanes
from appell.compile.llvm.trigonometry import DIGITS, FRACTION, beyond_mask, pi, reduce, sine_and_cosine, two_over_pi
from appell.compile.tape.ops import ARITY, TRANSCENDENTAL, Op

_OPERATORS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "and": "&", "or": "|", "xor": "^"}
_OPERATORS |= {"shl": "<<", "lshr": ">>"}
_INTRINSICS = {"sqrt": "SQRT", "fabs": "ABS", "fma": "FMA"}  # macros of the file
_COMPARED = {"icmp sgt": ">", "icmp ne": "!=", "icmp eq": "=="}


class Statements(Emitter):
    """Writes statements; functions and macros of the file have the prefix `prefix`."""

    def __init__(self, prefix: str, lanes: Lanes):
        super().__init__(lanes, fused=True)
        self.prefix = prefix
        self.real = lanes.scalar
        self.word = f"uint{lanes.integer_bits}_t"

    def text(self, indent: str = "    ") -> str:
        """Return the statements, one per line."""
        return "".join(f"{indent}{line}\n" for line in self.lines)

    def fresh(self) -> Value:
        """Return the name of a new variable."""
        self._values += 1
        return f"t{self._values}"

    def named(self, kind: str, expression: str) -> Value:
        """Declare a variable for an expression and return its name."""
        name = self.fresh()
        self.lines.append(f"const {kind} {name} = {expression};")
        return name

    def real_value(self, expression: str) -> Value:
        """Declare a variable of the number type for an expression and return its name."""
        return self.named(self.real, expression)

    def call(self, function: str, *operands: Value) -> Value:
        """Call a function or macro of the file and return the name of the result."""
        return self.real_value(f"{self.prefix}_{function}({', '.join(operands)})")

    # arithmetic

    def constant(self, value: float) -> Value:
        return c_number(value, self.lanes)

    def arithmetic(self, operation: str, x: Value, y: Value) -> Value:
        return self.real_value(f"{x} {_OPERATORS[operation]} {y}")

    def neg(self, x: Value) -> Value:
        return f"(-{x})"

    def intrinsic(self, name: str, *operands: Value) -> Value:
        return self.call(_INTRINSICS[name], *operands)

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

    def conditions(self, operation: str, one: Value, other: Value) -> Value:
        return self.named("int", f"{one} {_OPERATORS[operation]} {other}")

    def select(self, condition: Value, x: Value, y: Value) -> Value:
        return self.real_value(f"{condition} ? {x} : {y}")


def c_number(value: float, lanes: Lanes) -> str:
    """Return a constant as a hexadecimal literal of C, exact to the last bit."""
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
    """Return lanes of the number format of a type; the number of lanes is not used for C."""
    return FLOATS if dtype == np.float32 else DOUBLES


def _call(emit: Statements, *operands: Value, op: Op) -> Value:
    return emit.call(op.name.lower(), *operands)


CALLED = (Op.ATAN2, Op.ROUND, Op.LEVEL, Op.SIGN, Op.MINIMUM, Op.MAXIMUM, *TRANSCENDENTAL)  # functions of the file
OPERATIONS: dict[Op, Callable[..., Value]] = EMIT | {
    Op.NEG: Statements.neg,
    Op.SELECT: lambda emit, x, y, z: emit.real_value(f"{x} > {emit.constant(0.0)} ? {y} : {z}"),
    **{op: partial(_call, op=op) for op in CALLED},
}


_TABLE_WORDS = 40  # of 32 bits: the digits of 2/π, and zeros above the point

_PRELUDE = """\
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__FAST_MATH__)
#error "this file needs the arithmetic of IEEE 754: compile it without -ffast-math and -Ofast"
#endif
#if FLT_EVAL_METHOD == 2 || (FLT_EVAL_METHOD == 1 && @single@)
#error "this machine computes with more digits than the type has: use SSE (-msse2 -mfpmath=sse)"
#endif

/* Products and sums are fused only where FMA is written. gcc ignores the pragma of the standard, and when it vectorises
 * straight-line code it fuses even if that is disabled (observed in gcc 12), so this vectorisation is disabled too. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=off", "no-tree-slp-vectorize")
#else
#pragma STDC FP_CONTRACT OFF
#endif

#if defined(__GNUC__)
#define @P@_INLINE static inline __attribute__((always_inline))
#define @P@_FMA(x, y, z) __builtin_fma@f@(x, y, z)
#define @P@_SQRT(x) __builtin_sqrt@f@(x)
#define @P@_ABS(x) __builtin_fabs@f@(x)
#else
#define @P@_INLINE static inline
#define @P@_FMA(x, y, z) fma@f@(x, y, z)
#define @P@_SQRT(x) sqrt@f@(x)
#define @P@_ABS(x) fabs@f@(x)
#endif

@P@_INLINE @word@ @P@_bits(@real@ x)
{
    @word@ bits_;
    memcpy(&bits_, &x, sizeof bits_);
    return bits_;
}
"""

_NUMBER = """
@P@_INLINE @real@ @P@_number(@word@ bits_)
{
    @real@ x;
    memcpy(&x, &bits_, sizeof x);
    return x;
}
"""

_REDUCE_HUGE = """
/* x - k pi/2 for an x that is not small, and k mod 4: Payne and Hanek's method with 192 bits of 2/pi. */
static double @P@_reduce_huge(double x, @word@ *k)
{
    static const uint32_t digits[@words@] = {
@digits@
    };
    const uint64_t half_pi = UINT64_C(@half_pi@);
    uint64_t bits, mantissa, leading, low, middle, scale;
    uint32_t window[6], turn[6] = {0, 0, 0, 0, 0, 0}, carry;
    unsigned exponent, position, shift, quadrant, below, zeros, top, i, j;
    double angle, unit;

    memcpy(&bits, &x, sizeof bits);
    exponent = (unsigned)(bits >> 52) & 2047u;
    if (exponent == 2047u) {
        *k = 0;
        return x - x;
    }
    mantissa = (bits & UINT64_C(0xfffffffffffff)) | UINT64_C(0x10000000000000);
    position = @position@u - exponent;
    shift = position % 32u;
    for (i = 0; i < 6u; ++i) {
        window[i] = digits[position / 32u + i] >> shift;
        if (shift != 0u)
            window[i] |= digits[position / 32u + i + 1u] << (32u - shift);
    }
    for (j = 0; j < 2u; ++j) { /* the product, modulo 2^192: the turn in units of 2^-190 right angles */
        const uint32_t factor = (uint32_t)(mantissa >> (32u * j));
        carry = 0;
        for (i = 0; i + j < 6u; ++i) {
            low = (uint64_t)window[i] * factor + turn[i + j] + carry;
            turn[i + j] = (uint32_t)low;
            carry = (uint32_t)(low >> 32);
        }
    }
    quadrant = (turn[5] + UINT32_C(0x20000000)) >> 30;
    turn[5] -= (uint32_t)quadrant << 30;
    below = turn[5] >> 31;
    if (below != 0u) {
        carry = 1;
        for (i = 0; i < 6u; ++i) {
            turn[i] = ~turn[i] + carry;
            carry = carry != 0u && turn[i] == 0u;
        }
    }
    top = 5;
    while (top > 2u && turn[top] == 0u)
        --top;
    leading = (uint64_t)turn[top] << 32 | turn[top - 1u];
    zeros = 32u * (5u - top);
    for (low = turn[top - 2u]; leading >> 63 == 0u && zeros < 160u; ++zeros) {
        leading = leading << 1 | low >> 31;
        low = low << 1 & UINT64_C(0xffffffff);
    }
    /* the upper half of leading * half_pi */
    low = (leading & UINT64_C(0xffffffff)) * (half_pi & UINT64_C(0xffffffff));
    middle = (leading >> 32) * (half_pi & UINT64_C(0xffffffff)) + (low >> 32);
    low = (leading & UINT64_C(0xffffffff)) * (half_pi >> 32) + (middle & UINT64_C(0xffffffff));
    leading = (leading >> 32) * (half_pi >> 32) + (middle >> 32) + (low >> 32);

    scale = (uint64_t)(963u - zeros) << 52;
    memcpy(&unit, &scale, sizeof unit);
    angle = (double)(int64_t)(leading >> 1) * unit;
    *k = (@word@)(x < 0.0 ? 0u - quadrant : quadrant);
    return (below != 0u) != (x < 0.0) ? -angle : angle;
}
"""

_SINCOS = """
/* Sine and cosine. The result is not zero if the angle is too large for the fast reduction; if careful_ is set, such
 * an angle is reduced by the slow method instead. */
@P@_INLINE @word@ @P@_sincos(@real@ x, const int careful_, @real@ *sine_, @real@ *cosine_)
{
    @real@ r_;
    @word@ k_, beyond_;
@reduced@
    if (careful_ && beyond_ != 0u) {
        r_ = (@real@)@P@_reduce_huge(x, &k_);
        beyond_ = 0;
    }
@finished@
    return beyond_;
}
"""


def library(prefix: str, lanes: Lanes, ops: Iterable[Op]) -> str:
    """Return the start of a file: the headers, macros and functions that these operations need.

    Parameters
    ----------
    prefix : prefix of all symbols
    lanes : number format
    ops : operations of the formula
    """
    used = {Op(op) for op in ops}
    trig = bool(used & {Op.SIN, Op.COS})
    single = lanes.format is FLOAT
    parts = [_PRELUDE]
    if trig or used & set(CALLED):
        parts.append(_NUMBER)
    if trig:
        parts += [_reduce_huge(), _sincos(prefix, lanes)]
    for op in CALLED:
        if op in used:
            parts.append(_function(prefix, lanes, op))
    words = {"P": prefix, "f": "f" * single, "single": str(int(single)), "real": lanes.scalar}
    return fill("".join(parts), words | {"word": f"uint{lanes.integer_bits}_t"})


def fill(text: str, words: dict[str, str]) -> str:
    """Return a text with its @words@ replaced."""
    for name, word in words.items():
        text = text.replace(f"@{name}@", word)
    return text


def _reduce_huge() -> str:
    table = two_over_pi(DIGITS)
    words = [f"0x{table >> 32 * k & 0xFFFFFFFF:08x}" for k in range(_TABLE_WORDS)]
    rows = [", ".join(words[k : k + 8]) for k in range(0, _TABLE_WORDS, 8)]
    return fill(
        _REDUCE_HUGE,
        {
            "words": str(_TABLE_WORDS),
            "digits": ",\n".join(f"        {row}" for row in rows),
            "half_pi": str(pi(62)),
            "position": str(DIGITS - FRACTION + 1075),
        },
    )


def _sincos(prefix: str, lanes: Lanes) -> str:
    emit = Statements(prefix, lanes)
    reduced = reduce(emit, "x")
    emit.do(f"r_ = {reduced.rest};")
    emit.do(f"k_ = {reduced.quadrant};")
    emit.do(f"beyond_ = {reduced.beyond} & {emit.pattern(beyond_mask(lanes, fused=True))};")
    before, emit.lines = emit.text(), []
    sine, cosine = sine_and_cosine(emit, "r_", "k_")
    emit.do(f"*sine_ = {sine};")
    emit.do(f"*cosine_ = {cosine};")
    return fill(_SINCOS, {"reduced": before.rstrip("\n"), "finished": emit.text().rstrip("\n")})


def _function(prefix: str, lanes: Lanes, op: Op) -> str:
    emit = Statements(prefix, lanes)
    names = ["y", "x"] if op is Op.ATAN2 else ["x", "y"][: ARITY[op]]
    result = EMIT[op](emit, *names)
    emit.do(f"return {result};")
    arguments = ", ".join(f"@real@ {name}" for name in names)
    return f"\n@P@_INLINE @real@ @P@_{op.name.lower()}({arguments})\n{{\n{emit.text()}}}\n"
