"""Kinematic calibration: estimate geometric parameters from measurements of a target.

    minimise  Σ ρ(rᵢ / σᵢ)        r = predicted - measured, as in `measurement`                                     (1)

over the identifiable parameters, by the method of Levenberg and Marquardt with the compiled Jacobian J of the
kinematics; ρ is the square, or Huber's function. First only base and tool are estimated, from a closed-form start,
which gives the error of the described robot; then all parameters. Unless σ is given, it is estimated from the
residuals, for poses separately for positions and orientations (variance components, each with its share of the degrees
of freedom). Then

    C = (Jᵀ W J)⁻¹           θ ± t C^½, t the 97.5 % quantile of Student's distribution                             (2)
    eᵢ = (1 - Hᵢᵢ)⁻¹ rᵢ       H = J C Jᵀ W: the error at pose i of a fit without pose i                             (3)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import qr
from scipy.optimize import least_squares

from appell.errors import ArgumentError, Hint, rows_text
from appell.identify.calibration.geometry import MEASURES, SIX, GeometricModel, geometric_parameters
from appell.identify.calibration.measurement import checked, first_estimate, residuals
from appell.identify.estimators.blas_threads import limit_blas_threads
from appell.identify.identified import write_system
from appell.model.robot import Joint, Robot
from appell.model.system import System
from appell.show.plot.style import BLUE, FIGURE_WIDTH_IN, GREY, RED, label, new_figure, styled

MAX_REWEIGHTINGS = 20
SIGMA_TOLERANCE = 1e-3  # relative change of the weights that ends the iteration
MIN_SIGMA = 1e-15  # m and rad, of measurements without noise
NORMAL_QUARTILE = 0.6745  # of the standard normal distribution
OUTER_TOLERANCE = 1e-6  # relative size of a column of base or tool, less its dependence on others, that is kept
HUBER = 1.345  # in units of σ; 95 % efficient for normal errors
MIN_BLOCK_M = 0.02  # a larger difference of heights above the plane is not noise and shows the scale of the robot
CONCERNED = 1e-3  # smallest component of an undetermined combination, of unit length, that is listed
DETERMINED = 1e-7  # smallest relative singular value of J, in m and rad, that counts as determined
MAX_RELATIVE_ERROR = 0.01  # of the spread of the tool positions: a larger error contradicts the model
MAX_ANGLE_ERROR = 0.05  # rad, likewise
OUTLIER = 4.0  # in units of σ
POOR_INTERVAL = 0.02  # m, rad or relative: parameters of joints with a wider interval are listed as poorly determined
DEGREES = 180.0 / np.pi
DISPLAY_UNITS = {"m": (1e3, "mm"), "rad": (1e3, "mrad"), "1": (1e6, "ppm")}


@dataclass(frozen=True, eq=False)
class Calibration:
    """Result of `calibrate`: the estimated parameters with their covariance, residuals, and the calibrated robot."""

    geometry: GeometricModel
    parameters: np.ndarray  # θ, all of them
    columns: tuple[int, ...]  # the estimated ones
    covariance: np.ndarray  # of the estimated ones
    q: np.ndarray
    residuals: np.ndarray  # predicted minus measured, (n, rows), m and rad
    validation: np.ndarray  # errors (3) of fits without the pose, (n, rows)
    described: np.ndarray  # residuals of the described robot with the best base and tool, (n, rows)
    sigma: tuple[float, ...]  # standard deviation of the measurements: of lengths, m, and of orientations, rad
    freedom: int  # degrees of freedom of the residuals

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the estimated parameters."""
        return tuple(self.geometry.names[k] for k in self.columns)

    @property
    def std(self) -> np.ndarray:
        """Standard deviations of the estimated parameters, (len(names),)."""
        return np.sqrt(np.diag(self.covariance))

    @cached_property
    def intervals(self) -> np.ndarray:
        """95 % confidence intervals of the estimated parameters, (len(names), 2)."""
        from scipy.stats import t

        half = t.ppf(0.975, self.freedom) * self.std
        estimate = self.parameters[list(self.columns)]
        return np.column_stack([estimate - half, estimate + half])

    @cached_property
    def robot(self) -> Robot:
        """The calibrated robot, on whose joint placements the corrections and offsets have been applied.

        Its coordinates are the measured ones; those of a joint with an estimated gear ratio must be multiplied by
        1 + gear, and the ratio of its actuator is divided by it.
        """
        values = dict(zip(self.geometry.names, self.parameters.tolist(), strict=True))
        robot = self.geometry.robot
        return replace(robot, links=tuple(replace(link, joint=self._joint(link.joint, values)) for link in robot.links))

    def _joint(self, joint: Joint, values: dict[str, float]) -> Joint:
        leader = joint.mimic.leader if joint.mimic else joint.name
        offset, gear = joint.scale * values.get(f"{leader}.offset", 0.0), values.get(f"{joint.name}.gear", 0.0)
        placement = joint.placement
        if any(values.get(f"{joint.name}.{kind}") for kind in SIX):
            placement = self.geometry.corrected(joint, values)
        if offset:
            placement = placement @ joint.motion.pose([offset])
        actuator = replace(joint.actuator, gear=joint.actuator.gear / (1.0 + gear))
        return replace(joint, placement=placement, actuator=actuator)

    def predict(self, q) -> np.ndarray:
        """Return the poses (..., 4, 4) of the target in the measuring system for configurations (..., nq)."""
        return np.asarray(self.geometry.pose(np.asarray(q, float), self.parameters))

    @property
    def remarks(self) -> list[str]:
        """Outliers and poorly determined parameters, as sentences."""
        lines = []
        scale = np.repeat(self.sigma, 3)[: self.residuals.shape[1]]
        standardised = np.sqrt(np.abs(self.residuals * self.validation)) / scale  # r / (σ √(1 - h))
        far = np.flatnonzero(standardised.max(axis=1) > OUTLIER)
        if len(far):
            lines.append(f"{rows_text(far)}: errors above {OUTLIER:g} standard deviations; check these measurements")
        half = 0.5 * np.ptp(self.intervals, axis=1)
        poor = [
            f"{name} (±{h:.2g} {self.geometry.parameters[k].unit})"
            for name, h, k in zip(self.names, half, self.columns, strict=True)
            if h > POOR_INTERVAL and self.geometry.parameters[k].owner not in ("base", "tool")
        ]
        if poor:
            lines.append(f"poorly determined: {', '.join(poor)}; measure more poses, or declare them as known")
        return lines

    def facts(self) -> dict[str, Any]:
        """Return the result as plain data in SI units."""
        parts = {"described": self.described, "residual": self.residuals, "validation": self.validation}
        rows = zip(self.names, self.columns, self.std, self.intervals, strict=True)
        return {
            "frame": self.geometry.frame,
            "measure": self.geometry.measure,
            "poses": len(self.q),
            "rms": {name: _rms(part) for name, part in parts.items()},
            "max": {name: float(_sizes(part[:, :3]).max()) for name, part in parts.items()},
            "sigma": self.sigma,
            "parameters": [
                {
                    "name": name,
                    "value": self.parameters[k],
                    "std": std,
                    "interval": interval,
                    "unit": self.geometry.parameters[k].unit,
                }
                for name, k, std, interval in rows
            ],
            "remarks": self.remarks,
        }

    def tables(self) -> list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
        """Return title, heading and rows of the tables of the report: errors, and parameters with 95 % intervals."""
        errors: list[tuple[str, ...]] = []
        facts = self.facts()
        rows = {"described": "described", "residual": "calibrated", "validation": "calibrated, at left-out poses"}
        for key, title in rows.items():
            cells = [1e3 * facts["rms"][key][0], 1e3 * facts["max"][key], *(1e3 * x for x in facts["rms"][key][1:])]
            errors.append((title, *(f"{x:.4g}" for x in cells)))
        heading = ("robot", "rms, mm", "largest, mm", "rms, mrad")[: len(errors[0])]
        parameters: list[tuple[str, ...]] = []
        for row in facts["parameters"]:
            scale, unit = DISPLAY_UNITS[row["unit"]]
            value, low, high = (f"{scale * x:.4f}" for x in (row["value"], *row["interval"]))
            parameters.append((row["name"], value, f"{low} to {high}", unit))
        return [
            ("Errors of the target", heading, errors),
            ("Estimated parameters", ("parameter", "value", "95 % interval", "unit"), parameters),
        ]

    def to_markdown(self) -> str:
        """Return the report: errors before and after, parameters with 95 % intervals, and remarks."""
        lines = [f"# Calibration of {self.geometry.robot.owner}", ""]
        lines += [f"{len(self.q)} measurements ({self.geometry.measure}) of frame '{self.geometry.frame}'.", ""]
        for title, heading, rows in self.tables():
            lines += [f"## {title}", ""]
            lines += [f"| {' | '.join(cells)} |" for cells in (heading, ["---"] * len(heading), *rows)] + [""]
        return "\n".join([*lines, *(f"- {remark}" for remark in self.remarks)]).rstrip() + "\n"

    def plot(self, figure: Any = None) -> Any:
        """Draw the error of the target at every pose before and after calibration; return the matplotlib figure."""
        parts = {"described": self.described, "calibrated": self.residuals, "at left-out poses": self.validation}
        with styled():
            figure = figure or new_figure(FIGURE_WIDTH_IN, 0.45 * FIGURE_WIDTH_IN)
            axis = figure.subplots()
            for (name, errors), color, marker in zip(parts.items(), (GREY, BLUE, RED), "sox", strict=True):
                axis.semilogy(1e3 * _sizes(errors[:, :3]), marker, color=color, ms=4.0, label=name)
            axis.set_xlabel("pose")
            axis.set_ylabel(label("error of the target", "mm"))
            figure.legend(*axis.get_legend_handles_labels(), ncols=3, loc="outside upper right")
        return figure

    def export(self, path: str | Path, *, overwrite: bool = False) -> Robot:
        """Write the calibrated robot to a .urdf or .toml file and return it.

        The .urdf file of a robot that was read from a .urdf file is that file with changed numbers: comments, meshes
        and plugins stay.
        """
        write_system(self.robot, path, overwrite)
        return self.robot


@limit_blas_threads
def calibrate(
    robot: System | GeometricModel,
    q,
    measured=None,
    *,
    sigma: float | Sequence[float] | np.ndarray | None = None,
    robust: bool = False,
    tolerance: float | None = None,
    **options: Any,
) -> Calibration:
    """Estimate the geometric parameters of a robot from measurements of a target.

    Parameters
    ----------
    robot : the described robot, or the result of `geometric_parameters`
    q : array (n, nq)
        Measured configurations, rad or m.
    measured : array
        Positions (n, 3); poses (n, 4, 4), or (n, 7) as x, y, z and quaternion x, y, z, w; distances (n,); or heights
        above the plane (n,), zero by default. Lengths in m.
    sigma : standard deviation of the measured lengths, m, and of the orientations, rad; by default estimated
    robust : whether to reduce the weight of outliers (Huber's function)
    tolerance : float, optional
        Largest rms error after calibration, m, above which the measurements contradict the model; by default 1 % of
        the spread of the tool positions.
    **options
        `frame`, `measure`, `gears`, `known`, `base` and `tool`, as in `geometric_parameters`.

    Returns
    -------
    Calibration

    Raises
    ------
    ArgumentError
        If there are too few or unsuitable poses (the undetermined parameters are named), or if the measurements contain
        NaN, are in other units, or contradict the model.

    Examples
    --------
    >>> import numpy as np, appell as ap
    >>> geometry = ap.identify.geometric_parameters(ap.load("puma"), tool=(0.1, 0.05, 0.1))
    >>> plan = ap.identify.plan_poses(geometry, 40)
    >>> theta, unknown = geometry.nominal.copy(), list(geometry.unknown)
    >>> theta[unknown] += 1e-3 * np.random.default_rng(0).normal(size=len(unknown))
    >>> points = geometry.pose(plan.q, theta)[:, :3, 3]
    >>> fit = ap.identify.calibrate(geometry, plan.q, points)
    >>> bool(np.abs(fit.residuals).max() < 1e-9)
    True
    """
    geometry = robot if isinstance(robot, GeometricModel) else geometric_parameters(robot, **options)
    q, values = checked(geometry, q, measured)
    theta = first_estimate(geometry, q, values)
    problem = _Problem(geometry, q, values, robust, _deviations(geometry, sigma), sigma is None)
    theta = problem.solved(theta, problem.outer_columns(theta))[0]
    described = problem.residuals(theta)
    columns = problem.determined_columns(theta)
    theta, scale = problem.solved(theta, columns)
    error = problem.residuals(theta)
    _check_agreement(geometry, q, error, described, tolerance)
    J = problem.jacobian(theta, columns, scale)
    covariance = np.linalg.inv(J.T @ J)
    blocks = J.reshape(*error.shape, -1)
    H = blocks @ covariance @ np.swapaxes(blocks, 1, 2)
    left_out = np.linalg.solve(np.eye(error.shape[1]) - H, (error / scale)[..., None])[..., 0] * scale
    deviations = tuple(map(float, problem.noise(theta, columns, scale)))
    freedom = error.size - len(columns)
    return Calibration(geometry, theta, tuple(columns), covariance, q, error, left_out, described, deviations, freedom)


def _deviations(geometry: GeometricModel, sigma: Any) -> np.ndarray:
    """Return σ of lengths and orientations, 1 where it is to be estimated."""
    count = 2 if geometry.measure == "pose" else 1
    given = np.ones(count) if sigma is None else np.atleast_1d(np.asarray(sigma, float))
    if given.shape != (count,) or not np.all(np.isfinite(given) & (given > 0.0)):
        expected = "two positive numbers, in m and rad" if count == 2 else "a positive number, in m"
        raise ArgumentError(f"sigma is {sigma!r}.", expected=expected)
    return given


@dataclass(frozen=True, eq=False)
class _Problem:
    """The sum of squares (1); `sigma` are deviations of lengths and orientations, initial ones if estimated."""

    geometry: GeometricModel
    q: np.ndarray
    measured: np.ndarray
    robust: bool
    sigma: np.ndarray
    estimates_sigma: bool

    def residuals(self, theta: np.ndarray) -> np.ndarray:
        return residuals(self.geometry.measure, np.asarray(self.geometry.pose(self.q, theta)), self.measured)

    def jacobian(self, theta: np.ndarray, columns: Sequence[int], scale: np.ndarray | float = 1.0) -> np.ndarray:
        """Return the derivatives of the residuals, divided by `scale` (n, rows), as a matrix."""
        J = self.geometry.rows(self.q, theta, columns) / np.expand_dims(scale, -1)
        return J.reshape(-1, len(columns))

    def outer_columns(self, theta: np.ndarray) -> list[int]:
        """Return the unknown parameters of base and tool that the measurements distinguish, by pivoting."""
        columns = [k for k in self.geometry.unknown if self.geometry.parameters[k].owner in ("base", "tool")]
        if not columns:
            return []
        R, order = qr(self.jacobian(theta, columns), mode="r", pivoting=True)
        sizes = np.abs(np.diag(R))
        return [columns[k] for k in order[: int(np.sum(sizes > OUTER_TOLERANCE * sizes[0]))]]

    def determined_columns(self, theta: np.ndarray) -> list[int]:
        """Return the identifiable parameters, or raise an error that names those that the poses do not determine."""
        geometry = self.geometry
        heights_differ = geometry.measure == "plane" and np.ptp(self.measured) > MIN_BLOCK_M
        columns = [geometry.unknown[k] for k in geometry.combinations(theta, heights_differ).columns]
        J = self.jacobian(theta, columns)
        _, s, Vt = np.linalg.svd(J)
        rank = int(np.sum(s > DETERMINED * s[0]))
        if rank == len(columns) < len(J):
            return columns
        concerned = np.flatnonzero(np.abs(Vt[rank:]).max(axis=0, initial=0.0) > CONCERNED)
        names = ", ".join(geometry.names[columns[k]] for k in concerned)
        least = len(columns) // MEASURES[geometry.measure] + 1
        raise ArgumentError(
            f"{len(self.q)} poses determine {rank} of {len(columns)} identifiable parameters of {geometry.robot.owner}"
            + (f". Undetermined are combinations of: {names}." if names else ", but not the noise."),
            expected=f"at least {least} poses, in general position; two or three times as many reduce the noise",
            hint=Hint("Measure more poses, for example those of a plan, or declare parameters as {known}.", known=...),
        )

    def solved(self, theta: np.ndarray, columns: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return θ with the smallest sum (1), and the σ of every residual, larger for outliers of a robust fit."""
        error, index = self.residuals(theta), list(columns)
        scale = self._spread(self.sigma, error)
        for _ in range(MAX_REWEIGHTINGS if index else 0):
            start, before = theta, scale

            def moved(x: np.ndarray, start: np.ndarray = start) -> np.ndarray:
                theta = start.copy()
                theta[index] = x
                return theta

            solution = least_squares(
                lambda x, scale=scale: (self.residuals(moved(x)) / scale).ravel(),
                start[index],
                lambda x, scale=scale: self.jacobian(moved(x), index, scale),
                method="lm",
                x_scale="jac",
                **dict.fromkeys(("ftol", "xtol", "gtol"), 1e-15),
            )
            theta = moved(solution.x)
            error, scale = self.residuals(theta), self._spread(self.noise(theta, index, scale), error)
            if self.robust:
                scale = scale * np.sqrt(np.maximum(np.abs(error) / (HUBER * scale), 1.0))
            ratio = scale / before
            if np.ptp(ratio) < SIGMA_TOLERANCE * ratio.max():  # a common factor does not change the solution
                break
        return theta, scale

    @staticmethod
    def _spread(sigma: np.ndarray, error: np.ndarray) -> np.ndarray:
        """Return σ of every residual, (n, rows)."""
        return np.broadcast_to(np.repeat(sigma, 3)[: error.shape[1]], error.shape)

    def noise(self, theta: np.ndarray, columns: Sequence[int], scale: np.ndarray) -> np.ndarray:
        """Return σ of lengths and orientations: the given ones, or from residuals and their degrees of freedom."""
        if not self.estimates_sigma:
            return self.sigma
        Q = np.linalg.qr(self.jacobian(theta, columns, scale))[0]
        freedom = np.maximum(1.0 - np.sum(Q**2, axis=1), 1e-9).reshape(scale.shape)
        error, sigma = self.residuals(theta), []
        for block in (slice(k, k + 3) for k in range(0, error.shape[1], 3)):
            if self.robust:  # from the median, which outliers do not change
                sigma.append(np.median(np.abs(error[:, block])) / (NORMAL_QUARTILE * np.sqrt(freedom.mean())))
            else:
                sigma.append(np.sqrt(np.sum(error[:, block] ** 2) / np.sum(freedom[:, block])))
        return np.maximum(sigma, MIN_SIGMA)


def _check_agreement(
    geometry: GeometricModel, q: np.ndarray, error: np.ndarray, described: np.ndarray, tolerance: float | None
) -> None:
    """Raise an error if the calibrated robot does not reproduce the measurements."""
    points = np.asarray(geometry.pose(q, geometry.nominal))[:, :3, 3]
    limit = MAX_RELATIVE_ERROR * float(_sizes(points - points.mean(axis=0)).mean()) if tolerance is None else tolerance
    length, *angle = _rms(error)
    if length <= limit and not (angle and angle[0] > MAX_ANGLE_ERROR):
        return
    orientation = f" and {DEGREES * angle[0]:.3g}°" if angle else ""
    raise ArgumentError(
        f"the measurements contradict {geometry.robot.owner}: after calibration the error of frame '{geometry.frame}' "
        f"is {1e3 * length:.4g} mm{orientation} rms, before {1e3 * _rms(described)[0]:.4g} mm; largest in row "
        f"{np.argmax(_sizes(error[:, :3]))}.",
        expected=f"at most {1e3 * limit:.4g} mm" + (f" and {DEGREES * MAX_ANGLE_ERROR:.3g}°" if angle else ""),
        hint=[
            "Check the frame, the order and the signs of the coordinates, and the units.",
            Hint("Pass the approximate position of the target in the frame as {tool}.", tool=...),
            Hint("Pass {robust} if a few rows are wrong, or a larger {tolerance}.", robust=True, tolerance=...),
        ],
    )


def _sizes(rows: np.ndarray) -> np.ndarray:
    return np.linalg.norm(rows, axis=1)


def _rms(rows: np.ndarray) -> list[float]:
    """Return the root mean square length of the errors of positions, m, and of orientations, rad."""
    return [float(np.sqrt(np.mean(np.sum(rows[:, k : k + 3] ** 2, axis=1)))) for k in range(0, rows.shape[1], 3)]
