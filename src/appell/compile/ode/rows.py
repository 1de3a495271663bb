"""Machine code of a rate with linear equations: kernels compute their coefficients, elimination solves them.

A rate gives ȧ of the last n entries of a state. Forces λ along r rows are added so that the rows satisfy equations,

    ȧ = f + M⁻¹ Fᵀ λ            B ȧ + β + c₁ u + c₂ g/s = 0                                                   (1)

B are rows of an array of rows, chosen by their indices; F equals B, except that a *mixed* row k is

    Fₖ = Bₖ - x Rₖ₊₁ - y Rₖ₊₂                                                                                 (2)

with the two rows that follow it in the array and two numbers x, y. The terms in c₂ exist for the first rows only.

A call evaluates kernels one after the other: f, M, the array of rows with β and u, and g, s, x, y. All of them read and
write fixed addresses. Then (1) is solved: M = L D Lᵀ, and B M⁻¹ Fᵀ by elimination with complete pivoting. If a pivot is
below MIN_PIVOT of the first one, the rows are redundant, and `rank` states how many are independent: λ then is the
solution of least norm, without components along the null vectors of the matrix.

Sizes are data, so that one object serves all systems. Rows of matrices are padded to registers, and inner loops run
along them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from appell.compile.llvm.emitter import Index, Value
from appell.compile.llvm.lanes import DOUBLES
from appell.compile.native.kernels import load_text
from appell.compile.native.machine import Code, host
from appell.compile.ode.cells import CellEmitter, CellLayout, Cells

MIN_PIVOT = 1e-11  # relative to the first pivot
LAYOUT = CellLayout(
    (
        "calls",  # pairs: a kernel and the array of its addresses
        "M",
        "array",  # of rows, (any, n)
        "drift",  # β of all rows of the array
        "speed",  # u of all rows
        "gap",
        "slope",
        "rows",  # indices of the rows of B
        "slots",  # indices of g and s of the first rows
        "mixed",  # indices k of mixed rows
        "mix",  # x and y of each
        "locked",  # indices of the entries of ȧ that are zero
        "a",  # f, then ȧ
        "forces",
        "order",  # order of the columns after pivoting
        "work",
    ),
    ("call_count", "n", "r", "slot_count", "mixed_count", "locked_count", "rank"),
    ("c1", "c2"),
)


def padded(count: int) -> int:
    """Return a number of entries as a multiple of the width of a register."""
    return -(-count // DOUBLES.width) * DOUBLES.width


class RowSystem:
    """The data of (1). `arrays` have the names of addresses in LAYOUT; they stay alive as long as this object.

    Parameters
    ----------
    calls : kernels with the arrays of their arguments and results
    arrays : M, array, drift, speed, gap, slope, rows, slots, mixed, mix, locked, a
    c1, c2 : coefficients of (1)
    """

    def __init__(
        self, calls: Sequence[tuple[Code, Sequence[np.ndarray]]], arrays: dict[str, np.ndarray], c1: float, c2: float
    ):
        operands = [np.array([x.ctypes.data for x in arguments], np.uintp) for _, arguments in calls]
        table = [(code.address, x.ctypes.data) for (code, _), x in zip(calls, operands, strict=True)]
        n, r = len(arrays["M"]), len(arrays["rows"])
        width = DOUBLES.width
        work = np.zeros(n * (padded(n) + padded(r)) + (2 * r + 1) * padded(r) + width)
        first = -(work.ctypes.data // 8) % width
        self._forces = np.zeros(padded(r) + width)
        shift = -(self._forces.ctypes.data // 8) % width
        self.forces = self._forces[shift : shift + r]
        tables = {
            "calls": np.array(table, np.uintp),
            "order": np.zeros(r, np.int64),
            "work": work[first:],
            "forces": self._forces[shift:],
        }
        self.cells = Cells(LAYOUT)
        for name, array in (arrays | tables).items():
            setattr(self.cells, name, array.ctypes.data)
        cells = self.cells
        cells.call_count, cells.n, cells.r, cells.slot_count = len(calls), n, r, len(arrays["slots"])
        cells.mixed_count, cells.locked_count = len(arrays["mixed"]), len(arrays["locked"])
        cells.c1, cells.c2 = c1, c2
        self._rank = cells.array[LAYOUT.index["rank"] :][:1]
        self._alive = (calls, operands, arrays, tables)

    @property
    def rank(self) -> int:
        """Number of independent rows at the last call."""
        return self._rank.item()


@cache
def solver() -> Code:
    """Return the machine code, whose only argument is the cells, loaded from the object cache or compiled."""
    return load_text(_text(host().has_fma), "solve", "rows")


def _text(fused: bool) -> str:
    emit = _MatrixEmitter(LAYOUT, fused)
    emit.do("%cells = load ptr, ptr %addresses, align 8")
    calls = emit.get("calls")

    def call(k: Value) -> None:
        at = emit.address(calls, emit.times(k, 16))
        emit.do(f"call void {emit.item(at, 0, 'ptr')}(ptr {emit.item(at, 1, 'ptr')})")

    emit.loop(0, emit.get("call_count"), call)
    _solve(emit)
    emit.do("ret void")
    return emit.function("define void @solve(ptr %addresses) nounwind")


class _MatrixEmitter(CellEmitter):
    """Loops along the rows of padded matrices."""

    def registers(self, count: Value) -> Value:
        """Return the number of registers of a row of `count` entries."""
        return self.count("udiv", self.count("add", count, DOUBLES.width - 1), DOUBLES.width)

    def row(self, matrix: Value, index: Index, registers: Value) -> Value:
        """Return the address of a row."""
        return self.address(matrix, self.count("mul", self.times(index, DOUBLES.bytes), registers))

    def zero(self, row: Value, registers: Value) -> None:
        """Set a row to zero."""
        self.loop(0, registers, lambda k: self.store(self.constant(0.0), row, k))

    def add_multiple(self, row: Value, factor: Value, other: Value, registers: Value, first: Index = 0) -> None:
        """Add a multiple of another row, from entry `first` on (or a few entries before it)."""
        splat = self.splat(factor)
        start = self.count("udiv", first, DOUBLES.width)
        self.loop(
            start, registers, lambda k: self.store(self.fma(splat, self.load(other, k), self.load(row, k)), row, k)
        )

    def add_product(self, array: Value, index: Index, x: Value, y: Value) -> None:
        """Add x y to an entry of an array."""
        self.set_item(array, index, self.double("fadd", self.item(array, index), self.double("fmul", x, y)))

    def dot(self, row: Value, other: Value, registers: Value) -> Value:
        """Return the scalar product of two rows, whose padding is zero in one of them and finite in the other."""
        total = self.stack(1)
        self.store(self.constant(0.0), total)
        self.loop(
            0,
            registers,
            lambda k: self.store(self.fma(self.load(row, k), self.load(other, k), self.load(total)), total),
        )
        return self.lanes_sum(self.load(total))

    def negative_ratio(self, x: Value, y: Value) -> Value:
        """Return -x / y."""
        return self.value(f"fneg double {self.double('fdiv', x, y)}")


def _solve(emit: _MatrixEmitter) -> None:
    """Emit the solution of (1)."""
    n, r = emit.get("n"), emit.get("r")
    wide, narrow = emit.registers(n), emit.registers(r)  # registers of a row of n and of r entries
    U = emit.get("work")
    X = emit.row(U, n, wide)
    A = emit.row(X, n, narrow)
    b = emit.row(A, r, narrow)
    _copy(emit, n, r, U, X, wide, narrow)
    _divide(emit, n, U, X, wide, narrow)
    _equations(emit, n, r, X, A, b, narrow)
    _eliminate(emit, r, A, b, narrow)
    a, forces = emit.get("a"), emit.get("forces")

    def accelerate(i: Value) -> None:
        change = emit.dot(emit.row(X, i, narrow), forces, narrow)
        emit.set_item(a, i, emit.double("fadd", emit.item(a, i), change))

    emit.loop(0, n, accelerate)
    locked = emit.get("locked")
    emit.loop(0, emit.get("locked_count"), lambda k: emit.set_item(a, emit.item(locked, k, "i64"), "0.0"))


def _copy(emit: _MatrixEmitter, n: Value, r: Value, U: Value, X: Value, wide: Value, narrow: Value) -> None:
    """Emit U = M and X = Fᵀ by (2)."""
    M, array, rows = emit.get("M"), emit.get("array"), emit.get("rows")
    mixed, mix = emit.get("mixed"), emit.get("mix")

    def copy_row(i: Value) -> None:
        source, row = emit.address(M, emit.times(emit.count("mul", i, n), 8)), emit.row(U, i, wide)
        emit.loop(0, n, lambda j: emit.set_item(row, j, emit.item(source, j)))
        right = emit.row(X, i, narrow)
        emit.zero(right, narrow)
        emit.loop(
            0,
            r,
            lambda k: emit.set_item(
                right, k, emit.item(array, emit.count("add", emit.count("mul", emit.item(rows, k, "i64"), n), i))
            ),
        )

    def mix_row(m: Value) -> None:
        k = emit.item(mixed, m, "i64")
        above = emit.count("add", emit.count("mul", emit.item(rows, k, "i64"), n), n)
        x, y = (emit.value(f"fneg double {emit.item(mix, emit.count('add', emit.times(m, 2), j))}") for j in (0, 1))

        def mix_entry(i: Value) -> None:
            at, right = emit.count("add", above, i), emit.row(X, i, narrow)
            emit.add_product(right, k, x, emit.item(array, at))
            emit.add_product(right, k, y, emit.item(array, emit.count("add", at, n)))

        emit.loop(0, n, mix_entry)

    emit.loop(0, n, copy_row)
    emit.loop(0, emit.get("mixed_count"), mix_row)


def _divide(emit: _MatrixEmitter, n: Value, U: Value, X: Value, wide: Value, narrow: Value) -> None:
    """Emit X = M⁻¹ X, with U = D Lᵀ in the upper triangle of U."""

    def forward(j: Value) -> None:
        row, right = emit.row(U, j, wide), emit.row(X, j, narrow)
        pivot = emit.item(row, j)

        def eliminate(i: Value) -> None:
            factor = emit.negative_ratio(emit.item(row, i), pivot)
            emit.add_multiple(emit.row(U, i, wide), factor, row, wide, i)
            emit.add_multiple(emit.row(X, i, narrow), factor, right, narrow)

        emit.loop(emit.count("add", j, 1), n, eliminate)

    def backward(step: Value) -> None:
        j = emit.count("sub", emit.count("sub", n, 1), step)
        right = emit.row(X, j, narrow)
        inverse = emit.splat(emit.double("fdiv", "1.0", emit.item(emit.row(U, j, wide), j)))
        emit.loop(0, narrow, lambda k: emit.store(emit.mul(inverse, emit.load(right, k)), right, k))
        emit.loop(
            0,
            j,
            lambda i: emit.add_multiple(
                emit.row(X, i, narrow),
                emit.value(f"fneg double {emit.item(emit.row(U, i, wide), j)}"),
                right,
                narrow,
            ),
        )

    emit.loop(0, n, forward)
    emit.loop(0, n, backward)


def _equations(emit: _MatrixEmitter, n: Value, r: Value, X: Value, A: Value, b: Value, narrow: Value) -> None:
    """Emit A = B X and the right-hand sides b."""
    array, rows, slots, a = (emit.get(name) for name in ("array", "rows", "slots", "a"))
    drift, speed, gap, slope = (emit.get(name) for name in ("drift", "speed", "gap", "slope"))
    c1, c2, slot_count = emit.get("c1"), emit.get("c2"), emit.get("slot_count")

    emit.zero(b, narrow)

    def equation(k: Value) -> None:
        index = emit.item(rows, k, "i64")
        source, row = emit.address(array, emit.times(emit.count("mul", index, n), 8)), emit.row(A, k, narrow)
        emit.zero(row, narrow)
        emit.set_item(b, k, emit.item(drift, index))
        emit.add_product(b, k, c1, emit.item(speed, index))

        def add(i: Value) -> None:
            entry = emit.item(source, i)
            emit.add_multiple(row, entry, emit.row(X, i, narrow), narrow)
            emit.add_product(b, k, entry, emit.item(a, i))

        emit.loop(0, n, add)

        def stabilise() -> None:
            slot = emit.item(slots, k, "i64")
            emit.add_product(b, k, c2, emit.double("fdiv", emit.item(gap, slot), emit.item(slope, slot)))

        emit.when(emit.count("icmp slt", k, slot_count), stabilise)
        emit.set_item(b, k, emit.value(f"fneg double {emit.item(b, k)}"))

    emit.loop(0, r, equation)


def _eliminate(emit: _MatrixEmitter, r: Value, A: Value, b: Value, narrow: Value) -> None:
    """Emit the solution of A λ = b by elimination with complete pivoting."""
    order, forces = emit.get("order"), emit.get("forces")
    largest = emit.stack(2, "double")  # largest entry that is left, and the first pivot
    position = emit.stack(2, "i64")  # row and column of the largest entry
    emit.put("rank", r)
    emit.zero(forces, narrow)
    emit.loop(0, r, lambda k: emit.set_item(order, k, k, "i64"))

    def search(j: Value) -> None:
        emit.set_item(largest, 0, "0.0")
        for k in (0, 1):
            emit.set_item(position, k, j, "i64")

        def compare(i: Value) -> None:
            row = emit.row(A, i, narrow)

            def entry(k: Value) -> None:
                size = emit.value(f"call double @llvm.fabs.f64(double {emit.item(row, k)})")

                def keep() -> None:
                    emit.set_item(largest, 0, size)
                    emit.set_item(position, 0, i, "i64")
                    emit.set_item(position, 1, k, "i64")

                emit.when(emit.double("fcmp ogt", size, emit.item(largest, 0)), keep)

            emit.loop(j, r, entry)

        emit.loop(j, r, compare)
        emit.when(emit.count("icmp eq", j, 0), lambda: emit.set_item(largest, 1, emit.item(largest, 0)))
        limit = emit.double("fmul", DOUBLES.number(MIN_PIVOT), emit.item(largest, 1))
        emit.when(emit.double("fcmp ule", emit.item(largest, 0), limit), lambda: emit.put("rank", j))

    def swap(x: Value, i: Index, y: Value, k: Index, kind: str = "double") -> None:
        one, two = emit.item(x, i, kind), emit.item(y, k, kind)
        emit.set_item(x, i, two, kind)
        emit.set_item(y, k, one, kind)

    def eliminate(j: Value) -> None:
        i, k = emit.item(position, 0, "i64"), emit.item(position, 1, "i64")
        top, other = emit.row(A, j, narrow), emit.row(A, i, narrow)
        emit.loop(0, r, lambda c: swap(top, c, other, c))
        swap(b, i, b, j)
        emit.loop(0, r, lambda i: swap(emit.row(A, i, narrow), j, emit.row(A, i, narrow), k))
        swap(order, j, order, k, "i64")
        pivot = emit.item(top, j)

        def subtract(i: Value) -> None:
            row = emit.row(A, i, narrow)
            factor = emit.negative_ratio(emit.item(row, j), pivot)
            emit.add_multiple(row, factor, top, narrow, j)
            emit.add_product(b, i, factor, emit.item(b, j))

        emit.loop(emit.count("add", j, 1), r, subtract)

    def step(j: Value) -> None:
        emit.when(emit.count("icmp slt", j, emit.get("rank")), lambda: search(j))
        emit.when(emit.count("icmp slt", j, emit.get("rank")), lambda: eliminate(j))

    emit.loop(0, r, step)
    rank, last = emit.get("rank"), emit.count("sub", emit.get("rank"), 1)

    def substitute(vector: Value) -> None:
        """Solve U z = z for the first entries of a vector."""

        def back(step: Value) -> None:
            j = emit.count("sub", last, step)
            x = emit.double("fdiv", emit.item(vector, j), emit.item(emit.row(A, j, narrow), j))
            emit.set_item(vector, j, x)
            minus = emit.value(f"fneg double {x}")
            emit.loop(0, j, lambda i: emit.add_product(vector, i, minus, emit.item(emit.row(A, i, narrow), j)))

        emit.loop(0, rank, back)

    def remove(vector: Value, direction: Value) -> None:
        """Remove the component of a vector along a unit vector."""
        minus = emit.value(f"fneg double {emit.dot(vector, direction, narrow)}")
        emit.add_multiple(vector, minus, direction, narrow)

    def null_vector(c: Value) -> None:
        """Make the null vector of column c a unit vector orthogonal to those before it, and remove it from λ."""
        z = emit.row(null, c, narrow)
        emit.zero(z, narrow)
        emit.set_item(z, c, "1.0")
        negative = "fneg double {}"
        emit.loop(
            0, rank, lambda i: emit.set_item(z, i, emit.value(negative.format(emit.item(emit.row(A, i, narrow), c))))
        )
        substitute(z)
        emit.loop(rank, c, lambda k: remove(z, emit.row(null, k, narrow)))
        length = emit.value(f"call double @llvm.sqrt.f64(double {emit.dot(z, z, narrow)})")
        inverse = emit.splat(emit.double("fdiv", "1.0", length))
        emit.loop(0, narrow, lambda k: emit.store(emit.mul(inverse, emit.load(z, k)), z, k))
        remove(b, z)

    null = emit.row(b, 1, narrow)
    emit.loop(rank, r, lambda k: emit.set_item(b, k, "0.0"))
    substitute(b)
    emit.loop(rank, r, null_vector)
    emit.loop(0, r, lambda k: emit.set_item(forces, emit.item(order, k, "i64"), emit.item(b, k)))
