"""Spoilt samples: one input that is not finite makes all results NaN, also those from which folding has dropped it.

What is not finite stays so through sums, products, roots, sines and numerators (`CARRIED`): a result that is made of an
input by nothing else cannot be finite if the input is not. So the *witnesses*, a few results that are made of nearly
all inputs, are tested in place of them, and besides only the inputs that none of them is made of: the first torque of
an arm knows of all but the first angle, and two tests serve for eighteen. The test looks at exponents, which raises no
flag. It may be wrong in one way: a result may be infinite because finite inputs were too large.

So a block that fails takes a rare path that looks at all inputs. 0 x is zero for a finite number and NaN for any other:
the sum of these products over all inputs tells which samples are spoilt, and NaN is written over their results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from appell.compile.emit.emitter import Emitter, Index, Value
from appell.compile.ops import Op
from appell.compile.tape import Tape

CARRIED: dict[Op, tuple[int, ...]] = {  # the operands of which none can be infinite or NaN if the value is finite
    **dict.fromkeys((Op.NEG, Op.SQRT, Op.SIN, Op.COS, Op.ROUND, Op.DIV), (0,)),
    **dict.fromkeys((Op.ADD, Op.SUB, Op.MUL), (0, 1)),
    **dict.fromkeys((Op.FMA, Op.FMS, Op.FNMA), (0, 1, 2)),
    **dict.fromkeys((Op.ATAN2, Op.SELECT, Op.LEVEL), ()),
}
_SUMS = 3  # sums of products: several, so that no addition has to wait for the one before


def witnesses(tape: Tape) -> tuple[list[int], list[int]]:
    """Nodes among the results, and numbers of inputs: if they are finite, all inputs are."""
    known: list[int] = []  # for every node the inputs it tells of, as bits
    for op, *content in tape.nodes:
        if op == Op.INPUT:
            known.append(1 << content[0])
        elif op == Op.CONST:
            known.append(0)
        else:
            told = 0
            for k in CARRIED[Op(op)]:
                told |= known[content[k]]
            known.append(told)
    missing, chosen = (1 << tape.input_size) - 1, []
    results = list(dict.fromkeys(tape.results))
    while results:
        best = max(results, key=lambda node: (known[node] & missing).bit_count())
        if (known[best] & missing).bit_count() < 2:
            break
        chosen.append(best)
        missing &= ~known[best]
    return chosen, [number for number in range(tape.input_size) if missing >> number & 1]


def unless_finite(emit: Emitter, values: Iterable[Value], otherwise: Callable[[], None]) -> None:
    """Do `otherwise` if a number in any of these registers is not finite."""
    lanes = emit.lanes
    exponent = emit.pattern(lanes.pattern_of(math.inf))
    tests = [emit.integer("icmp eq", emit.integer("and", emit.bits(value), exponent), exponent) for value in values]
    found = tests[0]
    for test in tests[1:]:
        found = emit.value(f"or <{lanes.width} x i1> {found}, {test}")
    suspect, finite = emit.label("suspect"), emit.label("finite")
    emit.branch(emit.any(found), suspect, finite)
    emit.enter(suspect)
    otherwise()
    emit.jump(finite)
    emit.enter(finite)


def spoilt_samples(emit: Emitter, inputs: int) -> Value:
    """Integers that are zero where all inputs of a sample, so many from %inputs on, are finite."""
    rounds = inputs // _SUMS

    def add(number: Index, so_far: list[Value]) -> list[Value]:
        at = emit.address("%inputs", emit.times(number, _SUMS * emit.lanes.bytes))
        return [emit.fma(emit.load(at, k), emit.constant(0.0), so_far[k]) for k in range(_SUMS)]

    sums = [emit.constant(0.0)] * _SUMS
    if rounds:
        sums = emit.fold(rounds, sums, add)
    for number in range(rounds * _SUMS, inputs):
        k = number % _SUMS
        sums[k] = emit.fma(emit.load("%inputs", number), emit.constant(0.0), sums[k])
    spoilt = emit.bits(sums[0])
    for other in sums[1:]:
        spoilt = emit.integer("or", spoilt, emit.bits(other))
    return spoilt


def poison(emit: Emitter, spoilt: Value, count: int, place: Callable[[Index], Index] = lambda k: k) -> None:
    """Write NaN over all results of spoilt samples: `count` registers of %outputs, at the places of their numbers."""
    spoil, clean = emit.label("poison"), emit.label("clean")
    emit.branch(emit.any_bit(spoilt), spoil, clean)

    emit.enter(spoil)
    bad = emit.integer("icmp ne", spoilt, emit.pattern(0))

    def overwrite(number: Index) -> None:
        slot = place(number)
        emit.store(emit.select(bad, emit.constant(math.nan), emit.load("%outputs", slot)), "%outputs", slot)

    emit.repeat(count, overwrite, unroll=False)
    emit.jump(clean)
    emit.enter(clean)
