"""A function as C99: one file and its header, which compute the bits of the compiled function.

    code = dyn.inverse_dynamics.to_c("arm_torques")
    code.write("firmware")                                arm_torques.c, arm_torques.h

No memory is asked for, nothing is kept between calls, and nothing but the standard headers is included. What is written
is the fused formula that the machine code is made of, statement by statement; sine, cosine and arctangent come with it,
so that no library decides about the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.compile.count import OpCount
from appell.compile.export.c.names import function_name, identifier, quoted_owner
from appell.compile.export.c.page import PageExtras, page
from appell.compile.export.c.statements import lanes_of
from appell.errors import ArgumentError

if TYPE_CHECKING:
    from appell.compile.export.face import Exports


@dataclass(frozen=True)
class CSource:
    """A file of C and its header; `name` is that of the function and of the files."""

    name: str
    source: str = field(repr=False)
    header: str = field(repr=False)
    count: OpCount

    def write(self, folder: str | Path, overwrite: bool = False) -> tuple[Path, Path]:
        """Write both files into a folder, which is made if need be; one that is there is kept unless `overwrite`."""
        return write_files(folder, {f"{self.name}.c": self.source, f"{self.name}.h": self.header}, overwrite)


def write_files(folder: str | Path, texts: dict[str, str], overwrite: bool) -> Any:
    """Write texts as files of a folder, all or none of them."""
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise ArgumentError(f"'{place}' is a file.", expected="a folder for the files of C")
    paths = {place / name: text for name, text in texts.items()}
    if not overwrite and (there := [str(path) for path in paths if path.exists()]):
        raise ArgumentError(f"{', '.join(there)} exists already.", hint="overwrite=True, or another folder or name")
    place.mkdir(parents=True, exist_ok=True)
    for path, text in paths.items():
        path.write_text(text, encoding="utf-8")
    return tuple(paths)


def checked_dtype(dtype: Any) -> np.dtype:
    """float64 or float32."""
    try:
        kind = np.dtype(dtype)
    except TypeError:
        kind = np.dtype(object)
    if kind not in (np.float64, np.float32):
        raise ArgumentError(f"C code for {dtype!r} is not to be had.", expected="float64 (double) or float32 (float)")
    return kind


def symbol(function: Exports, name: str | None) -> str:
    """What a function is called in C: `name`, by default the names of the robot and of the function."""
    if name is not None:
        return function_name(name)
    return identifier(f"{quoted_owner(function.owner) or 'appell'}_{function.name}")


def c_source(
    function: Exports, name: str | None = None, dtype: Any = np.float64, more: PageExtras | None = None
) -> CSource:
    """The function for one sample and for batches, called `name`; by default by the names of the robot and its own."""
    prefix = symbol(function, name)
    if prefix in {array.name for array in (*function.inputs, *function.outputs)}:
        raise ArgumentError(f"name '{prefix}' is that of an argument or a result.", expected="another name")
    made = page(prefix, function, lanes_of(checked_dtype(dtype)), more or PageExtras())
    return CSource(prefix, made.source, made.header, function.count())
