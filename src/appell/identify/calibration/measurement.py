"""Measurements of a target: residuals, checks of their units, and the first estimate of the measuring system's pose.

With N the described pose of the frame, T = B N X as in `geometry`, the pose B follows in closed form:

    position    the rotation and translation that map the described to the measured points (Kabsch 1976)
    pose        R R_X⁻¹ = R_B R_N for all measurements, linear in the entries of R_B and R_X; then the translations
    distance    d² = |p|² + 2 b·p + |b|², linear in b and |b|²; b is the translation of B, whose rotation has no effect
    plane       the plane with the smallest squared distances from the described points, or h = n·p + c, if the heights
                differ
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation as SpatialRotation

from appell.algebra.rotation import Pose, as_rotation
from appell.algebra.vector import Vec3
from appell.errors import ArgumentError, DescriptionError, Hint, rows_text
from appell.identify.calibration.geometry import GeometricModel, correction, six_of
from appell.motion.measurement import in_units, matched
from appell.motion.record_files import read_record
from appell.motion.titles import titles

POSITION = titles("position", "xyz")
QUATERNION = titles("quaternion", "xyzw")
COLUMNS = {
    "position": POSITION,
    "pose": (*POSITION, *QUATERNION),
    "distance": ("distance",),
    "plane": ("height",),
}
SHORT_TITLES = dict(zip(("x", "y", "z", "qx", "qy", "qz", "qw"), (*POSITION, *QUATERNION), strict=True))  # other titles
UNIT_RATIOS = {
    "mm": 1e3,
    "cm": 1e2,
    "inches": 39.37,
    "km": 1e-3,
}  # lengths in these units, read as m, are so much larger
RATIO_TOLERANCE = 1.25
MIN_CHECKED = 4  # poses below which neither units nor the base can be inferred
Titles = Mapping[str, str]
MAX_EXCESS = 0.1  # fraction of a joint's range by which a measured position may be outside the limits


def read_poses(
    path: str | Path, geometry: GeometricModel, units: Titles | None = None, columns: Titles | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Read measurements from a file with one row per configuration.

    Parameters
    ----------
    path : str or Path
        A .csv, .npz or .parquet file with columns q_<coordinate>, and x, y, z, then qx, qy, qz, qw for poses, or
        distance, or height (0 if a target touches the plane, and then optional). Coordinates that do not move the
        frame, and a column t, are optional.
    geometry : GeometricModel
    units : units that are not SI: {"q": "deg", "position": "mm"}
    columns : pattern of the titles of q, {"q": "pos_{}"}, and other titles in the file: {"distance": "cable"}

    Returns
    -------
    q, measured : arrays of shape (n, nq) and (n, 3), (n, 7), (n,) or (n,)

    Raises
    ------
    DescriptionError
        If columns are missing or the file cannot be read.
    """
    patterns = {key: title for key, title in (columns or {}).items() if "{}" in title}
    exact = {key: title for key, title in (columns or {}).items() if key not in patterns}
    record = read_record(Path(path), exact, with_time=False)
    record = record.renamed({short: title for short, title in SHORT_TITLES.items() if short in record.columns})
    moving = list(geometry.coordinates)
    names = [geometry.robot.coordinate_names[k] for k in moving]
    record = in_units(matched(record, {"q": names}, patterns), units or {}).in_si()
    wanted = (*titles("q", names), *COLUMNS[geometry.measure])
    if geometry.measure == "plane" and "height" not in record.columns:
        wanted = wanted[:-1]
    if missing := [title for title in wanted if title not in record.columns]:
        raise DescriptionError(
            f"columns are missing: {', '.join(missing)}.",
            expected=f"{', '.join(wanted)}; the columns are: {', '.join(record.columns[1:])}",
            source=record.source,
            hint=Hint("Name other titles with {columns}, or select another {measure}.", columns=..., measure=...),
        )
    values = np.column_stack([record[title] for title in wanted])
    q, measured = np.tile(geometry.robot.start, (len(values), 1)), values[:, len(moving) :]
    q[:, moving] = values[:, : len(moving)]
    if geometry.measure in ("distance", "plane"):
        measured = measured[:, 0] if measured.shape[1] else np.zeros(len(q))
    return q, measured


def checked(geometry: GeometricModel, q, measured) -> tuple[np.ndarray, np.ndarray]:
    """Return configurations (n, nq) and measurements (n, 3), (n, 4, 4) or (n,) as arrays, or raise an error."""
    q = np.asarray(q, float)
    if q.ndim != 2 or q.shape[1] != geometry.robot.nq:
        raise ArgumentError(f"q has shape {q.shape}.", expected=f"(poses, {geometry.robot.nq})")
    if not len(q):
        raise ArgumentError("there are no poses.", hint="Measure poses, for example those of a plan.")
    values = np.zeros(len(q)) if measured is None and geometry.measure == "plane" else np.asarray(measured, float)
    allowed: dict[str, list[tuple[int, ...]]] = {"position": [(3,)], "pose": [(4, 4), (7,)]}
    shapes = allowed.get(geometry.measure, [()])
    if values.shape not in [(len(q), *shape) for shape in shapes]:
        raise ArgumentError(
            f"the measurements have shape {values.shape}.",
            expected=" or ".join(str((len(q), *shape)) for shape in shapes) + f" for {geometry.measure}",
        )
    flat = np.column_stack([q, values.reshape(len(q), -1)])
    if (bad := np.flatnonzero(~np.isfinite(flat).all(axis=1))).size:
        raise ArgumentError(f"{rows_text(bad)} of the measurements contain NaN or infinity.", hint="Remove these rows.")
    lower, upper = np.array(geometry.robot.ranges).T
    slack = MAX_EXCESS * np.where(np.isfinite(upper - lower), upper - lower, 1.0)
    if np.any(outside := np.any((q < lower - slack) | (q > upper + slack), axis=0)):
        k = int(np.argmax(outside))
        raise ArgumentError(
            f"q_{geometry.robot.coordinate_names[k]} is between {q[:, k].min():.4g} and {q[:, k].max():.4g}, outside "
            f"its limits {lower[k]:.4g} and {upper[k]:.4g}.",
            expected="rad or m",
            hint=Hint("Pass {units} if the file has degrees.", units={"q": "deg"}) if np.ptp(q[:, k]) > 7.0 else "",
        )
    if geometry.measure == "pose" and values.ndim == 2:
        poses = np.tile(np.eye(4), (len(q), 1, 1))
        lengths = np.linalg.norm(values[:, 3:], axis=1)
        if (bad := np.flatnonzero(np.abs(lengths - 1.0) > 1e-2)).size:
            raise ArgumentError(
                f"the quaternion of {rows_text(bad)} has length {lengths[bad[0]]:.4g}.",
                expected="length 1, order x y z w",
            )
        poses[:, :3, :3] = SpatialRotation.from_quat(values[:, 3:]).as_matrix()
        poses[:, :3, 3] = values[:, :3]
        return q, poses
    return q, values


def _check_lengths(geometry: GeometricModel, described: np.ndarray, measured: np.ndarray) -> None:
    """Raise an error if measured lengths differ from those of the described positions by the ratio of two units."""
    points = measured[:, :3, 3] if geometry.measure == "pose" else measured.reshape(len(measured), -1)
    spread = [float(np.sqrt(np.sum(x.var(axis=0)))) for x in (points, described)]
    least = 0.1 if geometry.measure == "distance" else 1.0 / RATIO_TOLERANCE  # distances vary less than positions
    for unit, factor in UNIT_RATIOS.items():
        if factor * least < spread[0] / max(spread[1], 1e-12) < factor * RATIO_TOLERANCE:
            key = "distance" if geometry.measure == "distance" else "position"
            raise ArgumentError(
                f"the measurements vary by {spread[0]:.4g}, the described positions of frame '{geometry.frame}' by "
                f"{spread[1]:.4g} m: the measurements seem to be in {unit}.",
                expected="m",
                hint=Hint("Pass {units} if the file has mm.", units={key: "mm"}) if unit == "mm" else "Convert them.",
            )


def residuals(measure: str, T: np.ndarray, measured: np.ndarray) -> np.ndarray:
    """Return predicted minus measured values, (n, rows); of orientations the rotation vector in the measured axes."""
    if measure == "plane":
        return (T[:, 2, 3] - measured)[:, None]
    if measure == "distance":
        return (np.linalg.norm(T[:, :3, 3], axis=1) - measured)[:, None]
    if measure == "position":
        return T[:, :3, 3] - measured
    turn = SpatialRotation.from_matrix(np.swapaxes(measured[:, :3, :3], 1, 2) @ T[:, :3, :3]).as_rotvec()
    return np.concatenate([T[:, :3, 3] - measured[:, :3, 3], turn], axis=1)


def first_estimate(geometry: GeometricModel, q: np.ndarray, measured: np.ndarray) -> np.ndarray:
    """Return θ with a base, and for poses a tool, that fit the described robot; check the units of lengths."""
    theta, base, tool = geometry.nominal.copy(), geometry.span("base"), geometry.span("tool")
    N = np.asarray(geometry.pose(q, theta))
    points = N[:, :3, 3]
    if geometry.measure != "plane" and len(q) >= MIN_CHECKED:
        _check_lengths(geometry, points, measured)
    if "base.x" in geometry.known or theta[base].any() or len(q) < MIN_CHECKED:
        return theta
    if geometry.measure == "position":
        theta[base] = _six(*_rigid(points, measured))
    elif geometry.measure == "distance":
        A = np.column_stack([2.0 * points, np.ones(len(q))])
        theta[base][:3] = np.linalg.lstsq(A, measured**2 - np.sum(points**2, axis=1), rcond=None)[0][:3]
    elif geometry.measure == "plane":
        normal, offset = _plane(points, measured)
        R = SpatialRotation.align_vectors([[0.0, 0.0, 1.0]], [normal])[0].as_matrix()
        theta[base] = _six(R, np.array([0.0, 0.0, offset]))
    elif "tool.rx" in geometry.known:
        theta[base] = _six(*_rigid(points, measured[:, :3, 3], measured[:, :3, :3] @ np.swapaxes(N[:, :3, :3], 1, 2)))
    else:
        R_base, R_tool = _two_rotations(N[:, :3, :3], measured[:, :3, :3])
        A = np.concatenate([R_base @ N[:, :3, :3], np.tile(np.eye(3), (len(q), 1, 1))], axis=2).reshape(-1, 6)
        solution = np.linalg.lstsq(A, (measured[:, :3, 3] - points @ R_base.T).ravel(), rcond=None)[0]
        theta[base] = _six(R_base, solution[3:])
        theta[tool] = six_of(
            correction(theta[tool].tolist()) @ Pose(as_rotation(R_tool, "the tool"), Vec3.of(solution[:3]))
        )
    return theta


def _six(R: np.ndarray, t: np.ndarray) -> np.ndarray:
    return np.concatenate([t, SpatialRotation.from_matrix(R).as_rotvec()])


def _rigid(points: np.ndarray, images: np.ndarray, turns: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the rotation and translation that map points to images; given `turns`, the rotation is their mean."""
    centre, image = points.mean(axis=0), images.mean(axis=0)
    R = _nearest_rotation((images - image).T @ (points - centre) if turns is None else turns.mean(axis=0))
    return R, image - R @ centre


def _nearest_rotation(matrix: np.ndarray) -> np.ndarray:
    U, _, Vt = np.linalg.svd(matrix)
    return U @ np.diag([1.0, 1.0, np.linalg.det(U @ Vt)]) @ Vt


def _two_rotations(described: np.ndarray, measured: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return R_B and R_X with measured = R_B described R_X, from the null vector of a linear system."""
    one = np.eye(3)
    rows = [np.hstack([np.kron(N.T, one), -np.kron(one, R)]) for N, R in zip(described, measured, strict=True)]
    null = np.linalg.svd(np.vstack(rows))[2][-1]
    base, inverse = (null[k : k + 9].reshape(3, 3, order="F") for k in (0, 9))
    sign = np.sign(np.linalg.det(base))
    return _nearest_rotation(sign * base), _nearest_rotation(sign * inverse).T


def _plane(points: np.ndarray, heights: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the unit normal n and the offset c of the plane with heights n·p + c."""
    if np.ptp(heights) == 0.0:
        centre = points.mean(axis=0)
        normal = np.linalg.svd(points - centre)[2][-1]
        return normal, float(heights[0] - normal @ centre)
    *normal, offset = np.linalg.lstsq(np.column_stack([points, np.ones(len(points))]), heights, rcond=None)[0]
    length = float(np.linalg.norm(normal))
    return np.array(normal) / length, float(offset / length)
