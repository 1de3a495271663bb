"""The methods by which a Function leaves for other languages.

f.to_c("pendulum")           C99 source and header, for a microcontroller or any program
f.to_casadi()                a casadi.Function of SX symbols, with the same names
f.to_jax()                   a function of JAX arrays: jit, vmap, grad
f.to_torch()                 a function of PyTorch tensors with autograd
f.to_sympy()                 SymPy expressions, common subexpressions as a list
f.to_latex()                 the same as text for a paper
f.to_json()                  the tape itself, for programs that read it
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from appell.compile.readings import Readings

if TYPE_CHECKING:
    from appell.compile.export.c.source import CSource
    from appell.compile.export.to_sympy import Symbolic
    from appell.compile.function import Function


class Exports(Readings):
    """The part of a `Function` that speaks other languages."""

    def to_c(self, name: str | None = None, *, dtype: Any = np.float64) -> CSource:
        """C99 that computes the same bits: `f.to_c("arm").write("folder")`; all its symbols begin with `name`."""
        from appell.compile.export.c.source import c_source

        return c_source(self, name, dtype)

    def to_casadi(self) -> Any:
        """A `casadi.Function` over SX: same names, a column for a vector, a matrix for a matrix."""
        from appell.compile.export.to_casadi import casadi_function

        return casadi_function(self)

    def to_jax(self, *, native: bool | None = None) -> Any:
        """A function of JAX arrays, by the compiled kernel (`native=True`) or by JAX's own operations (False)."""
        from appell.compile.export.to_jax import jax_function

        return jax_function(cast("Function", self), native)

    def to_torch(self) -> Any:
        """A function of PyTorch tensors, batches by leading axes, with derivatives for autograd."""
        from appell.compile.export.to_torch import torch_function

        return torch_function(cast("Function", self))

    def to_sympy(self) -> Symbolic:
        """Expressions: `.expressions` by result, `.common` the pairs (symbol, expression) that they share."""
        from appell.compile.export.to_sympy import symbolic

        return symbolic(self)

    def to_latex(self) -> str:
        """LaTeX of all results, for small robots."""
        from appell.compile.export.to_latex import latex

        return latex(self)

    def to_json(self) -> str:
        """The tape as text: versioned, described by `appell/compile/export/tape.schema.json`."""
        from appell.compile.export.to_json import tape_json

        return tape_json(self)
