"""Solution of x = -H⁻¹ c for many columns c with one factorisation, where H is the inertia matrix of a tree.

H = Lᵀ D L has entries only where one row is inboard of the other. The non-zero entries of a column affect the rows
inboard of them; call all of these rows C and the others O. Rows in C do not depend on O, so that

    z = L_CC⁻ᵀ c                                            inward, from the non-zero rows of c                   (1)
    x_C = -L_CC⁻¹ D_C⁻¹ z                                   outward to them                                        (2)
    x_O = T x_C            T = -L_OO⁻¹ L_OC                 rows of limbs attached to C                           (3)

T has entries only where a limb of O is attached to C, and is the same for all columns with the same attachment: the
motion of a leg when the pelvis accelerates. Columns of one limb have the same C, so that one loop body serves all of
them, with one column per iteration.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from appell.algebra.loops import Loops, Rows
from appell.algebra.scalar import Scalar, Vector, is_zero
from appell.algebra.solve import LDL

MAX_PADDING = 1.3  # a column may share the loop of columns with up to this many times its rows
Attachment = tuple[int, ...]  # the rows of C inboard of a row of O


def solved_columns(factor: LDL, columns: Sequence[Vector], loops: Loops) -> list[list[Scalar]]:
    """-H⁻¹ c for every column c."""
    n = len(factor.lower)
    inboard = [[i for i in range(k) if not is_zero(factor.lower[k][i])] for k in range(n)]
    groups = _by_rows(columns, _all_inboard(inboard))
    tree = _Factor.of(factor, inboard, groups)
    shared = loops.given([tree.scalars])
    solutions: list[list[Scalar]] = [[0.0] * n for _ in columns]
    for rows, group in groups.items():

        def step(scalars: Vector, right: Vector, rows: Sequence[int] = rows) -> list[list[Scalar]]:
            return [tree.on(scalars).solve(rows, right)]

        given = loops.given([[columns[k][row] for row in rows] for k in group])
        results = loops.table(len(group), n)
        iterations, first = range(len(group)), [0] * len(group)
        loops.each([step], first, [Rows(shared, first), Rows(given, iterations)], [Rows(results, iterations)])
        for k, solution in zip(group, loops.values(results), strict=True):
            solutions[k] = list(solution)
    return solutions


@dataclass(frozen=True)
class _Factor:
    """Non-zero scalars of L, of -1/D and of the rows of T."""

    inboard: Sequence[Sequence[int]]
    all_inboard: Sequence[Sequence[int]]
    lower: dict[tuple[int, int], Scalar]
    pivots: list[Scalar]
    across: dict[tuple[int, Attachment], list[Scalar]]  # rows of T, by row of O and its attachment

    @staticmethod
    def of(factor: LDL, inboard: Sequence[Sequence[int]], closed: Iterable[Sequence[int]]) -> _Factor:
        lower = {(k, i): factor.lower[k][i] for k, rows in enumerate(inboard) for i in rows}
        result = _Factor(inboard, _all_inboard(inboard), lower, [-pivot for pivot in factor.inverse_pivots], {})
        for rows in closed:
            for k in result._others(rows):
                result._cross(k, result._attachment(k, rows))
        return result

    @property
    def scalars(self) -> list[Scalar]:
        return [*self.lower.values(), *self.pivots, *(x for row in self.across.values() for x in row)]

    def on(self, scalars: Vector) -> _Factor:
        """The same factor with other scalars."""
        remaining = iter(scalars)
        lower, pivots = {key: next(remaining) for key in self.lower}, [next(remaining) for _ in self.pivots]
        across = {(k, attachment): [next(remaining) for _ in attachment] for k, attachment in self.across}
        return _Factor(self.inboard, self.all_inboard, lower, pivots, across)

    def solve(self, rows: Sequence[int], right: Vector) -> list[Scalar]:
        """x for a column with these entries in these rows, which are all rows C of the column."""
        z = dict(zip(rows, right, strict=True))
        for k in reversed(rows):  # (1)
            for i in self.inboard[k]:
                z[i] = z[i] - self.lower[k, i] * z[k]
        x: dict[int, Scalar] = {}
        for k in rows:  # (2)
            x[k] = self.pivots[k] * z[k]
            for i in self.inboard[k]:
                x[k] = x[k] - self.lower[k, i] * x[i]
        for k in self._others(rows):  # (3)
            attachment = self._attachment(k, rows)
            x[k] = sum((t * x[i] for t, i in zip(self.across[k, attachment], attachment, strict=True)), 0.0)
        return [x[k] for k in range(len(self.inboard))]

    def _others(self, rows: Sequence[int]) -> list[int]:
        return [k for k in range(len(self.inboard)) if k not in set(rows)]

    def _attachment(self, k: int, rows: Iterable[int]) -> Attachment:
        reached = set(rows)
        return tuple(i for i in self.all_inboard[k] if i in reached)

    def _cross(self, k: int, attachment: Attachment) -> list[Scalar]:
        """Compute a row of T."""
        if (k, attachment) not in self.across:
            row: dict[int, Scalar] = {i: -self.lower.get((k, i), 0.0) for i in attachment}
            for m in self.inboard[k]:
                if m not in row:
                    inner = self._attachment(m, attachment)
                    for i, t in zip(inner, self._cross(m, inner), strict=True):
                        row[i] = row[i] - self.lower[k, m] * t
            self.across[k, attachment] = list(row.values())
        return self.across[k, attachment]


def _all_inboard(inboard: Sequence[Sequence[int]]) -> list[list[int]]:
    """All rows inboard of each row, from those directly coupled with it."""
    closure: list[set[int]] = []
    for rows in inboard:
        closure.append(set(rows).union(*(closure[row] for row in rows)))
    return [sorted(rows) for rows in closure]


def _by_rows(columns: Sequence[Vector], inboard: Sequence[Sequence[int]]) -> dict[tuple[int, ...], list[int]]:
    """Group the indices of non-zero columns by the rows C that an inward pass reaches from their limbs.

    Columns with slightly fewer rows than others are padded with zeros, so that they are iterations of the same loop.
    """
    limb = _limbs(inboard)
    reached: dict[frozenset[int], list[int]] = {}
    for index, column in enumerate(columns):
        limbs = {limb[row] for row, entry in enumerate(column) if not is_zero(entry)}
        if limbs:
            rows = {row for row, first in enumerate(limb) if first in limbs}
            closed = frozenset(rows.union(*(inboard[row] for row in rows)))
            reached.setdefault(closed, []).append(index)
    groups: dict[frozenset[int], list[int]] = {}
    for closed, group in sorted(reached.items(), key=lambda item: -len(item[0])):
        hosts = [host for host in groups if closed <= host and len(host) <= MAX_PADDING * len(closed)]
        groups.setdefault(min(hosts, key=len, default=closed), []).extend(group)
    return {tuple(sorted(closed)): group for closed, group in groups.items()}


def _limbs(inboard: Sequence[Sequence[int]]) -> list[int]:
    """First row of the limb of each row; a limb continues where a row is the only one attached to another."""
    last = [max(rows, default=None) for rows in inboard]
    first: list[int] = []
    for k, row in enumerate(last):
        first.append(k if row is None or last.count(row) > 1 else first[row])
    return first
