"""From LLVM text to an object file, and from an object file to addresses that can be called.

The object holds position-independent code and refers to nothing outside itself, so it can be kept on disk and loaded by
any process on the same kind of processor. Loading it compiles nothing.
"""

from __future__ import annotations

import itertools
from functools import cache

import llvmlite.binding as llvm

from appell.compile.native.making import MAKING
from appell.compile.native.target import Target, host
from appell.errors import CompileError

_numbers = itertools.count()


@cache
def _target_machine(target: Target) -> llvm.TargetMachine:
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=2, reloc="pic", codemodel="small"
    )


@cache
def _linker() -> llvm.LLJIT:
    return llvm.create_lljit_compiler(_target_machine(host()))


def assemble(text: str, target: Target, name: str) -> bytes:
    """The object file of an LLVM module. No pass runs over the text: it is written as it should be executed."""
    try:
        with MAKING:
            module = llvm.parse_assembly(text)
            module.verify()
            return _target_machine(target).emit_object(module)
    except RuntimeError as error:
        raise CompileError(f"LLVM refused the code of '{name}': {error}") from error


class Code:
    """Loaded machine code: the address of its function, valid as long as this object lives."""

    def __init__(self, image: bytes, function: str):
        with MAKING:
            library = llvm.JITLibraryBuilder().add_object_img(image).export_symbol(function)
            self._tracker = library.link(_linker(), f"appell{next(_numbers)}")
            self.address: int = self._tracker[function]
