"""Everything that is asked of a robot before any work is done with it.

The checks run in the order in which a later one may rely on an earlier one: names, tree, joints, mimics, frames, then
the numbers. Each failure is a `ModelError` that names the culprit and where the robot was read. Bodies that cannot
exist are refused while `robot.physical` holds, and else reported in one `ModelWarning`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING

from appell.algebra.matrix import IDENTITY
from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell.errors import ModelError, ModelWarning, unknown_name
from appell.model.actuator import LIMITS, actuator_flaw

if TYPE_CHECKING:
    from appell.model.robot import Joint, Robot

ORTHONORMAL = 1e-10  # largest entry of RᵀR - 1; anything above bends every torque by as much


def validate(robot: Robot) -> None:
    """Raise a ModelError for the first thing that keeps these links from being a robot."""
    _check_names(robot)
    _check_tree(robot)
    for link in robot.links:
        _check_joint(robot, link.joint)
    _check_mimics(robot)
    _check_frames(robot)
    _check_settings(robot)
    _check_bodies(robot)


def _refuse(robot: Robot, problem: str, expected: str = "", hint: str = "") -> ModelError:
    return ModelError(problem, expected=expected, source=robot.source, hint=hint)


def _check_names(robot: Robot) -> None:
    if not _is_name(robot.name):
        raise _refuse(robot, f"a robot is named {robot.name!r}.", expected="a printable text without blanks around it")
    if not robot.links:
        raise _refuse(
            robot,
            f"robot '{robot.name}' has no moving joint, so there is nothing to compute.",
            expected="at least one link on a joint that is not fixed",
        )
    kinds = {
        "link": [link.name for link in robot.links],
        "joint": [link.joint.name for link in robot.links],
        "frame": [*robot.link_names, *(frame.name for frame in robot.frames)],
    }
    for kind, names in kinds.items():
        seen: set[str] = set()
        for name in names:
            if not _is_name(name):
                expected = "a printable text without blanks around it"
                raise _refuse(robot, f"robot '{robot.name}' has a {kind} named {name!r}.", expected)
            if name in seen:
                what = "two frames (every link is one)" if kind == "frame" else f"two {kind}s"
                raise _refuse(robot, f"robot '{robot.name}' has {what} named '{name}'.", expected="unique names")
            seen.add(name)


def _is_name(name: object) -> bool:
    return isinstance(name, str) and name != "" and name == name.strip() and name.isprintable()


def _check_tree(robot: Robot) -> None:
    every, earlier = set(robot.link_names), set()
    for link in robot.links:
        if link.parent is not None and link.parent not in earlier:
            where = f"link '{link.name}' of robot '{robot.name}' has parent '{link.parent}'"
            if link.parent in every:
                raise _refuse(robot, f"{where}, which does not come before it.", "parents before children, no cycles")
            raise _refuse(robot, f"{where}. " + unknown_name("link", link.parent, robot.link_names, "The robot"))
        earlier.add(link.name)


def _check_joint(robot: Robot, joint: Joint) -> None:
    who = f"joint '{joint.name}' of robot '{robot.name}'"
    _check_pose(robot, joint.placement, who)
    axis = getattr(joint.motion, "axis", None)
    if axis is not None and not abs(math.hypot(*axis) - 1.0) <= ORTHONORMAL:
        raise _refuse(robot, f"{who} has axis {_listed(axis)}.", expected="a vector of unit length")
    if flaw := actuator_flaw(joint.actuator):
        raise _refuse(robot, f"{who} {flaw}.", expected="an actuator that can exist")
    if joint.actuator.rotor_inertia and joint.motion.nv != 1:
        raise _refuse(robot, f"{who} is {joint.motion.name}, but has a rotor.", expected="a joint of one axis")
    if joint.actuator.stiffness and joint.motion.nv != 1:
        raise _refuse(robot, f"{who} is {joint.motion.name}, but has a spring.", expected="a joint of one axis")
    if joint.motion.nv != 1 and any(getattr(joint.actuator, limit) is not None for limit in LIMITS):
        raise _refuse(robot, f"{who} is {joint.motion.name}, but its actuator has limits.", expected="no such limit")
    _check_limits(robot, joint, who)


def _check_limits(robot: Robot, joint: Joint, who: str) -> None:
    limits, kind = joint.limits, joint.motion.name
    numbers = {key: value for key, value in vars(limits).items() if value is not None}
    for what, value in numbers.items():
        if joint.motion.nq != 1 or kind == "continuous":
            raise _refuse(robot, f"{who} is {kind}, but has a limit '{what}'.", expected="no such limit")
        if not math.isfinite(value):
            raise _refuse(robot, f"{who} has {what} limit {value}.", expected="a finite number, or None for no limit")
    if limits.lower is not None and limits.upper is not None and limits.lower > limits.upper:
        raise _refuse(robot, f"{who} has lower limit {limits.lower:g} above its upper limit {limits.upper:g}.")


def _check_mimics(robot: Robot) -> None:
    joints = {link.joint.name: link.joint for link in robot.links}
    for joint in joints.values():
        if joint.mimic is None:
            continue
        who, leader = f"joint '{joint.name}' of robot '{robot.name}'", joint.mimic.leader
        if leader not in joints:
            sentence = unknown_name("joint", leader, joints, "The robot")
            raise _refuse(robot, f"{who} mimics '{leader}'. {sentence}")
        if leader == joint.name:
            raise _refuse(robot, f"{who} mimics itself.", expected="the name of another joint")
        if joints[leader].mimic is not None:
            raise _refuse(robot, f"{who} mimics '{leader}', which is a mimic itself.", expected="the last leader")
        for follower in (joint, joints[leader]):
            if follower.motion.nq != 1:
                kind = f"'{follower.name}' is {follower.motion.name}"
                raise _refuse(robot, f"{who} mimics '{leader}', but {kind}.", expected="two joints of one axis each")
        _check_finite(robot, (joint.mimic.multiplier, joint.mimic.offset), f"the mimic of {who}")


def _check_frames(robot: Robot) -> None:
    links = set(robot.link_names)
    for frame in robot.frames:
        who = f"frame '{frame.name}' of robot '{robot.name}'"
        if frame.body is not None and frame.body not in links:
            sentence = unknown_name("link", frame.body, robot.link_names, "The robot")
            raise _refuse(robot, f"{who} is fixed to '{frame.body}'. {sentence}")
        _check_pose(robot, frame.pose, who)


def _check_settings(robot: Robot) -> None:
    owner = f"robot '{robot.name}'"
    _check_finite(robot, robot.gravity, f"the gravity of {owner}")
    if robot.home is not None:
        if len(robot.home) != robot.nq:
            raise _refuse(robot, f"{owner} has a home of {len(robot.home)} numbers.", expected=f"nq = {robot.nq}")
        _check_finite(robot, robot.home, f"the home of {owner}")
    for kind, names in (("free", sorted(robot.free)), ("missing", robot.missing)):
        for name in names:
            if name not in robot.link_names:
                sentence = unknown_name("link", name, robot.link_names, owner)
                raise _refuse(robot, f"{sentence} It is listed as {kind}.")


def _check_bodies(robot: Robot) -> None:
    flaws = []
    for link in robot.links:
        flaw = link.body.flaw() if link.body is not None else ""
        if not flaw:
            continue
        if robot.physical or not (link.body is not None and link.body.is_finite):
            hint = "mend the description, or load it with physical=False to accept it with a warning"
            problem = f"link '{link.name}' of robot '{robot.name}' {flaw}."
            raise _refuse(robot, problem, expected="a body that can exist", hint=hint)
        flaws.append(f"link '{link.name}' {flaw}")
    if robot.physical:
        return
    flaws += [f"link '{name}' has no inertia and counts as massless" for name in robot.missing]
    if flaws:
        where = f"\n  read from {robot.source}" if robot.source else ""
        warnings.warn(f"robot '{robot.name}': {'; '.join(flaws)}.{where}", ModelWarning, stacklevel=2)


def _check_pose(robot: Robot, pose: Pose, who: str) -> None:
    R = pose.rotation
    _check_finite(robot, (*pose.translation, *(x for row in R.rows for x in row)), f"the placement of {who}")
    error = max(abs(x) for row in (R.T @ R - IDENTITY).rows for x in row)
    if error > ORTHONORMAL:
        raise _refuse(
            robot,
            f"the rotation that places {who} is not orthonormal (by {error:.1e}).",
            expected="a rotation matrix",
            hint="Pose.from_rpy(Vec3(roll, pitch, yaw), translation) always gives one",
        )
    if R.rows[0].cross(R.rows[1]).dot(R.rows[2]) < 0.0:
        raise _refuse(robot, f"the rotation that places {who} is a reflection.", expected="determinant +1")


def _check_finite(robot: Robot, numbers: Iterable[float], what: str) -> None:
    numbers = tuple(numbers)
    if not all(math.isfinite(x) for x in numbers):
        raise _refuse(robot, f"{what} is {_listed(numbers)}.", expected="finite numbers")


def _listed(numbers: Iterable[float] | Vec3) -> str:
    return "(" + ", ".join(f"{x:g}" for x in numbers) + ")"
