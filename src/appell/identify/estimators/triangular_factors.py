"""Reduction of a record of any length to one small triangular factor per joint.

The rows of joint j over all samples, [Y_j τ_j], enter a least-squares problem only through their triangular factor:

    [Y_j τ_j] = Q_j R_j                  ‖Y_j β - τ_j‖² = ‖R_j (β, -1)‖²                                          (1)

Rows are evaluated in blocks; the factor of a block is stacked on the previous one and reduced again (TSQR), so that
memory does not grow with the record. Because there is one factor per joint, the weights of the joints can be chosen
afterwards. Columns without effect on a joint are structural zeros of its rows and are left out of its factorisation.
Blocks are stored column by column, as LAPACK reads them: copying them would take as long as the factorisation.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from appell.compile.function import Function
from appell.identify.estimators.blas_threads import CAN_LIMIT_BLAS, one_blas_thread

BLOCK_SAMPLES = 4096  # samples that are evaluated at a time
BATCHES_PER_WORKER = 4  # blocks per thread that are reduced before they are stacked


@dataclass(frozen=True, eq=False)
class TriangularFactors:
    """R of (1) for every joint, of shape (joints, columns + 1, columns + 1), and the number of rows of each joint."""

    R: np.ndarray
    rows: np.ndarray

    @property
    def columns(self) -> int:
        """Number of parameters."""
        return self.R.shape[-1] - 1

    def __add__(self, other: TriangularFactors) -> TriangularFactors:
        stacked = np.concatenate([self.R, other.R], axis=1)
        return TriangularFactors(np.array([triangular_factor(part) for part in stacked]), self.rows + other.rows)

    def weighted(self, weights: np.ndarray) -> np.ndarray:
        """Return one triangular factor for all joints, with the rows of joint j multiplied by weights[j]."""
        return triangular_factor((self.R * weights[:, None, None]).reshape(-1, self.columns + 1))

    def residual_norms(self, beta: np.ndarray) -> np.ndarray:
        """Return ‖Y_j β - τ_j‖ for every joint."""
        return np.linalg.norm(self.R @ np.append(beta, -1.0), axis=-1)


def triangular_factors(
    regressor: Function,
    motion: Sequence[np.ndarray],
    tau: np.ndarray,
    *,
    block: int = BLOCK_SAMPLES,
    threads: int | None = None,
    weights: Callable[[slice], np.ndarray] | None = None,
) -> TriangularFactors:
    """Reduce the samples of a record to triangular factors.

    Parameters
    ----------
    regressor : Function
        Y(q, v, a), with outputs of shape (joints, columns).
    motion : sequence of arrays
        q, v and a, of shapes (samples, n).
    tau : ndarray, shape (samples, joints)
    block : number of samples that are evaluated at a time
    threads : int, optional
        Number of threads; by default the number of cores. One if threadpoolctl is not installed.
    weights : callable, optional
        `weights(slice)` returns factors of shape (samples, joints) for the rows of a block.

    Returns
    -------
    TriangularFactors
    """
    samples = len(tau)
    nv, columns = regressor.outputs[0].shape
    used = _used(regressor)

    def reduce(span: slice) -> np.ndarray:
        rows = np.empty((nv, columns + 1, span.stop - span.start))
        regressor(*(part[span] for part in motion), out=rows[:, :columns].transpose(2, 0, 1))
        rows[:, columns] = tau[span].T
        if weights is not None:
            rows *= weights(span).T[:, None]
        return _reduced(rows, used)

    spans = [slice(k, min(k + block, samples)) for k in range(0, samples, block)]
    # several threads only if BLAS can be limited, because its own threads would compete with ours
    workers = max(1, min(threads or os.cpu_count() or 1, len(spans))) if CAN_LIMIT_BLAS else 1
    total = np.zeros((nv, columns + 1, columns + 1))
    counts = np.full(nv, samples)
    if weights is not None:
        counts = np.sum([np.count_nonzero(weights(span), axis=0) for span in spans], axis=0)
    with one_blas_thread(), ThreadPoolExecutor(workers) as pool:
        for batch in _batches(spans, BATCHES_PER_WORKER * workers):
            stacked = np.concatenate([total, *pool.map(reduce, batch)], axis=1)
            total = _reduced(stacked.transpose(0, 2, 1), used)
    return TriangularFactors(total, counts)


def triangular_factor(rows: np.ndarray) -> np.ndarray:
    """Return R of a QR factorisation, filled up with zeros to a square matrix."""
    R = np.asarray(np.linalg.qr(rows, mode="r"))
    if len(R) == rows.shape[1]:
        return R
    return np.vstack([R, np.zeros((rows.shape[1] - len(R), rows.shape[1]))])


def _used(regressor: Function) -> list[np.ndarray]:
    """Return, for every joint, the columns that are not structural zeros, and the column of tau."""
    return [np.append(np.flatnonzero(~row), len(row)) for row in regressor.structural_zeros]


def _reduced(rows: np.ndarray, used: list[np.ndarray]) -> np.ndarray:
    """Return the triangular factor of every joint for rows of shape (joints, columns, samples)."""
    size = rows.shape[1]
    factors = np.zeros((len(rows), size, size))
    for j, columns in enumerate(used):
        factors[j][np.ix_(columns, columns)] = triangular_factor(rows[j, columns].T)
    return factors


def _batches(items: list, size: int) -> Iterator[list]:
    for k in range(0, len(items), size):
        yield items[k : k + size]
