"""An emitter for code that works on the states of a stepper.

A state is cut into registers. The block of one register holds it in all vectors of a step, y, y' and the slopes one
after the other, so that every sum of slopes runs along one block with offsets that are known:

    y  y'  k₀  k₁  …      the first four numbers of the state
    y  y'  k₀  k₁  …      the next four

What is not a state is a single double, or stands in the cells.
"""

from __future__ import annotations

from collections.abc import Callable

from appell.compile.emit.emitter import Emitter, Index, Value
from appell.compile.emit.lanes import DOUBLES
from appell.compile.stepper.cells import ADDRESSES, COUNTS, PLACE
from appell.compile.stepper.tableau import Row, Tableau

Y, NEW, SLOPES = 0, 1, 2  # the rows of a block


def rows(tableau: Tableau) -> int:
    """The registers of a block."""
    return SLOPES + tableau.slopes


def number(value: float) -> Value:
    """A constant double."""
    return DOUBLES.number(value)


class StateEmitter(Emitter):
    """Instructions on whole states, on single numbers, and on the cells at %cells."""

    def __init__(self, tableau: Tableau, fused: bool):
        super().__init__(DOUBLES, fused)
        self.tableau = tableau

    # ---- cells

    def get(self, name: str) -> Value:
        return self.value(f"load {_kind(name)}, ptr {self._cell(name)}, align 8")

    def put(self, name: str, value: Value) -> None:
        self.do(f"store {_kind(name)} {value}, ptr {self._cell(name)}, align 8")

    def _cell(self, name: str) -> Value:
        return self.address("%cells", 8 * PLACE[name])

    # ---- single numbers

    def double(self, operation: str, x: Value, y: Value) -> Value:
        """`operation` is LLVM's: fadd, fsub, fmul, fdiv, fcmp olt …"""
        return self.value(f"{operation} double {x}, {y}")

    def choose(self, condition: Value, x: Value, y: Value) -> Value:
        return self.value(f"select i1 {condition}, double {x}, double {y}")

    def smaller(self, x: Value, y: Value) -> Value:
        """The smaller of two numbers; y if x is none."""
        return self.choose(self.double("fcmp olt", x, y), x, y)

    def larger(self, x: Value, y: Value) -> Value:
        return self.choose(self.double("fcmp ogt", x, y), x, y)

    # ---- states

    def each(self, body: Callable[[Value, Index], None]) -> None:
        """Run `body(block, number)` for every register of a state."""
        work, size = self.get("work"), rows(self.tableau) * DOUBLES.bytes
        self.repeat(self.get("registers"), lambda k: body(self.address(work, self.times(k, size)), k), unroll=False)

    def slope(self, block: Value, j: int) -> Value:
        return self.load(block, SLOPES + j)

    def sum(self, block: Value, row: Row) -> Value:
        """Σ aⱼ kⱼ."""
        total = ""
        for j, a in row.items():
            total = self.added(total, self.constant(a), self.slope(block, j))
        return total

    def added(self, total: Value, a: Value, x: Value) -> Value:
        """total + a x, where there is a total already."""
        return self.fma(a, x, total) if total else self.mul(a, x)

    def every(self, x: Value) -> Value:
        """A register with a number in every lane."""
        lane = self.value(f"insertelement {DOUBLES.real} poison, double {x}, i32 0")
        zeros = f"<{DOUBLES.width} x i32> zeroinitializer"
        return self.value(f"shufflevector {DOUBLES.real} {lane}, {DOUBLES.real} poison, {zeros}")

    def lanes_sum(self, register: Value) -> Value:
        total = self.value(f"extractelement {DOUBLES.real} {register}, i32 0")
        for k in range(1, DOUBLES.width):
            total = self.double("fadd", total, self.value(f"extractelement {DOUBLES.real} {register}, i32 {k}"))
        return total

    def spoil(self, sum_at: Value, register: Value) -> None:
        """Make a sum NaN, which is zero else, if a number is not finite."""
        self.store(self.fma(register, self.constant(0.0), self.load(sum_at)), sum_at)

    # ---- the rate

    def evaluate(self, time: Value, slope: int) -> None:
        """The slope at what stands in `state`; goes to %raised if Python raises."""
        on, offset = self.label("on"), (SLOPES + slope) * DOUBLES.bytes
        self.branch(self.value(f"call i1 @evaluate(ptr %cells, double {time}, i64 {offset})"), on, "raised")
        self.enter(on)


def _kind(name: str) -> str:
    return "ptr" if name in ADDRESSES else "i64" if name in COUNTS else "double"
