"""The base parameters of a system: β = B π, with τ = Y_b β and no column of Y_b too many.

For a tree B is read off the structure, whatever the lengths are. Where coordinates are tied to each other, by a mimic
joint or the legs of a mechanism, more parameters act alike, and the singular values of the regressor at random motions
say which: Y N = 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from appell.formulate.base.choice import kept_columns, known_by
from appell.formulate.base.structure import structural_null_space
from appell.formulate.parameters import Parameter
from appell.model.robot import Robot

if TYPE_CHECKING:
    from appell.formulate.equations import Equations

RANK = 1e-9  # singular values of the regressor with columns of unit length, relative to the largest


@dataclass(frozen=True, eq=False)
class Reduction:
    """The columns that are kept, and B."""

    columns: tuple[int, ...]
    matrix: np.ndarray  # (kept, parameters)
    parameters: tuple[Parameter, ...]  # the kept ones; the value of each is its β


def reduction(equations: Equations) -> Reduction:
    """The base parameters of a system with the drives that count."""
    system, parameters = equations.system, equations.parameters
    if isinstance(system, Robot) and not any(link.joint.mimic for link in system.links):
        null = structural_null_space(system, parameters)
    else:
        null = regressor_kernel(_sampled(equations))
    columns, matrix = known_by(null, kept_columns(null, system, parameters))
    beta = matrix @ np.array([parameter.value for parameter in parameters])
    kept = [replace(parameters[k], value=float(value)) for k, value in zip(columns, beta, strict=True)]
    return Reduction(columns, matrix, tuple(kept))


def regressor_kernel(Y: np.ndarray) -> np.ndarray:
    """The null space of a stacked regressor, its columns scaled to unit length; those that are noise count as zero."""
    norms = np.linalg.norm(Y, axis=0)
    scale = np.where(norms > RANK * norms.max(), norms, np.inf)
    R = np.linalg.qr(Y / scale, mode="r")
    _, s, Vt = np.linalg.svd(R)
    rank = int(np.sum(s > RANK * s[0]))
    null = Vt[rank:].T
    unscaled = null / np.where(np.isfinite(scale), scale, 1.0)[:, None]
    return np.linalg.qr(unscaled)[0]


def _sampled(equations: Equations) -> np.ndarray:
    """The regressor at random motions, one under the other."""
    system, rng = equations.system, np.random.default_rng(0)
    rows: list = []
    for _ in range(max(40, 3 * len(equations.parameters) // system.nu)):
        q = system.random_configuration(rng, within_limits=False)
        v, a = rng.normal(size=(2, system.nv)).tolist()
        rows += equations.regressor(q.tolist(), v, a)
    return np.array(rows, float)
