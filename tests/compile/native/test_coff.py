"""Object files for Windows: one image, complete relocations, stack probes inside the objects.

The images are called on Linux too: functions without arguments and with an integer result are called alike there.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import sys

import pytest

from appell.compile.native.coff import Image, LoadedImage
from appell.compile.native.machine import Target, compile_object, host
from appell.errors import CompileError

pytestmark = pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64"), reason="objects for x86-64 are compiled and called"
)
WINDOWS = Target("x86_64-pc-windows-msvc", "x86-64", "", has_fma=False)

# `first` adds a constant, an entry of a table of pointers and what the other object returns from a frame of 24 pages.
CALLER = """
@table = private unnamed_addr constant [2 x i64] [i64 5, i64 7], align 16
@slot = global ptr @table, align 8
@counter = global i64 30, align 8
declare hidden i64 @second()
define i64 @first() noinline nounwind {
entry:
%at = load volatile ptr, ptr @slot, align 8
%cell = getelementptr i64, ptr %at, i64 1
%seven = load volatile i64, ptr %cell, align 8
%count = load volatile i64, ptr @counter, align 8
store volatile i64 100, ptr @counter, align 8
%other = call i64 @second()
%sum = add i64 %seven, %count
%all = add i64 %sum, %other
ret i64 %all
}
"""
CALLED = """
define hidden i64 @second() noinline nounwind {
entry:
%frame = alloca [12288 x i64], align 32
%low = getelementptr i64, ptr %frame, i64 3
store volatile i64 5, ptr %low, align 8
%value = load volatile i64, ptr %low, align 8
ret i64 %value
}
"""


@pytest.fixture(scope="module")
def parts() -> list[bytes]:
    host()  # initialises LLVM
    return [compile_object(text, WINDOWS, 2) for text in (CALLER, CALLED)]


def called(parts: list[bytes], name: str) -> tuple[int, int]:
    """Load objects into one piece of memory and return the results of two calls."""
    if sys.platform == "win32":
        loaded = LoadedImage(parts)
        function = ctypes.CFUNCTYPE(ctypes.c_int64)(loaded[name])
        return function(), function()
    image = Image.of(parts)
    memory = mmap.mmap(-1, image.size, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    memory[:] = image.relocated(base)
    function = ctypes.CFUNCTYPE(ctypes.c_int64)(base + image.symbols[name])
    return function(), function()


def test_calls_constants_pointers_and_variables_of_several_objects_are_connected(parts):
    assert called(parts, "first") == (7 + 30 + 5, 7 + 100 + 5)


def test_code_constants_and_variables_are_on_pages_of_their_own(parts):
    image = Image.of(parts)
    assert image.groups[0] == 0 < image.groups[1] < image.groups[2] < image.size
    assert all(offset % 4096 == 0 for offset in (*image.groups, image.size))
    assert image.symbols["first"] < image.groups[1]
    assert image.symbols["counter"] >= image.groups[2]


def test_a_symbol_that_no_object_defines_is_an_error(parts):
    with pytest.raises(CompileError, match="external symbol 'second'"):
        Image.of(parts[:1]).relocated(0)


def test_a_large_frame_is_probed_page_by_page_and_registers_are_kept(parts):
    """Without the definition inside the object, `__chkstk` would be an external symbol."""
    assert called(parts[1:], "second") == (5, 5)


def test_every_object_defines_its_own_stack_probe(parts):
    both = [parts[1], compile_object(CALLED.replace("@second", "@third"), WINDOWS, 2)]
    assert called(both, "third") == called(both, "second") == (5, 5)
