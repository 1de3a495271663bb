"""The machine code of a formula for one number format: loaded from the object cache, or compiled and stored there.

The key of a kernel covers everything its machine code depends on: the structure of the formula, the number format, the
kind of function, its form, the target and LLVM, and the sources of everything that turns a tape into an object file. A
loop uses the widest registers of the machine; a single sample gains nothing by them.

The numbers of a formula are data of its machine code. Robots that differ only in masses, inertias or lengths share the
code, unless a number becomes zero, the sign of one changes or two become equal.

The duration, and whether the code was compiled or loaded, is logged: `logging.getLogger("appell")`, level INFO; the
start of a compilation at level DEBUG. The records have the attributes `work`, `function`, `owner`, `made`, `seconds`
and `key`.
"""

from __future__ import annotations

import hashlib
import importlib
import pkgutil
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from appell.compile import llvm
from appell.compile.cache import object_cache as disk
from appell.compile.llvm.emitter import with_numbers
from appell.compile.llvm.kernel import loop_kernel, single_kernel
from appell.compile.llvm.lanes import DOUBLE, FLOAT, Form
from appell.compile.llvm.scan import scan_kernel
from appell.compile.llvm.tuning import tunings
from appell.compile.native.build_lock import LOG
from appell.compile.native.machine import Code, assemble, host
from appell.compile.program.program import Program
from appell.compile.tape.formula import Formula
from appell.compile.tape.ops import Op
from appell.compile.tape.tape import Tape
from appell.errors import ArgumentError

FORMATS = {"d": DOUBLE, "f": FLOAT}
SINGLE_REGISTER_BYTES = 8  # one number per register: the frame stays small, and iterations can fill wide registers
KERNELS: dict[str, Callable[..., str]] = {"loop": loop_kernel, "single": single_kernel, "scan": scan_kernel}


def load_kernel(
    formula: Formula, dtype: DTypeLike, function: str, form: Form | None = None, owner: str = "", **settings: int
) -> Code:
    """Load the machine code of a formula from the object cache, or compile it.

    Parameters
    ----------
    formula : fused formula
    dtype : float64 or float32
    function : key of `KERNELS`: "loop", "single" or "scan"
    form : options of code generation; by default those that suit this machine
    owner : system that the function belongs to, for the log
    **settings : for a scan, the numbers of its `carried` and `held` inputs
    """
    code = np.dtype(dtype).char
    if code not in FORMATS:
        raise ArgumentError(
            f"'{formula.name}' cannot be compiled for {np.dtype(dtype)}.", expected="float64 or float32"
        )
    target = host()
    if form is None:
        register, cache = (SINGLE_REGISTER_BYTES, 0) if function == "single" else (target.register, target.cache)
        tuning = tunings()[target.kind]
        form = Form(register, tuning.chunk, cache, tuning=tuning)
    form = replace(form, format=FORMATS[code], fused=target.has_fma)
    parts = [
        formula.structure,
        function,
        repr(sorted(settings.items())),
        repr(form),
        target.identity,
        emitter_digest(),
    ]
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()

    begin, origin = perf_counter(), "found in the cache"
    about = {"work": "compiling", "function": formula.name, "owner": owner}

    def make() -> bytes:
        nonlocal origin
        origin = "made"
        LOG.debug("%s, %s for %s: compiling", formula.name, function, np.dtype(code), extra=about)
        return assemble(KERNELS[function](formula, form, **settings), target, formula.name)

    image = disk.fetch(key, make)
    loaded = Code(with_numbers(image, formula.constants, code), function)
    seconds = perf_counter() - begin
    LOG.info(
        "%s, %s for %s: %d bytes of machine code %s in %.3f s",
        *(formula.name, function, np.dtype(code), len(image), origin, seconds),
        extra=about | {"seconds": seconds, "made": origin == "made", "key": key},
    )
    return loaded


_FIELD = re.compile(r"(%[\w.]+) = (field|element) (\w+), (%[\w.]+), (\S+)")


def with_fields(text: str) -> str:
    """Return LLVM text in which loads of fields and of elements of arrays are written as two instructions.

        %flags = field i32, %object, 48        the number of type i32, 48 bytes behind %object
        %size = element i64, %sizes, %k        number k of an array of type i64

    The address of the value is `%flags.at`.
    """

    def loaded(match: re.Match[str]) -> str:
        name, how, kind, pointer, offset = match.groups()
        address = f"{name}.at = getelementptr {'i8' if how == 'field' else kind}, ptr {pointer}, i64 {offset}"
        return f"{address}\n  {name} = load {kind}, ptr {name}.at, align {4 if kind == 'i32' else 8}"

    return _FIELD.sub(loaded, text)


def load_text(text: str, function: str, name: str) -> Code:
    """Load a function of an LLVM module from the object cache, or compile it.

    Parameters
    ----------
    text : LLVM module
    function : name of the function in the module
    name : name of the module in error messages
    """
    key = hashlib.sha256("\n".join([text, host().identity, emitter_digest()]).encode()).hexdigest()
    return Code(disk.fetch(key, lambda: assemble(text, host(), name)), function)


@cache
def emitter_digest() -> str:
    """Return a hash of the sources that turn a formula into an object file, computed once per process."""
    names = [f"{llvm.__name__}.{module.name}" for module in pkgutil.iter_modules(llvm.__path__)]
    total = hashlib.sha256()
    names += [each.__module__ for each in (Op, Tape, Program, Code, load_kernel)]
    for name in sorted(names):
        module: Any = importlib.import_module(name)
        total.update(name.encode() + hashlib.sha256(module.__loader__.get_data(module.__file__)).digest())
    return total.hexdigest()
