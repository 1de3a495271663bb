"""Which rows carry forces, which velocities follow from the others, and which of them must be solved for together.

All this is decided once, from the rows K at some configurations on the manifold, and is frozen: a row that looks
independent a little off the manifold would take a freedom away that is there.

Rows are taken in order; one that earlier rows imply at every sample carries no force. Of what is left, complete
pivoting with a threshold looks for entries that are large at all samples: of velocities in few constraints first, then
of those farthest from the root, so that a base, a platform or a crank stays independent, and whatever somebody
asked for, wherever that can be. The velocities that were found to depend on others, and the rows that tell them, then
fall into blocks: one a loop, or a few loops that share joints. A block needs those whose velocities its rows speak of,
so that there is an order.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from appell.algebra.solve import BLOCK_CONDITION_LIMIT, MatrixBlock

IMPLIED = 1e-7  # of a row's length: what is left of it by earlier rows, where samples are exact to 1e-12
SINGULAR = 1e-6  # of the usual: the smallest singular value at a sample that tells nothing about others
THRESHOLD = 0.03  # of the largest entry: one that may be a pivot; wheels of 0.1 m beside lengths of 1 m pass
RELUCTANT = 1e-3  # the same for velocities that somebody wants to be independent


@dataclass(frozen=True)
class Partition:
    """`kept` rows and below them those of the independent velocities make a square matrix of some `blocks`.

    `independent` are velocities of the tree, whose rows are unit vectors; none where others were asked for.
    """

    kept: tuple[int, ...]
    implied: tuple[int, ...]
    independent: tuple[int, ...]
    blocks: tuple[MatrixBlock, ...]

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
    owners: Sequence[str],
    *,
    independent: Collection[int] = (),
    preferred: Collection[int] = (),
    quasi: np.ndarray | None = None,
) -> Partition | None:
    """The partition of rows K (samples, rows, velocities), None if these velocities cannot be independent.

    `depth` tells how far a velocity is from the root, `owners` the constraint of every row, `independent` which
    velocities must be independent, `preferred` which ones should be; `quasi` are the rows of other independent
    velocities (samples, freedoms, velocities) in their place.
    """
    implied = implied_rows(K)
    kept = tuple(i for i in range(K.shape[1]) if i not in implied)
    A = _telling(K[:, kept])
    spoken = [len({owners[i] for i in kept if (K[:, i, k] != 0.0).any()}) for k in range(K.shape[2])]
    order = [(count, -far) for count, far in zip(spoken, depth, strict=True)]
    if quasi is not None:
        A = np.concatenate([A, quasi[: len(A)]], axis=1)
        pairs = _pairs(A, order)
        return None if pairs is None else Partition(kept, implied, (), _blocks(A, pairs))
    pairs = _pairs(A, order, forbidden=independent, reluctant=preferred)
    if pairs is None:
        return None
    free = tuple(k for k in range(K.shape[2]) if k not in pairs.values())
    units = tuple(MatrixBlock((len(kept) + k,), (column,), 1.0) for k, column in enumerate(free))
    return Partition(kept, implied, free, (*units, *_blocks(A, pairs)))


def _telling(A: np.ndarray) -> np.ndarray:
    """The samples that are no singular configurations; all, if all are."""
    if not A.shape[1]:
        return A
    smallest = np.linalg.svd(A, compute_uv=False).min(axis=-1)
    return A[smallest >= SINGULAR * np.median(smallest)]


def _pairs(
    A: np.ndarray, order: Sequence[tuple[int, int]], forbidden: Collection[int] = (), reluctant: Collection[int] = ()
) -> dict[int, int] | None:
    """A velocity for every row, by large entries in an order of velocities; None if there are not enough of them."""
    A = A.copy()
    size = np.abs(A).max(axis=(0, 2), initial=0.0)
    rows = list(range(A.shape[1]))
    columns = [k for k in range(A.shape[2]) if k not in forbidden]
    found: dict[int, int] = {}
    while rows:
        least = np.abs(A[:, rows][:, :, columns]).min(axis=0) / size[rows, None]
        if not columns or least.max() * BLOCK_CONDITION_LIMIT <= 1.0:
            return None
        shy = np.array([k in reluctant for k in columns])
        willing = ~shy if not shy.all() and least[:, ~shy].max() > RELUCTANT * least.max() else shy | True
        good = (least >= THRESHOLD * least[:, willing].max()) & willing
        places = list(zip(*np.nonzero(good), strict=True))
        i, k = min(places, key=lambda at: (order[columns[at[1]]], -at[1], -least[at]))
        row, column = rows.pop(i), columns.pop(k)
        found[row] = column
        A[:, rows] -= (A[:, rows, column] / A[:, row, column, None])[:, :, None] * A[:, row, None]
    return found


def _blocks(A: np.ndarray, pairs: dict[int, int]) -> tuple[MatrixBlock, ...]:
    """Rows that need each other's velocities together, each block after those that it needs."""
    rows = list(pairs)
    columns = [pairs[row] for row in rows]
    needs = (A[:, rows][:, :, columns] != 0.0).any(axis=0) | np.eye(len(rows), dtype=bool)
    while True:  # whatever is needed by what is needed
        more = needs @ needs
        if (more == needs).all():
            break
        needs = more
    together = needs & needs.T
    first = sorted({int(row.argmax()) for row in together}, key=lambda k: (needs[k].sum(), k))
    found = []
    for k in first:
        members = np.flatnonzero(together[k])
        own, theirs = tuple(rows[i] for i in members), tuple(columns[i] for i in members)
        size = np.linalg.norm(A[:, own][:, :, theirs], axis=(1, 2)).max()
        found.append(MatrixBlock(own, theirs, float(size)))
    return tuple(found)
