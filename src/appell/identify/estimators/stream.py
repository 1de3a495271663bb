"""What a fit needs of a record of any length: one small triangle a joint.

The rows of joint j over all samples, [Y_j τ_j], enter a least-squares problem only through their triangle:

    [Y_j τ_j] = Q_j R_j                  ‖Y_j β - τ_j‖² = ‖R_j (β, -1)‖²                                          (1)

Rows are evaluated in blocks; the triangle of a block is stacked on the one so far and reduced again (TSQR), so
memory does not grow with the record. Kept joint by joint, the triangles serve any weights, which need not be
known beforehand. A joint inboard of nothing that a column describes has zeros there; such columns are left out of
its factorisation.

`method="normal"` adds up RᵀR instead: several times faster, at the price of squaring the condition number.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from appell.compile.function import Function
from appell.errors import ArgumentError
from appell.identify.estimators.one_thread import TAMED, one_blas_thread

BLOCK = 4096
METHODS = ("qr", "normal")


@dataclass(frozen=True, eq=False)
class TriangularFactors:
    """R of (1) for every joint, (joints, columns + 1, columns + 1), and how many rows each of them has seen."""

    R: np.ndarray
    rows: np.ndarray

    @property
    def columns(self) -> int:
        return self.R.shape[-1] - 1

    def __add__(self, other: TriangularFactors) -> TriangularFactors:
        stacked = np.concatenate([self.R, other.R], axis=1)
        return TriangularFactors(np.array([triangle(part) for part in stacked]), self.rows + other.rows)

    def weighted(self, weights: np.ndarray) -> np.ndarray:
        """One triangle for all joints, the rows of joint j multiplied by its weight."""
        return triangle((self.R * weights[:, None, None]).reshape(-1, self.columns + 1))

    def residual_norms(self, beta: np.ndarray) -> np.ndarray:
        """‖Y_j β - τ_j‖ for every joint."""
        return np.linalg.norm(self.R @ np.append(beta, -1.0), axis=-1)


def triangles(
    regressor: Function,
    motion: Sequence[np.ndarray],
    tau: np.ndarray,
    *,
    method: str = "qr",
    block: int = BLOCK,
    threads: int | None = None,
    weights: Callable[[slice], np.ndarray] | None = None,
) -> TriangularFactors:
    """Reduce a record; `weights(slice)` gives (samples, joints) factors for the rows of a block."""
    if method not in METHODS:
        raise ArgumentError(f"'{method}' is no way to reduce a record.", expected=", ".join(METHODS))
    samples = len(tau)
    nv, columns = regressor.outputs[0].shape
    used = _used(regressor)

    def reduce(span: slice) -> np.ndarray:
        rows = np.empty((span.stop - span.start, nv, columns + 1))
        regressor(*(part[span] for part in motion), rows[..., :columns])
        rows[..., columns] = tau[span]
        if weights is not None:
            rows *= weights(span)[..., None]
        return _reduced(rows, used, method)

    spans = [slice(k, min(k + block, samples)) for k in range(0, samples, block)]
    # BLAS must be kept from starting threads of its own, which would fight with ours
    workers = max(1, min(threads or os.cpu_count() or 1, len(spans))) if TAMED else 1
    total = np.zeros((nv, columns + 1, columns + 1))
    seen = np.full(nv, samples)
    if weights is not None:
        seen = np.sum([np.count_nonzero(weights(span), axis=0) for span in spans], axis=0)
    with one_blas_thread(), ThreadPoolExecutor(workers) as pool:
        for batch in _batches(spans, 4 * workers):
            parts = list(pool.map(reduce, batch))
            total = np.sum([total, *parts], axis=0) if method == "normal" else _stack([total, *parts], used)
    if method == "normal":
        total = np.array([_root(gram) for gram in total])
    return TriangularFactors(total, seen)


def triangle(rows: np.ndarray) -> np.ndarray:
    """R of a QR factorisation, square even for few rows."""
    R = np.asarray(np.linalg.qr(rows, mode="r"))
    if len(R) == rows.shape[1]:
        return R
    return np.vstack([R, np.zeros((rows.shape[1] - len(R), rows.shape[1]))])


def _used(regressor: Function) -> list[np.ndarray]:
    """For every joint, the columns that are not zero whatever the motion is; tau among them."""
    return [np.append(np.flatnonzero(~row), len(row)) for row in regressor.structural_zeros]


def _reduced(rows: np.ndarray, used: list[np.ndarray], method: str) -> np.ndarray:
    size = rows.shape[-1]
    found = np.zeros((rows.shape[1], size, size))
    for j, columns in enumerate(used):
        part = rows[:, j, columns]
        found[j][np.ix_(columns, columns)] = part.T @ part if method == "normal" else triangle(part)
    return found


def _stack(parts: list[np.ndarray], used: list[np.ndarray]) -> np.ndarray:
    return _reduced(np.concatenate(parts, axis=1).transpose(1, 0, 2), used, "qr")


def _batches(items: list, size: int) -> Iterator[list]:
    for k in range(0, len(items), size):
        yield items[k : k + size]


def _root(gram: np.ndarray) -> np.ndarray:
    """A triangle with RᵀR = gram, by eigenvalues because gram may be singular."""
    values, vectors = np.linalg.eigh(gram)
    return triangle((vectors * np.sqrt(np.maximum(values, 0.0))).T)
