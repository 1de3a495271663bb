"""Load object files on Windows: all sections in one piece of memory, then the relocations.

llvmlite offers LLVM's linker JITLink on other systems only. The older linker allocates code and constants separately:
an instruction reaches 2 GiB, and LLVM aborts the process where the distance is larger. This module therefore reads the
objects itself (COFF, x86-64), in the layout

    code | constants | variables          each group starts on a page of its own

reserves memory for all of it with one call, and writes at every relocation, with S the address of the symbol, P the
address of the relocation and A the number stored there,

    ADDR64     A + S
    REL32_k    A + S - P - 4 - k          k bytes follow the relocation before the next instruction

A symbol is looked up in its own object first, then in the others; one that none of them defines is an error. Tables for
unwinding are not loaded, because no exception passes through compiled functions.
"""

from __future__ import annotations

import ctypes
import struct
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.errors import CompileError

PAGE_BYTES = 4096
_CODE, _UNINITIALISED = 0x20, 0x80
_IGNORED = 0x200 | 0x800 | 0x02000000  # information for linkers, removed by linkers, discardable
_MANY_RELOCATIONS = 0x01000000
_WRITABLE = 0x80000000
_UNWINDING = (".pdata", ".xdata")
_EXTERNAL = 2
_ADDR64, _REL32, _REL32_5 = 1, 4, 9
_RELOCATION = np.dtype([("at", "<u4"), ("symbol", "<u4"), ("kind", "<u2")])


@dataclass
class _Section:
    content: bytes | None  # None: zeros
    size: int
    align: int
    group: int  # 0 code, 1 constants, 2 variables
    relocations: np.ndarray
    offset: int = 0  # in the image


class _Object:
    """The sections and symbols of one object file; sections that are not loaded are None."""

    def __init__(self, data: bytes):
        self._data = data
        big = data[:4] == b"\0\0\xff\xff"  # more than 32,767 sections
        if big:
            sections, table, count = struct.unpack_from("<3I", data, 44)
            first, layout = 56, "<8sIiHBB"
        else:
            sections, table, count = struct.unpack_from("<2xH4x2I", data)
            first, layout = 20, "<8sIhHBB"
        self._strings = table + count * struct.calcsize(layout)
        self.sections = [self._section(first + 40 * k) for k in range(sections)]
        self.symbols = list(self._symbols(table, count, layout))

    def _name(self, field: bytes) -> str:
        if field[:4] != b"\0\0\0\0":
            return field.rstrip(b"\0").decode()
        begin = self._strings + struct.unpack("<4xI", field)[0]
        return self._data[begin : self._data.index(b"\0", begin)].decode()

    def _section(self, at: int) -> _Section | None:
        data = self._data
        name, size, begin, relocations, count, flags = struct.unpack_from("<8s8x3I4xH2xI", data, at)
        if flags & _IGNORED or name.rstrip(b"\0").decode().startswith(_UNWINDING):
            return None
        skipped = 0
        if flags & _MANY_RELOCATIONS:
            count, skipped = struct.unpack_from("<I", data, relocations)[0], 1
        entries = np.frombuffer(data, _RELOCATION, count, relocations)[skipped:]
        content = None if flags & _UNINITIALISED else data[begin : begin + size]
        group = 0 if flags & _CODE else 2 if flags & _WRITABLE else 1
        return _Section(content, size, 1 << max((flags >> 20 & 15) - 1, 0), group, entries)

    def _symbols(self, table: int, count: int, layout: str) -> Iterator[tuple[str, int, int, bool]]:
        """Yield name, offset in the section, number of the section and whether other objects see the symbol."""
        size, auxiliary = struct.calcsize(layout), 0
        for k in range(count):
            name, value, section, _, kind, following = struct.unpack_from(layout, self._data, table + size * k)
            if auxiliary:
                auxiliary -= 1
                yield "", 0, 0, False
            else:
                auxiliary = following
                yield self._name(name), value, section, kind == _EXTERNAL


@dataclass(frozen=True)
class Image:
    """Object files laid out one after the other, not yet relocated.

    Parameters
    ----------
    size : bytes of the image, a multiple of a page
    groups : offsets at which code, constants and variables begin
    symbols : offsets of the symbols that other objects see
    """

    size: int
    groups: tuple[int, ...]
    symbols: dict[str, int]
    _objects: tuple[_Object, ...]

    @classmethod
    def of(cls, parts: Sequence[bytes]) -> Image:
        objects = tuple(map(_Object, parts))
        loaded = [section for each in objects for section in each.sections if section is not None]
        offset, groups = 0, []
        for group in range(3):
            groups.append(offset)
            for section in loaded:
                if section.group == group:
                    section.offset = -(-offset // section.align) * section.align
                    offset = section.offset + section.size
            offset = -(-offset // PAGE_BYTES) * PAGE_BYTES
        symbols: dict[str, int] = {}
        for each in objects:
            for name, value, number, external in each.symbols:
                owner = each.sections[number - 1] if number > 0 else None
                if external and owner is not None:
                    symbols.setdefault(name, owner.offset + value)
        return cls(offset, tuple(groups), symbols, objects)

    def relocated(self, base: int) -> bytes:
        """Return the content of the image for the address at which it will be."""
        content = np.zeros(self.size, np.uint8)
        for each in self._objects:
            addresses = np.array([self._address(each, *symbol) for symbol in each.symbols], np.int64)
            for section in each.sections:
                if section is None:
                    continue
                if section.content is not None:
                    content[section.offset : section.offset + section.size] = np.frombuffer(section.content, np.uint8)
                if len(section.relocations):
                    self._relocate(content, section, addresses, base, each)
        return content.tobytes()

    def _address(self, owner: _Object, name: str, value: int, number: int, external: bool) -> int:
        """Return the offset of a symbol in the image, or -1 if it is not defined or not loaded."""
        section = owner.sections[number - 1] if number > 0 else None
        return self.symbols.get(name, -1) if section is None else section.offset + value

    def _relocate(self, content: np.ndarray, section: _Section, symbols: np.ndarray, base: int, owner: _Object) -> None:
        entries = section.relocations
        target, at = symbols[entries["symbol"]], entries["at"].astype(np.int64) + section.offset
        if (target < 0).any():
            unknown = owner.symbols[entries["symbol"][np.argmax(target < 0)]][0]
            raise CompileError(f"the machine code refers to the external symbol '{unknown}'.")
        relative = (entries["kind"] >= _REL32) & (entries["kind"] <= _REL32_5)
        if not (relative | (entries["kind"] == _ADDR64)).all():
            raise CompileError(
                f"the machine code has relocations of the kinds {sorted(set(entries['kind'].tolist()))}."
            )
        for chosen, kind in ((relative, "<i4"), (~relative, "<i8")):
            indices = at[chosen, None] + np.arange(np.dtype(kind).itemsize)
            stored = np.ascontiguousarray(content[indices]).view(kind)[:, 0].astype(np.int64)
            following = 4 + entries["kind"][chosen].astype(np.int64) - _REL32
            values = stored + target[chosen] + (base if kind == "<i8" else -at[chosen] - following)
            content[indices] = values.astype(kind)[:, None].view(np.uint8)


class LoadedImage:
    """Object files in the memory of this process, on Windows: addresses by name, valid while this object exists."""

    _COMMIT_AND_RESERVE, _RELEASE = 0x3000, 0x8000
    _PROTECTION = (0x20, 0x02, 0x04)  # read and execute, read, read and write

    def __init__(self, parts: Sequence[bytes]):
        image, system = Image.of(parts), _kernel32()
        base = system.VirtualAlloc(None, image.size, self._COMMIT_AND_RESERVE, self._PROTECTION[2])
        if not base:
            raise MemoryError(f"Windows cannot allocate {image.size} bytes for machine code")
        weakref.finalize(self, system.VirtualFree, base, 0, self._RELEASE).atexit = False
        ctypes.memmove(base, image.relocated(base), image.size)
        ends = (*image.groups[1:], image.size)
        for begin, end, protection in zip(image.groups, ends, self._PROTECTION, strict=True):
            before = ctypes.c_uint32()
            if end > begin and not system.VirtualProtect(base + begin, end - begin, protection, ctypes.byref(before)):
                raise CompileError("Windows refuses to make memory executable: a policy of the system forbids it.")
        system.FlushInstructionCache(system.GetCurrentProcess(), base, image.size)
        self._symbols = {name: base + offset for name, offset in image.symbols.items()}

    def __getitem__(self, name: str) -> int:
        return self._symbols[name]


def _kernel32() -> Any:
    """Return the system library with the types of the functions that take addresses."""
    library = getattr(ctypes, "WinDLL")("kernel32")  # noqa: B009 - it exists on Windows only
    pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32
    library.VirtualAlloc.restype, library.VirtualAlloc.argtypes = pointer, [pointer, size, number, number]
    library.VirtualFree.argtypes = [pointer, size, number]
    library.VirtualProtect.argtypes = [pointer, size, number, ctypes.POINTER(number)]
    library.GetCurrentProcess.restype = pointer
    library.FlushInstructionCache.argtypes = [pointer, pointer, size]
    return library
