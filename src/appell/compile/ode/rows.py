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

from appell.compile.llvm.emitter import Value
from appell.compile.llvm.lanes import DOUBLES
from appell.compile.native.kernels import load_text
from appell.compile.native.machine import Code, host
from appell.compile.ode.cells import CellLayout, Cells, address
from appell.compile.ode.matrices import MatrixEmitter, eliminate, padded

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
        operands = [np.array([address(x) for x in arguments], np.uintp) for _, arguments in calls]
        table = [(code.address, address(x)) for (code, _), x in zip(calls, operands, strict=True)]
        n, r = len(arrays["M"]), len(arrays["rows"])
        width = DOUBLES.width
        work = np.zeros(n * (padded(n) + padded(r)) + (2 * r + 1) * padded(r) + width)
        first = -(address(work) // 8) % width
        self._forces = np.zeros(padded(r) + width)
        shift = -(address(self._forces) // 8) % width
        self.forces = self._forces[shift : shift + r]
        tables = {
            "calls": np.array(table, np.uintp),
            "order": np.zeros(r, np.int64),
            "work": work[first:],
            "forces": self._forces[shift:],
        }
        self.cells = Cells(LAYOUT)
        for name, array in (arrays | tables).items():
            setattr(self.cells, name, address(array))
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
    emit = MatrixEmitter(LAYOUT, fused)
    emit.do("%cells = load ptr, ptr %addresses, align 8")
    calls = emit.get("calls")

    def call(k: Value) -> None:
        at = emit.address(calls, emit.times(k, 16))
        emit.do(f"call void {emit.item(at, 0, 'ptr')}(ptr {emit.item(at, 1, 'ptr')})")

    emit.loop(0, emit.get("call_count"), call)
    _solve(emit)
    emit.do("ret void")
    return emit.function("define void @solve(ptr %addresses) nounwind")


def _solve(emit: MatrixEmitter) -> None:
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
    eliminate(emit, r, A, b, emit.get("forces"), emit.get("order"), MIN_PIVOT)
    a, forces = emit.get("a"), emit.get("forces")

    def accelerate(i: Value) -> None:
        change = emit.dot(emit.row(X, i, narrow), forces, narrow)
        emit.set_item(a, i, emit.double("fadd", emit.item(a, i), change))

    emit.loop(0, n, accelerate)
    locked = emit.get("locked")
    emit.loop(0, emit.get("locked_count"), lambda k: emit.set_item(a, emit.item(locked, k, "i64"), "0.0"))


def _copy(emit: MatrixEmitter, n: Value, r: Value, U: Value, X: Value, wide: Value, narrow: Value) -> None:
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


def _divide(emit: MatrixEmitter, n: Value, U: Value, X: Value, wide: Value, narrow: Value) -> None:
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


def _equations(emit: MatrixEmitter, n: Value, r: Value, X: Value, A: Value, b: Value, narrow: Value) -> None:
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
