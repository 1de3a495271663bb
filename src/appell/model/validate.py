"""Validation of a robot when it is created.

Later checks rely on earlier ones: names and tree first, then joints, mimics, frames and bodies. All flaws of a robot
are reported in one error; each names its culprit and the file that the robot was read from. Bodies that are physically
impossible are rejected if `robot.physical` is true and otherwise reported in one `ModelWarning`, as are inertias that
violate the triangle inequality by no more than rounding explains.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from appell.algebra.matrix import IDENTITY
from appell.algebra.rotation import ORTHONORMAL_TOLERANCE, Pose
from appell.algebra.vector import Vec3
from appell.errors import Hint, ModelError, ModelWarning, gathered, is_finite, unknown_name, value_text
from appell.model.actuator import LIMITS, actuator_flaw, is_elastic

if TYPE_CHECKING:
    from appell.model.robot import Joint, Robot

Culprit = tuple[str, str]  # kind (link, joint, frame, robot) and name


@dataclass(frozen=True)
class Flaw:
    """One reason why links do not form a robot, and the part that causes it."""

    culprit: Culprit
    problem: str
    expected: str = ""
    hint: str = ""

    def error(self, source: str) -> ModelError:
        error = ModelError(self.problem, expected=self.expected, source=source, hint=self.hint)
        error.culprit = self.culprit
        return error


def validate(robot: Robot) -> None:
    """Raise a ModelError that lists all flaws of a robot; warn about values that rounding may explain."""
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
    yield from _flexible(robot)
    yield from _settings(robot)
    yield from _bodies(robot)


def _names(robot: Robot) -> Iterator[Flaw]:
    expected = "a printable string without leading or trailing blanks"
    if not _is_name(robot.name):
        yield Flaw(("robot", ""), f"a robot is named {robot.name!r}.", expected)
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
            if not _is_name(name) and not (kind == "frame" and k < len(robot.links)):  # reported as links already
                yield Flaw((kind, name), f"robot '{robot.name}' has a {kind} named {name!r}.", expected)
            if name in seen:
                pair = "two frames (every link is one)" if kind == "frame" else f"two {kind}s"
                if kind != "frame" or k >= len(robot.links):
                    yield Flaw((kind, name), f"robot '{robot.name}' has {pair} named '{name}'.", "unique names")
            seen.add(name)


def _is_name(name: object) -> bool:
    return isinstance(name, str) and name != "" and name == name.strip() and name.isprintable()


def _tree(robot: Robot) -> Iterator[Flaw]:
    all_links, earlier = set(robot.link_names), set()
    for link in robot.links:
        if link.parent is not None and link.parent not in earlier:
            where = f"link '{link.name}' of robot '{robot.name}' has parent '{link.parent}'"
            if link.parent in all_links:
                problem, expected = f"{where}, which does not come before it.", "parents before children, no cycles"
                yield Flaw(("link", link.name), problem, expected)
            else:
                sentence = unknown_name("link", link.parent, robot.link_names, "The robot")
                yield Flaw(("link", link.name), f"{where}. {sentence}")
        earlier.add(link.name)


def _joint(robot: Robot, joint: Joint) -> Iterator[Flaw]:
    owner, culprit = f"joint '{joint.name}' of robot '{robot.name}'", ("joint", joint.name)
    kind = joint.motion.name
    yield from _pose(joint.placement, owner, culprit)
    axis = getattr(joint.motion, "axis", None)
    if axis is not None and not abs(math.hypot(*axis) - 1.0) <= ORTHONORMAL_TOLERANCE:
        yield Flaw(culprit, f"{owner} has axis {_listed(axis)}.", "a vector of unit length")
    if is_elastic(joint.actuator) and joint.motion.nv != 1:
        yield Flaw(culprit, f"{owner} is {kind}, but elastic.", "a joint of one axis")
    elif is_elastic(joint.actuator) and joint.mimic:
        expected = "an elasticity of the leader only"
        yield Flaw(culprit, f"{owner} mimics '{joint.mimic.leader}', but is elastic.", expected)
    elif flaw := actuator_flaw(joint.actuator):
        yield Flaw(culprit, f"{owner} {flaw}.", "an actuator that can exist")
    elif joint.motion.nv != 1:
        if joint.actuator.rotor_inertia and kind != "spherical":  # there it counts equally about all axes
            yield Flaw(culprit, f"{owner} is {kind}, but has a rotor.", "a joint of one axis, or a spherical joint")
        if joint.actuator.stiffness:
            yield Flaw(culprit, f"{owner} is {kind}, but has a spring.", "a joint of one axis")
        if any(getattr(joint.actuator, limit) is not None for limit in LIMITS):
            yield Flaw(culprit, f"{owner} is {kind}, but its actuator has limits.", "no limits, or a joint of one axis")
    yield from _limits(joint, owner, culprit)


def _limits(joint: Joint, owner: str, culprit: Culprit) -> Iterator[Flaw]:
    limits, kind = joint.limits, joint.motion.name
    numbers = {key: value for key, value in vars(limits).items() if value is not None}
    for side, value in numbers.items():
        if joint.motion.nq != 1 or kind == "continuous":
            yield Flaw(culprit, f"{owner} is {kind}, but has a limit '{side}'.", "no position limits")
        elif not is_finite(value):
            yield Flaw(
                culprit, f"{owner} has {side} limit {value_text(value)}.", "a finite number, or None for no limit"
            )
    low, high = limits.lower, limits.upper
    if low is not None and high is not None and is_finite(low) and is_finite(high) and low > high:
        yield Flaw(culprit, f"{owner} has lower limit {low:g} above its upper limit {high:g}.")


def _mimics(robot: Robot) -> Iterator[Flaw]:
    joints = {link.joint.name: link.joint for link in robot.links}
    for joint in joints.values():
        if joint.mimic is None:
            continue
        culprit = ("joint", joint.name)
        owner, leader = f"joint '{joint.name}' of robot '{robot.name}'", joint.mimic.leader
        if leader not in joints:
            yield Flaw(culprit, f"{owner} mimics '{leader}'. {unknown_name('joint', leader, joints, 'The robot')}")
        elif leader == joint.name:
            yield Flaw(culprit, f"{owner} mimics itself.", "the name of another joint")
        elif joints[leader].mimic is not None:
            expected = "the name of a joint that is not a mimic"
            yield Flaw(culprit, f"{owner} mimics '{leader}', which is a mimic itself.", expected)
        else:
            for member in (joint, joints[leader]):
                if member.motion.nq != 1:
                    kind = f"'{member.name}' is {member.motion.name}"
                    yield Flaw(culprit, f"{owner} mimics '{leader}', but {kind}.", "two joints of one axis each")
        yield from _finite((joint.mimic.multiplier, joint.mimic.offset), f"the mimic of {owner}", culprit)


def _frames(robot: Robot) -> Iterator[Flaw]:
    links = set(robot.link_names)
    for frame in robot.frames:
        owner, culprit = f"frame '{frame.name}' of robot '{robot.name}'", ("frame", frame.name)
        if frame.body is not None and frame.body not in links:
            sentence = unknown_name("link", frame.body, robot.link_names, "The robot")
            yield Flaw(culprit, f"{owner} is fixed to '{frame.body}'. {sentence}")
        yield from _pose(frame.pose, owner, culprit)


def _flexible(robot: Robot) -> Iterator[Flaw]:
    """Nodes that do not exist, flexible links on mimic joints, and fixed joints in rigid robots."""
    bodies: dict[str | None, object] = {link.name: link.body for link in robot.links}
    carried = [("link", link.name, link.parent, link.at) for link in robot.links]
    carried += [("frame", frame.name, frame.body, frame.at) for frame in robot.frames]
    for kind, name, body, node in carried:
        if node is None:
            continue
        owner = f"{kind} '{name}' of robot '{robot.name}' is at node '{node}' of '{body}'"
        if not (nodes := getattr(bodies.get(body), "nodes", ())):
            yield Flaw((kind, name), f"{owner}, which is not flexible.", "a node of a flexible link")
        elif node not in (names := [x.name for x in nodes]):
            sentence = unknown_name("node", node, names, f"link '{body}'")
            yield Flaw((kind, name), f"{owner}. {sentence}")
    for link in robot.links:
        if link.modes and link.joint.mimic is not None:
            problem = (
                f"link '{link.name}' of robot '{robot.name}' is flexible, but joint '{link.joint.name}' is a mimic."
            )
            yield Flaw(("link", link.name), problem, "a joint with its own coordinate")
        if not link.joint.motion.nv and not robot.flexible:
            problem = f"joint '{link.joint.name}' of robot '{robot.name}' is fixed, but no link is flexible."
            hint = "Combine the bodies with ap.Builder(...).fixed(...)."
            yield Flaw(("joint", link.joint.name), problem, "joints that move", hint)


def _settings(robot: Robot) -> Iterator[Flaw]:
    owner, culprit = f"robot '{robot.name}'", ("robot", "")
    yield from _finite(robot.gravity, f"the gravity of {owner}", culprit)
    if robot.home is not None:
        if len(robot.home) not in (robot.nq, robot.link_nq):
            yield Flaw(culprit, f"{owner} has a home of {len(robot.home)} numbers.", f"nq = {robot.nq}")
        elif any(not any(robot.home[span]) for span in robot.quaternions):
            yield Flaw(
                culprit, f"the home of {owner} contains a quaternion of zeros.", "a quaternion of non-zero length"
            )
        yield from _finite(robot.home, f"the home of {owner}", culprit)
    for kind, names in (("free", sorted(robot.free)), ("missing", robot.missing)):
        for name in names:
            if name not in robot.link_names:
                sentence = unknown_name("link", name, robot.link_names, owner)
                yield Flaw(culprit, f"{sentence} It is listed as {kind}.")


def _bodies(robot: Robot) -> Iterator[Flaw]:
    hint = Hint("Correct the description, or load it with {physical} to accept it with a warning.", physical=False)
    for link in robot.links:
        body = link.body
        if body is not None and (robot.physical or not body.is_finite) and (flaw := body.flaw()):
            problem = f"link '{link.name}' of robot '{robot.name}' {flaw}."
            yield Flaw(("link", link.name), problem, "a body that can exist", hint if body.is_finite else "")


def _warn(robot: Robot) -> None:
    messages = []
    for link in robot.links:
        if link.body is None:
            continue
        flaw = "" if robot.physical else link.body.flaw()
        if message := flaw or link.body.rounding_warning():
            messages.append(f"link '{link.name}' {message}")
    missing = robot.missing_inertias()
    massless = [name for name in robot.missing if name not in missing and name not in robot.free]
    messages += [f"link '{name}' has no inertia and is treated as massless" for name in massless]
    if messages:
        where = f"\n  read from {robot.source}" if robot.source else ""
        warnings.warn(f"robot '{robot.name}': {'; '.join(messages)}.{where}", ModelWarning, stacklevel=2)


def _pose(pose: Pose, owner: str, culprit: Culprit) -> Iterator[Flaw]:
    R = pose.rotation
    entries = (*pose.translation, *(x for row in R.rows for x in row))
    if flaws := list(_finite(entries, f"the placement of {owner}", culprit)):
        yield from flaws
        return
    error = max(abs(x) for row in (R.T @ R - IDENTITY).rows for x in row)
    if error > ORTHONORMAL_TOLERANCE:
        yield Flaw(
            culprit,
            f"the rotation in the placement of {owner} is not orthonormal (error {error:.1e}).",
            "a rotation matrix",
            "Use Pose.from_rpy(Vec3(roll, pitch, yaw), translation).",
        )
    elif R.rows[0].cross(R.rows[1]).dot(R.rows[2]) < 0.0:
        yield Flaw(culprit, f"the rotation in the placement of {owner} is a reflection.", "determinant +1")


def _finite(numbers: Iterable[float], quantity: str, culprit: Culprit) -> Iterator[Flaw]:
    numbers = tuple(numbers)
    if not all(map(is_finite, numbers)):
        yield Flaw(culprit, f"{quantity} is {_listed(numbers)}.", "finite numbers")


def _listed(numbers: Iterable[float] | Vec3) -> str:
    return "(" + ", ".join(f"{x:g}" if is_finite(x) else value_text(x) for x in numbers) + ")"
