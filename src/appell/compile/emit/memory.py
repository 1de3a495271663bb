"""Where a kernel has its blocks of registers: on the stack, or, if they are large, in memory that a call borrows.

A thread's stack may be small, and a chain of a thousand links needs megabytes. The module then has a global

    @heap = [how to take so many bytes, how to give them back]

which whoever loads the code fills in (`native.machine`). Every call takes its own memory, so threads do not meet. If
there is none to be had, the stack must do.
"""

from __future__ import annotations

from appell.compile.emit.emitter import Emitter, Value

HEAP = "heap"
GLOBAL = f"@{HEAP} = global [2 x ptr] zeroinitializer, align 8"
LARGE = 64 << 10  # bytes; the stacks of threads have 128 KiB and more


class Memory:
    """Blocks for one function; `release` gives back at its end what it borrowed at its beginning."""

    def __init__(self, emit: Emitter):
        self._emit = emit
        self._borrowed: list[Value] = []

    def block(self, registers: int) -> Value:
        emit, size = self._emit, registers * self._emit.lanes.bytes
        if size <= LARGE:
            return emit.stack(registers)
        align = emit.lanes.bytes
        take = emit.value(f"load ptr, ptr @{HEAP}, align 8")
        taken = emit.value(f"call ptr {take}(i64 {size + align})")
        self._borrowed.append(taken)
        none, before, ready = emit.label("none"), emit.block, emit.label("ready")
        emit.branch(emit.value(f"icmp eq ptr {taken}, null"), none, ready)
        emit.enter(none)
        stacked = emit.value(f"alloca i8, i64 {size + align}, align {align}")
        emit.jump(ready)
        emit.enter(ready)
        found = emit.phi("ptr", (taken, before), (stacked, none))
        address = emit.value(f"ptrtoint ptr {found} to i64")
        ahead = emit.value(f"and i64 {emit.value(f'sub i64 0, {address}')}, {align - 1}")
        return emit.address(found, ahead)

    def release(self) -> None:
        for taken in self._borrowed:
            give = self._emit.value(f"load ptr, ptr {self._emit.address(f'@{HEAP}', 8)}, align 8")
            self._emit.do(f"call void {give}(ptr {taken})")
