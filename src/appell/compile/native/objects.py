"""From LLVM text to object files: a long module in parts, on all cores.

Every part has a context and a target machine of its own, between which LLVM needs no lock. llvmlite holds one around
every call all the same; the one call that takes the time goes past it. Ctypes holds no lock of Python during a call.

Three passes take nearly all of that time: they choose registers, order instructions, and order them again. The last is
worth up to three per cent of the speed of short code and nothing in long code, where it takes a third of the time. So
long modules are made at the level below, which leaves it out.
"""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding import ffi

from appell.compile.native.setting import cores, told
from appell.compile.native.split import split
from appell.compile.native.target import Target

_PARTS = 2  # a thread: one that is done early takes over from the others
_LONG = 1_000_000  # characters, about six thousand steps


def makers() -> int:
    """How many threads make machine code: one a core that this process may use, or fewer by `$APPELL_THREADS`."""
    return min(cores(), told() or cores())


def target_machine(target: Target, level: int = 2) -> llvm.TargetMachine:
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=level, reloc="pic", codemodel="small"
    )


def objects(text: str, target: Target) -> list[bytes]:
    """The object files of an LLVM module, to be linked with each other; a RuntimeError says what LLVM refuses.

    No pass runs over the text: it is written as it should be executed.
    """
    workers, level = makers(), 1 if len(text) > _LONG else 2
    parts = split(text, _PARTS * workers if workers > 1 else 1)
    found: dict[int, bytes] = {}
    waiting, problems = deque(enumerate(parts)), deque[BaseException]()

    def work() -> None:
        try:
            while waiting and not problems:
                number, part = waiting.popleft()
                found[number] = _object(part, target, level)
        except IndexError:  # another thread took the last part
            pass
        except BaseException as problem:
            problems.append(problem)

    # no pool of the standard library: a fork takes its lock, then waits for `MAKING`, whose holder waits for that lock
    helpers = [threading.Thread(target=work) for _ in range(min(workers, len(parts)) - 1)]
    for helper in helpers:
        helper.start()
    work()
    for helper in helpers:
        helper.join()
    if problems:
        raise problems[0]
    return [found[number] for number in range(len(parts))]


def _object(text: str, target: Target, level: int) -> bytes:
    """The object file of one module; run in several threads at once."""
    module = llvm.parse_assembly(text, llvm.create_context())
    module.verify()
    emit: Any = ffi.lib.LLVMPY_TargetMachineEmitToMemory
    with ffi.OutputString() as problem:
        found = getattr(emit, "_cfn", emit)(target_machine(target, level), module, 1, problem)
        if not found:
            raise RuntimeError(str(problem))
    try:
        return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(found), ffi.lib.LLVMPY_GetBufferSize(found))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(found)
