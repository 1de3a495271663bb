"""Cells: an array of 8-byte entries, by name, that Python and machine code share: addresses, counts and numbers."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np

from appell.compile.llvm.emitter import Emitter, Index, Value
from appell.compile.llvm.lanes import DOUBLES


def address(array: np.ndarray) -> int:
    """Return the address of a writable array, 0 if it is empty; three times as fast as `array.ctypes.data`."""
    return ctypes.addressof(ctypes.c_char.from_buffer(array)) if array.size else 0  # type: ignore[arg-type]


class CellLayout:
    """Names of the cells by type: addresses, integers, doubles."""

    def __init__(self, addresses: tuple[str, ...], counts: tuple[str, ...], numbers: tuple[str, ...]):
        kinds = (("ptr", addresses), ("i64", counts), ("double", numbers))
        self.kind = {name: kind for kind, names in kinds for name in names}
        self.index = {name: k for k, name in enumerate(self.kind)}

    def offset(self, name: str) -> int:
        """Return the position of a cell in bytes."""
        return 8 * self.index[name]


class Cells:
    """An array of cells; `cells.t = 0.0` and `cells.taken` write and read by name."""

    __slots__ = ("_doubles", "_integers", "_layout", "array")

    def __init__(self, layout: CellLayout):
        array = np.zeros(len(layout.index), np.int64)
        views = {"array": array, "_integers": array, "_doubles": array.view(np.float64), "_layout": layout}
        for name, value in views.items():
            object.__setattr__(self, name, value)

    def _of(self, name: str) -> np.ndarray:
        return self._doubles if self._layout.kind[name] == "double" else self._integers

    def __getattr__(self, name: str):
        return self._of(name).item(self._layout.index[name])

    def __setattr__(self, name: str, value: float) -> None:
        self._of(name)[self._layout.index[name]] = value


class CellEmitter(Emitter):
    """Instructions on the cells at %cells, on single numbers, and on arrays in memory."""

    def __init__(self, layout: CellLayout, fused: bool):
        super().__init__(DOUBLES, fused)
        self.layout = layout

    def get(self, name: str) -> Value:
        """Load the value of a cell."""
        return self.value(f"load {self.layout.kind[name]}, ptr {self._cell(name)}, align 8")

    def put(self, name: str, value: Value) -> None:
        """Store a value in a cell."""
        self.do(f"store {self.layout.kind[name]} {value}, ptr {self._cell(name)}, align 8")

    def _cell(self, name: str) -> Value:
        return self.address("%cells", self.layout.offset(name))

    def double(self, operation: str, x: Value, y: Value) -> Value:
        """Emit an LLVM operation on doubles: fadd, fsub, fmul, fdiv, fcmp olt …"""
        return self.value(f"{operation} double {x}, {y}")

    def count(self, operation: str, x: Index, y: Index) -> Value:
        """Emit an LLVM operation on integers: add, sub, mul, icmp slt …"""
        return self.value(f"{operation} i64 {x}, {y}")

    def choose(self, condition: Value, x: Value, y: Value) -> Value:
        """Return x if the condition holds, else y."""
        return self.value(f"select i1 {condition}, double {x}, double {y}")

    def smaller(self, x: Value, y: Value) -> Value:
        """Return the smaller of two numbers; y if x is NaN."""
        return self.choose(self.double("fcmp olt", x, y), x, y)

    def larger(self, x: Value, y: Value) -> Value:
        """Return the larger of two numbers; y if x is NaN."""
        return self.choose(self.double("fcmp ogt", x, y), x, y)

    def lanes_sum(self, register: Value) -> Value:
        """Return the sum of all lanes of a register."""
        total = self.value(f"extractelement {DOUBLES.real} {register}, i32 0")
        for k in range(1, DOUBLES.width):
            total = self.double("fadd", total, self.value(f"extractelement {DOUBLES.real} {register}, i32 {k}"))
        return total

    # ---- loops and arrays

    def loop(self, start: Index, stop: Index, body: Callable[[Value], None]) -> None:
        """Emit code that runs `body(index)` for start <= index < stop."""
        before, test, run, after = self.block, *(self.label(name) for name in ("test", "run", "end"))
        self.jump(test)
        self.enter(test)
        top = len(self.lines)
        index = f"%index.{test}"
        self.branch(self.count("icmp slt", index, stop), run, after)
        self.enter(run)
        body(index)
        following = self.count("add", index, 1)
        self.jump(test)
        self.lines.insert(top, f"{index} = phi i64 [ {start}, %{before} ], [ {following}, %{self.block} ]")
        self.enter(after)

    def item(self, array: Value, index: Index, kind: str = "double") -> Value:
        """Load an entry of an array of 8-byte entries."""
        return self.value(f"load {kind}, ptr {self.address(array, self.times(index, 8))}, align 8")

    def set_item(self, array: Value, index: Index, value: Value, kind: str = "double") -> None:
        """Store an entry of an array of 8-byte entries."""
        self.do(f"store {kind} {value}, ptr {self.address(array, self.times(index, 8))}, align 8")
