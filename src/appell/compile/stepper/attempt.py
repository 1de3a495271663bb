"""One step in machine code: the attempt, its error, what it says about the next step, and the interpolant.

    error = √(Σ (eᵢ / sᵢ)² / n)          s = atol + rtol max(|y|, |y'|)                                        (1)
    error = |e|² / √(|e|² + |ê|²/100)    for methods with two estimates of different order, in that norm      (2)

which is what SciPy's and Hairer's codes take, so that tolerances mean the same. The next step is longer or shorter by

    0.9 error^(-1/root)                  at least 0.2, at most 10                                             (3)

A state that is not finite, or whose slope is not, makes the error NaN, so such a step is never taken. No evaluation
lies beyond the end of its step.
"""

from __future__ import annotations

from appell.compile.emit.emitter import Index, Value
from appell.compile.emit.lanes import DOUBLES
from appell.compile.stepper.interpolant import chebyshev_factors
from appell.compile.stepper.state_emitter import NEW, SLOPES, StateEmitter, Y, number
from appell.compile.stepper.tableau import Row

SAFETY, SHRINK, GROW = 0.9, 0.2, 10.0
NEWTON = 6  # steps from a guess that is 6 % off at worst to the last bit


def attempt(emit: StateEmitter, t: Value, h: Value, end: Value) -> Value:
    """A step from t to `end`, h long: its slopes and the new state; the error."""
    tableau = emit.tableau
    for i in range(1, tableau.last):
        stage(emit, t, h, end, tableau.nodes[i], tableau.stages[i], i)
    stage(emit, t, h, end, 1.0, tableau.weights, tableau.last, keep=True)
    return _error(emit, h)


def stage(
    emit: StateEmitter, t: Value, h: Value, end: Value, node: float, row: Row, slope: int, keep: bool = False
) -> None:
    """A slope, and the new state if this is where it is taken."""
    state, length = emit.get("state"), emit.every(h)

    def move(block: Value, register: Index) -> None:
        moved = emit.fma(length, emit.sum(block, row), emit.load(block, Y))
        emit.store(moved, state, register)
        if keep:
            emit.store(moved, block, NEW)

    emit.each(move)
    inside = emit.smaller(emit.double("fadd", t, emit.double("fmul", h, number(node))), end)
    emit.evaluate(end if node == 1.0 else inside, slope)


def _error(emit: StateEmitter, h: Value) -> Value:
    """(1) or (2)."""
    tableau = emit.tableau
    sums, spoilt = emit.stack(len(tableau.errors)), emit.stack(1)
    for m in range(len(tableau.errors)):
        emit.store(emit.constant(0.0), sums, m)
    emit.store(emit.constant(0.0), spoilt)
    atol, rtol = emit.every(emit.get("atol")), emit.every(emit.get("rtol"))

    def look(block: Value, _) -> None:
        y, new = (emit.absolute(emit.load(block, row)) for row in (Y, NEW))
        scale = emit.fma(emit.select(emit.compare("ogt", y, new), y, new), rtol, atol)
        for m, row in enumerate(tableau.errors):
            part = emit.div(emit.sum(block, row), scale)
            emit.store(emit.fma(part, part, emit.load(sums, m)), sums, m)
        emit.spoil(spoilt, new)
        emit.spoil(spoilt, emit.slope(block, tableau.last))

    emit.each(look)
    squares = [emit.lanes_sum(emit.load(sums, m)) for m in range(len(tableau.errors))]
    both = squares[0]
    for other in squares[1:]:
        both = emit.double("fadd", both, emit.double("fmul", number(0.01), other))
    root = emit.value(f"call double @llvm.sqrt.f64(double {emit.double('fmul', both, emit.get('size'))})")
    norm = emit.double("fdiv", emit.double("fmul", h, squares[0]), root)
    norm = emit.choose(emit.double("fcmp oeq", both, "0.0"), "0.0", norm)
    return emit.double("fadd", norm, emit.lanes_sum(emit.load(spoilt)))


def factor(emit: StateEmitter, error: Value) -> Value:
    """(3), by Newton's rule for 1 / r^root = error; the least of it for NaN."""
    root, one = emit.tableau.root, DOUBLES.pattern_of(1.0)
    x = emit.smaller(error, number((SAFETY / SHRINK) ** root))
    x = emit.larger(x, number((SAFETY / GROW) ** root))
    share = emit.value(f"sdiv i64 {emit.value(f'bitcast double {x} to i64')}, {root}")
    r = emit.value(f"bitcast i64 {emit.value(f'sub i64 {one + one // root}, {share}')} to double")
    for _ in range(NEWTON):
        power = x
        for _ in range(root):
            power = emit.double("fmul", power, r)
        change = emit.double("fdiv", emit.double("fsub", number(1.0), power), number(root))
        r = emit.double("fadd", r, emit.double("fmul", r, change))
    return emit.double("fmul", r, number(SAFETY))


def interpolant(emit: StateEmitter, h: Value) -> None:
    """Write the Chebyshev coefficients, (2) and (3) of `interpolant`; then the end becomes the beginning."""
    tableau = emit.tableau
    registers, length = emit.get("registers"), emit.every(h)
    before = emit.value(f"mul i64 {emit.get('taken')}, {registers}")
    series = emit.address(emit.get("series"), emit.times(before, (tableau.degree + 1) * DOUBLES.bytes))

    def write(block: Value, register: Index) -> None:
        first, last = (emit.mul(length, emit.slope(block, j)) for j in (0, tableau.last))
        R = [emit.mul(length, emit.sum(block, tableau.weights))]
        R.append(emit.sub(first, R[0]))
        R.append(emit.sub(emit.sub(R[0], R[1]), last))
        R += [emit.mul(length, emit.sum(block, row)) for row in tableau.shapes]
        for k, factors in enumerate(chebyshev_factors(tableau.degree)):
            total = "" if k else emit.load(block, Y)
            for share, part in zip(factors, R, strict=True):
                if share:
                    total = emit.added(total, emit.constant(share), part)
            emit.store(total, series, emit.value(f"add i64 {emit.times(registers, k)}, {register}"))
        emit.store(emit.load(block, NEW), block, Y)
        emit.store(emit.slope(block, tableau.last), block, SLOPES)

    emit.each(write)
