"""Base parameters: the combinations of a robot's parameters that determine its joint forces.

    τ = Y_b β          β = B π                                                                                    (1)

Y_b are the kept columns of Y. `formulate.base` derives B from a basis N of the changes of π that have no effect on any
joint force. N follows from the structure of a tree, and from the singular values of the regressor at random motions.
If both have the same number of columns, as they do except for degenerate mechanisms, the exact structural N is used;
otherwise the numerical one is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from appell.compile.function import Function
from appell.errors import ArgumentError
from appell.formulate.base import base_columns, base_matrix, regressor_kernel, structural_null_space
from appell.formulate.equations import Parameter
from appell.identify.estimators.blas_threads import limit_blas_threads
from appell.identify.parameter_set import QVA, ParameterSet, select_parameters
from appell.model.system import System


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """The matrix B of (1), the columns it keeps, and the ranks from which they follow."""

    parameter_set: ParameterSet = field(repr=False)
    columns: tuple[int, ...]  # the kept columns of Y, in order
    matrix: np.ndarray = field(repr=False)  # B, (count, parameters)
    rank: int  # of the regressor at random motions
    structural: int | None  # number of base parameters by the structure of the tree; None if the system is not a tree

    @property
    def count(self) -> int:
        """Number of base parameters."""
        return len(self.columns)

    @property
    def inertial_count(self) -> int:
        """Number of base parameters whose kept parameter is an inertial parameter of a body."""
        return sum(k < 10 * len(self.parameter_set.system.bodies) for k in self.columns)

    @cached_property
    def regressor(self) -> Function:
        """The kept columns of Y: tau = regressor(q, v, a) @ β."""
        return self.parameter_set.regressor.columns(self.columns)

    @cached_property
    def forces(self) -> Function:
        """The actuator forces as a function of q, v, a and β, for derivatives."""
        system, regressor = self.parameter_set.system, self.regressor
        inputs = {"q": system.nq, "v": system.nv, "a": system.nv, "beta": self.count}

        def body(q, v, a, beta):
            return {"tau": regressor(q, v, a) @ beta}

        return Function.of("base_forces", inputs, body, "Actuator forces for base parameters.", system.owner)

    @property
    def names(self) -> tuple[str, ...]:
        """Name of the kept parameter of every base parameter; `describe` gives the complete combinations."""
        return tuple(self.parameter_set.parameters[k].name for k in self.columns)

    @property
    def without_effect(self) -> tuple[Parameter, ...]:
        """The parameters that have no effect on any joint force."""
        used = np.any(self.matrix != 0.0, axis=0)
        return tuple(column for k, column in enumerate(self.parameter_set.parameters) if not used[k])

    def values(self, parameters=None) -> np.ndarray:
        """Return β for full parameters π; for those of the description if `parameters` is None."""
        return self.matrix @ (self.parameter_set.nominal if parameters is None else np.asarray(parameters, float))

    def lift(self, beta, prior=None) -> np.ndarray:
        """Return full parameters π with this β that are nearest to the prior (Euclidean, in SI units)."""
        prior = self.parameter_set.nominal if prior is None else np.asarray(prior, float)
        return prior + np.linalg.pinv(self.matrix) @ (np.asarray(beta, float) - self.matrix @ prior)

    def describe(self) -> str:
        """Return the linear combination of every base parameter as text, with named lengths where possible."""
        from appell.identify.base.describe import describe

        return describe(self)

    def __str__(self) -> str:
        return f"{self.count} base parameters of {self.parameter_set.system.owner} ({self.inertial_count} inertial)"


def base_parameters(system: System | ParameterSet, *, motions: QVA | None = None, **options) -> BaseParameters:
    """Compute the base parameters of a system.

    Parameters
    ----------
    system : Robot, Mechanism or ParameterSet
    motions : tuple of arrays (q, v, a), optional
        Motions at which the rank of the regressor is determined, of shapes (samples, nq), (samples, nv) and
        (samples, nv); random ones by default.
    **options
        `friction`, `rotor` and `width`, as in `select_parameters`.

    Returns
    -------
    BaseParameters

    Examples
    --------
    >>> import appell as ap
    >>> base = ap.identify.base_parameters(ap.load("puma"))
    >>> print(base)
    36 base parameters of robot 'puma' (36 inertial)
    """
    parameter_set = select_parameters(system, **options)
    return parameter_set.base if motions is None else reduced(parameter_set, motions)


@limit_blas_threads
def reduced(parameter_set: ParameterSet, motions: QVA | None = None) -> BaseParameters:
    """Compute the base parameters with the rank of the regressor at the given motions, or at random ones."""
    size = len(parameter_set.parameters)
    numerical = _kernel(parameter_set, range(size), motions)
    structural = structural_kernel(parameter_set)
    null = structural if structural is not None and structural.shape == numerical.shape else numerical
    columns, matrix = base_matrix(null, base_columns(null, parameter_set.system, parameter_set.parameters))
    count = None if structural is None else size - structural.shape[1]
    return BaseParameters(parameter_set, columns, matrix, size - numerical.shape[1], count)


def part_of_base(parameter_set: ParameterSet, indices: Sequence[int]) -> BaseParameters:
    """Compute the base parameters of some columns of Y, with the parameters of all other columns known."""
    null, some = _kernel(parameter_set, indices), [parameter_set.parameters[k] for k in indices]
    columns, part = base_matrix(null, base_columns(null, parameter_set.system, some))
    matrix = np.zeros((len(columns), len(parameter_set.parameters)))
    matrix[:, list(indices)] = part
    return BaseParameters(parameter_set, tuple(indices[k] for k in columns), matrix, len(columns), None)


def structural_kernel(parameter_set: ParameterSet) -> np.ndarray | None:
    """Return the changes of π without effect on a tree, whatever its lengths are; None if the system is not a tree."""
    system = parameter_set.system
    return structural_null_space(system.tree, parameter_set.parameters) if system.is_tree else None


def _kernel(parameter_set: ParameterSet, indices: Sequence[int], motions: QVA | None = None) -> np.ndarray:
    """Return the null space of some columns of Y, scaled to unit length; columns of rounding noise count as zero."""
    if motions is None:
        motions = parameter_set.sample(max(40, 3 * len(indices) // parameter_set.system.nu), np.random.default_rng(0))
    Y = np.asarray(parameter_set.regressor.columns(indices)(*motions)).reshape(-1, len(indices))
    if not np.all(np.isfinite(Y)):
        expected = "finite q, v and a; for a mechanism, poses that its legs can reach"
        raise ArgumentError("the regressor is not finite at the motions for the base parameters.", expected=expected)
    return regressor_kernel(Y)
