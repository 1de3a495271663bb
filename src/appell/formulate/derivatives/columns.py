"""Many columns solved for with one factor: x = -H⁻¹ c, where H is the inertia matrix of a tree.

H = Lᵀ D L has entries only where one row is inboard of the other. The entries of a column reach the rows inboard of
them; call all of these C and the others O. Nothing in C depends on O, so that

    z = L_CC⁻ᵀ c                                            inward, from the rows that c has                      (1)
    x_C = -L_CC⁻¹ D_C⁻¹ z                                   outward to them                                        (2)
    x_O = T x_C            T = -L_OO⁻¹ L_OC                 what hangs on them follows                            (3)

T has entries only where a limb of O meets C, and is the same for all columns that reach the limb from there: what a leg
does when the pelvis accelerates. Columns of one limb have the same C, so that one step does for all of them, and a
loop takes them turn by turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from appell.algebra.loops import Loops, Rows
from appell.algebra.scalar import Scalar, Vector, is_number
from appell.algebra.solve import LDL

NEAR = 1.3  # times as many rows: near enough
Meeting = tuple[int, ...]  # the rows of C that a row of O hangs on


def solved_columns(factor: LDL, columns: Sequence[Vector], loops: Loops) -> list[list[Scalar]]:
    """-H⁻¹ c for every column c."""
    n = len(factor.lower)
    inboard = [[i for i in range(k) if not _is_zero(factor.lower[k][i])] for k in range(n)]
    groups = _by_rows(columns, _all_inboard(inboard))
    tree = _Factor.of(factor, inboard, groups)
    shared = loops.given([tree.scalars])
    found: list[list[Scalar]] = [[0.0] * n for _ in columns]
    for rows, group in groups.items():

        def step(scalars: Vector, right: Vector, rows: Sequence[int] = rows) -> list[list[Scalar]]:
            return [tree.on(scalars).solve(rows, right)]

        given = loops.given([[columns[k][row] for row in rows] for k in group])
        answers = loops.table(len(group), n)
        turns, first = range(len(group)), [0] * len(group)
        loops.each([step], first, [Rows(shared, first), Rows(given, turns)], [Rows(answers, turns)])
        for k, answer in zip(group, loops.values(answers), strict=True):
            found[k] = list(answer)
    return found


@dataclass(frozen=True)
class _Factor:
    """L, -1/D and the rows of T, each as the scalars that are not zero."""

    inboard: Sequence[Sequence[int]]
    all_inboard: Sequence[Sequence[int]]
    lower: dict[tuple[int, int], Scalar]
    pivots: list[Scalar]
    across: dict[tuple[int, Meeting], list[Scalar]]

    @staticmethod
    def of(factor: LDL, inboard: Sequence[Sequence[int]], closed: Iterable[Sequence[int]]) -> _Factor:
        lower = {(k, i): factor.lower[k][i] for k, rows in enumerate(inboard) for i in rows}
        found = _Factor(inboard, _all_inboard(inboard), lower, [-pivot for pivot in factor.inverse_pivots], {})
        for rows in closed:
            for k in found._others(rows):
                found._cross(k, found._meeting(k, rows))
        return found

    @property
    def scalars(self) -> list[Scalar]:
        return [*self.lower.values(), *self.pivots, *(x for row in self.across.values() for x in row)]

    def on(self, scalars: Vector) -> _Factor:
        """The same factor with other scalars."""
        given = iter(scalars)
        lower, pivots = {key: next(given) for key in self.lower}, [next(given) for _ in self.pivots]
        across = {(k, meeting): [next(given) for _ in meeting] for k, meeting in self.across}
        return _Factor(self.inboard, self.all_inboard, lower, pivots, across)

    def solve(self, rows: Sequence[int], right: Vector) -> list[Scalar]:
        """x for a column that has these entries in these rows, which are all that it reaches."""
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
            meeting = self._meeting(k, rows)
            x[k] = sum((t * x[i] for t, i in zip(self.across[k, meeting], meeting, strict=True)), 0.0)
        return [x[k] for k in range(len(self.inboard))]

    def _others(self, rows: Sequence[int]) -> list[int]:
        return [k for k in range(len(self.inboard)) if k not in set(rows)]

    def _meeting(self, k: int, rows: Iterable[int]) -> Meeting:
        reached = set(rows)
        return tuple(i for i in self.all_inboard[k] if i in reached)

    def _cross(self, k: int, meeting: Meeting) -> list[Scalar]:
        """A row of T."""
        if (k, meeting) not in self.across:
            row: dict[int, Scalar] = {i: -self.lower.get((k, i), 0.0) for i in meeting}
            for m in self.inboard[k]:
                if m not in row:
                    own = self._meeting(m, meeting)
                    for i, t in zip(own, self._cross(m, own), strict=True):
                        row[i] = row[i] - self.lower[k, m] * t
            self.across[k, meeting] = list(row.values())
        return self.across[k, meeting]


def _all_inboard(inboard: Sequence[Sequence[int]]) -> list[list[int]]:
    """The rows inboard of each row, and those inboard of them."""
    found: list[set[int]] = []
    for rows in inboard:
        found.append(set(rows).union(*(found[row] for row in rows)))
    return [sorted(rows) for rows in found]


def _by_rows(columns: Sequence[Vector], inboard: Sequence[Sequence[int]]) -> dict[tuple[int, ...], list[int]]:
    """The columns by the rows that an inward pass reaches from their limbs; without columns that have no entries.

    Columns with a few rows less than others are taken as if they had them, to be turns of the same loop.
    """
    limb = _limbs(inboard)
    reached: dict[frozenset[int], list[int]] = {}
    for number, column in enumerate(columns):
        touched = {limb[row] for row, entry in enumerate(column) if not _is_zero(entry)}
        if touched:
            rows = {row for row, own in enumerate(limb) if own in touched}
            closed = frozenset(rows.union(*(inboard[row] for row in rows)))
            reached.setdefault(closed, []).append(number)
    found: dict[frozenset[int], list[int]] = {}
    for own, group in sorted(reached.items(), key=lambda item: -len(item[0])):
        hosts = [host for host in found if own <= host and len(host) <= NEAR * len(own)]
        found.setdefault(min(hosts, key=len, default=own), []).extend(group)
    return {tuple(sorted(own)): group for own, group in found.items()}


def _limbs(inboard: Sequence[Sequence[int]]) -> list[int]:
    """For each row the first row of its limb: a limb goes on where a row is the only one next to another."""
    last = [max(rows, default=None) for rows in inboard]
    found: list[int] = []
    for k, row in enumerate(last):
        found.append(k if row is None or last.count(row) > 1 else found[row])
    return found


def _is_zero(x: Scalar) -> bool:
    return is_number(x) and x == 0.0
