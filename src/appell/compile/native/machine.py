"""From LLVM text to an image, and from an image to addresses that can be called.

An image is one object file, or several that are linked with each other, then their lengths and whether they borrow
memory. It holds position-independent code and refers to nothing outside itself, so it can be kept on disk and loaded by
any process on the same kind of processor. Loading it compiles nothing.
"""

from __future__ import annotations

import ctypes
import itertools
import struct
import sys
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from appell.compile.emit.memory import HEAP
from appell.compile.native.making import MAKING
from appell.compile.native.objects import objects, target_machine
from appell.compile.native.target import Target, host
from appell.errors import CompileError

_numbers = itertools.count()


@cache
def _linker() -> llvm.LLJIT:
    """JITLink, which asks for the memory of an object in one piece.

    LLVM's older linker asks for code and constants one after the other. In a process with gigabytes in use they can end
    up further apart than an instruction reaches, and LLVM then ends the process.
    """
    return llvm.create_lljit_compiler(target_machine(host()), use_jit_link=sys.platform != "win32")


def assemble(text: str, target: Target, name: str) -> bytes:
    """The image of an LLVM module."""
    try:
        with MAKING:
            return joined(objects(text, target), borrows=f"ptr @{HEAP}" in text)
    except RuntimeError as error:
        raise CompileError(f"LLVM refused the code of '{name}': {error}") from error


def joined(parts: list[bytes], borrows: bool = False) -> bytes:
    """Object files as one image."""
    return b"".join(parts) + struct.pack(f"<{len(parts) + 2}Q", *map(len, parts), len(parts), borrows)


def parted(image: bytes) -> tuple[list[bytes], bool]:
    """The object files of an image, and whether they borrow memory."""
    count, borrows = struct.unpack_from("<2Q", image, len(image) - 16)
    lengths = struct.unpack_from(f"<{count}Q", image, len(image) - 16 - 8 * count)
    ends = list(itertools.accumulate(lengths))
    return [image[end - length : end] for end, length in zip(ends, lengths, strict=True)], bool(borrows)


class Code:
    """Loaded machine code: the address of its function, valid as long as this object lives."""

    def __init__(self, image: bytes, function: str):
        parts, borrows = parted(image)
        with MAKING:
            library = llvm.JITLibraryBuilder()
            for part in parts:
                library.add_object_img(part)
            if borrows:
                library.export_symbol(HEAP)
            self._tracker = library.export_symbol(function).link(_linker(), f"appell{next(_numbers)}")
            self.address: int = self._tracker[function]
            if borrows:
                _lend(self._tracker[HEAP])


def lenders() -> tuple[Any, Any]:
    """The functions that take memory and give it back, in whatever thread: of Python, for C."""
    return ctypes.pythonapi.PyMem_RawMalloc, ctypes.pythonapi.PyMem_RawFree


def _lend(heap: int) -> None:
    """Fill in how machine code gets its memory."""
    functions = (ctypes.cast(function, ctypes.c_void_p).value for function in lenders())
    (ctypes.c_void_p * 2).from_address(heap)[:] = [*functions]
