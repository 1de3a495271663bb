"""What a formula is in C, be it a tape or a program: statements for one sample, and for a block of a batch."""

from __future__ import annotations

from dataclasses import dataclass

from appell.compile.export.c.signature import Signature

LANES = "@P@_IVDEP\n        for (l_ = 0; l_ < @W@; ++l_)\n"  # the loop that becomes vectors


@dataclass(frozen=True)
class CBody:
    """Functions, and the statements that call them; both set bits of `flag_` where something is not as usual.

    The arrays are called as in the signature; a block of @W@ samples begins at sample i_ of n_, and its results have
    the same names with a '_'.
    """

    functions: str
    one: str
    lanes: str
    frame: int = 0  # numbers of a sample that wait in `frame_`


def restricted(signature: Signature) -> str:
    """Parameters that do not meet."""
    return signature.pointers.replace("*", "*restrict ")
