"""From an object file of LLVM to a WebAssembly module that an engine instantiates without imports.

LLVM writes a WebAssembly object: the sections of a module, plus custom sections with symbols and relocations. It
numbers functions, types and data as if the object were linked alone at address 0, so a single object needs no
relocation. What remains to be done:

    imports      memory and stack pointer become definitions; an imported function is an error
    memory       constants at address 0 (as numbered by LLVM), then the stack, then free memory up to the end
    exports      named functions, the memory, and `heap`, the address at which free memory starts
    custom       sections of LLVM are dropped, those of the caller are appended

The index spaces of functions and globals do not change: no function is imported, and the stack pointer is the only
global that is.

The stack needs no check at run time. Code generated from tapes has no recursion and no variable frames, so the sum of
all frames is a bound; LLVM keeps spilled values in locals, outside the memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from appell.errors import CompileError

# Limits that engines share: "Implementation limits" of the WebAssembly JavaScript interface.
MAX_MODULE_BYTES = 1 << 30
MAX_FUNCTION_BYTES = 7_654_321
MAX_LOCALS = 50_000
MAX_PAGES = 65_536
PAGE_BYTES = 1 << 16

MAGIC = b"\0asm\1\0\0\0"
CUSTOM, TYPE, IMPORT, FUNCTION, _, MEMORY, GLOBAL, EXPORT, _, _, CODE, DATA = range(12)
_ALLOCA = re.compile(r"= alloca (?:\[(\d+) x )?(?:<(\d+) x )?(double|float|i64|i8)\b.*align (\d+)")
_SIZES = {"double": 8, "float": 4, "i64": 8, "i8": 1}
_LIBRARY_STACK_BYTES = 1 << 12  # frames that LLVM adds for integers of 256 bits, and their alignment


def link(binary: bytes, name: str, exports: Sequence[str], stack: int) -> bytes:
    """Return the module of one object.

    Parameters
    ----------
    binary : object file of LLVM
    name : name of the function in messages
    exports : names of exported functions
    stack : bytes of the stack; see `stack_bytes`
    """
    sections = {number: content for number, content in _sections(binary) if number != CUSTOM}
    _check_imports(sections.get(IMPORT, b"\0"), name)
    symbols = _functions(_custom(binary, "linking"))
    top = -(-(_data_end(sections.get(DATA, b"\0")) + stack) // 64) * 64
    pages = -(-top // PAGE_BYTES)
    _check_limits(sections[CODE], pages, name)
    named = [(each, 0, symbols[each]) for each in exports] + [("memory", 2, 0), ("heap", 3, 1)]
    constant = b"\x41" + _signed(top) + b"\x0b"  # i32.const top; end
    sections[MEMORY] = _vector([b"\0" + _unsigned(pages)])
    sections[GLOBAL] = _vector([b"\x7f\x01" + constant, b"\x7f\0" + constant])  # stack pointer (variable), heap
    sections[EXPORT] = _vector([_text(each) + bytes([kind]) + _unsigned(index) for each, kind, index in named])
    order = (TYPE, FUNCTION, MEMORY, GLOBAL, EXPORT, CODE, DATA)
    module = MAGIC + b"".join(_section(number, sections[number]) for number in order if number in sections)
    if len(module) > MAX_MODULE_BYTES:
        raise _too_large(name, f"a module of {len(module)} bytes", f"{MAX_MODULE_BYTES} bytes per module")
    return module


def with_custom(module: bytes, sections: Mapping[str, bytes]) -> bytes:
    """Return a module with custom sections appended; engines ignore them."""
    return module + b"".join(_section(CUSTOM, _text(name) + content) for name, content in sections.items())


def stack_bytes(text: str) -> int:
    """Return a bound on the stack of an LLVM module without recursion: the sum of the frames of its functions."""
    total = _LIBRARY_STACK_BYTES
    for count, width, kind, align in _ALLOCA.findall(text):
        total += int(count or 1) * int(width or 1) * _SIZES[kind] + int(align)
    return total


def _check_imports(content: bytes, name: str) -> None:
    count, at = _read(content, 0)
    for _ in range(count):
        _, at = _read_text(content, at)
        field, at = _read_text(content, at)
        kind, at = content[at], at + 1
        if kind == 0:
            raise CompileError(f"the WebAssembly code of '{name}' calls '{field}', which is not defined.")
        if kind == 3:  # the stack pointer: type and mutability
            at += 2
            continue
        at += kind == 1  # type of the elements of a table
        has_maximum, at = content[at] & 1, at + 1
        for _ in range(1 + has_maximum):
            _, at = _read(content, at)


def _check_limits(code: bytes, pages: int, name: str) -> None:
    if pages > MAX_PAGES:
        raise _too_large(name, f"{pages * PAGE_BYTES >> 20} MiB of memory", f"{MAX_PAGES * PAGE_BYTES >> 20} MiB")
    count, at = _read(code, 0)
    for _ in range(count):
        size, start = _read(code, at)
        if size > MAX_FUNCTION_BYTES:
            raise _too_large(name, f"a function of {size} bytes", f"{MAX_FUNCTION_BYTES} bytes per function")
        groups, at = _read(code, start)
        local_count = 0
        for _ in range(groups):
            many, at = _read(code, at)
            local_count, at = local_count + many, at + 1
        if local_count > MAX_LOCALS:
            raise _too_large(name, f"a function with {local_count} local variables", f"{MAX_LOCALS} per function")
        at = start + size


def _too_large(name: str, what: str, limit: str) -> CompileError:
    return CompileError(
        f"'{name}' is too large for WebAssembly engines: it needs {what}.",
        expected=f"at most {limit}",
        hint="Export fewer results or derivatives at once.",
    )


def _functions(linking: bytes) -> dict[str, int]:
    """Return the indices of defined functions by name, from the symbol table."""
    indices: dict[str, int] = {}
    _, at = _read(linking, 0)  # version
    while at < len(linking):
        kind, (size, start) = linking[at], _read(linking, at + 1)
        at = start + size
        if kind != 8:  # not the symbol table
            continue
        count, where = _read(linking, start)
        for _ in range(count):
            symbol, (flags, where) = linking[where], _read(linking, where + 1)
            undefined, named = flags & 0x10, flags & 0x40
            if symbol in (0, 2, 4, 5):  # function, global, event, table
                index, where = _read(linking, where)
                if not undefined or named:
                    text, where = _read_text(linking, where)
                    if symbol == 0:
                        indices[text] = index
            elif symbol == 1:  # data
                _, where = _read_text(linking, where)
                for _ in range(0 if undefined else 3):
                    _, where = _read(linking, where)
            else:  # section
                _, where = _read(linking, where)
    return indices


def _data_end(content: bytes) -> int:
    """Return the address behind the last constant."""
    count, at = _read(content, 0)
    end = 0
    for _ in range(count):
        start, at = _read(content, at + 2)  # after the flags and the opcode of i32.const
        size, at = _read(content, at + 1)  # after the opcode of end
        end, at = max(end, start + size), at + size
    return end


def _sections(binary: bytes) -> Iterator[tuple[int, bytes]]:
    at = len(MAGIC)
    while at < len(binary):
        number, (size, start) = binary[at], _read(binary, at + 1)
        at = start + size
        yield number, binary[start:at]


def _custom(binary: bytes, name: str) -> bytes:
    for number, content in _sections(binary):
        if number == CUSTOM:
            title, at = _read_text(content, 0)
            if title == name:
                return content[at:]
    raise CompileError(f"LLVM wrote a WebAssembly object without the section '{name}'.")


def _section(number: int, content: bytes) -> bytes:
    return bytes([number]) + _unsigned(len(content)) + content


def _vector(items: Sequence[bytes]) -> bytes:
    return _unsigned(len(items)) + b"".join(items)


def _text(text: str) -> bytes:
    encoded = text.encode()
    return _unsigned(len(encoded)) + encoded


def _unsigned(number: int) -> bytes:
    """LEB128."""
    digits = bytearray()
    while number > 127:
        digits.append(number & 127 | 128)
        number >>= 7
    return bytes([*digits, number])


def _signed(number: int) -> bytes:
    """LEB128 of an address, which i32.const reads as a signed integer."""
    number, digits = number - (1 << 32) * (number >> 31), bytearray()
    while not -64 <= number < 64:
        digits.append(number & 127 | 128)
        number >>= 7
    return bytes([*digits, number & 127])


def _read(content: bytes, at: int) -> tuple[int, int]:
    """Return an unsigned integer and the position behind it."""
    number, shift = 0, 0
    while True:
        digit, at = content[at], at + 1
        number |= (digit & 127) << shift
        if digit < 128:
            return number, at
        shift += 7


def _read_text(content: bytes, at: int) -> tuple[str, int]:
    size, at = _read(content, at)
    return content[at : at + size].decode(), at + size
