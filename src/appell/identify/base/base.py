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

import numpy as np
from scipy.linalg import qr

from appell.errors import ArgumentError
from appell.identify.base.structure import structural_null_space
from appell.identify.estimators.calm import calm
from appell.identify.model import Column, Model, as_model

RANK = 1e-9  # singular values of the regressor with columns of unit length, relative to the largest
KEPT = 1e-5  # a column is kept if this much of it is no combination of those kept before


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """B of (1), the columns it keeps, and how they were found."""

    model: Model = field(repr=False)
    columns: tuple[int, ...]  # the kept columns of Y, in order
    matrix: np.ndarray = field(repr=False)  # B, (count, parameters)
    rank: int  # of the regressor at random motions
    structural: int | None  # the number that the structure of a tree alone gives

    @property
    def count(self) -> int:
        return len(self.columns)

    @property
    def inertial_count(self) -> int:
        """Those that are led by an inertial parameter of a link."""
        return sum(k < 10 * len(self.model.link_names) for k in self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The kept parameter of each; `describe` says what has been added to it."""
        return tuple(self.model.columns[k].name for k in self.columns)

    @property
    def without_effect(self) -> tuple[Column, ...]:
        """The parameters that no joint feels at all."""
        used = np.any(self.matrix != 0.0, axis=0)
        return tuple(column for k, column in enumerate(self.model.columns) if not used[k])

    @property
    def alone(self) -> tuple[Column, ...]:
        """The parameters that can be found by themselves."""
        single = [row for row in range(self.count) if np.count_nonzero(self.matrix[row]) == 1]
        return tuple(self.model.columns[self.columns[row]] for row in single)

    def values(self, parameters=None) -> np.ndarray:
        """β of full parameters, of the robot's description if none are given."""
        return self.matrix @ (self.model.nominal if parameters is None else np.asarray(parameters, float))

    def lift(self, beta, prior=None) -> np.ndarray:
        """Full parameters with this β: the prior, changed as little as possible in the units it is given in."""
        prior = self.model.nominal if prior is None else np.asarray(prior, float)
        return prior + np.linalg.pinv(self.matrix) @ (np.asarray(beta, float) - self.matrix @ prior)

    def describe(self) -> str:
        """The meaning of every base parameter, with the robot's lengths by name where they explain the numbers."""
        from appell.identify.base.meaning import describe

        return describe(self)

    def __str__(self) -> str:
        return f"{self.count} base parameters of '{self.model.name}' ({self.inertial_count} inertial)"


def base_parameters(robot, *, motions: Sequence | None = None, **options) -> BaseParameters:
    """The base parameters of a robot, mechanism or Model; `motions` (q, v, a) replaces random ones.

    Other options are those of `Model`: friction=, rotor=, width=.
    """
    model = as_model(robot, **options)
    if motions is None and model.known_base is not None:
        return model.known_base
    found = _found(model, motions)
    if motions is None:
        model.known_base = found
    return found


@calm
def _found(model: Model, motions: Sequence | None) -> BaseParameters:
    if motions is None:
        rows = max(40, 3 * len(model.columns) // model.nv)
        motions = model.sample(rows, np.random.default_rng(0))
    numerical = _null_space(model, motions)
    structural = structural_null_space(model)
    exact = structural is not None and structural.shape[1] == numerical.shape[1]
    null = structural if exact and structural is not None else numerical
    kept = _choose(model, null)
    columns, matrix = _matrix(null, kept)
    count = None if structural is None else len(model.columns) - structural.shape[1]
    return BaseParameters(model, columns, matrix, len(model.columns) - numerical.shape[1], count)


def subset(model: Model, indices: Sequence[int], motions=None) -> tuple[tuple[int, ...], np.ndarray]:
    """The same for some columns of Y, all others being known: kept columns, and B over all parameters."""
    q, v, a = model.sample(max(40, 3 * len(indices)), np.random.default_rng(0)) if motions is None else motions
    Y = model.regressor.columns(indices)(q, v, a)
    null = _kernel(Y.reshape(-1, len(indices)))
    order = sorted(range(len(indices)), key=lambda k: _preference(model)[indices[k]])
    columns, part = _matrix(null, _greedy(null, order))
    matrix = np.zeros((len(columns), len(model.columns)))
    matrix[:, list(indices)] = part
    return tuple(indices[k] for k in columns), matrix


def _null_space(model: Model, motions) -> np.ndarray:
    Y = np.asarray(model.regressor(*motions))
    if not np.all(np.isfinite(Y)):
        raise ArgumentError("the motions given for the base parameters are not finite.", expected="q, v, a without NaN")
    return _kernel(Y.reshape(-1, len(model.columns)))


def _kernel(Y: np.ndarray) -> np.ndarray:
    """The null space of Y, columns scaled to unit length; columns that are noise only count as zero."""
    norms = np.linalg.norm(Y, axis=0)
    scale = np.where(norms > RANK * norms.max(), norms, np.inf)
    R = np.linalg.qr(Y / scale, mode="r")
    _, s, Vt = np.linalg.svd(R)
    rank = int(np.sum(s > RANK * s[0]))
    null = Vt[rank:].T
    unscaled = null / np.where(np.isfinite(scale), scale, 1.0)[:, None]
    return np.linalg.qr(unscaled)[0]


def _choose(model: Model, null: np.ndarray) -> list[int]:
    """The columns to keep: by preference, or by pivoting if preference would keep nearly dependent ones."""
    preference = _preference(model)
    return _greedy(null, sorted(range(len(preference)), key=preference.__getitem__))


def _greedy(null: np.ndarray, order: Sequence[int]) -> list[int]:
    rows = np.eye(len(null)) - null @ null.T  # row k: column k of Y in coordinates of its row space
    wanted = len(null) - null.shape[1]
    basis = np.zeros((0, len(null)))
    kept: list[int] = []
    for k in order:
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


def _preference(model: Model) -> list[tuple]:
    """Sorts first what is to be kept."""
    order: list[tuple] = []
    number = {name: k for k, name in enumerate(model.link_names)}
    for column in model.columns:
        if column.owner not in number or column.kind in ("rotor", "coulomb", "viscous", "offset"):
            order.append((4 if column.kind == "rotor" else 0, 0))
            continue
        axis = _axis(model, column.owner)
        along, across = "xyz"[axis], "xyz"[(axis + 1) % 3]
        if model.robot and model.robot.link(column.owner).joint.motion.name == "prismatic":
            late = {"m": 1, **{kind: 2 for kind in ("Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")}}
        else:
            across = "y" if axis == 2 else across
            late = {"m": 3, f"mc{along}": 2, f"I{across}{across}": 2}
        order.append((late.get(column.kind, 0), -number[column.owner]))
    return order


def _axis(model: Model, link: str) -> int:
    """The coordinate axis nearest to the joint's, z if it has none of its own."""
    axis = getattr(model.robot.link(link).joint.motion, "axis", None) if model.robot else None
    return 2 if axis is None else int(np.argmax(np.abs(list(axis))))


def _matrix(null: np.ndarray, kept: list[int]) -> tuple[tuple[int, ...], np.ndarray]:
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
