"""Base parameters: the combinations of a robot's parameters that its joint forces depend on, and no others.

If the columns of N span the changes of π that no joint feels, Y N = 0, split the columns of Y in some that are
kept, b, and the rest, d, as many as N has columns:

    Y_d = Y_b K          K = -N_b N_d⁻¹          τ = Y_b β          β = π_b + K π_d = B π                         (1)

N comes from the structure of a tree, and from the singular values of the regressor at random motions. If both
agree on their number, as they do for all but freak mechanisms, the exact structural N is used; if the random
motions show more, theirs is. Which columns are kept is a choice. Ours drops first what a joint cannot tell from
its parent's parameters (mass, first moment along the axis, one of the moments across it), so that β reads like
the regrouping formulas of the textbooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.linalg import qr

from appell.compile.function import Function
from appell.errors import ArgumentError
from appell.formulate.equations import SYMBOLS, Parameter
from appell.identify.base.structure import structural_null_space
from appell.identify.estimators.one_thread import calm
from appell.identify.sought import QVA, Sought, seek
from appell.model.robot import Robot
from appell.model.system import System

RANK = 1e-9  # singular values of the regressor with columns of unit length, relative to the largest
KEPT = 1e-5  # a column is kept if this much of it is no combination of those kept before


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """B of (1), the columns it keeps, and how they were found."""

    sought: Sought = field(repr=False)
    columns: tuple[int, ...]  # the kept columns of Y, in order
    matrix: np.ndarray = field(repr=False)  # B, (count, parameters)
    rank: int  # of the regressor at random motions
    structural: int | None  # the number that the structure of a tree alone gives

    @property
    def count(self) -> int:
        return len(self.columns)

    @property
    def inertial_count(self) -> int:
        """Those that are led by an inertial parameter of a body."""
        return sum(k < 10 * len(self.sought.system.bodies) for k in self.columns)

    @cached_property
    def regressor(self) -> Function:
        """The kept columns of Y: tau = regressor(q, v, a) β."""
        return self.sought.regressor.columns(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The kept parameter of each; `describe` says what has been added to it."""
        return tuple(self.sought.parameters[k].name for k in self.columns)

    @property
    def without_effect(self) -> tuple[Parameter, ...]:
        """The parameters that no joint feels at all."""
        used = np.any(self.matrix != 0.0, axis=0)
        return tuple(column for k, column in enumerate(self.sought.parameters) if not used[k])

    def values(self, parameters=None) -> np.ndarray:
        """β of full parameters, of the robot's description if none are given."""
        return self.matrix @ (self.sought.nominal if parameters is None else np.asarray(parameters, float))

    def lift(self, beta, prior=None) -> np.ndarray:
        """Full parameters with this β: the prior, changed as little as possible in the units it is given in."""
        prior = self.sought.nominal if prior is None else np.asarray(prior, float)
        return prior + np.linalg.pinv(self.matrix) @ (np.asarray(beta, float) - self.matrix @ prior)

    def describe(self) -> str:
        """The meaning of every base parameter, with the robot's lengths by name where they explain the numbers."""
        from appell.identify.base.meaning import describe

        return describe(self)

    def __str__(self) -> str:
        return f"{self.count} base parameters of {self.sought.system.owner} ({self.inertial_count} inertial)"


def base_parameters(system: System | Sought, *, motions: QVA | None = None, **options) -> BaseParameters:
    """The base parameters of a system: base_parameters(load("puma")).describe().

    `motions` (q, v, a) replaces random ones. Other options are those of `seek`: friction=, rotor=, width=.
    """
    sought = seek(system, **options)
    return sought.base if motions is None else reduced(sought, motions)


@calm
def reduced(sought: Sought, motions: QVA | None = None) -> BaseParameters:
    """The base parameters, worked out at these motions or at random ones."""
    size = len(sought.parameters)
    numerical = _kernel(sought, range(size), motions)
    structural = structural_null_space(sought)
    null = structural if structural is not None and structural.shape == numerical.shape else numerical
    columns, matrix = known_by(null, _greedy(null, _preference(sought)))
    count = None if structural is None else size - structural.shape[1]
    return BaseParameters(sought, columns, matrix, size - numerical.shape[1], count)


def part_of_base(sought: Sought, indices: Sequence[int]) -> BaseParameters:
    """The same for some columns of Y, all others being known."""
    null, preference = _kernel(sought, indices), _preference(sought)
    columns, part = known_by(null, _greedy(null, [preference[k] for k in indices]))
    matrix = np.zeros((len(columns), len(sought.parameters)))
    matrix[:, list(indices)] = part
    return BaseParameters(sought, tuple(indices[k] for k in columns), matrix, len(columns), None)


def _kernel(sought: Sought, indices: Sequence[int], motions: QVA | None = None) -> np.ndarray:
    """The null space of some columns of Y, scaled to unit length; columns that are noise only count as zero."""
    if motions is None:
        motions = sought.sample(max(40, 3 * len(indices) // sought.system.nu), np.random.default_rng(0))
    Y = np.asarray(sought.regressor.columns(indices)(*motions)).reshape(-1, len(indices))
    if not np.all(np.isfinite(Y)):
        expected = "q, v, a without NaN, and legs that reach"
        raise ArgumentError("the motions given for the base parameters are not finite.", expected=expected)
    norms = np.linalg.norm(Y, axis=0)
    scale = np.where(norms > RANK * norms.max(), norms, np.inf)
    R = np.linalg.qr(Y / scale, mode="r")
    _, s, Vt = np.linalg.svd(R)
    rank = int(np.sum(s > RANK * s[0]))
    null = Vt[rank:].T
    unscaled = null / np.where(np.isfinite(scale), scale, 1.0)[:, None]
    return np.linalg.qr(unscaled)[0]


def _greedy(null: np.ndarray, preference: Sequence[tuple[int, int]]) -> list[int]:
    """The columns to keep: by preference, or by pivoting if preference would keep nearly dependent ones."""
    rows = np.eye(len(null)) - null @ null.T  # row k: column k of Y in coordinates of its row space
    wanted = len(null) - null.shape[1]
    basis = np.zeros((0, len(null)))
    kept: list[int] = []
    for k in sorted(range(len(null)), key=preference.__getitem__):
        length = np.linalg.norm(rows[k])
        if length < 1e-8:
            continue
        rest = rows[k] - basis.T @ (basis @ rows[k])
        rest -= basis.T @ (basis @ rest)
        if np.linalg.norm(rest) > KEPT * length:
            basis = np.vstack([basis, rest / np.linalg.norm(rest)])
            kept.append(k)
    if len(kept) != wanted:
        kept = qr(rows.T, mode="r", pivoting=True)[1][:wanted].tolist()
    return sorted(kept)


def _preference(sought: Sought) -> list[tuple[int, int]]:
    """Sorts first what is to be kept."""
    order: list[tuple[int, int]] = []
    number = {name: k for k, name in enumerate(sought.system.bodies)}
    for parameter in sought.parameters:
        if parameter.kind in SYMBOLS:
            order.append((4 if parameter.kind == "rotor" else 0, 0))
            continue
        axis, slides = _axis(sought, parameter.owner)
        along, across = "xyz"[axis], "y" if axis == 2 else "xyz"[(axis + 1) % 3]
        if slides:
            late = {"m": 1, **{kind: 2 for kind in ("Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")}}
        else:
            late = {"m": 3, f"mc{along}": 2, f"I{across}{across}": 2}
        order.append((late.get(parameter.kind, 0), -number[parameter.owner]))
    return order


def _axis(sought: Sought, body: str) -> tuple[int, bool]:
    """The coordinate axis nearest to that of the body's joint, z if it has none of its own; whether it slides there."""
    if not isinstance(sought.system, Robot):
        return 2, False
    motion = sought.system.link(body).joint.motion
    axis = getattr(motion, "axis", None)
    return 2 if axis is None else int(np.argmax(np.abs(list(axis)))), motion.name == "prismatic"


def known_by(null: np.ndarray, kept: list[int]) -> tuple[tuple[int, ...], np.ndarray]:
    """(1), with the noise of its computation taken off."""
    rest = [k for k in range(len(null)) if k not in set(kept)]
    K = -np.linalg.solve(null[rest].T, null[kept].T).T if rest else np.zeros((len(kept), 0))
    K[np.abs(K) < 1e-11 * max(1.0, np.abs(K).max(initial=0.0))] = 0.0
    rounded = np.round(K)
    K = np.where(np.abs(K - rounded) < 1e-11, rounded, K)
    matrix = np.zeros((len(kept), len(null)))
    matrix[np.arange(len(kept)), kept] = 1.0
    matrix[:, rest] = K
    return tuple(kept), matrix
