"""Everything that is asked of a robot before any work is done with it.

The checks run in the order in which a later one may rely on an earlier one: names and tree first, then joints, mimics,
frames and bodies. All flaws of a robot are told at once, each naming its culprit and where the robot was read. Bodies
that cannot exist are refused while `robot.physical` holds, and else reported in one `ModelWarning`, as are inertias
that only rounding excuses.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from appell.algebra.matrix import IDENTITY
from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell.errors import Hint, ModelError, ModelWarning, gathered, unknown_name
from appell.model.actuator import LIMITS, actuator_flaw

if TYPE_CHECKING:
    from appell.model.robot import Joint, Robot

ORTHONORMAL = 1e-10  # largest entry of RᵀR - 1; anything above bends every torque by as much
Culprit = tuple[str, str]  # link, joint or frame, and its name


@dataclass(frozen=True)
class Flaw:
    """One thing that keeps links from being a robot, and the part that is to blame."""

    culprit: Culprit
    problem: str
    expected: str = ""
    hint: str = ""

    def error(self, source: str) -> ModelError:
        error = ModelError(self.problem, expected=self.expected, source=source, hint=self.hint)
        error.culprit = self.culprit
        return error


def validate(robot: Robot) -> None:
    """Raise a ModelError with all that keeps these links from being a robot; warn of what is only doubtful."""
    flaws = list(_structure(robot)) or list(_parts(robot))
    if flaws:
        errors = [flaw.error(robot.source) for flaw in flaws]
        raise gathered(errors, robot.source or f"robot '{robot.name}'", ModelError)
    _warn(robot)


def _structure(robot: Robot) -> Iterator[Flaw]:
    yield from _names(robot)
    yield from _tree(robot)


def _parts(robot: Robot) -> Iterator[Flaw]:
    for link in robot.links:
        yield from _joint(robot, link.joint)
    yield from _mimics(robot)
    yield from _frames(robot)
    yield from _settings(robot)
    yield from _bodies(robot)


def _names(robot: Robot) -> Iterator[Flaw]:
    wanted = "a printable text without blanks around it"
    if not _is_name(robot.name):
        yield Flaw(("robot", ""), f"a robot is named {robot.name!r}.", wanted)
    if not robot.links:
        problem = f"robot '{robot.name}' has no moving joint, so there is nothing to compute."
        yield Flaw(("robot", ""), problem, "at least one link on a joint that is not fixed")
    kinds = {
        "link": [link.name for link in robot.links],
        "joint": [link.joint.name for link in robot.links],
        "frame": [*robot.link_names, *(frame.name for frame in robot.frames)],
    }
    for kind, names in kinds.items():
        seen: set[str] = set()
        for k, name in enumerate(names):
            if not _is_name(name) and not (kind == "frame" and k < len(robot.links)):  # links are told as such
                yield Flaw((kind, name), f"robot '{robot.name}' has a {kind} named {name!r}.", wanted)
            if name in seen:
                what = "two frames (every link is one)" if kind == "frame" else f"two {kind}s"
                if kind != "frame" or k >= len(robot.links):
                    yield Flaw((kind, name), f"robot '{robot.name}' has {what} named '{name}'.", "unique names")
            seen.add(name)


def _is_name(name: object) -> bool:
    return isinstance(name, str) and name != "" and name == name.strip() and name.isprintable()


def _tree(robot: Robot) -> Iterator[Flaw]:
    every, earlier = set(robot.link_names), set()
    for link in robot.links:
        if link.parent is not None and link.parent not in earlier:
            where = f"link '{link.name}' of robot '{robot.name}' has parent '{link.parent}'"
            if link.parent in every:
                problem, wanted = f"{where}, which does not come before it.", "parents before children, no cycles"
                yield Flaw(("link", link.name), problem, wanted)
            else:
                sentence = unknown_name("link", link.parent, robot.link_names, "The robot")
                yield Flaw(("link", link.name), f"{where}. {sentence}")
        earlier.add(link.name)


def _joint(robot: Robot, joint: Joint) -> Iterator[Flaw]:
    who, culprit = f"joint '{joint.name}' of robot '{robot.name}'", ("joint", joint.name)
    yield from _pose(joint.placement, who, culprit)
    axis = getattr(joint.motion, "axis", None)
    if axis is not None and not abs(math.hypot(*axis) - 1.0) <= ORTHONORMAL:
        yield Flaw(culprit, f"{who} has axis {_listed(axis)}.", "a vector of unit length")
    if flaw := actuator_flaw(joint.actuator):
        yield Flaw(culprit, f"{who} {flaw}.", "an actuator that can exist")
    elif joint.motion.nv != 1:
        if joint.actuator.rotor_inertia and joint.motion.name != "spherical":  # there the same about every axis
            yield Flaw(culprit, f"{who} is {joint.motion.name}, but has a rotor.", "a joint of one axis, or a ball")
        if joint.actuator.stiffness:
            yield Flaw(culprit, f"{who} is {joint.motion.name}, but has a spring.", "a joint of one axis")
        if any(getattr(joint.actuator, limit) is not None for limit in LIMITS):
            yield Flaw(culprit, f"{who} is {joint.motion.name}, but its actuator has limits.", "no such limit")
    yield from _limits(joint, who, culprit)


def _limits(joint: Joint, who: str, culprit: Culprit) -> Iterator[Flaw]:
    limits, kind = joint.limits, joint.motion.name
    numbers = {key: value for key, value in vars(limits).items() if value is not None}
    for what, value in numbers.items():
        if joint.motion.nq != 1 or kind == "continuous":
            yield Flaw(culprit, f"{who} is {kind}, but has a limit '{what}'.", "no such limit")
        elif not math.isfinite(value):
            yield Flaw(culprit, f"{who} has {what} limit {value}.", "a finite number, or None for no limit")
    if limits.lower is not None and limits.upper is not None and limits.lower > limits.upper:
        yield Flaw(culprit, f"{who} has lower limit {limits.lower:g} above its upper limit {limits.upper:g}.")


def _mimics(robot: Robot) -> Iterator[Flaw]:
    joints = {link.joint.name: link.joint for link in robot.links}
    for joint in joints.values():
        if joint.mimic is None:
            continue
        culprit = ("joint", joint.name)
        who, leader = f"joint '{joint.name}' of robot '{robot.name}'", joint.mimic.leader
        if leader not in joints:
            yield Flaw(culprit, f"{who} mimics '{leader}'. {unknown_name('joint', leader, joints, 'The robot')}")
        elif leader == joint.name:
            yield Flaw(culprit, f"{who} mimics itself.", "the name of another joint")
        elif joints[leader].mimic is not None:
            yield Flaw(culprit, f"{who} mimics '{leader}', which is a mimic itself.", "the last leader")
        else:
            for follower in (joint, joints[leader]):
                if follower.motion.nq != 1:
                    kind = f"'{follower.name}' is {follower.motion.name}"
                    yield Flaw(culprit, f"{who} mimics '{leader}', but {kind}.", "two joints of one axis each")
        yield from _finite((joint.mimic.multiplier, joint.mimic.offset), f"the mimic of {who}", culprit)


def _frames(robot: Robot) -> Iterator[Flaw]:
    links = set(robot.link_names)
    for frame in robot.frames:
        who, culprit = f"frame '{frame.name}' of robot '{robot.name}'", ("frame", frame.name)
        if frame.body is not None and frame.body not in links:
            sentence = unknown_name("link", frame.body, robot.link_names, "The robot")
            yield Flaw(culprit, f"{who} is fixed to '{frame.body}'. {sentence}")
        yield from _pose(frame.pose, who, culprit)


def _settings(robot: Robot) -> Iterator[Flaw]:
    owner, culprit = f"robot '{robot.name}'", ("robot", "")
    yield from _finite(robot.gravity, f"the gravity of {owner}", culprit)
    if robot.home is not None:
        if len(robot.home) != robot.nq:
            yield Flaw(culprit, f"{owner} has a home of {len(robot.home)} numbers.", f"nq = {robot.nq}")
        elif any(not any(robot.home[span]) for span in robot.quaternions):
            yield Flaw(culprit, f"the home of {owner} holds a quaternion of zeros.", "a length above zero")
        yield from _finite(robot.home, f"the home of {owner}", culprit)
    for kind, names in (("free", sorted(robot.free)), ("missing", robot.missing)):
        for name in names:
            if name not in robot.link_names:
                sentence = unknown_name("link", name, robot.link_names, owner)
                yield Flaw(culprit, f"{sentence} It is listed as {kind}.")


def _bodies(robot: Robot) -> Iterator[Flaw]:
    hint = Hint("mend the description, or load it with {physical} to accept it with a warning", physical=False)
    for link in robot.links:
        body = link.body
        if body is not None and (robot.physical or not body.is_finite) and (flaw := body.flaw()):
            problem = f"link '{link.name}' of robot '{robot.name}' {flaw}."
            yield Flaw(("link", link.name), problem, "a body that can exist", hint if body.is_finite else "")


def _warn(robot: Robot) -> None:
    doubts = []
    for link in robot.links:
        if link.body is None:
            continue
        flaw = "" if robot.physical else link.body.flaw()
        if doubt := flaw or link.body.doubt():
            doubts.append(f"link '{link.name}' {doubt}")
    lacking = robot.lacking()
    massless = [name for name in robot.missing if name not in lacking and name not in robot.free]
    doubts += [f"link '{name}' has no inertia and counts as massless" for name in massless]
    if doubts:
        where = f"\n  read from {robot.source}" if robot.source else ""
        warnings.warn(f"robot '{robot.name}': {'; '.join(doubts)}.{where}", ModelWarning, stacklevel=2)


def _pose(pose: Pose, who: str, culprit: Culprit) -> Iterator[Flaw]:
    R = pose.rotation
    entries = (*pose.translation, *(x for row in R.rows for x in row))
    if flaws := list(_finite(entries, f"the placement of {who}", culprit)):
        yield from flaws
        return
    error = max(abs(x) for row in (R.T @ R - IDENTITY).rows for x in row)
    if error > ORTHONORMAL:
        yield Flaw(
            culprit,
            f"the rotation that places {who} is not orthonormal (by {error:.1e}).",
            "a rotation matrix",
            "Pose.from_rpy(Vec3(roll, pitch, yaw), translation) always gives one",
        )
    elif R.rows[0].cross(R.rows[1]).dot(R.rows[2]) < 0.0:
        yield Flaw(culprit, f"the rotation that places {who} is a reflection.", "determinant +1")


def _finite(numbers: Iterable[float], what: str, culprit: Culprit) -> Iterator[Flaw]:
    numbers = tuple(numbers)
    if not all(math.isfinite(x) for x in numbers):
        yield Flaw(culprit, f"{what} is {_listed(numbers)}.", "finite numbers")


def _listed(numbers: Iterable[float] | Vec3) -> str:
    return "(" + ", ".join(f"{x:g}" for x in numbers) + ")"
