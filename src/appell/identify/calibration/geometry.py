"""Geometric parameters of a robot: errors of joint placements, offsets and gear ratios as inputs of its kinematics.

The target that a measuring system observes has, in the axes of that system, the pose

    T(q, θ) = B  Πᵢ Pᵢ Dᵢ Mᵢ((1 + gᵢ) qᵢ + oᵢ)  F  X                                                              (1)

with the described placements Pᵢ, joint motions Mᵢ and pose F of the frame. θ contains

    base     B, pose of the robot's root in the measuring system: x, y, z in m and a rotation vector rx, ry, rz in rad
    joint    Dᵢ, correction of a placement in the axes of the joint: x, y, z, rx, ry, rz; oᵢ, offset, rad or m; gᵢ, gear
    tool     X, pose of the target in the frame: x, y, z, rx, ry, rz

With θ = 0 the target is the described frame in the described world. What is measured of T is one of

    position    the translation of T, m                        distance    its length, m
    pose        T                                              plane       its z component, m                     (2)

A distance is measured from the origin of the measuring system, a height above its plane z = 0; the coordinates of B
that have no effect on them are not identifiable. Parameters with dependent effects are found as for inertias: N spans
the null space of the Jacobian of (2) at random configurations, and `formulate.base` derives the combinations. With base
and tool unknown, r revolute and p prismatic joints have 4r + 2p + 6 identifiable parameters for poses and 3 fewer for
positions (Everett et al. 1987). The rank does not change near the described robot, so the identifiable parameters
describe every robot near it exactly, not only to first order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation as SpatialRotation

from appell.algebra.rotation import Pose, as_pose, of_rotation_vector
from appell.algebra.scalar import Scalar
from appell.algebra.vector import Vec3
from appell.compile.function import Function
from appell.errors import ArgumentError, ModelError, unknown_name
from appell.formulate.base import base_matrix, regressor_kernel
from appell.identify.estimators.blas_threads import limit_blas_threads
from appell.kinematics.inverse.numerical_solver import default_frame
from appell.model.frame import IDENTITY_POSE
from appell.model.joints import OneAxis
from appell.model.robot import Joint, Link, Robot
from appell.model.system import System

MEASURES = {"position": 3, "pose": 6, "distance": 1, "plane": 1}  # rows per measurement
SIX = ("x", "y", "z", "rx", "ry", "rz")
KINDS = (*SIX, "offset", "gear")
STRUCTURE_SAMPLES = 60  # random configurations for the rank; more than enough for 6 + 8 n + 6 parameters
MIN_INDEPENDENT_PART = 0.05  # of a parameter that is preferred; with less, estimates would be far from the truth
TIE_TOLERANCE = 1e-6  # relative difference of independent parts that counts as rounding
PLANE_STEPS = 50  # Newton steps to the plane
PLANE_TOLERANCE_M = 1e-12


@dataclass(frozen=True)
class GeometricParameter:
    """One entry of θ; `owner` is base, tool or a joint, `kind` one of x, y, z, rx, ry, rz, offset and gear."""

    owner: str
    kind: str
    unit: str

    @property
    def name(self) -> str:
        """Owner and kind: 'elbow.offset'."""
        return f"{self.owner}.{self.kind}"


@dataclass(frozen=True, eq=False)
class Combinations:
    """The identifiable parameters, and which other parameters have the same effects."""

    parameters: tuple[GeometricParameter, ...]  # all that were to be estimated
    columns: tuple[int, ...]  # the identifiable ones among them
    matrix: np.ndarray  # B of `formulate.base`, (identifiable, parameters)

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Names of the parameters that have no effect on the measurements."""
        unused = ~np.any(self.matrix != 0.0, axis=0)
        return tuple(parameter.name for parameter, no_effect in zip(self.parameters, unused, strict=True) if no_effect)

    def dependent(self) -> dict[str, tuple[str, ...]]:
        """Return, for every parameter that is not identifiable on its own, the names of those that replace it."""
        names = [parameter.name for parameter in self.parameters]
        rest = [k for k in range(len(names)) if k not in self.columns and self.matrix[:, k].any()]
        return {names[k]: tuple(names[self.columns[i]] for i in np.flatnonzero(self.matrix[:, k])) for k in rest}


@dataclass(frozen=True, eq=False)
class GeometricModel:
    """The geometric parameters of a robot and the measurement that shows them; made by `geometric_parameters`."""

    robot: Robot
    frame: str
    measure: str
    parameters: tuple[GeometricParameter, ...]  # θ of (1)
    known: frozenset[str]  # names of the parameters that keep their nominal values
    nominal: np.ndarray = field(repr=False)  # θ of the description: zero except for base and tool

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all parameters, in the order of θ."""
        return tuple(parameter.name for parameter in self.parameters)

    @property
    def unknown(self) -> tuple[int, ...]:
        """Indices of the parameters that are not known."""
        return tuple(k for k, name in enumerate(self.names) if name not in self.known)

    @cached_property
    def coordinates(self) -> tuple[int, ...]:
        """Indices of the coordinates that move the frame."""
        owners = {parameter.owner for parameter in self.parameters}
        spans = [self.robot.span(link.joint)[0] for link in self.robot.moving if link.joint.name in owners]
        return tuple(k for span in spans for k in range(span.start, span.stop))

    def span(self, owner: str) -> slice:
        """Return the slice of base or tool in θ."""
        start = self.names.index(f"{owner}.x")
        return slice(start, start + 6)

    @cached_property
    def pose(self) -> Function:
        """T(q, θ) of (1) as a 4x4 matrix: `pose(q, parameters)`, with derivatives by both."""
        return Function.of(
            f"pose_{self.frame}",
            {"q": self.robot.nq, "parameters": len(self.parameters)},
            lambda q, parameters: {"pose": _target_pose(self, list(q), list(parameters)).matrix},
            f"The 4x4 pose of the target on frame '{self.frame}' in the measuring system.",
            self.robot.owner,
        )

    def corrected(self, joint: Joint, values: dict[str, Any]) -> Pose:
        """Return the placement of a joint with the correction D of (1), from values by name of parameter."""
        return joint.placement @ correction([values[f"{joint.name}.{kind}"] for kind in SIX])

    def rows(self, q: np.ndarray, theta: np.ndarray, columns: Sequence[int]) -> np.ndarray:
        """Return the derivatives of the measurements (2) by some parameters, (n, rows, columns)."""
        dT = self.pose.jacobian("parameters")(q, theta)[..., list(columns)]
        return _measurement_rows(self.measure, np.asarray(self.pose(q, theta)), dT)

    @limit_blas_threads
    def combinations(self, theta: np.ndarray | None = None, heights_differ: bool = False) -> Combinations:
        """Return the identifiable parameters near θ, by default the nominal one.

        With `heights_differ`, targets are not only on the plane but also at other known heights above it.
        """
        if not self.unknown:
            problem = f"no parameter of {self.robot.owner} is to be estimated."
            raise ArgumentError(problem, hint="Declare fewer parameters as known.")
        theta, rng = self.generic(self.nominal) if theta is None else theta, np.random.default_rng(0)
        count = STRUCTURE_SAMPLES
        q = self.sample(count, rng) if heights_differ else self.configurations(count, theta, rng)
        J = self.rows(q, theta, self.unknown).reshape(-1, len(self.unknown))
        null = regressor_kernel(J)
        some = tuple(self.parameters[k] for k in self.unknown)
        return Combinations(some, *base_matrix(null, _independent_columns(null, [_preference(p) for p in some])))

    def generic(self, theta: np.ndarray) -> np.ndarray:
        """Return θ with a measuring system in general position, if distances or heights are measured.

        The effects of parameters on a distance from the root, or on a height above a plane far away, are special.
        """
        base = self.span("base")
        if self.measure not in ("distance", "plane") or theta[base].any() or "base.x" in self.known:
            return theta
        rng, moved = np.random.default_rng(1), theta.copy()
        points = np.asarray(self.pose(self.sample(200, rng), theta))[:, :3, 3]
        if self.measure == "distance":
            moved[base][:3] = 2.0 * points.std() - points.mean(axis=0) + [0.0, 0.3 * points.std(), 0.0]
        else:
            moved[base][3:] = 0.2, -0.1, 0.0
            moved[base][:3] = -SpatialRotation.from_rotvec(moved[base][3:]).apply(points.mean(axis=0))
        return moved

    def sample(self, count: int, rng: np.random.Generator, margin: float = 0.0) -> np.ndarray:
        """Return random configurations (count, nq) within the limits, with a fraction of every range kept free."""
        q = np.array([self.robot.random_configuration(rng) for _ in range(count)])
        ranges = np.array(self.robot.ranges)
        limited = np.isfinite(ranges).all(axis=1)
        middle = ranges[limited].mean(axis=1)
        q[:, limited] = middle + (1.0 - 2.0 * margin) * (q[:, limited] - middle)
        return q

    def configurations(
        self, count: int, theta: np.ndarray, rng: np.random.Generator, margin: float = 0.0
    ) -> np.ndarray:
        """Return random configurations at which the measurement is possible; targets of a plane are on the plane."""
        if self.measure != "plane":
            return self.sample(count, rng, margin)
        q = self.sample(6 * count, rng, margin)
        gradient = self.pose.jacobian("q")
        for _ in range(PLANE_STEPS):
            height, slope = self.pose(q, theta)[:, 2, 3], gradient(q, theta)[:, 2, 3]
            step = -(height / np.maximum(np.sum(slope**2, axis=1), 1e-6))[:, None] * slope
            q = self.robot.integrate(q, np.clip(step, -0.5, 0.5))
        lower, upper = np.array(self.robot.ranges).T
        inside = np.all((q >= lower) & (q <= upper), axis=1)
        q = q[inside & (np.abs(self.pose(q, theta)[:, 2, 3]) < PLANE_TOLERANCE_M)]
        if len(q) < count // 6 + 1:
            raise ModelError(
                f"frame '{self.frame}' of {self.robot.owner} reaches the plane at {len(q)} of {6 * count} random "
                "configurations.",
                expected="a plane that the tool can reach within the limits of the joints",
                hint="Pass base=..., the pose of the robot in axes whose plane z = 0 is the plane.",
            )
        return q[:count]

    def describe(self) -> str:
        """Return the identifiable parameters, and what the others are equivalent to, as text."""
        combinations = self.combinations()
        chosen = [combinations.parameters[k].name for k in combinations.columns]
        lines = [f"{len(chosen)} identifiable geometric parameters of {self.robot.owner} ({self.measure})", ""]
        lines += [f"  {name}" for name in chosen]
        for name, others in combinations.dependent().items():
            lines.append(f"  {name} is equivalent to a combination of {', '.join(others)}")
        if combinations.without_effect:
            lines.append(f"  no effect: {', '.join(combinations.without_effect)}")
        return "\n".join(lines)


def geometric_parameters(
    robot: System,
    frame: str | None = None,
    *,
    measure: str = "position",
    gears: bool = False,
    known: Iterable[str] = (),
    base: Any = None,
    tool: Any = None,
) -> GeometricModel:
    """Return the geometric parameters of a robot that measurements of a target on one of its frames show.

    Parameters
    ----------
    robot : a robot without loops
    frame : the frame that carries the target; by default 'tool', or the last link of a chain
    measure : {"position", "pose", "distance", "plane"}
        What is measured: the position of the target, its pose, its distance from a point, or its height above a plane.
    gears : whether gear ratios are unknown too
    known : iterable of str
        Parameters that are not estimated: a name such as "elbow.x", an owner such as "base", "tool" or a joint, or a
        kind such as "offset".
    base : pose of the robot's root in the measuring system; by default it is computed from the measurements
    tool : pose, optional
        Pose of the target in the frame; by default the frame itself. It is corrected unless "tool" is known.

    Raises
    ------
    ModelError
        If the robot has loops, or no such frame.
    ArgumentError
        If `measure` or an entry of `known` is unknown.

    Examples
    --------
    >>> import appell as ap
    >>> geometry = ap.identify.geometric_parameters(ap.load("puma"), measure="pose")
    >>> len(geometry.combinations().columns)  # 4 per revolute joint, and 6
    30
    """
    if not isinstance(robot, Robot):
        raise ModelError(f"{robot.owner} cannot be calibrated, because it is not a tree of links without loops.")
    if measure not in MEASURES:
        raise ArgumentError(unknown_name("measure", str(measure), MEASURES, "calibration"))
    frame = default_frame(robot) if frame is None else frame
    path, body = list[Link](), robot.frame(frame).body
    while body is not None:
        path.insert(0, robot.link(body))
        body = path[0].parent
    moving = {robot.joint(link.joint.mimic.leader if link.joint.mimic else link.joint.name).name for link in path}
    joints = [link.joint for link in robot.links if link in path or link.joint.name in moving]
    if clash := {"base", "tool"} & {joint.name for joint in joints}:
        raise ModelError(
            f"joint '{min(clash)}' of {robot.owner} has the name of a pose of the measuring system.",
            hint="Rename the joint.",
        )
    parameters = [*_six("base")]
    for joint in joints:
        parameters += _six(joint.name) if any(link.joint is joint for link in path) else []
        if joint.name in moving and isinstance(joint.motion, OneAxis):
            drive = {"offset": joint.motion.unit, "gear": "1"}
            parameters += [GeometricParameter(joint.name, kind, unit) for kind, unit in drive.items()]
    parameters += _six("tool")
    nominal = np.zeros(len(parameters))
    nominal[:6], nominal[-6:] = (six_of(as_pose(p, "a pose") if p is not None else IDENTITY_POSE) for p in (base, tool))
    geometry = GeometricModel(robot, frame, measure, tuple(parameters), frozenset(), nominal)
    return replace(geometry, known=_known(geometry, [*known, *(() if gears else ("gear",))]))


def _six(owner: str) -> list[GeometricParameter]:
    return [GeometricParameter(owner, kind, "rad" if "r" in kind else "m") for kind in SIX]


def _known(geometry: GeometricModel, words: Iterable[str]) -> frozenset[str]:
    names: set[str] = set()
    for word in words:
        some = {p.name for p in geometry.parameters if word in (p.name, p.owner, p.kind)}
        if not some and word != "gear":
            known = [*dict.fromkeys(p.owner for p in geometry.parameters), *KINDS]
            raise ArgumentError(unknown_name("geometric parameter", str(word), known, geometry.robot.owner))
        names |= some
    return frozenset(names)


def _preference(parameter: GeometricParameter) -> int:
    """Rank 0 to 3: base and tool are not part of the robot and take up what the joints cannot be distinguished from."""
    return 0 if parameter.owner in ("base", "tool") else {"gear": 1, "offset": 2}.get(parameter.kind, 3)


def _independent_columns(null: np.ndarray, preference: Sequence[int]) -> list[int]:
    """Return the identifiable parameters: by preference, and among equals those with the largest independent parts.

    Row k of 1 - N Nᵀ is the observable part of parameter k, in m and rad. Large independent parts make the coefficients
    of the dropped parameters small, so that the estimates are as small as the errors of the robot.
    """
    rest = np.eye(len(null)) - null @ null.T
    sizes, chosen = np.linalg.norm(rest, axis=1), list[int]()
    for rank, least in [*((rank, MIN_INDEPENDENT_PART) for rank in range(4)), (None, 0.0)]:
        candidates = np.array([rank in (None, other) for other in preference])
        while len(chosen) < len(null) - null.shape[1]:
            parts = np.where(candidates, np.linalg.norm(rest, axis=1), 0.0)
            k = int(np.argmax(parts >= (1.0 - TIE_TOLERANCE) * parts.max()))  # the first of equal ones
            if parts[k] <= max(least * sizes[k], 1e-8):
                break
            unit = rest[k] / parts[k]
            rest = rest - np.outer(rest @ unit, unit)
            chosen.append(k)
    return sorted(chosen)


def correction(six: Sequence[Scalar]) -> Pose:
    """Return the pose of a translation and a rotation vector."""
    return Pose(of_rotation_vector(Vec3.of(six[3:])), Vec3.of(six[:3]))


def six_of(pose: Pose) -> np.ndarray:
    """Return translation and rotation vector of a pose, (6,)."""
    R = np.array([list(row) for row in pose.rotation.rows], float)
    return np.concatenate([list(pose.translation), SpatialRotation.from_matrix(R).as_rotvec()])


def _target_pose(geometry: GeometricModel, q: list[Scalar], theta: list[Scalar]) -> Pose:
    """T of (1)."""
    robot, values = geometry.robot, dict(zip(geometry.names, theta, strict=True))
    for joint in (link.joint for link in robot.moving):
        if f"{joint.name}.offset" in values:
            k = robot.span(joint)[0].start
            q[k] = q[k] + values[f"{joint.name}.gear"] * q[k] + values[f"{joint.name}.offset"]
    frame = robot.frame(geometry.frame)
    poses: dict[str | None, Pose] = {None: correction([values[f"base.{kind}"] for kind in SIX])}
    for link in robot.links:
        if f"{link.joint.name}.x" in values:
            motion = link.joint.motion.pose(robot.joint_position(link.joint, q))
            poses[link.name] = poses[link.parent] @ geometry.corrected(link.joint, values) @ motion
    return poses[frame.body] @ frame.pose @ correction([values[f"tool.{kind}"] for kind in SIX])


def _measurement_rows(measure: str, T: np.ndarray, dT: np.ndarray) -> np.ndarray:
    """Return the derivatives of the measurement (2), (n, rows, columns), from those of T.

    The rows of an orientation are the rotation vector of the change, in the axes of the target.
    """
    point = dT[:, :3, 3]
    if measure == "plane":
        return point[:, 2:]
    if measure == "distance":
        p = T[:, :3, 3]
        return np.einsum("ni,nik->nk", p / np.linalg.norm(p, axis=1)[:, None], point)[:, None]
    if measure == "position":
        return point
    turned = np.einsum("nji,njkm->nikm", T[:, :3, :3], dT[:, :3, :3])  # Rᵀ dR, skew
    return np.concatenate([point, np.stack([turned[:, 2, 1], turned[:, 0, 2], turned[:, 1, 0]], axis=1)], axis=1)
