"""Number of multiplications of a kernel that the fused multiply-add units execute.

Counted are the nodes MUL, FMA, FMS and FNMA of the compiled formula, each once per register of samples, and for every
angle whose sine or cosine is computed

    1 to round x · 2/π,   one for each piece of π/2,   1 for z = r²,   the polynomials S and C (one multiplication per
    coefficient except the last),   2 for r + r·z·S   and 1 for 1 + z·C

Not counted are separate additions, subtractions and sign changes, divisions and roots, the selection of the quadrant,
loading and storing samples, and guards. The time that the counted multiplications would take at the peak of the
machine, divided by the time of a complete call, is the fraction of the peak that a kernel reaches.
"""

from __future__ import annotations

from appell.compile.llvm.lanes import DOUBLE
from appell.compile.llvm.trigonometry import SERIES
from appell.compile.tape.formula import Formula
from appell.compile.tape.ops import Op
from appell.compile.tape.tape import Tape

MULTIPLICATIONS = (Op.MUL, Op.FMA, Op.FMS, Op.FNMA)


def multiplications(formula: Formula) -> int:
    """Return the number of multiplications per register of samples, for a formula ready to be compiled."""
    if isinstance(formula, Tape):
        return _of_tape(formula)
    return sum(
        stage.order.count(number) * _of_tape(step.tape)
        for stage in formula.stages
        for number, step in enumerate(stage.steps)
    )


def multiplications_per_angle() -> int:
    """Return the number for sine and cosine of one angle together; either alone takes the same."""
    series = SERIES[DOUBLE]
    return 1 + len(series.fused) + 1 + (len(series.sine) - 1) + (len(series.cosine) - 1) + 2 + 1


def _of_tape(tape: Tape) -> int:
    angles = {node[1] for node in tape.nodes if node[0] in (Op.SIN, Op.COS)}
    return sum(node[0] in MULTIPLICATIONS for node in tape.nodes) + multiplications_per_angle() * len(angles)
