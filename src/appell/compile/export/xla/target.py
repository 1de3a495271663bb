"""Kernels that XLA knows by name: registered once, under the hash of what they compute, and kept for good.

XLA holds the address of a handler as long as the process lives, so nothing that is registered is ever let go. Which
version of the foreign-function interface an installed jaxlib speaks stands in the header that it brings along; with one
that has not been tried there are no kernels, and the reason says so.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.compile.export.xla.handler import handler_plan, handler_text
from appell.compile.native.machine import Code, assemble
from appell.compile.native.making import MAKING
from appell.compile.native.target import host

if TYPE_CHECKING:
    from appell.compile.function import Function

TRIED = ((0, 1), (0, 2), (0, 3))  # versions of the interface, of jaxlib 0.5 to 0.10: their structures are the same

_registered: dict[str, tuple[Any, ...]] = {}  # by name: all that machine code and XLA point to


@cache
def interface() -> tuple[tuple[int, int], str]:
    """The version of the interface of the installed jaxlib, and why kernels cannot be called by it, if they cannot."""
    import jax

    try:
        header = Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h"
        text = header.read_text(encoding="utf-8")
        major, minor = (int(re.findall(rf"#define XLA_FFI_API_{part} (\d+)", text)[0]) for part in ("MAJOR", "MINOR"))
    except (AttributeError, OSError, IndexError):
        return (0, 0), f"jaxlib {version('jaxlib')} does not say which foreign-function interface it has"
    if (major, minor) not in TRIED or ctypes.sizeof(ctypes.c_void_p) != 8:
        known = ", ".join(f"{major}.{minor}" for major, minor in TRIED)
        return (major, minor), (
            f"the foreign-function interface of jaxlib {version('jaxlib')} has version {major}.{minor}; "
            f"kernels have been tried with {known}, on machines of 64 bits"
        )
    return (major, minor), ""


def target(function: Function, dtype: Any) -> str:
    """The name under which XLA finds the kernel of a function for float64 or float32."""
    import jax

    kind, (spoken, _) = np.dtype(dtype), interface()
    key = "\n".join([function.fused.digest, kind.str, host().identity])
    name = f"appell_{re.sub(r'[^A-Za-z0-9_]', '_', function.name)}_{hashlib.sha256(key.encode()).hexdigest()[:24]}"
    with MAKING:
        if name not in _registered:
            loop = function.loop(kind)
            plan = handler_plan(function.fused, kind.itemsize, loop.address)
            code = Code(assemble(handler_text(spoken, plan), host(), name), "handler")
            _registered[name] = (code, loop, plan)
            jax.ffi.register_ffi_target(name, _capsule(code.address), platform="cpu", api_version=1)
    return name


def _capsule(address: int) -> Any:
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(address, None, None)
