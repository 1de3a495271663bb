"""Kernels that XLA knows by name: registered once, under the hash of what they compute, and kept for good.

XLA holds the address of a handler as long as the process lives, so nothing that is registered is ever let go. Which
version of the foreign-function interface an installed jaxlib speaks stands in the header that it brings along; with one
that has not been tried there are no kernels, and the reason says so.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.compile.emit.core_axes import EVERY, ROWS, CoreAxes, formula_axes, march_axes
from appell.compile.export.xla.handler import handler_plan, handler_text
from appell.compile.native.machine import Code, assemble
from appell.compile.native.making import MAKING
from appell.compile.native.target import host

if TYPE_CHECKING:
    from appell.compile.function import Function
    from appell.compile.marching.march import March

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
    axes = formula_axes(function.fused)
    return _named(function.name, f"loop {function.fused.digest}", function.loop, np.dtype(dtype), axes, {})


def march_target(march: March, dtype: Any, steps: int, backward: bool) -> str:
    """The same of a march of so many steps, all of which are told; `backward` begins with the last."""
    step, still = march.step.fused, len(march.horizon.carried) + len(march.horizon.held)
    content = f"march {len(march.horizon.carried)} {still} {steps} {backward} {step.digest}"
    axes, lengths = march_axes(step, still), {ROWS: steps, EVERY: 1}
    return _named(march.name, content, march.loop, np.dtype(dtype), axes, lengths, ROWS if backward else "")


def _named(
    name: str,
    content: str,
    loop: Callable[[np.dtype], Code],
    kind: np.dtype,
    axes: CoreAxes,
    lengths: Mapping[str, int],
    backward: str = "",
) -> str:
    import jax

    spoken, _ = interface()
    key = hashlib.sha256("\n".join([content, kind.str, host().identity]).encode()).hexdigest()
    found = f"appell_{re.sub(r'[^A-Za-z0-9_]', '_', name)}_{key[:24]}"
    with MAKING:
        if found not in _registered:
            kernel = loop(kind)
            plan = handler_plan(axes, lengths, kind.itemsize, kernel.address, backward)
            code = Code(assemble(handler_text(spoken, plan), host(), found), "handler")
            _registered[found] = (code, kernel, plan)
            jax.ffi.register_ffi_target(found, _capsule(code.address), platform="cpu", api_version=1)
    return found


def _capsule(address: int) -> Any:
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(address, None, None)
