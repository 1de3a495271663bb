"""The speed within which Coulomb friction changes sign, found from the samples.

    f = fc s(θ̇),  s = θ̇ / √(θ̇² + w²)                                                                             (1)

is linear in fc and not in w. Take off τ and the dry columns of joint j, at many widths, what all other columns explain
of them by least squares, and let t and T be what is left. The misfit at a width is

    χ²(w) = min over fc ≥ 0 of ‖T c(w) fc - t‖²                                                                   (2)

with c(w) the weights of a cubic spline through the widths of the mesh over log w: one pass over the samples serves all
widths. Joints are taken in turn, weighted by what they leave, until none of them changes. A width that explains no more
than none is none.

That w was found and not known must show in the intervals. p(w) ~ exp(-½ χ²(w)), flat over log w, says how open it is.
If w is the true width and ŵ the one that is used, β is off by C Y_jᵀ (s_w - s_ŵ) fc / σ_j², C its covariance; so

    doubt = Σⱼ E_p[g gᵀ],  g = Y_jᵀ (s_w - s_ŵ) fc / σ_j²          C ← C + C doubt C                              (3)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import CubicSpline

from appell.identify.base.reduce import BaseParameters
from appell.identify.estimators.stream import triangle
from appell.identify.estimators.task import FitTask, Weighed, growth, solve_triangle
from appell.identify.sought import DRY

SPAN = (2e-3, 0.5)  # of a joint's largest speed: a narrower width is none, a wider one is viscous friction
MESH, FINE = 22, 200  # widths of the mesh, and at which (2) is looked at
LARGEST = 2e7  # numbers of the regressor in memory; of longer records evenly spaced rows are taken
SWEEPS = 6
SAME = 0.02  # relative change of a width that is none
SIGNIFICANT = 4.0  # of χ², about two standard deviations: what a width must explain more than none does
NODES = 15  # at which (3) is averaged


@dataclass(frozen=True, eq=False)
class Widths:
    """Of every actuator: the width, and the bounds within which it lies with 95 %; and the doubt of (3)."""

    values: np.ndarray
    bounds: np.ndarray  # (actuators, 2)
    doubt: np.ndarray


def looks_for_width(base: BaseParameters) -> bool:
    """Whether a width is to be found, and some dry friction is among what is fitted."""
    return base.sought.finds_width and any(_dry(base))


def find_widths(weighed: Weighed) -> Widths:
    """The width of every actuator that has dry friction among what is sought; of others, as described."""
    mesh = _Mesh(weighed.task)
    for _ in range(SWEEPS):
        before = mesh.x.copy()
        mesh.weigh()
        for j in mesh.sought:
            mesh.x[j] = mesh.best(j)
        if np.allclose(np.nan_to_num(mesh.x, nan=-99.0), np.nan_to_num(before, nan=-99.0), atol=SAME):
            break
    mesh.weigh()
    values, bounds = mesh.own.copy(), np.repeat(mesh.own[:, None], 2, axis=1)
    doubt = np.zeros((mesh.count, mesh.count))
    for j in mesh.sought:
        values[j] = 0.0 if np.isnan(mesh.x[j]) else float(f"{np.exp(mesh.x[j]):.3g}")
        bounds[j], part = mesh.openness(j)
        doubt = doubt + part
    return Widths(values, bounds, doubt)


def with_widths(base: BaseParameters, widths: np.ndarray) -> BaseParameters:
    """The same parameters with friction of these widths, which are not looked for any more."""
    named = dict(zip(base.sought.system.actuator_names, widths.tolist(), strict=True))
    system = base.sought.system.with_actuators(
        lambda who, own: replace(own, friction=replace(own.friction, width=named.get(who, own.friction.width)))
    )
    sought = replace(base.sought, system=system, finds_width=False)
    found = replace(base, sought=sought)
    vars(sought)["base"] = found  # cached: which combinations can be found does not hang on widths
    return found


class _Mesh:
    """Triangles of every joint with its dry columns at many widths; x is the log of each width, nan for none."""

    def __init__(self, task: FitTask):
        base = task.base
        system, self.count = base.sought.system, base.count
        size = base.count * system.nu
        step = max(1, int(np.ceil(len(task.samples) * size / LARGEST)))
        some = task.part(slice(None, None, step))
        speed = base.sought.rates(some.samples.q, some.samples.v)
        top = np.maximum(np.abs(speed).max(axis=0), 1e-9)
        self.own = np.array([actuator.friction.width for actuator in system.actuators])
        self.x = np.log(np.where(self.own > 0.0, self.own, 0.02 * top))
        self.mesh = np.log(top)[:, None] + np.linspace(np.log(SPAN[0]), np.log(SPAN[1]), MESH)  # (joints, widths)
        self.spline = [CubicSpline(row, np.eye(MESH)) for row in self.mesh]
        self.dry = _dry(base)
        self.sought = [j for j in range(system.nu) if self.dry[j]]
        Y = np.array(base.regressor(*some.samples.motion))
        counts = np.ones((len(some.samples), system.nu)) if some.moving is None else some.moving
        self.rows, self.R = counts.sum(axis=0), []
        for j in range(system.nu):
            widths = [0.0, *np.exp(self.mesh[j])]
            smooth = np.hypot(speed[:, j], self.own[j])[:, None] / np.maximum(
                np.hypot(speed[:, j, None], widths), 1e-300
            )
            many = [Y[:, j, k, None] * smooth for k in self.dry[j]]
            rows = np.column_stack([Y[:, j], *many, some.samples.tau[:, j]]) * counts[:, j, None]
            self.R.append(triangle(rows))
        self.sigma = np.ones(system.nu)
        self.Y, self.tau, self.moving, self.smooth = Y, some.samples.tau, counts, speed

    def weights(self, j: int, x: float | np.ndarray) -> np.ndarray:
        """c(w) of (2), none first."""
        none = np.isnan(x)[..., None]
        smooth = self.spline[j](np.where(np.isnan(x), self.mesh[j, 0], x))
        return np.concatenate([np.where(none, 1.0, 0.0), np.where(none, 0.0, smooth)], axis=-1)

    def at(self, j: int, x: float) -> np.ndarray:
        """The triangle of a joint with its dry columns at a width, (rows, columns + 1)."""
        found = np.column_stack([self.R[j][:, : self.count], self.R[j][:, -1]])
        for d, k in enumerate(self.dry[j]):
            first = self.count + d * (MESH + 1)
            found[:, k] = self.R[j][:, first : first + MESH + 1] @ self.weights(j, x)
        return found

    def weigh(self) -> None:
        """The noise of every joint at the present widths, with its long-run variance."""
        parts = [self.at(j, x) for j, x in enumerate(self.x)]
        beta = solve_triangle(triangle(np.vstack([p / s for p, s in zip(parts, self.sigma, strict=True)])))[0]
        share = self.count / len(parts)
        for j, part in enumerate(parts):
            norm = np.linalg.norm(part @ np.append(beta, -1.0))
            floor = 1e-9 * np.linalg.norm(part[:, -1]) + 1e-300
            freedom = max(self.rows[j] - share, 1.0)
            self.sigma[j] = max(norm, floor) / np.sqrt(freedom)
        self.beta = beta
        self.sigma = self.sigma * np.sqrt([growth(self._residual(j)) for j in range(len(parts))])

    def _residual(self, j: int) -> np.ndarray:
        Yj = self.Y[:, j].copy()
        w = 0.0 if np.isnan(self.x[j]) else np.exp(self.x[j])
        factor = np.hypot(self.smooth[:, j], self.own[j]) / np.maximum(np.hypot(self.smooth[:, j], w), 1e-300)
        for k in self.dry[j]:
            Yj[:, k] *= factor
        return (self.tau[:, j] - Yj @ self.beta) * self.moving[:, j]

    def left(self, j: int) -> np.ndarray:
        """T and t of (2), in units of the noise."""
        common = [k for k in range(self.count) if k not in self.dry[j]]
        blocks = []
        for i, x in enumerate(self.x):
            part = self.R[i] if i == j else self.at(i, x)
            wide = np.zeros((len(part), len(common) + len(self.dry[j]) * (MESH + 1) + 1))
            wide[:, : len(common)] = part[:, common]
            wide[:, -1] = part[:, -1]
            if i == j:
                wide[:, len(common) : -1] = part[:, self.count : -1]
            blocks.append(wide / self.sigma[i])
        return triangle(np.vstack(blocks))[len(common) :, len(common) :]

    def misfit(self, j: int, left: np.ndarray, xs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """χ² of (2) and the Coulomb level at many widths."""
        c, t = self.weights(j, xs), left[:, -1]
        blocks = left[:, :-1].reshape(len(left), len(self.dry[j]), MESH + 1)
        columns = np.einsum("rdm,xm->xrd", blocks, c)
        gram = np.einsum("xrd,xre->xde", columns, columns)
        gram += 1e-14 * np.trace(gram, axis1=1, axis2=2)[:, None, None] * np.eye(len(self.dry[j])) + 1e-300
        level = np.linalg.solve(gram, np.einsum("xrd,r->xd", columns, t)[..., None])[..., 0]
        level = np.where(level[:, :1] > 0.0, level, 0.0)
        return np.sum((t - np.einsum("xrd,xd->xr", columns, level)) ** 2, axis=1), level[:, 0]

    def best(self, j: int) -> float:
        """The log of the width of a joint, nan for none."""
        left = self.left(j)
        xs = np.linspace(self.mesh[j, 0], self.mesh[j, -1], FINE)
        values = self.misfit(j, left, xs)[0]
        k = int(np.argmin(values))
        if self.misfit(j, left, np.array([np.nan]))[0][0] <= values[k] + SIGNIFICANT:
            return np.nan
        near = np.linspace(xs[max(k - 1, 0)], xs[min(k + 1, FINE - 1)], 41)
        return float(near[int(np.argmin(self.misfit(j, left, near)[0]))])

    def openness(self, j: int) -> tuple[np.ndarray, np.ndarray]:
        """The bounds of a width, and its part of (3)."""
        left, ends = self.left(j), self.mesh[j, [0, -1]]
        xs = np.linspace(ends[0], ends[1], FINE)
        for _ in range(3):  # once more about the peak, if it is narrow
            values = self.misfit(j, left, xs)[0]
            likely = np.exp(-0.5 * (values - values.min()))
            inside = xs[likely > 1e-4]
            if len(inside) > FINE // 4:
                break
            reach = max(np.ptp(inside), xs[1] - xs[0])
            xs = np.linspace(max(inside[0] - reach, ends[0]), min(inside[-1] + reach, ends[1]), FINE)
        share = np.cumsum(likely) / likely.sum()
        bounds = np.exp(np.interp([0.025, 0.975], share, xs))
        if xs[0] == ends[0] and likely[0] > 0.01:
            bounds[0] = 0.0  # open below
        nodes = np.interp((np.arange(NODES) + 0.5) / NODES, share, xs)
        level = self.misfit(j, left, nodes)[1]
        change = self.weights(j, nodes) - self.weights(j, self.x[j])
        dry = self.R[j][:, self.count : self.count + MESH + 1]
        g = (dry @ change.T * level).T @ self.at(j, self.x[j])[:, :-1] / self.sigma[j] ** 2
        return bounds, g.T @ g / NODES


def _dry(base: BaseParameters) -> list[list[int]]:
    """The base columns of every actuator's dry friction, the Coulomb level first."""
    names = base.sought.system.actuator_names
    found: list[list[int]] = [[] for _ in names]
    kept = [(k, base.sought.parameters[column]) for k, column in enumerate(base.columns)]
    for kind in DRY:
        for k, parameter in kept:
            if parameter.kind == kind:
                found[names.index(parameter.owner)].append(k)
    return found
