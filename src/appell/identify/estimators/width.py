"""Estimation of the widths of dry friction, the speeds within which Coulomb friction changes sign.

    f = fc s(θ̇),  s = θ̇ / √(θ̇² + w²)                                                                             (1)

is linear in fc but not in w. Let t and T be the residuals of τ and of the dry columns of joint j at many widths, after
least squares with all other columns. The misfit at a width is

    χ²(w) = min over fc ≥ 0 of ‖T c(w) fc - t‖²                                                                   (2)

with c(w) the weights of a cubic spline over log w through the widths of a grid, so that a single evaluation of the
samples serves all widths. The joints are processed one after the other, weighted by their residuals, until no width
changes. A width that does not fit significantly better than width zero is set to zero.

The uncertainty of w must be part of the confidence intervals. Its posterior is p(w) ~ exp(-½ χ²(w)), with a prior that
is uniform over log w. If w is the true width and ŵ the estimated one, the error of β is C Y_jᵀ (s_w - s_ŵ) fc / σ_j²,
with C the covariance of β; therefore

    H = Σⱼ E_p[g gᵀ],  g = Y_jᵀ (s_w - s_ŵ) fc / σ_j²          C ← C + C H C                                      (3)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import CubicSpline

from appell.identify.base.reduce import BaseParameters
from appell.identify.estimators.task import FitTask, solve_least_squares, variance_inflation
from appell.identify.estimators.triangular_factors import triangular_factor
from appell.identify.parameter_set import DRY

WIDTH_RANGE = (2e-3, 0.5)  # of a joint's largest speed: narrower is width zero, wider is viscous friction
GRID_SIZE = 22  # widths at which the dry columns are evaluated
FINE_GRID_SIZE = 200  # widths at which (2) is evaluated
REFINED_GRID_SIZE = 41  # widths between the two neighbours of the best one
MAX_NUMBERS = 1e7  # entries of the regressor in memory; of longer records, evenly spaced samples are used
MAX_SWEEPS = 6  # over the joints
WIDTH_TOLERANCE = 0.02  # relative change of a width that counts as none
SIGNIFICANCE = 4.0  # reduction of χ² from which a width counts, about two standard deviations
QUADRATURE_NODES = 15  # at which (3) is averaged


@dataclass(frozen=True, eq=False)
class Widths:
    """The width of every actuator, its 95 % confidence interval, and H of (3)."""

    values: np.ndarray
    bounds: np.ndarray  # (actuators, 2)
    information: np.ndarray  # H of (3)


def needs_widths(base: BaseParameters) -> bool:
    """Return whether widths are to be estimated, and the base parameters include dry friction."""
    return base.parameter_set.estimates_width and any(_dry(base))


def find_widths(task: FitTask) -> Widths:
    """Estimate the width of every actuator with dry friction among the base parameters; others keep their width."""
    mesh = _Mesh(task)
    for _ in range(MAX_SWEEPS):
        before = mesh.x.copy()
        mesh.update_noise()
        for j in mesh.fitted:
            mesh.x[j] = mesh.best(j)
        if np.allclose(np.nan_to_num(mesh.x, nan=-99.0), np.nan_to_num(before, nan=-99.0), atol=WIDTH_TOLERANCE):
            break
    mesh.update_noise()
    values, bounds = mesh.described.copy(), np.repeat(mesh.described[:, None], 2, axis=1)
    information = np.zeros((mesh.count, mesh.count))
    for j in mesh.fitted:
        values[j] = 0.0 if np.isnan(mesh.x[j]) else float(f"{np.exp(mesh.x[j]):.3g}")
        bounds[j], part = mesh.uncertainty(j)
        information = information + part
    return Widths(values, bounds, information)


def with_widths(base: BaseParameters, widths: np.ndarray) -> BaseParameters:
    """Return the same base parameters with friction of these widths, which are no longer estimated."""
    named = dict(zip(base.parameter_set.system.actuator_names, widths.tolist(), strict=True))
    system = base.parameter_set.system.with_actuators(
        lambda name, actuator: replace(
            actuator, friction=replace(actuator.friction, width=named.get(name, actuator.friction.width))
        )
    )
    parameter_set = replace(base.parameter_set, system=system, estimates_width=False)
    fixed = replace(base, parameter_set=parameter_set)
    vars(parameter_set)["base"] = fixed  # cached: the identifiable combinations do not depend on the widths
    return fixed


class _Mesh:
    """Triangular factors of every joint with its dry columns at many widths.

    x is the logarithm of the current width of every joint, NaN for width zero.
    """

    def __init__(self, task: FitTask):
        base = task.base
        system, self.count = base.parameter_set.system, base.count
        size = base.count * system.nu
        step = max(1, int(np.ceil(len(task.samples) * size / MAX_NUMBERS)))
        some = task.part(slice(None, None, step))
        speed = base.parameter_set.rates(some.samples.q, some.samples.v)
        top = np.maximum(np.abs(speed).max(axis=0), 1e-9)
        self.described = np.array([actuator.friction.width for actuator in system.actuators])
        self.x = np.log(np.where(self.described > 0.0, self.described, 0.02 * top))
        self.mesh = np.log(top)[:, None] + np.linspace(
            np.log(WIDTH_RANGE[0]), np.log(WIDTH_RANGE[1]), GRID_SIZE
        )  # (joints, widths)
        self.spline = [CubicSpline(row, np.eye(GRID_SIZE)) for row in self.mesh]
        self.dry = _dry(base)
        self.fitted = [j for j in range(system.nu) if self.dry[j]]
        Y = np.empty((system.nu, base.count, len(some.samples)))  # samples last, as LAPACK reads columns
        base.regressor(*some.samples.motion, out=Y.transpose(2, 0, 1))
        counts = np.ones((len(some.samples), system.nu)) if some.moving is None else some.moving
        self.rows, self.R = counts.sum(axis=0), []
        for j, no_effect in enumerate(base.regressor.structural_zeros):
            widths = np.array([0.0, *np.exp(self.mesh[j])])[:, None]
            smooth = np.hypot(speed[:, j], self.described[j]) / np.maximum(np.hypot(speed[:, j], widths), 1e-300)
            used = np.flatnonzero(~no_effect)
            columns = np.vstack([Y[j, used], *(Y[j, k] * smooth for k in self.dry[j]), some.samples.tau[:, j]])
            R = triangular_factor((columns * counts[:, j]).T)
            factor = np.zeros((len(R), base.count + len(columns) - len(used)))
            factor[:, [*used, *range(base.count, factor.shape[1])]] = R
            self.R.append(factor)
        self.sigma = np.ones(system.nu)
        self.Y, self.tau, self.moving, self.smooth = Y, some.samples.tau, counts, speed

    def weights(self, j: int, x: float | np.ndarray) -> np.ndarray:
        """Return c(w) of (2), with width zero first."""
        none = np.isnan(x)[..., None]
        smooth = self.spline[j](np.where(np.isnan(x), self.mesh[j, 0], x))
        return np.concatenate([np.where(none, 1.0, 0.0), np.where(none, 0.0, smooth)], axis=-1)

    def at(self, j: int, x: float) -> np.ndarray:
        """Return the triangular factor of a joint with its dry columns at a width, (rows, columns + 1)."""
        factor = np.column_stack([self.R[j][:, : self.count], self.R[j][:, -1]])
        for d, k in enumerate(self.dry[j]):
            first = self.count + d * (GRID_SIZE + 1)
            factor[:, k] = self.R[j][:, first : first + GRID_SIZE + 1] @ self.weights(j, x)
        return factor

    def update_noise(self) -> None:
        """Compute the noise of every joint at the current widths, with its long-run variance."""
        parts = [self.at(j, x) for j, x in enumerate(self.x)]
        beta = solve_least_squares(
            triangular_factor(np.vstack([p / s for p, s in zip(parts, self.sigma, strict=True)]))
        )[0]
        share = self.count / len(parts)
        for j, part in enumerate(parts):
            norm = np.linalg.norm(part @ np.append(beta, -1.0))
            floor = 1e-9 * np.linalg.norm(part[:, -1]) + 1e-300
            freedom = max(self.rows[j] - share, 1.0)
            self.sigma[j] = max(norm, floor) / np.sqrt(freedom)
        self.beta = beta
        self.sigma = self.sigma * np.sqrt([variance_inflation(self._residual(j)) for j in range(len(parts))])

    def _residual(self, j: int) -> np.ndarray:
        beta, w = self.beta.copy(), 0.0 if np.isnan(self.x[j]) else np.exp(self.x[j])
        factor = np.hypot(self.smooth[:, j], self.described[j]) / np.maximum(np.hypot(self.smooth[:, j], w), 1e-300)
        dry = beta[self.dry[j]] @ self.Y[j, self.dry[j]] * factor
        beta[self.dry[j]] = 0.0
        return (self.tau[:, j] - dry - beta @ self.Y[j]) * self.moving[:, j]

    def residual_factor(self, j: int) -> np.ndarray:
        """Return T and t of (2), in units of the noise."""
        common = [k for k in range(self.count) if k not in self.dry[j]]
        blocks = []
        for i, x in enumerate(self.x):
            part = self.R[i] if i == j else self.at(i, x)
            wide = np.zeros((len(part), len(common) + len(self.dry[j]) * (GRID_SIZE + 1) + 1))
            wide[:, : len(common)] = part[:, common]
            wide[:, -1] = part[:, -1]
            if i == j:
                wide[:, len(common) : -1] = part[:, self.count : -1]
            blocks.append(wide / self.sigma[i])
        return triangular_factor(np.vstack(blocks))[len(common) :, len(common) :]

    def misfit(self, j: int, residual: np.ndarray, xs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return χ² of (2) and the Coulomb level at many widths."""
        c, t = self.weights(j, xs), residual[:, -1]
        blocks = residual[:, :-1].reshape(len(residual), len(self.dry[j]), GRID_SIZE + 1)
        columns = np.einsum("rdm,xm->xrd", blocks, c)
        gram = np.einsum("xrd,xre->xde", columns, columns)
        gram += 1e-14 * np.trace(gram, axis1=1, axis2=2)[:, None, None] * np.eye(len(self.dry[j])) + 1e-300
        level = np.linalg.solve(gram, np.einsum("xrd,r->xd", columns, t)[..., None])[..., 0]
        level = np.where(level[:, :1] > 0.0, level, 0.0)
        return np.sum((t - np.einsum("xrd,xd->xr", columns, level)) ** 2, axis=1), level[:, 0]

    def best(self, j: int) -> float:
        """Return the logarithm of the best width of a joint, NaN for width zero."""
        residual = self.residual_factor(j)
        xs = np.linspace(self.mesh[j, 0], self.mesh[j, -1], FINE_GRID_SIZE)
        values = self.misfit(j, residual, xs)[0]
        k = int(np.argmin(values))
        if self.misfit(j, residual, np.array([np.nan]))[0][0] <= values[k] + SIGNIFICANCE:
            return np.nan
        near = np.linspace(xs[max(k - 1, 0)], xs[min(k + 1, FINE_GRID_SIZE - 1)], REFINED_GRID_SIZE)
        return float(near[int(np.argmin(self.misfit(j, residual, near)[0]))])

    def uncertainty(self, j: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the confidence interval of a width, and its contribution to (3)."""
        residual, ends = self.residual_factor(j), self.mesh[j, [0, -1]]
        xs = np.linspace(ends[0], ends[1], FINE_GRID_SIZE)
        for _ in range(3):  # refine the grid around a narrow peak
            values = self.misfit(j, residual, xs)[0]
            likely = np.exp(-0.5 * (values - values.min()))
            inside = xs[likely > 1e-4]
            if len(inside) > FINE_GRID_SIZE // 4:
                break
            margin = max(np.ptp(inside), xs[1] - xs[0])
            xs = np.linspace(max(inside[0] - margin, ends[0]), min(inside[-1] + margin, ends[1]), FINE_GRID_SIZE)
        share = np.cumsum(likely) / likely.sum()
        bounds = np.exp(np.interp([0.025, 0.975], share, xs))
        if xs[0] == ends[0] and likely[0] > 0.01:
            bounds[0] = 0.0  # not bounded from below
        nodes = np.interp((np.arange(QUADRATURE_NODES) + 0.5) / QUADRATURE_NODES, share, xs)
        level = self.misfit(j, residual, nodes)[1]
        change = self.weights(j, nodes) - self.weights(j, self.x[j])
        dry = self.R[j][:, self.count : self.count + GRID_SIZE + 1]
        g = (dry @ change.T * level).T @ self.at(j, self.x[j])[:, :-1] / self.sigma[j] ** 2
        return bounds, g.T @ g / QUADRATURE_NODES


def _dry(base: BaseParameters) -> list[list[int]]:
    """Return the base columns of every actuator's dry friction, the Coulomb level first."""
    names = base.parameter_set.system.actuator_names
    columns: list[list[int]] = [[] for _ in names]
    kept = [(k, base.parameter_set.parameters[column]) for k, column in enumerate(base.columns)]
    for kind in DRY:
        for k, parameter in kept:
            if parameter.kind == kind:
                columns[names.index(parameter.owner)].append(k)
    return columns
