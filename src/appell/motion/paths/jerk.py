"""Time-optimal motion along a path with jerk limits, by a barrier method.

The path is written as r(θ), 0 ≤ θ ≤ 1, where its arc length is L w(θ) with w = θ³(10 - 15θ + 6θ²). A motion that leaves
rest with constant jerk covers a distance proportional to t³, so θ moves with a finite speed even at both ends. With
y = θ̇² and ' for derivatives with respect to θ,

    v = r' √y        a = r'' y + r' y'/2        jerk = √y (r''' y + 3/2 r'' y' + 1/2 r' y'')                       (1)

y(θ) is a cubic spline, so that the jerk is bounded everywhere. Its coefficients minimise the barrier function

    ∫ y^(-1/2) dθ  -  μ ∫ Σ log(slack) dθ                                                                        (2)

for a falling sequence of μ. The slacks are C - A y'/2 - B y of the rows of `limit_rows`, less friction, and

    J y^(-1/2) ± (r''' y + 3/2 r'' y' + 1/2 r' y'')                                                              (3)

The first integral is the duration, a convex function of y. All limits are convex in y except (3), friction and torque
limits that depend on speed, whose curvature is left out of the Hessian matrix (the convex-concave procedure). Newton's
matrix is banded. Every iterate satisfies all limits at the points of the quadrature. At the end, μ times the number of
rows is `GAP` of the duration: for convex limits, no spline is faster by more. With (3) the result is a local optimum.

Between the points of the quadrature a limit may still be exceeded. The motion is therefore checked densely, and slowed
down by a constant factor, usually below 1.001: velocities are divided by it, accelerations by its square, and so on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial.legendre import leggauss

from appell.errors import ArgumentError, SimulationError
from appell.motion.path import QVA, Path
from appell.motion.paths.limit_rows import PathLimits, peaks

if TYPE_CHECKING:
    from scipy.interpolate import BSpline

GAP = 1e-4  # relative to the duration
BARRIER_FACTOR = 0.2  # of μ from one minimisation to the next
MAX_NEWTON_STEPS = 40  # for each μ
PARTS = 8  # of a cell, between points of the quadrature by Simpson's rule
ARC_CELLS = 16  # cells of Σ per cell of y
MIN_CELL = 0.3  # relative to an even cell: shorter ones are not made at knots of the path
SLOW_PART = 0.3  # of the mean speed |q'|: where the path's own parameter is slower, it replaces the arc length
MAX_JUMP = 1e-5  # relative: of direction or curvature between two sides of a knot
MAX_RATE = 1e6  # bound on y, relative to its start value, where no limit bounds it
MAX_START = 1e12  # 1/s²: largest constant y that is tried at the start
MAX_REFINEMENTS = 6  # of the grid, by halving cells in which limits are exceeded
ACCEPTED_SLOWDOWN = 1.0005
MAX_SLOWDOWN = 2.0
SAFETY = 1e-5  # relative slowdown in addition, for limits that are exceeded between the points of the check
INSIDE = 1e-9  # of a cell: its ends are evaluated inside, because derivatives of a path may jump at a knot
FINE_PARTS = 3  # of a part, in the final check
NEAR_END = 1e-5  # θ from an end: nearer points have the direction of this point, and no curvature
END_REFINEMENTS = 8  # halvings of the first and the last cell, in which the time law changes fast if the jerk is large


class ArcPath(Path):
    """The path r(θ), 0 ≤ θ ≤ 1.

    The arc length is represented by a spline Σ(s); the chain rule with this spline is exact. Where the path stops or
    reverses, |q'| is replaced by a smooth positive function, and the motion can pass without coming to rest.
    """

    def __init__(self, path: Path, cells: int):
        from scipy.interpolate import PPoly

        self.path, self.names, self.duration = path, path.names, 1.0
        self._latest: tuple[np.ndarray | None, QVA | None] = None, None
        T = path.duration
        knots = np.asarray(getattr(path, "knots", ()), float)
        s = np.unique(np.concatenate([np.linspace(0.0, T, cells + 1), knots[(knots > 0.0) & (knots < T)]]))
        s = s[np.concatenate([[True], np.diff(s) > 1e-9 * T])]
        s[-1] = T
        self.s, step = s, np.diff(s)
        ends = np.stack([s[:-1] + INSIDE * step, s[1:] - INSIDE * step], axis=1)
        ends[0, 0], ends[-1, -1] = 0.0, T
        inward = np.array([0.0, 0.02, 0.04]) * step[:, None, None] * [[1.0], [-1.0]]
        rates, slopes = self._rates(np.clip(ends[..., None] + inward, 0.0, T))
        bends = slopes @ [-1.5, 2.0, -0.5] / inward[..., 1]  # one-sided differences
        (f, g), (df, dg), (ddf, ddg) = rates[..., 0].T, slopes[..., 0].T * step, bends.T * step**2
        # Hermite polynomial of degree 5 of Σ' in every cell
        a, b, c = g - f - df - 0.5 * ddf, dg - df - ddf, 0.5 * (ddg - ddf)
        powers = [6.0 * a - 3.0 * b + c, -15.0 * a + 7.0 * b - 2.0 * c, 10.0 * a - 4.0 * b + c, 0.5 * ddf, df, f]
        speed = PPoly(np.array(powers) / step ** np.arange(5, -1, -1)[:, None], s)
        self.arc, self.derivatives = speed.antiderivative(), (speed, speed.derivative(), speed.derivative(2))
        self.arcs = self.arc(s)
        self.length = float(self.arcs[-1])
        if not (self.length > 0.0 and (np.diff(self.arcs) > 0.0).all()):
            raise ArgumentError("the path does not move.", expected="a path with different start and end")
        self._check_smooth(ends)
        inner = knots[(knots > 0.0) & (knots < T)]
        self.knots = _inverse_warp(self.arc(inner) / self.length)
        self.near_ends = self.parameter(np.array([NEAR_END, 1.0 - NEAR_END]))

    def __call__(self, t) -> QVA:
        """Return r, r' and r''; the latest result is stored, because the same points are evaluated many times."""
        if self._latest[0] is not t or self._latest[1] is None:
            self._latest = t, super().__call__(t)
        assert self._latest[1] is not None
        return self._latest[1]

    def _rates(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return Σ' and Σ'' at path parameters."""
        _, first, second = self.path(s)
        T = self.path.duration
        g = np.linalg.norm(first, axis=-1)
        g[g < 1e-12 * g.mean()] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            bend = np.copysign(np.linalg.norm(second, axis=-1), 0.5 * T - s)  # slope where the path starts or stops
            slope = np.where(g > 0.0, np.sum(first * second, axis=-1) / g, bend)
        x = 4.0 * s * (T - s) / T**2  # the replacement vanishes at the ends
        e, e_slope = np.array([x**3, 3.0 * x**2 * 4.0 * (T - 2.0 * s) / T**2]) * SLOW_PART * g.mean()
        z = np.minimum(g / np.maximum(e, 1e-300), 1.0)
        p, p_slope = 0.375 + 0.75 * z**2 - 0.125 * z**4, 1.5 * z - 0.5 * z**3  # z with two derivatives at z = 1
        slow = g < e
        return np.where(slow, e * p, g), np.where(slow, p_slope * slope + (p - z * p_slope) * e_slope, slope)

    def _check_smooth(self, ends: np.ndarray) -> None:
        """Raise `ArgumentError` if the direction or the curvature of the path jumps at a knot."""
        sides = ends.ravel()[1:-1]
        _, *derivatives = self.path(sides)
        rate = self.derivatives[0](sides)[:, None]
        for order, name, values in zip((1, 2), ("direction", "curvature"), self._along(sides), strict=True):
            scaled = values * rate**order  # as in the path's own parameter: not amplified where the path is slow
            jump = np.abs(scaled[1::2] - scaled[::2]).max(axis=-1)
            if (jump > MAX_JUMP * np.abs(derivatives[order - 1]).max()).any():
                where = float(self.s[1 + int(np.argmax(jump))])
                raise ArgumentError(
                    f"the {name} of the path jumps at t = {where:.6g} s of it, where its jerk is not bounded.",
                    expected="a path with continuous second derivatives",
                    hint="Use a Spline, or plan both parts of the path separately.",
                )

    def _along(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the first two derivatives of q with respect to Σ."""
        _, first, second = self.path(s)
        rate, slope = (f(s)[:, None] for f in self.derivatives[:2])
        first = first / rate
        return first, (second - first * slope) / rate**2

    def parameter(self, theta: np.ndarray) -> np.ndarray:
        """Return s, by Newton's method with bisection inside the cell of Σ."""
        target = self.length * _warp(theta)[0]
        k = np.clip(np.searchsorted(self.arcs, target, side="right") - 1, 0, len(self.s) - 2)
        low, high = self.s[k], self.s[k + 1]
        s = low + (high - low) * (target - self.arcs[k]) / (self.arcs[k + 1] - self.arcs[k])
        for _ in range(100):
            miss = self.arc(s) - target
            low, high = np.where(miss < 0.0, s, low), np.where(miss > 0.0, s, high)
            with np.errstate(divide="ignore", invalid="ignore"):
                new = s - miss / self.derivatives[0](s)
            new = np.where((new >= low) & (new <= high), new, 0.5 * (low + high))
            if np.abs(new - s).max(initial=0.0) <= 1e-13 * self.path.duration:
                break
            s = new
        return s

    def _at(self, t: np.ndarray) -> QVA:
        s = self.parameter(t)
        inner = np.clip(s, *self.near_ends)
        first, second = self._along(inner)
        second[inner != s] = 0.0
        _, w1, w2, _ = (self.length * w[:, None] for w in _warp(t))
        return self.path(s)[0], first * w1, second * w1**2 + first * w2

    def third(self, theta: np.ndarray) -> np.ndarray:
        """Return the third derivative of r at parameters (n,), by differences of q'' inside the cells of the path."""
        s = self.parameter(theta)
        inner = np.clip(s, *self.near_ends)
        k = np.clip(np.searchsorted(self.s, inner, side="right") - 1, 0, len(self.s) - 2)
        step = 0.01 * (self.s[k + 1] - self.s[k])
        middle = np.clip(inner, self.s[k] + 1.01 * step, self.s[k + 1] - 1.01 * step)
        before, here, after = (self.path(middle + shift)[2] for shift in (-step, 0.0, step))
        step, away = step[:, None], (inner - middle)[:, None]
        q3 = (after - before) / (2.0 * step) + (after - 2.0 * here + before) / step**2 * away  # of a parabola
        first, second = self._along(inner)
        rate, slope, bend = (f(inner)[:, None] for f in self.derivatives)
        third = (q3 - 3.0 * second * rate * slope - first * bend) / rate**3
        third[inner != s] = second[inner != s] = 0.0
        _, w1, w2, w3 = (self.length * w[:, None] for w in _warp(theta))
        return third * w1**3 + 3.0 * second * w1 * w2 + first * w3

    def grid(self, cells: int) -> np.ndarray:
        """Return a nearly even grid of θ that contains the knots of the path, as far as cells do not become short."""
        grid, even = np.linspace(0.0, 1.0, cells + 1), 1.0 / cells
        for theta in self.knots:
            k = int(np.clip(round(theta / even), 1, cells - 1))
            if min(theta - grid[k - 1], grid[k + 1] - theta) > MIN_CELL * even:
                grid[k] = theta
        fine = 0.5 ** np.arange(END_REFINEMENTS, 0, -1)
        return np.concatenate([[0.0], grid[1] * fine, grid[1:-1], 1.0 - (1.0 - grid[-2]) * fine[::-1], [1.0]])


def _warp(x: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return w and its three derivatives."""
    z = 1.0 - x
    return x**3 * (10.0 - 15.0 * x + 6.0 * x**2), 30.0 * x**2 * z**2, 60.0 * x * z * (1 - 2 * x), 60.0 - 360.0 * x * z


def _inverse_warp(w: np.ndarray) -> np.ndarray:
    """Return θ at values of w between 0 and 1, to rounding."""
    low, high = np.zeros_like(w), np.ones_like(w)
    for _ in range(60):
        middle = 0.5 * (low + high)
        below = _warp(middle)[0] < w
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return 0.5 * (low + high)


class JerkLimited(Path):
    """A path with a time law whose jerk is bounded: y = θ̇² is a cubic spline of θ.

    Parameters
    ----------
    arc
        The path r(θ).
    y
        The spline.
    """

    def __init__(self, arc: ArcPath, y):
        self.arc, self.y, self.path, self.names = arc, y, arc.path, arc.names
        self.theta = np.unique(y.t)
        nodes, weights = leggauss(8)
        self._nodes, self._weights = 0.5 * (nodes + 1.0), 0.5 * weights
        self.t = np.concatenate([[0.0], np.cumsum(self._time(self.theta[:-1], self.theta[1:]))])
        self.duration = float(self.t[-1])

    def _time(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Return the time from θ = start to θ = end inside a cell."""
        step = end - start
        return step * (self.y(start[:, None] + step[:, None] * self._nodes) ** -0.5 @ self._weights)

    def parameter(self, t: np.ndarray) -> np.ndarray:
        """Return θ at times, by Newton's method."""
        k = np.clip(np.searchsorted(self.t, t, side="right") - 1, 0, len(self.theta) - 2)
        low, high, since = self.theta[k], self.theta[k + 1], t - self.t[k]
        theta = low + (high - low) * since / (self.t[k + 1] - self.t[k])
        for _ in range(20):
            change = (since - self._time(low, theta)) * np.sqrt(self.y(theta))
            theta = np.clip(theta + change, low, high)
            if np.abs(change).max(initial=0.0) < 1e-12:  # the error is of the order of its square
                break
        return theta

    def _at(self, t: np.ndarray) -> QVA:
        theta = self.parameter(t)
        q, first, second = self.arc(theta)
        y, slope = self.y(theta)[:, None], self.y(theta, 1)[:, None]
        return q, first * np.sqrt(y), second * y + 0.5 * first * slope  # (1)


@dataclass(frozen=True)
class Points:
    """The limits at points of θ: coefficients of the slacks."""

    limits: PathLimits  # of the path r(θ)
    theta: np.ndarray

    @cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A, B and C, (points, rows) each."""
        return self.limits.rows(self.theta)

    @cached_property
    def jerk_rows(self) -> np.ndarray:
        """Coefficients of y, y' and y'' in (3), (points, limited coordinates, 3)."""
        limited = np.isfinite(self.limits.jerk)
        _, first, second = (x[:, limited] for x in self.limits.path(self.theta))
        third = self.limits.path.third(self.theta)[:, limited]  # type: ignore[attr-defined]
        return np.stack([third, 1.5 * second, 0.5 * first], axis=-1)

    def slacks(self, y: np.ndarray, slope: np.ndarray, bend: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return all slacks, (points, rows), and their derivatives with respect to y, y' and y'', (points, rows, 3)."""
        A, B, C = self.rows
        phi = phi_slope = np.zeros_like(C)
        if self.limits.is_nonlinear:
            phi, phi_slope = self.limits.nonlinear_rows(self.theta, y)
        rigid = C - 0.5 * A * slope[:, None] - B * y[:, None] - phi
        parts = [np.stack([-B - phi_slope, -0.5 * A, np.zeros_like(A)], axis=-1)]
        linear = np.einsum("pjk,pk->pj", self.jerk_rows, np.stack([y, slope, bend], axis=-1))
        most = self.limits.jerk[np.isfinite(self.limits.jerk)] / np.sqrt(y)[:, None]
        for sign in (1.0, -1.0):
            d = -sign * self.jerk_rows
            parts.append(np.concatenate([d[..., :1] - (0.5 * most / y[:, None])[..., None], d[..., 1:]], axis=-1))
        return np.concatenate([rigid, most - linear, most + linear], axis=1), np.concatenate(parts, axis=1)


def jerk_limited(limits: PathLimits, cells: int) -> JerkLimited:
    """Return the fastest motion from rest to rest along a path with bounded jerk.

    Parameters
    ----------
    limits
        All limits, which permit rest everywhere on the path.
    cells
        Number of cells of the spline y.
    """
    arc = ArcPath(limits.path, ARC_CELLS * cells)
    limits = replace(limits, path=arc)
    grid = arc.grid(cells)
    for refinement in range(MAX_REFINEMENTS + 1):
        spline = _optimised(Points(limits, _inside(grid, PARTS).ravel()), grid)
        check = DenseCheck(limits, spline, grid)
        exceeded = check.exceeded(ACCEPTED_SLOWDOWN)
        if not exceeded.any() or refinement == MAX_REFINEMENTS:
            break
        grid = np.sort(np.concatenate([grid, 0.5 * (grid[:-1] + grid[1:])[exceeded]]))
    return JerkLimited(arc, check.slowed())


def _inside(grid: np.ndarray, parts: int) -> np.ndarray:
    """Return the ends of equal parts of every cell, (cells, parts + 1)."""
    return grid[:-1, None] + np.diff(grid)[:, None] * np.clip(np.arange(parts + 1) / parts, INSIDE, 1.0 - INSIDE)


def _optimised(points: Points, grid: np.ndarray) -> BSpline:
    """Return the spline y on a grid that minimises (2)."""
    from scipy.interpolate import BSpline
    from scipy.linalg import solveh_banded

    knots = np.concatenate([[0.0] * 3, grid, [1.0] * 3])
    n = len(knots) - 4
    simpson = np.concatenate([[1.0], np.tile([4.0, 2.0], PARTS // 2 - 1), [4.0, 1.0]]) / (3.0 * PARTS)
    weight = (np.diff(grid)[:, None] * simpson).ravel()
    basis = BSpline(knots, np.eye(n), 3)
    first = np.repeat(np.arange(len(grid) - 1), PARTS + 1)  # of the four coefficients that act in a cell
    columns = first[:, None] + np.arange(4)
    values = np.stack([np.take_along_axis(basis(points.theta, k), columns, 1) for k in range(3)], axis=1)

    def evaluated(c: np.ndarray):
        y, slope, bend = np.einsum("pka,pa->kp", values, c[columns])
        if not (y > 0.0).all():
            return None
        slacks, derivatives = points.slacks(y, slope, bend)
        top = (most - y)[:, None]
        slacks = np.concatenate([slacks, top], axis=1)
        if not (slacks > 0.0).all():
            return None
        return y, slacks, derivatives

    def merit(state, mu: float) -> float:
        y, slacks, _ = state
        return float(weight @ (1.0 / np.sqrt(y) - mu * np.log(slacks).sum(axis=1)))

    most, start = np.inf, _start(points)
    most, c = MAX_RATE * start, np.full(n, start)
    state = evaluated(c)
    assert state is not None
    rows = state[1].shape[1]
    mu = float(weight @ state[0] ** -0.5) / rows
    while True:
        for _ in range(MAX_NEWTON_STEPS):
            y, slacks, derivatives = state
            above = np.concatenate([derivatives, np.broadcast_to([-1.0, 0.0, 0.0], (len(y), 1, 3))], axis=1)
            scaled = above / slacks[..., None]
            g = -mu * scaled.sum(axis=1)
            g[:, 0] -= 0.5 * y**-1.5
            H = mu * np.einsum("prk,prl->pkl", scaled, scaled)
            H[:, 0, 0] += 0.75 * y**-2.5
            gradient = np.bincount(columns.ravel(), np.einsum("p,pk,pka->pa", weight, g, values).ravel(), minlength=n)
            local = np.einsum("p,pka,pkl,plb->pab", weight, values, H, values, optimize=True)
            band = np.zeros((4, n))
            for a in range(4):
                for b in range(a + 1):
                    band[a - b] += np.bincount(first + b, local[:, a, b], minlength=n)
            change = -solveh_banded(band, gradient, lower=True)
            decrement = -float(gradient @ change)
            value, size = merit(state, mu), 1.0
            while size > 1e-10:
                trial = evaluated(c + size * change)
                if trial is not None and merit(trial, mu) <= value - 1e-4 * size * decrement:
                    break
                size *= 0.5
            else:
                break
            c, state = c + size * change, trial
            if decrement <= 1e-2 * mu * rows:
                break
        if mu * rows <= GAP * float(weight @ state[0] ** -0.5):
            return BSpline(knots, c, 3)
        mu *= BARRIER_FACTOR


def _start(points: Points) -> float:
    """Return a constant y well below the largest one that satisfies all limits."""
    none = np.zeros(len(points.theta))
    y = MAX_START
    while y > MAX_START**-2 and not (points.slacks(none + y, none, none)[0] > 0.0).all():
        y *= 0.25
    return 0.25 * y


@dataclass(frozen=True)
class DenseCheck:
    """The limits of a motion at many points of every cell."""

    limits: PathLimits
    y: BSpline
    grid: np.ndarray

    @cached_property
    def points(self) -> Points:
        """Points of all cells, then both sides of the knots of the path, where the jerk may jump."""
        assert isinstance(self.limits.path, ArcPath)
        knots, side = self.limits.path.knots, INSIDE * np.diff(self.grid).min()
        cells = _inside(self.grid, PARTS * FINE_PARTS)
        return Points(self.limits, np.concatenate([cells.ravel(), knots - side, knots + side]))

    @cached_property
    def values(self) -> list[np.ndarray]:
        """y, y' and y''."""
        return [self.y(self.points.theta, k) for k in range(3)]

    def exceeded(self, slowdown: float) -> np.ndarray:
        """Return the cells in which a limit is exceeded by the motion, slowed down by a factor."""
        excess = -self.points.slacks(*(slowdown**-2 * value for value in self.values))[0]
        cells = len(self.grid) - 1
        inside = cells * (PARTS * FINE_PARTS + 1)
        exceeded = np.any(peaks(excess[:inside].reshape(cells, -1, excess.shape[1])) > 0.0, axis=1)
        at_knots = self.points.theta[inside:][(excess[inside:] > 0.0).any(axis=1)]
        exceeded[np.searchsorted(self.grid, at_knots) - 1] = True
        return exceeded

    def slowed(self) -> BSpline:
        """Return the spline of the motion slowed down by the smallest factor with which no limit is exceeded."""
        low, high = 1.0, 1.0 + 1e-6
        while self.exceeded(high).any():
            low, high = high, 1.0 + 4.0 * (high - 1.0)
            if high > MAX_SLOWDOWN:
                raise SimulationError(
                    f"the limits of {self.limits.dyn.system.owner} are exceeded between grid points of a motion "
                    "with limited jerk.",
                    hint="Use more intervals, or a smoother path.",
                )
        for _ in range(8):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.exceeded(middle).any() else (low, middle)
        return type(self.y)(self.y.t, self.y.c * ((1.0 + SAFETY) * high) ** -2, 3)
