"""Choice of measurement poses: the configurations whose measurements determine the geometric parameters best.

With J the rows of one configuration (columns in m and rad), the information of a set of poses is M = Σ JᵀJ. The set
with the largest det M gives the smallest volume of the confidence ellipsoid (D-optimality). From random candidates,
poses are added one by one and then exchanged while that increases det M (Fedorov 1972):

    det(M + JᵀJ) = det M det(1 + J M⁻¹ Jᵀ)                                                                        (1)
    index  O = (det M)^(1/2p) / √n          p parameters, n poses (Borm and Menq 1991)                            (2)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.errors import ArgumentError, check_number
from appell.identify.calibration.geometry import MEASURES, GeometricModel, geometric_parameters
from appell.identify.calibration.measurement import COLUMNS
from appell.identify.estimators.blas_threads import limit_blas_threads
from appell.model.system import System
from appell.motion.record import Record
from appell.progress import Bar

MAX_PASSES = 10  # over all poses of the plan
MIN_INCREASE = 1e-4  # of log det M by an exchange
REGULARISATION = 1e-9  # relative to the mean eigenvalue of M of all candidates, while there are too few poses


@dataclass(frozen=True, eq=False)
class PosePlan:
    """Configurations for the measurement, and how well they determine the parameters."""

    geometry: GeometricModel
    columns: tuple[int, ...]  # the identifiable parameters, as indices of `geometry.parameters`
    q: np.ndarray  # (n, nq)
    index: float  # O of (2)
    condition: float  # condition number of the stacked J
    random_index: float  # O of as many random candidates

    def record(self) -> Record:
        """Return the plan as a record with empty columns for the measurements; t is the number of the pose."""
        empty = {title: np.full(len(self.q), np.nan) for title in COLUMNS[self.geometry.measure]}
        moving = list(self.geometry.coordinates)
        names = {"q": [self.geometry.robot.coordinate_names[k] for k in moving]}
        return Record.of(np.arange(len(self.q)), {"q": self.q[:, moving], **empty}, names)


@limit_blas_threads
def plan_poses(
    robot: System | GeometricModel,
    count: int = 40,
    *,
    candidates: int = 1000,
    margin: float = 0.05,
    box: Any = None,
    seed: int = 0,
    **options: Any,
) -> PosePlan:
    """Choose configurations at which measurements determine the geometric parameters best.

    Parameters
    ----------
    robot : Robot or GeometricModel
    count : number of poses
    candidates : number of random configurations from which the poses are chosen
    margin : fraction of the range of every joint that is kept free at both ends
    box : array (2, 3), optional
        Smallest and largest x, y, z of the target in the measuring system, m.
    seed : seed of the random candidates
    **options
        `frame`, `measure`, `gears`, `known`, `base` and `tool`, as in `geometric_parameters`.

    Returns
    -------
    PosePlan

    Raises
    ------
    ArgumentError
        If `count` is too small to determine all identifiable parameters.

    Examples
    --------
    >>> import appell as ap
    >>> plan = ap.identify.plan_poses(ap.load("puma"), 20, candidates=200)
    >>> plan.q.shape, plan.index > plan.random_index
    ((20, 6), True)
    """
    geometry = robot if isinstance(robot, GeometricModel) else geometric_parameters(robot, **options)
    check_number("margin", margin, least=0.0, most=0.49)
    theta, rng = geometry.generic(geometry.nominal), np.random.default_rng(seed)
    combinations = geometry.combinations(theta)
    columns = [geometry.unknown[k] for k in combinations.columns]
    least = len(columns) // MEASURES[geometry.measure] + 1
    check_number("the number of poses", count, least=least)
    check_number("the number of candidates", candidates, least=count)
    q = geometry.configurations(candidates, theta, rng, margin)
    if box is not None:
        if np.shape(box) != (2, 3):
            raise ArgumentError(f"the box has shape {np.shape(box)}.", expected="(2, 3): smallest and largest x, y, z")
        lower, upper = np.asarray(box, float)
        points = np.asarray(geometry.pose(q, theta))[:, :3, 3]
        q = q[np.all((points >= lower) & (points <= upper), axis=1)]
    if len(q) < count:
        raise ArgumentError(
            f"{len(q)} of {candidates} random configurations are possible, fewer than the {count} poses of the plan.",
            hint="Increase the number of candidates, or the box.",
        )
    J = geometry.rows(q, theta, columns)
    chosen = _exchanged(J, _greedy(J, count))
    stacked = J[chosen].reshape(-1, len(columns))
    condition = float(np.linalg.cond(stacked))
    return PosePlan(geometry, tuple(columns), q[chosen], _index(J[chosen]), condition, _index(J[:count]))


def _gains(J: np.ndarray, M: np.ndarray) -> np.ndarray:
    """Return the increase of log det M by (1) for every candidate."""
    H = np.einsum("nik,kl,njl->nij", J, np.linalg.inv(M), J, optimize=True)
    return np.linalg.slogdet(np.eye(J.shape[1]) + H)[1]


def _greedy(J: np.ndarray, count: int) -> list[int]:
    total = np.einsum("nik,nil->kl", J, J)
    M = REGULARISATION * np.trace(total) / len(total) * np.eye(len(total))
    chosen: list[int] = []
    for _ in range(count):
        increase = _gains(J, M)
        increase[chosen] = -np.inf
        chosen.append(int(np.argmax(increase)))
        M = M + J[chosen[-1]].T @ J[chosen[-1]]
    return chosen


def _exchanged(J: np.ndarray, chosen: list[int]) -> list[int]:
    """Return the poses after exchanges with candidates, until none increases det M."""
    M = np.einsum("nik,nil->kl", J[chosen], J[chosen])
    with Bar("choosing poses", MAX_PASSES, "passes") as bar:
        for _ in range(MAX_PASSES):
            exchanged = False
            for k, old in enumerate(chosen):
                without = M - J[old].T @ J[old]
                without += 1e-12 * np.trace(M) / len(M) * np.eye(len(M))
                increase = _gains(J, without)
                before = increase[old]
                increase[chosen] = -np.inf
                best = int(np.argmax(increase))
                if increase[best] > before + MIN_INCREASE:
                    chosen[k], exchanged = best, True
                    M = without + J[best].T @ J[best]
            bar.advance()
            if not exchanged:
                break
    return chosen


def _index(J: np.ndarray) -> float:
    """Return O of (2)."""
    M = np.einsum("nik,nil->kl", J, J)
    sign, log = np.linalg.slogdet(M)
    return float(np.exp(log / (2 * len(M))) / np.sqrt(len(J))) if sign > 0 else 0.0
