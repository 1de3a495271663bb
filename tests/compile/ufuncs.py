"""Formulas as ufuncs, compiled for float64 immediately."""

from __future__ import annotations

import numpy as np

from appell.compile.llvm.lanes import Form
from appell.compile.native.gufunc import UfuncLoops
from appell.compile.tape.formula import Formula


def make_ufunc(
    formula: Formula, doc: str = "", form: Form | None = None, scan: tuple[int, int] | None = None
) -> np.ufunc:
    """Return the ufunc of a formula, or of its scan if `scan` gives the numbers of carried and held inputs."""
    loops = UfuncLoops(formula, doc, form, scan)
    loops.load(np.float64)
    return loops.ufunc()
