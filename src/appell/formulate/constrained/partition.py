"""Partition of constraint rows and velocities: active rows, independent velocities, and blocks to solve together.

The partition is computed once, from the rows K at some configurations on the manifold, and does not change later: a row
that appears independent slightly off the manifold would remove a degree of freedom that exists.

Rows are processed in order. A row that earlier rows imply at every sample is redundant and carries no force; the other
rows are active. For the active rows, complete pivoting with a threshold selects entries that are large at all samples:
of velocities in few constraints first, then of those farthest from the root. A base, a platform or a crank thus stays
independent, and so do the requested velocities where possible. The dependent velocities and their rows then form
blocks: one per loop, or one for several loops that share joints. A block depends on other blocks whose velocities
appear in its rows, which determines the order of solution.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from appell.algebra.solve import BLOCK_CONDITION_LIMIT, MatrixBlock

IMPLIED_TOLERANCE = 1e-7  # part of a row, relative to its length, that earlier rows may not imply; samples have 1e-12
SINGULAR_RATIO = 1e-6  # samples whose smallest singular value is below this fraction of the median are ignored
PIVOT_THRESHOLD = 0.03  # smallest pivot relative to the largest entry; admits wheels of 0.1 m next to lengths of 1 m
PREFERRED_THRESHOLD = 1e-3  # the same for avoiding pivots in velocities that should be independent


@dataclass(frozen=True)
class Partition:
    """Indices of active and redundant rows and of independent velocities, and blocks of the square matrix.

    The square matrix consists of the active rows, followed by the rows of the independent velocities. `independent` are
    velocities of the tree, whose rows are unit vectors; it is empty if custom rows define the independent velocities.
    """

    active: tuple[int, ...]
    implied: tuple[int, ...]
    independent: tuple[int, ...]
    blocks: tuple[MatrixBlock, ...]

    @property
    def rank(self) -> int:
        return len(self.active)


def implied_rows(K: np.ndarray) -> tuple[int, ...]:
    """Indices of the rows of K (samples, rows, velocities) that earlier rows imply at every sample."""
    bases: list[list[np.ndarray]] = [[] for _ in K]
    implied = []
    for i in range(K.shape[1]):
        residuals, ratios = [], []
        for sample, basis in zip(K, bases, strict=True):
            residual = sample[i].copy()
            for _ in range(2):  # Gram-Schmidt twice is accurate to rounding
                for unit in basis:
                    residual -= (unit @ residual) * unit
            length = np.linalg.norm(sample[i])
            residuals.append(residual)
            ratios.append(np.linalg.norm(residual) / length if length else 0.0)
        if max(ratios) < IMPLIED_TOLERANCE:
            implied.append(i)
            continue
        for residual, ratio, basis in zip(residuals, ratios, bases, strict=True):
            if ratio > IMPLIED_TOLERANCE:
                basis.append(residual / np.linalg.norm(residual))
    return tuple(implied)


def partition(
    K: np.ndarray,
    depth: Sequence[int],
    owners: Sequence[str],
    *,
    independent: Collection[int] = (),
    preferred: Collection[int] = (),
    custom_rows: np.ndarray | None = None,
) -> Partition | None:
    """Partition the rows of constraints.

    Parameters
    ----------
    K : ndarray (samples, rows, velocities)
        Rows at sample configurations.
    depth : sequence of int
        Depth of each velocity in the tree.
    owners : sequence of str
        Name of the constraint of each row.
    independent : collection of int
        Velocities that must be independent.
    preferred : collection of int
        Velocities that should be independent.
    custom_rows : ndarray (samples, freedoms, velocities), optional
        Rows that define the independent velocities instead.

    Returns
    -------
    Partition or None
        None if the requested velocities cannot be independent.
    """
    implied = implied_rows(K)
    active = tuple(i for i in range(K.shape[1]) if i not in implied)
    A = _regular_samples(K[:, active])
    constraint_counts = [len({owners[i] for i in active if (K[:, i, k] != 0.0).any()}) for k in range(K.shape[2])]
    order = [(count, -level) for count, level in zip(constraint_counts, depth, strict=True)]
    if custom_rows is not None:
        A = np.concatenate([A, custom_rows[: len(A)]], axis=1)
        pairs = _pivots(A, order)
        return None if pairs is None else Partition(active, implied, (), _blocks(A, pairs))
    pairs = _pivots(A, order, forbidden=independent, preferred=preferred)
    if pairs is None:
        return None
    free = tuple(k for k in range(K.shape[2]) if k not in pairs.values())
    units = tuple(MatrixBlock((len(active) + k,), (column,), 1.0) for k, column in enumerate(free))
    return Partition(active, implied, free, (*units, *_blocks(A, pairs)))


def _regular_samples(A: np.ndarray) -> np.ndarray:
    """Samples that are not at singular configurations; all of them if most are."""
    if not A.shape[1]:
        return A
    smallest = np.linalg.svd(A, compute_uv=False).min(axis=-1)
    return A[smallest >= SINGULAR_RATIO * np.median(smallest)]


def _pivots(
    A: np.ndarray, order: Sequence[tuple[int, int]], forbidden: Collection[int] = (), preferred: Collection[int] = ()
) -> dict[int, int] | None:
    """Choose a velocity for every row, by large entries and the order of velocities; None if that is impossible."""
    A = A.copy()
    size = np.abs(A).max(axis=(0, 2), initial=0.0)
    rows = list(range(A.shape[1]))
    columns = [k for k in range(A.shape[2]) if k not in forbidden]
    chosen: dict[int, int] = {}
    while rows:
        smallest = np.abs(A[:, rows][:, :, columns]).min(axis=0) / size[rows, None]
        if not columns or smallest.max() * BLOCK_CONDITION_LIMIT <= 1.0:
            return None
        other = np.array([k not in preferred for k in columns])
        use_others = other.any() and smallest[:, other].max() > PREFERRED_THRESHOLD * smallest.max()
        candidates = other if use_others else other | True
        large = (smallest >= PIVOT_THRESHOLD * smallest[:, candidates].max()) & candidates
        entries = list(zip(*np.nonzero(large), strict=True))
        i, k = min(entries, key=lambda at: (order[columns[at[1]]], -at[1], -smallest[at]))
        row, column = rows.pop(i), columns.pop(k)
        chosen[row] = column
        A[:, rows] -= (A[:, rows, column] / A[:, row, column, None])[:, :, None] * A[:, row, None]
    return chosen


def _blocks(A: np.ndarray, pairs: dict[int, int]) -> tuple[MatrixBlock, ...]:
    """Blocks of rows that depend on each other's velocities, each block after those on which it depends."""
    rows = list(pairs)
    columns = [pairs[row] for row in rows]
    needs = (A[:, rows][:, :, columns] != 0.0).any(axis=0) | np.eye(len(rows), dtype=bool)
    while True:  # transitive closure
        more = needs @ needs
        if (more == needs).all():
            break
        needs = more
    together = needs & needs.T
    first = sorted({int(row.argmax()) for row in together}, key=lambda k: (needs[k].sum(), k))
    blocks = []
    for k in first:
        members = np.flatnonzero(together[k])
        block_rows, block_columns = tuple(rows[i] for i in members), tuple(columns[i] for i in members)
        size = np.linalg.norm(A[:, block_rows][:, :, block_columns], axis=(1, 2)).max()
        blocks.append(MatrixBlock(block_rows, block_columns, float(size)))
    return tuple(blocks)
