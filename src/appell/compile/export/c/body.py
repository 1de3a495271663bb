"""What a formula is in C, be it a tape or a program, before it becomes a function for one sample and one for batches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from appell.compile.export.c.signature import Signature
from appell.compile.tape import Array

LANES = "@P@_IVDEP\n        for (l_ = 0; l_ < @W@; ++l_)\n"  # the loop that becomes vectors


@dataclass(frozen=True)
class Body:
    """Functions, and the statements that call them; both set bits of `flag_` where something is not as usual.

    The arrays of one sample are called as in the signature; blocks of @W@ samples have the same names with a '_'.
    """

    functions: str
    one: str
    lanes: str
    frame: int = 0  # numbers of a sample that wait in `frame_`


def unused(arrays: Iterable[Array]) -> str:
    """So that no compiler wonders about an argument that does not matter."""
    return "".join(f"    (void){array.name};\n" for array in arrays) + "    (void)s_;\n"


def restrict(parameters: str) -> str:
    """Pointers that do not meet."""
    return parameters.replace("*", "*restrict ")


def restricted(signature: Signature) -> str:
    return restrict(signature.pointers)
