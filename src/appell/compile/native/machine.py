"""From LLVM text to object files, and from object files to addresses that can be called.

**Object files.** A long tape is divided into functions that call only each other. `split_module` assigns them in order
to parts of about equal length, so that several cores can compile. A function called from another part changes from
`internal` to `hidden`: visible only to the objects it is linked with. Constants and metadata are copied to every part
that uses them, a variable to the only part that uses it. No instruction changes and nothing is optimised across
functions, so the parts compute the same bits as the undivided module. The text must have constants, metadata and
`define` at the start of a line, and functions that end with the line `}`.

Every part has its own context and target machine, so LLVM needs no lock. llvmlite takes one around every call, so the
one expensive call bypasses it; ctypes releases the GIL. Three LLVM passes take most of the time: register allocation
and two rounds of instruction scheduling. The second round gains up to 3 % in short code and nothing in long code, where
it takes a third of the time, so long modules are compiled at the optimisation level below, which omits it.

**Images.** An image is one or more object files, followed by their lengths and a flag that says whether they allocate
memory. It holds position-independent code without references to external symbols, so it can be stored on disk and
loaded by any process on the same kind of processor. Loading it compiles nothing.

**Stack probes.** Windows commits the stack of a thread page by page: an access beyond the guard page that follows ends
the process. For Windows LLVM therefore starts a function whose frame exceeds one page with a call of `__chkstk`, which
touches the pages in order. Every object file for Windows defines it (`stack_probe`).
"""

from __future__ import annotations

import ctypes
import itertools
import os
import platform
import re
import struct
import sys
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
from llvmlite.binding import ffi

from appell.compile.llvm.emitter import HEAP
from appell.compile.llvm.lanes import NARROW_BYTES
from appell.compile.llvm.tuning import tunings
from appell.compile.native.build_lock import BUILD_LOCK
from appell.compile.native.coff import LoadedImage
from appell.compile.native.contiguous import make_contiguous
from appell.compile.native.threads import cores, requested_threads
from appell.errors import ArgumentError, CompileError

_INSTRUCTIONS_VARIABLE = "APPELL_INSTRUCTIONS"  # "avx2": code without AVX-512, on any processor


@dataclass(frozen=True)
class Target:
    """A processor, described in the terms of LLVM."""

    triple: str
    cpu: str
    features: str  # present and absent features: "+fma,-avx512f,…"
    has_fma: bool  # whether x y + z rounds once in hardware
    kind: str = "avx2"  # row of the table of `tuning`
    register: int = NARROW_BYTES  # bytes of a register of samples
    cache: int = 32 << 10  # bytes of the L1 data cache
    reloc: str = "pic"  # relocation model

    @property
    def identity(self) -> str:
        """Everything machine code depends on besides its source text."""
        return "\n".join([self.triple, self.cpu, self.features, llvmlite.__version__, str(llvm.llvm_version_info)])


@cache
def host() -> Target:
    """Return the processor on which this process runs."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()  # of `stack_probe`
    arm = platform.machine().lower() in ("aarch64", "arm64")
    names = llvm.get_process_triple(), llvm.get_host_cpu_name()
    return describe(*names, allowed_features(llvm.get_host_cpu_features()), arm, _l1_cache_bytes())


def without_avx512() -> bool:
    """Return whether `$APPELL_INSTRUCTIONS` excludes AVX-512; raise ArgumentError if it has another value."""
    limit = os.environ.get(_INSTRUCTIONS_VARIABLE, "")
    if limit not in ("", "avx2"):
        raise ArgumentError(f"the environment variable {_INSTRUCTIONS_VARIABLE} is {limit!r}.", expected="'avx2'")
    return bool(limit)


def allowed_features(features: llvm.FeatureMap) -> llvm.FeatureMap:
    """Return the features of a processor without those that `$APPELL_INSTRUCTIONS` excludes."""
    if not without_avx512():
        return features
    excluded = {name: False for name in features if name.startswith(("avx512", "avx10"))}
    return llvm.FeatureMap({**features, **excluded})


def _l1_cache_bytes() -> int:
    """Return the size of the L1 data cache reported by the system, or a common value."""
    try:
        size = Path("/sys/devices/system/cpu/cpu0/cache/index0/size").read_text()
        return int(size.strip().removesuffix("K")) << 10
    except (OSError, ValueError):
        return Target.cache


def describe(triple: str, cpu: str, features: llvm.FeatureMap, arm: bool, cache: int = Target.cache) -> Target:
    """Return the target for a processor with these features.

    Parameters
    ----------
    triple, cpu, features : as reported by LLVM
    arm : whether the processor is an ARM processor, which always has fused multiply-adds
    cache : bytes of the L1 data cache

    Notes
    -----
    On some processors LLVM splits 64-byte registers unless their feature `prefer-256-bit` is disabled.
    """
    wide = bool(features.get("avx512f"))
    kind = "neon" if arm else "avx512" if wide else "avx2"
    return Target(
        triple=triple,
        cpu=cpu,
        features=features.flatten() + (",-prefer-256-bit" if wide else ""),
        has_fma=arm or bool(features.get("fma")),
        kind=kind,
        register=tunings()[kind].register,
        cache=cache,
    )


MIN_PART_CHARACTERS = 30_000  # about 30 ms of code generation

_HEADER = re.compile(r"define (?:internal )?(?P<kind>.+?) @(?P<name>[\w.]+)\((?P<arguments>.*)\)(?P<rest>.*) \{\n")
_NAME = re.compile(r"@(?!llvm\.)([\w.]+)")
_ARGUMENT = re.compile(r" %\w+")


@dataclass(frozen=True)
class _Function:
    text: str

    @cached_property
    def header(self) -> re.Match[str]:
        if (match := _HEADER.match(self.text)) is None:
            raise CompileError(f"cannot parse the LLVM function header '{self.text.partition(chr(10))[0]}'.")
        return match

    @property
    def name(self) -> str:
        return self.header["name"]

    @cached_property
    def uses(self) -> set[str]:
        """The global names in its text, except intrinsics."""
        return set(_NAME.findall(self.text))

    @property
    def shared(self) -> str:
        """The definition, callable from other objects of the same library."""
        return self.text.replace("define internal ", "define hidden ", 1)

    @property
    def declared(self) -> str:
        """The declaration of a function that another object defines."""
        part = self.header
        return f"declare hidden {part['kind']} @{part['name']}({_ARGUMENT.sub('', part['arguments'])}){part['rest']}\n"


def split_module(text: str, max_parts: int) -> list[str]:
    """Divide a module into at most `max_parts` modules of at least `MIN_PART_CHARACTERS` characters."""
    count = min(max_parts, len(text) // MIN_PART_CHARACTERS)
    if count < 2:
        return [text]
    outside, functions = _parsed(text)
    parts = _grouped(functions, count)
    part_of = {function.name: number for number, part in enumerate(parts) for function in part}
    by_name = {function.name: function for function in functions}
    used = [set().union(*(function.uses for function in part)) for part in parts]
    shared = {name for number, names in enumerate(used) for name in names if part_of.get(name, number) != number}
    variables = {line[1 : line.index(" ")] for line in outside if line[0] == "@" and " private " not in line}
    if any(sum(name in names for names in used) > 1 for name in variables):
        return [text]  # a variable cannot be copied to several parts
    modules = []
    for number, part in enumerate(parts):
        lines = [line for line in outside if line.startswith("!") or line[1 : line.index(" ")] in used[number]]
        lines += [by_name[name].declared for name in sorted(used[number]) if part_of.get(name, number) != number]
        lines += [function.shared if function.name in shared else function.text for function in part]
        modules.append("\n".join([*lines, ""]))
    return modules


def _parsed(text: str) -> tuple[list[str], list[_Function]]:
    """Return the lines outside functions, and the functions."""
    outside: list[str] = []
    functions: list[_Function] = []
    *pieces, rest = text.split("\n}\n")
    for piece in pieces:
        before, _, function = f"\n{piece}".rpartition("\ndefine ")
        outside += before.splitlines()
        functions.append(_Function(f"define {function}\n}}\n"))
    return [line for line in (*outside, *rest.splitlines()) if line], functions


def _grouped(functions: Sequence[_Function], count: int) -> list[list[_Function]]:
    """Return the functions in order, in at most `count` groups of about equal length."""
    total, before = sum(len(function.text) for function in functions), 0
    groups: dict[int, list[_Function]] = {}
    for function in functions:
        middle = before + len(function.text) / 2
        groups.setdefault(int(count * middle / total), []).append(function)
        before += len(function.text)
    return list(groups.values())


PART = "part"  # followed by a number: the first function of every part
_PARTS_PER_THREAD = 2  # several, so that a thread that finishes early takes another part
_LONG_MODULE_CHARACTERS = 1_000_000  # about six thousand steps


def compiler_threads() -> int:
    """Return the number of threads that compile: one per core of this process, or fewer by `$APPELL_THREADS`."""
    return min(cores(), requested_threads() or cores())


def target_machine(target: Target, level: int = 2) -> llvm.TargetMachine:
    """Return the code generator of LLVM for a target and an optimisation level."""
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=level, reloc=target.reloc, codemodel="small"
    )


def optimisation_level(text: str) -> int:
    """Return the level at which LLVM generates code for a module: a lower one for long modules."""
    return 1 if len(text) > _LONG_MODULE_CHARACTERS else 2


def compile_objects(text: str, target: Target) -> list[bytes]:
    """Compile an LLVM module and return its object files, which are to be linked with each other.

    No optimisation pass runs over the text: it is written as it should be executed. Raise RuntimeError if LLVM rejects
    the text.
    """
    workers, level = compiler_threads(), optimisation_level(text)
    parts = split_module(text, _PARTS_PER_THREAD * workers if workers > 1 else 1)
    objects: dict[int, bytes] = {}
    waiting, problems = deque(enumerate(parts)), deque[BaseException]()

    def work() -> None:
        try:
            while waiting and not problems:
                number, part = waiting.popleft()
                objects[number] = compile_object(_first_function(number) + part, target, level)
        except IndexError:  # another thread took the last part
            pass
        except BaseException as problem:
            problems.append(problem)

    # Not a pool of the standard library: a fork acquires the lock of the pool, then waits for `BUILD_LOCK`, and the
    # thread that holds `BUILD_LOCK` would wait for the lock of the pool.
    helpers = [threading.Thread(target=work) for _ in range(min(workers, len(parts)) - 1)]
    for helper in helpers:
        helper.start()
    work()
    for helper in helpers:
        helper.join()
    if problems:
        raise problems[0]
    return [objects[number] for number in range(len(parts))]


def _first_function(number: int) -> str:
    """Return the definition of the function at the start of a part, whose address is that of its code."""
    return f"define void @{PART}{number}() nounwind {{\n  ret void\n}}\n"


_PROBE_INSTRUCTIONS = """
    pushq %r11
    pushq %rax
    leaq 24(%rsp), %r11
1:  cmpq $$4096, %rax
    jbe 2f
    subq $$4096, %r11
    testq %rax, (%r11)
    subq $$4096, %rax
    jmp 1b
2:  subq %rax, %r11
    testq %rax, (%r11)
    popq %rax
    popq %r11
    retq"""  # the size of the frame is in rax; no register changes


def stack_probe(triple: str) -> str:
    """Return the definition of the function that code for Windows calls before it uses a large frame; else nothing."""
    if not (triple.startswith("x86_64") and "windows" in triple):
        return ""
    instructions = "\\0A".join(line.strip() for line in _PROBE_INSTRUCTIONS.strip().splitlines())
    body = f'call void asm sideeffect "{instructions}", ""()\nunreachable'
    return f"define internal void @__chkstk() naked noinline nounwind {{\nentry:\n{body}\n}}\n"


def compile_object(text: str, target: Target, level: int) -> bytes:
    """Compile one module and return its object file; runs in several threads at once."""
    # A module must be disposed of before its context, which garbage collection after an error does not ensure.
    context = llvm.create_context()
    emit: Any = ffi.lib.LLVMPY_TargetMachineEmitToMemory
    with llvm.parse_assembly(text + stack_probe(target.triple), context) as module, ffi.OutputString() as problem:
        module.verify()
        buffer = getattr(emit, "_cfn", emit)(target_machine(target, level), module, 1, problem)
        if not buffer:
            raise RuntimeError(str(problem))
    try:
        return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


_numbers = itertools.count()


@cache
def _linker() -> llvm.LLJIT:
    """Return the JITLink linker, which allocates the memory of an object in one piece.

    LLVM's older linker allocates code and constants separately. In a process with gigabytes in use the distance between
    them can exceed the reach of an instruction, and LLVM then aborts the process.
    """
    return llvm.create_lljit_compiler(target_machine(host()), use_jit_link=True)


def _loaded(parts: Sequence[bytes], names: Sequence[str]) -> Any:
    """Load object files and return a mapping of names to addresses that keeps them in memory."""
    if sys.platform == "win32":
        return LoadedImage(parts)
    library = llvm.JITLibraryBuilder()
    for part in parts:
        library.add_object_img(part)
    for name in names:
        library.export_symbol(name)
    return library.link(_linker(), f"appell{next(_numbers)}")


def assemble(text: str, target: Target, name: str) -> bytes:
    """Compile an LLVM module and return its image; `name` is used in the error message."""
    try:
        with BUILD_LOCK:
            return pack_image(compile_objects(text, target), allocates=f"ptr @{HEAP}" in text)
    except RuntimeError as error:
        raise CompileError(f"LLVM rejected the code of '{name}': {error}") from error


def pack_image(parts: list[bytes], allocates: bool = False) -> bytes:
    """Return object files as one image."""
    return b"".join(parts) + struct.pack(f"<{len(parts) + 2}Q", *map(len, parts), len(parts), allocates)


def unpack_image(image: bytes) -> tuple[list[bytes], bool]:
    """Return the object files of an image, and whether they allocate memory."""
    count, allocates = struct.unpack_from("<2Q", image, len(image) - 16)
    lengths = struct.unpack_from(f"<{count}Q", image, len(image) - 16 - 8 * count)
    ends = list(itertools.accumulate(lengths))
    return [image[end - length : end] for end, length in zip(ends, lengths, strict=True)], bool(allocates)


class Code:
    """Loaded machine code: the address of its function, valid as long as this object exists."""

    def __init__(self, image: bytes, function: str):
        parts, allocates = unpack_image(image)
        starts = [f"{PART}{number}" for number in range(len(parts))]
        with BUILD_LOCK:
            self._tracker = _loaded(parts, [HEAP, function, *starts] if allocates else [function, *starts])
            self.address: int = self._tracker[function]
            make_contiguous(parts, [self._tracker[name] for name in starts])
            if allocates:
                _set_allocators(self._tracker[HEAP])


def allocators() -> tuple[Any, Any]:
    """Return the functions of Python that allocate and free memory in any thread."""
    return ctypes.pythonapi.PyMem_RawMalloc, ctypes.pythonapi.PyMem_RawFree


def _set_allocators(heap: int) -> None:
    """Fill in the table of allocation functions of machine code."""
    (ctypes.c_void_p * 2).from_address(heap)[:] = [*map(function_address, allocators())]


def function_address(function: Any) -> int:
    """Return the address of a C function known to `ctypes`."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0
