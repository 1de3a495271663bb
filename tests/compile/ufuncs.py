"""A formula as a ufunc, compiled for float64 at once."""

from __future__ import annotations

import numpy as np

from appell.compile.llvm.lanes import Form
from appell.compile.native.gufunc import UfuncLoops
from appell.compile.tape.formula import Formula


def make_ufunc(
    formula: Formula, doc: str = "", form: Form | None = None, scan: tuple[int, int] | None = None
) -> np.ufunc:
    """The ufunc of a formula; with `scan`, the numbers of carried and held inputs, that of its repetition."""
    loops = UfuncLoops(formula, doc, form, scan)
    loops.load(np.float64)
    return loops.ufunc()
