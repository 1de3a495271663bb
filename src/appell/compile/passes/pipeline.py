"""The way from a trace to machine code, pass by pass.

    fold       while a graph grows       rewrites a node by what its operands are: constants, signs, cancelling sums
    factor     when a trace ends         takes common factors out of sums of products
    collect    where a formula asks      collects sums by constants, and keeps the cheaper tape
    order      when forward mode ends    computes one direction of a derivative after the other
    fuse       before machine code       makes fused multiply-adds; what comes after reads this tape and never another

All but `fold`, which is a table of rules, take a tape and give a tape that computes the same. Each verifies what it
made. `order` stands in `differentiate`, which knows the directions.
"""

from __future__ import annotations

from collections.abc import Callable

from appell.compile.passes.factor import factor
from appell.compile.passes.fuse import fuse
from appell.compile.tape import Tape

Pass = Callable[[Tape], Tape]

TRACED: tuple[Pass, ...] = (factor,)
COMPILED: tuple[Pass, ...] = (fuse,)


def run(passes: tuple[Pass, ...], tape: Tape) -> Tape:
    for each in passes:
        tape = each(tape)
    return tape
