"""Base parameters: the combinations of a robot's parameters that its joint forces depend on, and no others.

    τ = Y_b β          β = B π                                                                                    (1)

with the kept columns Y_b of Y, as `formulate.base.choice` derives it from the changes N of π that no joint feels.
N comes from the structure of a tree, and from the singular values of the regressor at random motions. If both
agree on their number, as they do for all but freak mechanisms, the exact structural N is used; if the random
motions show more, theirs is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from appell.compile.function import Function
from appell.errors import ArgumentError
from appell.formulate.base import kept_columns, known_by, regressor_kernel, structural_null_space
from appell.formulate.equations import Parameter
from appell.identify.estimators.one_thread import calm
from appell.identify.sought import QVA, Sought, seek
from appell.model.system import System


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
    structural = structural_kernel(sought)
    null = structural if structural is not None and structural.shape == numerical.shape else numerical
    columns, matrix = known_by(null, kept_columns(null, sought.system, sought.parameters))
    count = None if structural is None else size - structural.shape[1]
    return BaseParameters(sought, columns, matrix, size - numerical.shape[1], count)


def part_of_base(sought: Sought, indices: Sequence[int]) -> BaseParameters:
    """The same for some columns of Y, all others being known."""
    null, some = _kernel(sought, indices), [sought.parameters[k] for k in indices]
    columns, part = known_by(null, kept_columns(null, sought.system, some))
    matrix = np.zeros((len(columns), len(sought.parameters)))
    matrix[:, list(indices)] = part
    return BaseParameters(sought, tuple(indices[k] for k in columns), matrix, len(columns), None)


def structural_kernel(sought: Sought) -> np.ndarray | None:
    """The changes of π that no joint of a tree feels, whatever its lengths are; None for what is not a tree."""
    system = sought.system
    return structural_null_space(system.tree, sought.parameters) if system.is_tree else None


def _kernel(sought: Sought, indices: Sequence[int], motions: QVA | None = None) -> np.ndarray:
    """The null space of some columns of Y, scaled to unit length; columns that are noise only count as zero."""
    if motions is None:
        motions = sought.sample(max(40, 3 * len(indices) // sought.system.nu), np.random.default_rng(0))
    Y = np.asarray(sought.regressor.columns(indices)(*motions)).reshape(-1, len(indices))
    if not np.all(np.isfinite(Y)):
        expected = "q, v, a without NaN, and legs that reach"
        raise ArgumentError("the motions given for the base parameters are not finite.", expected=expected)
    return regressor_kernel(Y)
