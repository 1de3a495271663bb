"""The emitter writes the instructions of one LLVM function, one per line, and returns the names of their values.

A value is a string of LLVM text: the name of an earlier result or a constant. Most values are registers. No
instruction carries a fast-math flag, and a product is fused with a sum only where `fma` is requested, so the bits of a
result depend on the tape alone and not on what an optimiser finds.

**Constants.** An instruction can read an operand from memory, but not broadcast it to all lanes of a narrow register at
the same time: that takes another instruction and another register. About one in eight operands of a tape is a constant,
so registers full of the same number are stored beside the code, and long tapes run 5 % faster. Wide registers are
broadcast while they are read, and need no stored constants.

**Numbers.** The constants of a formula, except a few literals, are in a table beside the code, so that a robot with
other masses but the same structure uses the same code: the loader writes its numbers into the table (`with_numbers`).

**Memory.** The blocks of registers of a kernel are on the stack or, if they are large, in memory that a call allocates:
the stack of a thread may be small, and a chain of a thousand links needs megabytes. The module then has a global

    @heap = [allocate(bytes), free(pointer)]

which the loader fills in (`native.machine`). Every call allocates its own memory, so threads do not interfere. If the
allocation fails, the stack is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import DTypeLike

from appell.compile.llvm.lanes import NARROW_BYTES, Lanes
from appell.errors import CompileError

NUMBERS_HEADER_BYTES = 64  # of the table of numbers: the mark, and how often each number is repeated
NUMBERS_MARK = (-2.8134710788726807, 7.401849746704102)  # exact in float32; marks the table in an object file


def with_numbers(image: bytes, numbers: Sequence[float], dtype: DTypeLike) -> bytes:
    """Return machine code with other numbers in its tables of numbers."""
    content, mark = bytearray(image), np.array(NUMBERS_MARK, dtype).tobytes()
    start = content.find(mark)
    while start >= 0:
        repeat = int(np.frombuffer(content, dtype, 1, start + len(mark))[0])
        with np.errstate(over="ignore", under="ignore"):
            table = np.repeat(np.array(numbers).astype(dtype), repeat).tobytes()
        begin = start + NUMBERS_HEADER_BYTES
        content[begin : begin + len(table)] = table
        start = content.find(mark, begin)
    return bytes(content)


class Constants:
    """The constants and the functions of numbers of a module, each once, in the order of their first use."""

    def __init__(self, lanes: Lanes, numbers: Sequence[float] = ()):
        self._lanes = lanes
        self._uses_numbers = False
        self._numbers = {value: k for k, value in enumerate(numbers)}  # position of each number of the formula
        self._names: dict[str, str] = {}
        self._functions: dict[str, str] = {}

    def operand(self, value: float) -> tuple[str, bool]:
        """Return a constant as LLVM text, or the address of a register full of it; and whether it is an address."""
        content = self._lanes.constant(value)
        if value == 0.0 or self._lanes.bytes > NARROW_BYTES:
            return content, False
        return self._names.setdefault(content, f"@constant{len(self._names)}"), True

    def address(self, value: float) -> str | None:
        """Return the address of a number of the formula in the table of numbers, None if it is not there."""
        position = self._numbers.get(value)
        if position is None:
            return None
        self._uses_numbers = True
        offset = NUMBERS_HEADER_BYTES + position * self._repeat * self._lanes.itemsize
        return f"getelementptr (i8, ptr @numbers{self._lanes.width}, i64 {offset})"

    @property
    def _repeat(self) -> int:
        return self._lanes.width if self._lanes.bytes <= NARROW_BYTES else 1  # wide registers broadcast while reading

    def _table(self) -> list[str]:
        """Return the table of numbers: a header by which `with_numbers` finds it in an object file, and the numbers."""
        if not self._uses_numbers:
            return []
        lanes = self._lanes
        header = [*NUMBERS_MARK, float(self._repeat)]
        header += [0.0] * (NUMBERS_HEADER_BYTES // lanes.itemsize - len(header))
        entries = [*header, *(value for value in self._numbers for _ in range(self._repeat))]
        text = ", ".join(f"{lanes.scalar} {lanes.number(value)}" for value in entries)
        kind = f"private unnamed_addr global [{len(entries)} x {lanes.scalar}]"
        return [f"@numbers{lanes.width} = {kind} [{text}], align {NUMBERS_HEADER_BYTES}"]

    def call(self, emit: Emitter, function: Callable[..., Value], operands: Sequence[Value]) -> Value:
        """Emit the call of a function of registers, which is defined at its first call, and return its result.

        Parameters
        ----------
        emit : emitter of the caller
        function : writes the instructions of the function with an emitter and operands, and returns the result
        operands : arguments
        """
        real, name = self._lanes.real, f"@function_{function.__name__}_{self._lanes.width}"
        if name not in self._functions:
            inner = Emitter(emit.lanes, emit.fused, self)
            parameters = [f"%x{k}" for k in range(len(operands))]
            inner.do(f"ret {real} {function(inner, *parameters)}")
            header = f"define internal {real} {name}({', '.join(f'{real} {x}' for x in parameters)}) noinline nounwind"
            self._functions[name] = inner.function(header)
        return emit.value(f"call {real} {name}({', '.join(f'{real} {x}' for x in operands)})")

    def text(self) -> list[str]:
        """Return the definitions of the constants, one per line, and of the functions."""
        kind = f"private unnamed_addr constant {self._lanes.real}"
        constants = [f"{name} = {kind} {content}, align {self._lanes.bytes}" for content, name in self._names.items()]
        return [*constants, *self._table(), *self._functions.values()]


Value = str
Index = int | str  # known now, or only when the code runs


class Emitter:
    """Arithmetic on registers of samples.

    Parameters
    ----------
    lanes : type of the registers
    fused : whether the machine rounds x y + z once
    constants : if given, constants are read from memory, and the module has to define them
    """

    def __init__(self, lanes: Lanes, fused: bool, constants: Constants | None = None):
        self.lanes = lanes
        self.fused = fused
        self.constants = constants
        self.lines: list[str] = []
        self.block = "entry"
        self._stack: list[str] = []
        self._values = 0
        self._labels = 0

    @property
    def _suffix(self) -> str:
        return f"v{self.lanes.width}f{self.lanes.integer_bits}"

    @contextmanager
    def using(self, lanes: Lanes) -> Iterator[None]:
        """Emit instructions on registers of other lanes in a `with` block."""
        before = self.lanes, self.constants
        self.lanes, self.constants = lanes, None
        yield
        self.lanes, self.constants = before

    def function(self, header: str) -> str:
        """Return the finished function with its header."""
        return "\n".join([header + " {", "entry:", *self._stack, *self.lines, "}", ""])

    # single values and control

    def value(self, instruction: str) -> Value:
        """Emit an instruction and return the name of its result."""
        self._values += 1
        name = f"%t{self._values}"
        self.lines.append(f"{name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """Emit an instruction without a result."""
        self.lines.append(instruction)

    def label(self, name: str) -> str:
        """Return a new label for a block that is entered later."""
        self._labels += 1
        return f"{name}{self._labels}"

    def enter(self, label: str) -> None:
        """Start the block of a label."""
        self.lines.append(f"{label}:")
        self.block = label

    def jump(self, label: str) -> None:
        """Emit an unconditional branch."""
        self.lines.append(f"br label %{label}")

    def branch(self, condition: Value, then: str, otherwise: str) -> None:
        """Emit a conditional branch."""
        self.lines.append(f"br i1 {condition}, label %{then}, label %{otherwise}")

    def phi(self, kind: str, *sources: tuple[Value, str]) -> Value:
        """Emit a phi instruction; `sources` are pairs of a value and the block it comes from."""
        return self.value(f"phi {kind} " + ", ".join(f"[ {value}, %{block} ]" for value, block in sources))

    # memory

    def stack(self, count: int, kind: str | None = None) -> Value:
        """Reserve an aligned block of `count` registers, or of another kind, on the stack of the function."""
        name = f"%stack{len(self._stack)}"
        self._stack.append(f"{name} = alloca [{max(count, 1)} x {kind or self.lanes.real}], align {self.lanes.bytes}")
        return name

    def times(self, index: Index, factor: int) -> Index:
        """Return index · factor, computed now if the index is known."""
        return index * factor if isinstance(index, int) else self.value(f"mul i64 {index}, {factor}")

    def address(self, pointer: Value, offset: Index) -> Value:
        """Return the pointer moved by a number of bytes."""
        return pointer if offset == 0 else self.value(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def load(self, block: Value, index: Index = 0) -> Value:
        """Load a register from an aligned block."""
        at = self.address(block, self.times(index, self.lanes.bytes))
        return self.value(f"load {self.lanes.real}, ptr {at}, align {self.lanes.bytes}")

    def store(self, value: Value, block: Value, index: Index = 0) -> None:
        """Store a register in an aligned block."""
        at = self.address(block, self.times(index, self.lanes.bytes))
        self.do(f"store {self.lanes.real} {value}, ptr {at}, align {self.lanes.bytes}")

    def prefetch(self, pointer: Value) -> None:
        """Fetch a line of memory that will be written into the L1 cache.

        Any address is allowed, including invalid ones.
        """
        self.do(f"call void @llvm.prefetch.p0(ptr {pointer}, i32 1, i32 3, i32 1)")

    def broadcast(self, at: Value) -> Value:
        """Load the number at an address into every lane."""
        return self.splat(self.value(f"load {self.lanes.scalar}, ptr {at}, align {self.lanes.itemsize}"))

    def splat(self, value: Value) -> Value:
        """Return a register with a number in every lane."""
        lanes = self.lanes
        lane = self.value(f"insertelement {lanes.real} poison, {lanes.scalar} {value}, i32 0")
        zeros = f"<{lanes.width} x i32> zeroinitializer"
        return self.value(f"shufflevector {lanes.real} {lane}, {lanes.real} poison, {zeros}")

    # arithmetic

    def constant(self, value: float) -> Value:
        """Return a register with a constant in every lane."""
        if self.constants is None:
            return self.lanes.constant(value)
        content, in_memory = self.constants.operand(value)
        if not in_memory:
            return content
        return self.value(f"load {self.lanes.real}, ptr {content}, align {self.lanes.bytes}, !invariant.load !0")

    def formula_number(self, value: float) -> Value:
        """Return a register with a number of the formula in every lane, read from the table unless it is a literal."""
        if self.constants is None:  # the number would be part of the code
            raise CompileError("a function without constants reads a number of a formula.")
        address = self.constants.address(value)
        if address is None:
            return self.constant(value)
        lanes = self.lanes
        if lanes.bytes <= NARROW_BYTES:
            return self.value(f"load {lanes.real}, ptr {address}, align {lanes.bytes}, !invariant.load !0")
        return self.splat(self.value(f"load {lanes.scalar}, ptr {address}, align {lanes.itemsize}, !invariant.load !0"))

    def arithmetic(self, operation: str, x: Value, y: Value) -> Value:
        """Emit an operation on numbers: add, sub, mul or div."""
        return self.value(f"f{operation} {self.lanes.real} {x}, {y}")

    def add(self, x: Value, y: Value) -> Value:
        return self.arithmetic("add", x, y)

    def sub(self, x: Value, y: Value) -> Value:
        return self.arithmetic("sub", x, y)

    def mul(self, x: Value, y: Value) -> Value:
        return self.arithmetic("mul", x, y)

    def div(self, x: Value, y: Value) -> Value:
        return self.arithmetic("div", x, y)

    def neg(self, x: Value) -> Value:
        return self.value(f"fneg {self.lanes.real} {x}")

    def sqrt(self, x: Value) -> Value:
        return self.intrinsic("sqrt", x)

    def absolute(self, x: Value) -> Value:
        """Return |x|."""
        return self.intrinsic("fabs", x)

    def fma(self, x: Value, y: Value, z: Value) -> Value:
        """x y + z."""
        return self.intrinsic("fma", x, y, z) if self.fused else self.add(self.mul(x, y), z)

    def fms(self, x: Value, y: Value, z: Value) -> Value:
        """x y - z."""
        return self.fma(x, y, self.neg(z)) if self.fused else self.sub(self.mul(x, y), z)

    def fnma(self, x: Value, y: Value, z: Value) -> Value:
        """z - x y."""
        return self.fma(self.neg(x), y, z) if self.fused else self.sub(z, self.mul(x, y))

    def polynomial(self, z: Value, coefficients: tuple[float, ...]) -> Value:
        """Return c₀ + c₁ z + c₂ z² + …, by Horner's rule."""
        total = self.constant(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            total = self.fma(total, z, self.constant(coefficient))
        return total

    def intrinsic(self, name: str, *operands: Value) -> Value:
        """Call a function of LLVM: sqrt, fabs or fma."""
        real = self.lanes.real
        arguments = ", ".join([f"{real} {x}" for x in operands])
        return self.value(f"call {real} @llvm.{name}.{self._suffix}({arguments})")

    # bits

    def pattern(self, value: int) -> Value:
        """Return a register with the same bits in every lane."""
        return self.lanes.pattern(value)

    def bits(self, x: Value) -> Value:
        """Return the bits of every number as integers."""
        return self.value(f"bitcast {self.lanes.real} {x} to {self.lanes.bits}")

    def number(self, bits: Value) -> Value:
        """Return the numbers that have these bits."""
        return self.value(f"bitcast {self.lanes.bits} {bits} to {self.lanes.real}")

    def integer(self, operation: str, x: Value, y: Value) -> Value:
        """Emit an LLVM operation on integers: add, sub, and, or, xor, shl, lshr, icmp …"""
        return self.value(f"{operation} {self.lanes.bits} {x}, {y}")

    def signs(self, bits: Value) -> Value:
        """Return the sign bits alone."""
        return self.integer("and", bits, self.pattern(-(1 << (self.lanes.integer_bits - 1))))

    def flip(self, x: Value, signs: Value) -> Value:
        """Return x, negated where the sign bit in `signs` is set."""
        return self.number(self.integer("xor", self.bits(x), signs))

    def greater(self, x: Value, y: Value) -> Value:
        """Return where integers x exceed y; for the bits of positive numbers, where the numbers do. Raises no flag."""
        return self.integer("icmp sgt", x, y)

    def compare(self, predicate: str, x: Value, y: Value) -> Value:
        """Emit an LLVM comparison of numbers; `ord` of one number and `uno` raise no flag.

        On ARM, `uno` of two numbers becomes two comparisons that raise a flag; the one that is NaN is selected first.
        """
        if predicate == "uno" and x != y:
            x = y = self.select(self.compare("uno", x, x), x, y)
        return self.value(f"fcmp {predicate} {self.lanes.real} {x}, {y}")

    def conditions(self, operation: str, one: Value, other: Value) -> Value:
        """Combine two conditions by and, or, xor."""
        return self.value(f"{operation} <{self.lanes.width} x i1> {one}, {other}")

    def select(self, condition: Value, x: Value, y: Value) -> Value:
        """Return x where the condition holds, else y."""
        return self.value(f"select <{self.lanes.width} x i1> {condition}, {self.lanes.real} {x}, {self.lanes.real} {y}")

    def any_bit(self, bits: Value) -> Value:
        """Return whether a bit is set in any lane."""
        kind = self.lanes.integer
        gathered = self.value(f"call {kind} @llvm.vector.reduce.or.v{self.lanes.width}{kind}({self.lanes.bits} {bits})")
        return self.value(f"icmp ne {kind} {gathered}, 0")

    def any(self, condition: Value) -> Value:
        """Return whether a condition holds in any lane."""
        width = self.lanes.width
        gathered = self.value(f"bitcast <{width} x i1> {condition} to i{width}")
        return self.value(f"icmp ne i{width} {gathered}, 0")

    # branches and loops

    def when(self, condition: Value, body) -> None:
        """Emit code that runs `body()` if a condition holds."""
        then, after = self.label("then"), self.label("on")
        self.branch(condition, then, after)
        self.enter(then)
        body()
        self.jump(after)
        self.enter(after)

    def repeat(self, count: Index, body, unroll: bool) -> None:
        """Emit code that runs `body(index)` for every index below `count`, as a loop.

        With `unroll` and a count that is known now, the iterations are written one after the other.
        """
        if unroll and isinstance(count, int):
            for k in range(count):
                body(k)
            return
        before, loop, latch, after = self.block, *(self.label(name) for name in ("repeat", "latch", "done"))
        self.jump(loop)
        self.enter(loop)
        index = self.phi("i64", ("0", before), (f"%next.{loop}", latch))
        body(index)
        self.jump(latch)
        self.enter(latch)
        self.do(f"%next.{loop} = add i64 {index}, 1")
        self.branch(self.value(f"icmp eq i64 %next.{loop}, {count}"), after, loop)
        self.enter(after)

    def fold(self, count: int, values: list[Value], body) -> list[Value]:
        """Emit a loop that runs `values = body(index, values)` on registers for every index below `count`."""
        before, loop, after = self.block, self.label("fold"), self.label("folded")
        carried = [f"%carried{k}.{loop}" for k in range(len(values))]
        self.jump(loop)
        self.enter(loop)
        top = len(self.lines)
        index = f"%index.{loop}"
        results = body(index, carried)
        following = self.value(f"add i64 {index}, 1")

        def phi(kind: str, name: Value, first: Value, later: Value) -> str:
            return f"{name} = phi {kind} [ {first}, %{before} ], [ {later}, %{self.block} ]"

        phis = [phi(self.lanes.real, *names) for names in zip(carried, values, results, strict=True)]
        self.lines[top:top] = [phi("i64", index, "0", following), *phis]
        self.branch(self.value(f"icmp eq i64 {following}, {count}"), after, loop)
        self.enter(after)
        return results


HEAP = "heap"
GLOBAL = f"@{HEAP} = global [2 x ptr] zeroinitializer, align 8"


class Memory:
    """Blocks of memory of one function: on the stack or, if they are large, allocated at its start."""

    def __init__(self, emit: Emitter, max_stack: int):
        self._emit, self._max_stack = emit, max_stack
        self._allocated: list[Value] = []

    def block(self, registers: int) -> Value:
        """Reserve an aligned block of registers and return its address."""
        emit, size = self._emit, registers * self._emit.lanes.bytes
        if size <= self._max_stack:
            return emit.stack(registers)
        align = emit.lanes.bytes
        allocate = emit.value(f"load ptr, ptr @{HEAP}, align 8")
        allocated = emit.value(f"call ptr {allocate}(i64 {size + align})")
        self._allocated.append(allocated)
        none, before, ready = emit.label("none"), emit.block, emit.label("ready")
        emit.branch(emit.value(f"icmp eq ptr {allocated}, null"), none, ready)
        emit.enter(none)
        stacked = emit.value(f"alloca i8, i64 {size + align}, align {align}")
        emit.jump(ready)
        emit.enter(ready)
        memory = emit.phi("ptr", (allocated, before), (stacked, none))
        address = emit.value(f"ptrtoint ptr {memory} to i64")
        padding = emit.value(f"and i64 {emit.value(f'sub i64 0, {address}')}, {align - 1}")
        return emit.address(memory, padding)

    def release(self) -> None:
        """Free allocated blocks, at the end of the function."""
        for pointer in self._allocated:
            free = self._emit.value(f"load ptr, ptr {self._emit.address(f'@{HEAP}', 8)}, align 8")
            self._emit.do(f"call void {free}(ptr {pointer})")
