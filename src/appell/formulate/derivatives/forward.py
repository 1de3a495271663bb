"""Derivatives of forward dynamics from those of inverse dynamics.

τ(q, v, a(q, v, τ)) = τ for all q, v and τ, so that with M = ∂τ/∂a

    ∂a/∂q = -M⁻¹ ∂τ/∂q            ∂a/∂v = -M⁻¹ ∂τ/∂v            ∂a/∂τ = M⁻¹            at a = a(q, v, τ)         (1)

M is factorised once, leaves first, without fill-in. Then all columns are solved for, including those of the identity
where columns are iterations of loops. M⁻¹ is symmetric; its upper half is copied from the lower. Terms that are known
to be M times a matrix are not solved for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from appell.algebra.loops import UNROLLED, Loops
from appell.algebra.scalar import Vector
from appell.algebra.solve import LDL
from appell.formulate.derivatives.columns import solved_columns
from appell.formulate.derivatives.inverse import Derivatives, Matrix


def forward_dynamics_derivatives(
    forces: Derivatives, wanted: Collection[str], loops: Loops = UNROLLED
) -> dict[str, Matrix]:
    """Derivatives (1) of a with respect to those of q, v and tau in `wanted`.

    `forces` are the derivatives of τ at the acceleration a(q, v, τ).
    """
    factor = LDL.of(forces.by_a)
    n = len(forces.by_a)
    matrices = {"q": forces.by_q, "v": forces.by_v, "tau": _negative_identity(n)}
    inverted = {"tau": factor.inverse()} if loops is UNROLLED and "tau" in wanted else {}
    to_solve = [name for name in matrices if name in wanted and name not in inverted]
    columns = [list(column) for name in to_solve for column in zip(*matrices[name], strict=True)]
    solved = solved_columns(factor, columns, loops)
    result = {name: _transposed(solved[k * n : k * n + n]) for k, name in enumerate(to_solve)} | inverted
    for name, known in (("q", forces.own_q), ("v", forces.own_v)):
        if name in result and known is not None:
            pairs = zip(result[name], known, strict=True)
            result[name] = [[x - y for x, y in zip(*rows, strict=True)] for rows in pairs]
    if "tau" in to_solve:
        result["tau"] = [[result["tau"][max(i, k)][min(i, k)] for k in range(n)] for i in range(n)]
    return result


def _negative_identity(n: int) -> Matrix:
    return [[-1.0 if i == k else 0.0 for k in range(n)] for i in range(n)]


def _transposed(columns: Iterable[Vector]) -> Matrix:
    return [list(row) for row in zip(*columns, strict=True)]
