"""Multiplications of a kernel: what it asks of the units that multiply and add at once.

Counted are the nodes MUL, FMA, FMS and FNMA of the formula as it is run, each once for a register of samples, and for
every angle of which a sine or a cosine is taken

    1 to round x · 2/π,   one for each piece of π/2,   1 for z = r²,   the polynomials S and C (a multiplication a
    coefficient but the last),   2 for r + r·z·S   and 1 for 1 + z·C

Not counted: additions, subtractions and changes of sign that stand alone, divisions and roots, the bits that choose a
quadrant, moving samples in and out, and guards. The time that the counted ones would take at the peak of
a machine, over the time of a whole call, is the fraction of the peak that a kernel reaches.
"""

from __future__ import annotations

from appell.compile.llvm.lanes import DOUBLE
from appell.compile.llvm.trigonometry import SERIES
from appell.compile.tape.formula import Formula
from appell.compile.tape.ops import Op
from appell.compile.tape.tape import Tape

MULTIPLICATIONS = (Op.MUL, Op.FMA, Op.FMS, Op.FNMA)


def multiplications(formula: Formula) -> int:
    """Of one register of samples, for a formula that is ready to be run."""
    if isinstance(formula, Tape):
        return _of_tape(formula)
    return sum(
        stage.order.count(number) * _of_tape(step.tape)
        for stage in formula.stages
        for number, step in enumerate(stage.steps)
    )


def of_an_angle() -> int:
    """What sine and cosine of one angle take together; either alone takes the same."""
    series = SERIES[DOUBLE]
    return 1 + len(series.fused) + 1 + (len(series.sine) - 1) + (len(series.cosine) - 1) + 2 + 1


def _of_tape(tape: Tape) -> int:
    angles = {node[1] for node in tape.nodes if node[0] in (Op.SIN, Op.COS)}
    return sum(node[0] in MULTIPLICATIONS for node in tape.nodes) + of_an_angle() * len(angles)
