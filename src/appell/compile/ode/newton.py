"""Machine code of Newton's method for linear equations with projections, such as those of contacts with friction:

    f = P(z)        z = f - r (A f + b)                                                                       (1)

with positive step lengths r. P clips each entry to its bounds, lower ≤ f ≤ upper. A cone is three entries n, x, y, of
which P shortens (z_x, z_y) to the length μ f_n. With the derivative W of P, a step d of Newton's method solves

    (I - W (I - r A)) d = P(z) - f                                                                            (2)

by elimination; if the equations are redundant, d has no components along the null vectors. The iteration ends where
the error f - P(z) is small, not finite, or has not decreased for some steps. The result is P of the best f.

Sizes are data, so that one object serves all systems.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from appell.compile.llvm.emitter import Index, Value
from appell.compile.llvm.lanes import DOUBLES
from appell.compile.native.bound import function_of_array
from appell.compile.native.kernels import load_text
from appell.compile.native.machine import host
from appell.compile.ode.cells import CellLayout, Cells, address
from appell.compile.ode.matrices import MatrixEmitter, eliminate, padded

MAX_STEPS = 40
MAX_STAGNANT_STEPS = 8  # steps without improvement
CONVERGED = 1e-3  # of the target: the iteration ends there, because one more step costs little
MIN_PIVOT = 1e-13  # relative to the first pivot
LAYOUT = CellLayout(("work",), ("n", "cones", "rank"), ("target", "error"))
VECTORS = ("b", "r", "lower", "upper", "mu", "first", "f", "best", "p", "z", "order")  # rows of `work` that follow A


class ProjectedEquations:
    """The equations (1) for one matrix and several b.

    Parameters
    ----------
    A, r : matrix (n, n) and step lengths (n,)
    lower, upper : bounds, (n,)
    first, mu : first entry and coefficient of each cone
    """

    def __init__(
        self, A: np.ndarray, r: np.ndarray, lower: np.ndarray, upper: np.ndarray, first: np.ndarray, mu: np.ndarray
    ):
        n, cones, width = len(A), len(mu), DOUBLES.width
        count = padded(n)
        memory = np.zeros((3 * n + len(VECTORS) + 1) * count + width)
        start = -(address(memory) // 8) % width
        work = memory[start : start + (n + len(VECTORS)) * count].reshape(-1, count)
        work[:n, :n] = A
        rows = dict(zip(VECTORS, work[n:], strict=True))
        rows["r"][:n], rows["lower"][:n], rows["upper"][:n], rows["mu"][:cones] = r, lower, upper, mu
        rows["first"].view(np.int64)[:cones] = first
        self.b, self.f, self._best = rows["b"][:n], rows["f"][:n], rows["best"][:n]
        self._cells = cells = Cells(LAYOUT)
        cells.work, cells.n, cells.cones = address(memory) + 8 * start, n, cones
        self._memory = memory

    def solve(self, b: np.ndarray, f: np.ndarray, target: float) -> tuple[np.ndarray, float]:
        """Return the result for b from a start f, and the largest error |f - P(z)|, of which `target` is the aim.

        Errors are relative to the largest |r b|.
        """
        self.b[:], self.f[:], self._cells.target = b, f, target
        _newton()(self._cells.array)
        return self._best.copy(), self._cells.error


@cache
def _newton() -> Callable[[np.ndarray], None]:
    """Return the machine code, a function of the cells, loaded from the object cache or compiled."""
    return function_of_array("newton", load_text(_text(host().has_fma), "newton", "newton"))


def _text(fused: bool) -> str:
    emit = MatrixEmitter(LAYOUT, fused)
    n, cones, A = emit.get("n"), emit.get("cones"), emit.get("work")
    narrow = emit.registers(n)
    vectors = emit.row(A, n, narrow)
    rows = {name: emit.row(vectors, k, narrow) for k, name in enumerate(VECTORS)}
    N = emit.row(vectors, len(VECTORS), narrow)
    right = emit.row(N, n, narrow)
    b, r, lower, upper, f, best, p, z = (rows[name] for name in ("b", "r", "lower", "upper", "f", "best", "p", "z"))
    smallest, patience = emit.stack(1, "double"), emit.stack(1, "i64")

    def infinite() -> Value:
        return DOUBLES.number(np.inf)

    def minus(x: Value) -> Value:
        return emit.value(f"fneg double {x}")

    def copy(source: Value, target: Value) -> None:
        emit.loop(0, narrow, lambda k: emit.store(emit.load(source, k), target, k))

    def over_cones(body) -> None:
        """Emit `body(entry, mu)` for the first entry and the coefficient of every cone."""
        emit.loop(0, cones, lambda k: body(emit.item(rows["first"], k, "i64"), emit.item(rows["mu"], k)))

    def tangents(entry: Value) -> tuple[Value, Value, Value, Value, Value]:
        """Return the entries x and y of a cone, z there, and |z|."""
        i, j = emit.count("add", entry, 1), emit.count("add", entry, 2)
        x, y = emit.item(z, i), emit.item(z, j)
        square = emit.double("fadd", emit.double("fmul", x, x), emit.double("fmul", y, y))
        return i, j, x, y, emit.value(f"call double @llvm.sqrt.f64(double {square})")

    def project() -> None:
        """Emit p = P(z)."""

        def clip(i: Value) -> None:
            inside = emit.larger(emit.item(z, i), emit.item(lower, i))
            emit.set_item(p, i, emit.smaller(inside, emit.item(upper, i)))

        def shorten(entry: Value, mu: Value) -> None:
            i, j, x, y, length = tangents(entry)
            radius = emit.double("fmul", mu, emit.item(p, entry))
            ratio = emit.double("fdiv", radius, emit.larger(length, DOUBLES.number(1e-300)))
            part = emit.choose(emit.double("fcmp ole", length, radius), "1.0", ratio)
            emit.set_item(p, i, emit.double("fmul", part, x))
            emit.set_item(p, j, emit.double("fmul", part, y))

        emit.loop(0, n, clip)
        over_cones(shorten)

    def evaluate(point: Value) -> Value:
        """Emit z, p and `right` = p - f at a point f; return the largest |p - f|, not finite if z is not."""

        def shift(i: Value) -> None:
            u = emit.double("fadd", emit.dot(emit.row(A, i, narrow), point, narrow), emit.item(b, i))
            emit.set_item(z, i, emit.double("fsub", emit.item(point, i), emit.double("fmul", emit.item(r, i), u)))

        sizes = emit.stack(2, "double")

        def compare(i: Value) -> None:
            change = emit.double("fsub", emit.item(p, i), emit.item(point, i))
            emit.set_item(right, i, change)
            size = emit.value(f"call double @llvm.fabs.f64(double {change})")
            emit.set_item(sizes, 0, emit.larger(size, emit.item(sizes, 0)))
            emit.set_item(sizes, 1, emit.double("fadd", emit.item(z, i), emit.item(sizes, 1)))

        emit.loop(0, n, shift)
        project()
        emit.zero(right, narrow)
        for k in (0, 1):
            emit.set_item(sizes, k, "0.0")
        emit.loop(0, n, compare)
        nothing = emit.double("fmul", "0.0", emit.item(sizes, 1))  # or NaN
        return emit.double("fadd", emit.item(sizes, 0), nothing)

    def couple(i: Value, j: Value, weight: Value) -> None:
        """Emit the subtraction of `weight` times row j of I - r A from row i of N."""
        row = emit.row(N, i, narrow)
        emit.set_item(row, j, emit.double("fsub", emit.item(row, j), weight))
        emit.add_multiple(row, emit.double("fmul", weight, emit.item(r, j)), emit.row(A, j, narrow), narrow)

    def single(i: Value) -> None:
        """Emit row i of N for an entry that is not a tangent: I, minus that of I - r A if z is within the bounds."""
        x = emit.item(z, i)
        above, below = emit.double("fcmp ogt", x, emit.item(lower, i)), emit.double("fcmp olt", x, emit.item(upper, i))
        row = emit.row(N, i, narrow)
        emit.zero(row, narrow)
        emit.set_item(row, i, "1.0")
        emit.when(emit.value(f"and i1 {above}, {below}"), lambda: couple(i, i, "1.0"))

    def cone(entry: Value, mu: Value) -> None:
        """Emit the rows x and y of N for a cone."""
        i, j, x, y, length = tangents(entry)
        for k in (i, j):
            row = emit.row(N, k, narrow)
            emit.zero(row, narrow)
            emit.set_item(row, k, "1.0")
        normal = emit.item(z, entry)
        radius = emit.double("fmul", mu, normal)
        sticks = emit.double("fcmp ole", length, radius)

        def stick() -> None:
            for k in (i, j):
                couple(k, k, "1.0")

        def slide() -> None:
            part, cos, sin = (emit.double("fdiv", value, length) for value in (radius, x, y))
            for k, along, across in ((i, cos, sin), (j, sin, cos)):
                couple(k, entry, emit.double("fmul", mu, along))
                other = j if k is i else i
                couple(k, k, emit.double("fmul", part, emit.double("fmul", across, across)))
                couple(k, other, minus(emit.double("fmul", part, emit.double("fmul", cos, sin))))

        def push() -> None:
            emit.when(sticks, stick)
            emit.when(emit.value(f"xor i1 {sticks}, true"), slide)

        emit.when(emit.double("fcmp ogt", normal, "0.0"), push)

    def step(_: Index) -> None:
        size = evaluate(f)
        emit.set_item(patience, 0, emit.count("sub", emit.item(patience, 0, "i64"), 1), "i64")

        def improve() -> None:
            copy(f, best)
            emit.set_item(smallest, 0, size)
            emit.set_item(patience, 0, str(MAX_STAGNANT_STEPS), "i64")

        better = emit.double("fcmp olt", size, emit.item(smallest, 0))
        emit.when(better, improve)
        limit = emit.double("fmul", DOUBLES.number(CONVERGED), emit.get("target"))
        unsolved = emit.double("fcmp ogt", size, limit)
        lasts = emit.count("icmp sge", emit.item(patience, 0, "i64"), 0)
        proceeds = emit.value(f"and i1 {unsolved}, {lasts}")

        def change() -> None:
            emit.loop(0, n, single)
            over_cones(cone)
            eliminate(emit, n, N, right, p, rows["order"], MIN_PIVOT)
            emit.loop(0, narrow, lambda k: emit.store(emit.add(emit.load(f, k), emit.load(p, k)), f, k))

        emit.when(proceeds, change)
        stop = emit.value(f"xor i1 {proceeds}, true")
        emit.when(stop, lambda: emit.set_item(patience, 0, "-1", "i64"))

    scale = emit.stack(1, "double")
    emit.set_item(scale, 0, DOUBLES.number(1e-300))

    def measure(i: Value) -> None:
        size = emit.value(f"call double @llvm.fabs.f64(double {emit.double('fmul', emit.item(r, i), emit.item(b, i))})")
        emit.set_item(scale, 0, emit.larger(size, emit.item(scale, 0)))

    emit.loop(0, n, measure)
    emit.put("target", emit.double("fmul", emit.get("target"), emit.item(scale, 0)))
    copy(f, best)
    emit.set_item(smallest, 0, infinite())
    emit.set_item(patience, 0, str(MAX_STAGNANT_STEPS), "i64")
    emit.loop(
        0,
        MAX_STEPS,
        lambda k: emit.when(emit.count("icmp sge", emit.item(patience, 0, "i64"), 0), lambda: step(k)),
    )
    copy(best, z)
    project()
    copy(p, best)
    emit.put("error", emit.double("fdiv", evaluate(best), emit.item(scale, 0)))
    emit.do("ret void")
    return emit.function("define void @newton(ptr %cells) nounwind")
