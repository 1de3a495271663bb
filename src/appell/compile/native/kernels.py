"""The machine code of a tape for one number format: from the disk if it is there, else made and put there.

The key of a kernel covers all that its machine code depends on: the tape, the number format, the kind of function, its
form, the target and LLVM, and the sources of everything that turns a tape into an object, to the last coefficient of
the sine. A loop has the widest registers of the machine; one sample alone gains nothing by them.

How long it took, and whether it was made or found, is logged: `logging.getLogger("appell")`, level INFO; that it begins
to be made, level DEBUG. The records have the same as attributes: `work`, `function`, `owner`, `made`,
`seconds`, `key`.
"""

from __future__ import annotations

import hashlib
import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from appell.compile import emit
from appell.compile.emit.form import Form
from appell.compile.emit.kernel import loop_kernel, single_kernel
from appell.compile.emit.lanes import DOUBLE, FLOAT
from appell.compile.emit.march import march_kernel
from appell.compile.formula import Formula
from appell.compile.native import cache as disk
from appell.compile.native.machine import Code, assemble
from appell.compile.native.making import LOG
from appell.compile.native.objects import objects
from appell.compile.native.split import split
from appell.compile.native.target import host
from appell.compile.ops import Op
from appell.compile.program import Program
from appell.compile.tape import Tape
from appell.errors import ArgumentError

FORMATS = {"d": DOUBLE, "f": FLOAT}
ALONE = 8  # bytes of a register of one sample: its frame is small, and wide registers can take turns abreast
KERNELS: dict[str, Callable[..., str]] = {"loop": loop_kernel, "single": single_kernel, "march": march_kernel}


def load_kernel(
    tape: Formula, dtype: DTypeLike, function: str, form: Form | None = None, owner: str = "", **settings: int
) -> Code:
    """A function of a tape, one of `KERNELS`, ready to be called; in the form that suits the machine, or this.

    The settings of a march are how many of its inputs are `carried` and how many `held`. The log names the `owner`.
    """
    code = np.dtype(dtype).char
    if code not in FORMATS:
        raise ArgumentError(f"'{tape.name}' cannot compute in {np.dtype(dtype)}.", expected="float64 or float32")
    target = host()
    form = form or (Form(target.register, cache=target.cache) if function != "single" else Form(ALONE))
    parts = [tape.digest, code, function, repr(sorted(settings.items())), repr(form), target.identity, emitter_digest()]
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()

    begin, origin = perf_counter(), "found in the cache"
    about = {"work": "compiling", "function": tape.name, "owner": owner}

    def make() -> bytes:
        nonlocal origin
        origin = "made"
        LOG.debug("%s, %s for %s: to be made", tape.name, function, np.dtype(code), extra=about)
        return assemble(KERNELS[function](tape, FORMATS[code], target.has_fma, form, **settings), target, tape.name)

    image = disk.fetch(key, make)
    loaded = Code(image, function)
    seconds = perf_counter() - begin
    LOG.info(
        "%s, %s for %s: %d bytes of machine code %s in %.3f s",
        *(tape.name, function, np.dtype(code), len(image), origin, seconds),
        extra=about | {"seconds": seconds, "made": origin == "made", "key": key},
    )
    return loaded


@cache
def emitter_digest() -> str:
    """A hash of the sources of everything between a tape and its object file, computed once a process."""
    names = [f"{emit.__name__}.{module.name}" for module in pkgutil.iter_modules(emit.__path__)]
    total = hashlib.sha256()
    names += [each.__module__ for each in (Op, Tape, Program, split, objects, Code)]
    for name in sorted(names):
        module: Any = importlib.import_module(name)
        total.update(name.encode() + hashlib.sha256(module.__loader__.get_data(module.__file__)).digest())
    return total.hexdigest()
