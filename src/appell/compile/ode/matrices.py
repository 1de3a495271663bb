"""Instructions on small dense matrices in memory, whose sizes are data, and the solution of linear equations.

Rows are padded to registers, and inner loops run along them.
"""

from __future__ import annotations

from appell.compile.llvm.emitter import Index, Value
from appell.compile.llvm.lanes import DOUBLES
from appell.compile.ode.cells import CellEmitter


def padded(count: int) -> int:
    """Return a number of entries as a multiple of the width of a register."""
    return -(-count // DOUBLES.width) * DOUBLES.width


class MatrixEmitter(CellEmitter):
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


def eliminate(emit: MatrixEmitter, r: Value, A: Value, b: Value, x: Value, order: Value, min_pivot: float) -> None:
    """Emit the solution x of A x = b, of r equations, by elimination with complete pivoting.

    If a pivot is below `min_pivot` times the first one, A is singular, and x has no components along its null vectors.
    The cell "rank" then contains the rank of A. A and b are overwritten; r rows that follow b are used for null
    vectors.

    Parameters
    ----------
    emit : emitter; its layout has the cell "rank"
    r : number of equations
    A, b : addresses of padded rows
    x, order : addresses of r numbers and of r indices; x is padded
    min_pivot : smallest pivot relative to the first one
    """
    narrow = emit.registers(r)
    largest = emit.stack(2, "double")  # largest entry that is left, and the first pivot
    position = emit.stack(2, "i64")  # row and column of the largest entry
    emit.put("rank", r)
    emit.zero(x, narrow)
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
        limit = emit.double("fmul", DOUBLES.number(min_pivot), emit.item(largest, 1))
        emit.when(emit.double("fcmp ule", emit.item(largest, 0), limit), lambda: emit.put("rank", j))

    def swap(one: Value, i: Index, other: Value, k: Index, kind: str = "double") -> None:
        first, second = emit.item(one, i, kind), emit.item(other, k, kind)
        emit.set_item(one, i, second, kind)
        emit.set_item(other, k, first, kind)

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
            entry = emit.double("fdiv", emit.item(vector, j), emit.item(emit.row(A, j, narrow), j))
            emit.set_item(vector, j, entry)
            minus = emit.value(f"fneg double {entry}")
            emit.loop(0, j, lambda i: emit.add_product(vector, i, minus, emit.item(emit.row(A, i, narrow), j)))

        emit.loop(0, rank, back)

    def remove(vector: Value, direction: Value) -> None:
        """Remove the component of a vector along a unit vector."""
        minus = emit.value(f"fneg double {emit.dot(vector, direction, narrow)}")
        emit.add_multiple(vector, minus, direction, narrow)

    def null_vector(c: Value) -> None:
        """Make the null vector of column c a unit vector orthogonal to those before it, and remove it from b."""
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
    emit.loop(0, r, lambda k: emit.set_item(x, emit.item(order, k, "i64"), emit.item(b, k)))
