"""Which rows carry forces, which velocities follow from the others, and in which order they are eliminated.

All this is decided once, from the rows K at some configurations on the manifold, and is frozen: a row that looks
independent a little off the manifold would take a freedom away that is there.

Rows are taken in order; one that earlier rows imply at every sample carries no force. Of what is left, complete
pivoting with a threshold looks for entries that are large at all samples, twice: first for those farthest from the
root, so that a base or a crank stays independent and whatever somebody asked for, wherever that can be; then, among
the velocities that were found to depend on others, for those that fill in least (Markowitz: fewest entries in their
row times fewest in their column).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from appell.algebra.lu import Pivot

IMPLIED = 1e-7  # of a row's length: what is left of it by earlier rows, where samples are exact to 1e-12
SINGULAR = 1e-6  # of the usual: the smallest singular value at a sample that tells nothing about others
THRESHOLD = 0.03  # of the largest entry: one that may be a pivot; wheels of 0.1 m beside lengths of 1 m pass
RELUCTANT = 1e-3  # the same for velocities that somebody wants to be independent
LEAST = 1e-10  # of its size at the samples: below that a pivot counts as zero


@dataclass(frozen=True)
class Partition:
    """`kept` rows and, if no others are, `independent` velocities make a square matrix, eliminated by `pivots`."""

    kept: tuple[int, ...]
    implied: tuple[int, ...]
    independent: tuple[int, ...]
    pivots: tuple[Pivot, ...]

    @property
    def rank(self) -> int:
        return len(self.kept)


def implied_rows(K: np.ndarray) -> tuple[int, ...]:
    """The rows of K (samples, rows, velocities) that earlier ones imply at every sample."""
    bases: list[list[np.ndarray]] = [[] for _ in K]
    implied = []
    for i in range(K.shape[1]):
        rests, shares = [], []
        for sample, basis in zip(K, bases, strict=True):
            rest = sample[i].copy()
            for _ in range(2):  # twice is enough
                for unit in basis:
                    rest -= (unit @ rest) * unit
            length = np.linalg.norm(sample[i])
            rests.append(rest)
            shares.append(np.linalg.norm(rest) / length if length else 0.0)
        if max(shares) < IMPLIED:
            implied.append(i)
            continue
        for rest, share, basis in zip(rests, shares, bases, strict=True):
            if share > IMPLIED:
                basis.append(rest / np.linalg.norm(rest))
    return tuple(implied)


def partition(
    K: np.ndarray,
    depth: Sequence[int],
    *,
    independent: Collection[int] = (),
    preferred: Collection[int] = (),
    quasi: np.ndarray | None = None,
) -> Partition | None:
    """The partition of rows K (samples, rows, velocities), None if these velocities cannot be independent.

    `depth` tells how far a velocity is from the root, `independent` which ones must be independent, `preferred` which
    ones should be; `quasi` are the rows of other independent velocities (samples, freedoms, velocities) in their place.
    """
    implied = implied_rows(K)
    kept = tuple(i for i in range(K.shape[1]) if i not in implied)
    A = _telling(K[:, kept])
    if quasi is not None:
        A = np.concatenate([A, quasi[: len(A)]], axis=1)
        ordered = _pivots(A, [0] * K.shape[2])
        return None if ordered is None else Partition(kept, implied, (), tuple(ordered))
    chosen = _pivots(A, depth, forbidden=independent, reluctant=preferred)
    if chosen is None:
        return None
    others = set(range(K.shape[2])) - {pivot.column for pivot in chosen}
    pivots = _pivots(A, [0] * K.shape[2], forbidden=others) or chosen
    dependent = {pivot.column for pivot in pivots}
    free = tuple(k for k in range(K.shape[2]) if k not in dependent)
    units = [Pivot(len(kept) + k, column, 0.0) for k, column in enumerate(free)]
    return Partition(kept, implied, free, (*units, *pivots))


def _telling(A: np.ndarray) -> np.ndarray:
    """The samples that are no singular configurations; all, if all are."""
    if not A.shape[1]:
        return A
    smallest = np.linalg.svd(A, compute_uv=False).min(axis=-1)
    return A[smallest >= SINGULAR * np.median(smallest)]


def _pivots(
    A: np.ndarray, depth: Sequence[int], forbidden: Collection[int] = (), reluctant: Collection[int] = ()
) -> list[Pivot] | None:
    """Pivots for all rows: large entries, of these the deepest, of these the ones that fill in least."""
    A = A.copy()
    size = np.abs(A).max(axis=(0, 2), initial=0.0)
    rows = list(range(A.shape[1]))
    columns = [k for k in range(A.shape[2]) if k not in forbidden]
    found: list[Pivot] = []
    while rows:
        left = A[:, rows][:, :, columns]
        least = np.abs(left).min(axis=0) / size[rows, None]
        shy = np.array([k in reluctant for k in columns])
        if not columns or least.max() <= LEAST:
            return None
        willing = ~shy if not shy.all() and least[:, ~shy].max() > RELUCTANT * least.max() else shy | True
        good = (least >= THRESHOLD * least[:, willing].max()) & willing
        filled = (left != 0.0).any(axis=0)
        cost = np.outer(filled.sum(axis=1) - 1, filled.sum(axis=0) - 1)
        i, k = min(
            zip(*np.nonzero(good), strict=True), key=lambda at: (-depth[columns[at[1]]], cost[at], -at[1], at[0])
        )
        row, column = rows[i], columns[k]
        pivot = A[:, row, column]
        found.append(Pivot(row, column, LEAST * float(np.abs(pivot).max())))
        rows.remove(row)
        columns.remove(column)
        for other in rows:
            ratio = A[:, other, column] / pivot
            A[:, other] -= ratio[:, None] * A[:, row]
    return found
