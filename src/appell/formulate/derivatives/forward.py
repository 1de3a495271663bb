"""Derivatives of forward dynamics from those of inverse dynamics.

τ(q, v, a(q, v, τ)) = τ for every q, v and τ, so that with M = ∂τ/∂a

    ∂a/∂q = -M⁻¹ ∂τ/∂q            ∂a/∂v = -M⁻¹ ∂τ/∂v            ∂a/∂τ = M⁻¹            at a = a(q, v, τ)         (1)

M is factorised once, leaves first, without any entry where M has none. Then every column is solved for: inward from
the rows that it has, outward to all of them. The columns of one limb have entries in the same rows, so that one step
does for all of them, and a loop takes them turn by turn.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from appell.algebra.loops import UNROLLED, Loops, Rows
from appell.algebra.scalar import Scalar, Vector, is_number
from appell.algebra.solve import LDL
from appell.formulate.derivatives.inverse import Derivatives, Matrix

NEAR = 1.3  # times as many rows: near enough


def forward_dynamics_derivatives(
    forces: Derivatives, wanted: Collection[str], loops: Loops = UNROLLED
) -> dict[str, Matrix]:
    """(1) for those of q, v and tau that are wanted; `forces` are the derivatives of τ at the a that is found."""
    factor = LDL.of(forces.by_a)
    matrices = {"q": forces.by_q, "v": forces.by_v}
    asked = [name for name in matrices if name in wanted]
    columns = [list(column) for name in asked for column in zip(*matrices[name], strict=True)]
    solved = _solved(factor, columns, loops)
    n = len(forces.by_a)
    found = {name: [list(row) for row in zip(*solved[k * n : k * n + n], strict=True)] for k, name in enumerate(asked)}
    return found | ({"tau": factor.inverse()} if "tau" in wanted else {})


def _solved(factor: LDL, columns: Sequence[Vector], loops: Loops) -> list[list[Scalar]]:
    """-H⁻¹ column, for every column."""
    n = len(factor.lower)
    filled = [(k, i) for k in range(n) for i in range(k) if not _is_zero(factor.lower[k][i])]
    entries = [factor.lower[k][i] for k, i in filled] + [-pivot for pivot in factor.inverse_pivots]
    shared = loops.given([entries])
    found: list[list[Scalar]] = [[0.0] * n for _ in columns]
    for rows, group in _by_rows(columns, filled).items():

        def step(entries: Vector, column: Vector, rows: Sequence[int] = rows) -> list[list[Scalar]]:
            lower: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
            for (k, i), entry in zip(filled, entries, strict=False):
                lower[k][i] = entry
            negative = LDL(lower, list(entries[len(filled) :]))
            return [negative.solve(_spread(n, rows, column))]

        given = loops.given([[columns[k][row] for row in rows] for k in group])
        answers = loops.table(len(group), n)
        turns, first = range(len(group)), [0] * len(group)
        loops.each([step], first, [Rows(shared, first), Rows(given, turns)], [Rows(answers, turns)])
        for k, answer in zip(group, loops.values(answers), strict=True):
            found[k] = list(answer)
    return found


def _spread(n: int, rows: Sequence[int], entries: Vector) -> list[Scalar]:
    """A column of n, with these entries in these rows."""
    column: list[Scalar] = [0.0] * n
    for row, entry in zip(rows, entries, strict=True):
        column[row] = entry
    return column


def _by_rows(columns: Sequence[Vector], filled: Sequence[tuple[int, int]]) -> dict[tuple[int, ...], list[int]]:
    """The columns by the rows that an inward pass reaches from their entries; without columns that have none.

    Columns with a few rows less than others are taken as if they had them, to be turns of the same loop.
    """
    inboard: dict[int, set[int]] = {}
    for k, i in filled:
        inboard.setdefault(k, set()).add(i)
    reached: dict[frozenset[int], list[int]] = {}
    for number, column in enumerate(columns):
        rows = {row for row, entry in enumerate(column) if not _is_zero(entry)}
        if rows:
            closed = frozenset(rows.union(*(inboard.get(row, ()) for row in rows)))
            reached.setdefault(closed, []).append(number)
    found: dict[frozenset[int], list[int]] = {}
    for own, group in sorted(reached.items(), key=lambda item: -len(item[0])):
        hosts = [host for host in found if own <= host and len(host) <= NEAR * len(own)]
        found.setdefault(min(hosts, key=len, default=own), []).extend(group)
    return {tuple(sorted(own)): group for own, group in found.items()}


def _is_zero(x: Scalar) -> bool:
    return is_number(x) and x == 0.0
