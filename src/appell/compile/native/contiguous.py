"""Machine code in physically contiguous memory.

On some processors (measured on Zen 5) pairs of physical pages evict each other from the L1 instruction cache even if it
is almost empty: about one pair in 450, as if the cache compared a hash of nine bits of the page number. Two functions
of 4 KiB in such pages take 18 times as long when they are called alternately. The operating system assigns pages at
random, so every third load of a kernel of a hundred kilobytes was 5 to 40 % slower than the others, for the lifetime of
the process.

Neighbouring pages do not collide. So loaded code is copied into a huge page, and the pages of the copy replace those at
the address of the code: addresses and permissions do not change, and the linker frees the memory as before. This is
done on Linux, which can move pages, and on x86, where copied code needs no flush of the instruction cache. Where huge
pages are disabled, the pages of the copy are as random as before.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

_PAGE_BYTES = 4 << 10
_HUGE_PAGE_BYTES = 2 << 20
_READ, _WRITE, _EXECUTE = 1, 2, 4  # PROT_*
_PRIVATE_ANONYMOUS = 0x22  # MAP_PRIVATE | MAP_ANONYMOUS
_HUGE_PAGE_ADVICE = 14  # MADV_HUGEPAGE
_MOVE_TO = 3  # MREMAP_MAYMOVE | MREMAP_FIXED
_FAILED = ctypes.c_void_p(-1).value
_EXECUTABLE_SECTION = 4  # SHF_EXECINSTR


@cache
def _system() -> Any:
    """Return the C library with the types of the functions that are used here."""
    library = ctypes.CDLL(None)
    pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    library.mmap.restype = library.mremap.restype = pointer
    library.mmap.argtypes = [pointer, size, number, number, number, ctypes.c_long]
    library.mremap.argtypes = [pointer, size, size, number, pointer]
    library.mprotect.argtypes = library.madvise.argtypes = [pointer, size, number]
    library.munmap.argtypes = [pointer, size]
    return library


class _HugePage:
    """The unused rest of the current huge page of this process."""

    def __init__(self) -> None:
        self._start = self._end = self._process = 0

    def take(self, size: int) -> int:
        """Return the address of writable memory in one huge page, or in several if it is larger; 0 without success."""
        if self._end - self._start < size or self._process != os.getpid():  # a child process shares its pages
            if self._end > self._start:
                _system().munmap(self._start, self._end - self._start)
            total = _rounded_up(size, _HUGE_PAGE_BYTES)
            self._start = _new_huge_pages(total)
            self._end, self._process = self._start + total, os.getpid()
            if not self._start:
                self._end = 0
                return 0
        self._start += size
        return self._start - size


_huge_page = _HugePage()


def _rounded_up(size: int, unit: int) -> int:
    return -(-size // unit) * unit


def _new_huge_pages(size: int) -> int:
    """Allocate huge pages and return their address, 0 without success."""
    system = _system()
    first = system.mmap(None, size + _HUGE_PAGE_BYTES, _READ | _WRITE, _PRIVATE_ANONYMOUS, -1, 0)
    if first in (None, _FAILED):
        return 0
    start, last = _rounded_up(first, _HUGE_PAGE_BYTES), first + size + _HUGE_PAGE_BYTES
    for begin, end in ((first, start), (start + size, last)):
        if end > begin:
            system.munmap(begin, end - begin)
    if system.madvise(start, size, _HUGE_PAGE_ADVICE):
        system.munmap(start, size)
        return 0
    return start


def code_bytes(part: bytes) -> int:
    """Return the size of the code of an object file in the format ELF; 0 if it is not in a single section."""
    sections, entry, count = (*struct.unpack_from("<Q", part, 40), *struct.unpack_from("<2H", part, 58))
    sizes = []
    for header in range(sections, sections + entry * count, entry):
        flags, _, _, size = struct.unpack_from("<4Q", part, header + 8)
        if flags & _EXECUTABLE_SECTION and size:
            sizes.append(size)
    return sizes[0] if len(sizes) == 1 else 0


def make_contiguous(parts: Sequence[bytes], starts: Sequence[int]) -> None:
    """Move loaded code into contiguous pages of the physical memory, at the same addresses.

    Parameters
    ----------
    parts : object files
    starts : address of the first function of each of them; no thread may run their code yet
    """
    if not (sys.platform == "linux" and platform.machine() == "x86_64"):
        return
    regions = []
    for part, start in zip(parts, starts, strict=True):
        begin = start - start % _PAGE_BYTES
        regions.append((begin, _rounded_up(start + code_bytes(part), _PAGE_BYTES) - begin))
    pages, system = _huge_page.take(sum(size for _, size in regions)), _system()
    for start, size in regions if pages else ():
        ctypes.memmove(pages, start, size)
        if system.mprotect(pages, size, _READ | _EXECUTE):
            return
        if system.mremap(pages, size, size, _MOVE_TO, start) != start:  # the code stays where the linker has put it
            return
        pages += size
