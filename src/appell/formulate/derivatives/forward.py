"""Derivatives of forward dynamics from those of inverse dynamics.

τ(q, v, a(q, v, τ)) = τ for every q, v and τ, so that with M = ∂τ/∂a

    ∂a/∂q = -M⁻¹ ∂τ/∂q            ∂a/∂v = -M⁻¹ ∂τ/∂v            ∂a/∂τ = M⁻¹            at a = a(q, v, τ)         (1)

M is factorised once, leaves first, without any entry where M has none; then every column is solved for.
"""

from __future__ import annotations

from collections.abc import Collection

from appell.algebra.solve import LDL
from appell.formulate.derivatives.inverse import Derivatives, Matrix


def forward_dynamics_derivatives(forces: Derivatives, wanted: Collection[str]) -> dict[str, Matrix]:
    """(1) for those of q, v and tau that are wanted; `forces` are the derivatives of τ at the a that is found."""
    factor = LDL.of(forces.by_a)
    found = {}
    if "tau" in wanted:
        found["tau"] = factor.inverse()
    for name, matrix in (("q", forces.by_q), ("v", forces.by_v)):
        if name in wanted:
            columns = [factor.solve([-x for x in column]) for column in zip(*matrix, strict=True)]
            found[name] = [list(row) for row in zip(*columns, strict=True)]
    return found
