"""Locking joints: a smaller robot in which some joints do not move.

A link on a locked joint is rigidly connected to the nearest moving link inboard of it: its body is combined with the
body of that link, its pose becomes a frame, and its shapes are moved. Bodies fixed to the world are dropped, because
they never move. In a robot with flexible links, locked joints become fixed joints instead. Since v = a = 0 at a locked
joint, the forces at all other joints equal those of the full robot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from appell.algebra.rotation import Pose
from appell.model.actuator import IDEAL
from appell.model.body import welded
from appell.model.flexible import FlexibleBody
from appell.model.frame import IDENTITY_POSE, WORLD, Frame
from appell.model.joints import Fixed
from appell.model.limits import NO_LIMITS
from appell.model.positions import joint_coordinates
from appell.model.visual import Attachment, moved

if TYPE_CHECKING:
    from appell.model.robot import Link, Robot

Positions = Mapping[str, tuple[float, ...]]  # locked joint -> its position


def locked(robot: Robot, joints: str | Iterable[str] | Mapping[str, object]) -> Robot:
    """Return the robot with some joints locked, at given positions or at those of `robot.start`."""
    positions = _positions(robot, joints)
    return _with_fixed_joints(robot, positions) if robot.flexible else _merged(robot, robot.links, positions)


def rigid(robot: Robot) -> Robot:
    """Return the robot with undeformed links; links on fixed joints are combined with the links that carry them."""

    def at_rest(pose: Pose, body: str | None, node: str | None) -> Pose:
        return pose if node is None else Pose(translation=robot.bodies[body].node(node).position) @ pose  # type: ignore[index, union-attr]

    links = [
        replace(
            link,
            body=link.body.undeformed if isinstance(link.body, FlexibleBody) else link.body,
            joint=replace(link.joint, placement=at_rest(link.joint.placement, link.parent, link.at)),
            at=None,
        )
        for link in robot.links
    ]
    frames = tuple(replace(frame, pose=at_rest(frame.pose, frame.body, frame.at), at=None) for frame in robot.frames)
    home = robot.home
    if home is not None:
        modal = {k for link in robot.flexible for k in range(robot.nq)[robot.modal_span(link)[0]]}
        home = tuple(x for k, x in enumerate(home) if k not in modal)
    fixed = {link.joint.name: () for link in links if not link.joint.motion.nv}
    return replace(_merged(robot, links, fixed, frames), home=home)


def _merged(
    robot: Robot, all_links: Sequence[Link], positions: Positions, named_frames: Sequence[Frame] | None = None
) -> Robot:
    attachments: dict[str | None, Attachment] = {WORLD: (WORLD, IDENTITY_POSE)}
    bodies: dict[str | None, Any] = {}
    links: list[Link] = []
    frames: list[Frame] = []
    carriers: dict[str, str | None] = {}
    for link in all_links:
        joint = link.joint
        carrier, pose = attachments[link.parent]
        pose = pose @ joint.placement
        if joint.name in positions:
            pose = pose @ joint.motion.pose(positions[joint.name])
            frames.append(Frame(link.name, carrier, pose))
            bodies[carrier] = welded(bodies.get(carrier), link.body and link.body.moved(pose))  # type: ignore[arg-type, union-attr]
        else:
            links.append(replace(link, parent=carrier, joint=replace(joint, placement=pose)))
            bodies[link.name] = link.body
            carrier, pose = link.name, IDENTITY_POSE
        attachments[link.name], carriers[link.name] = (carrier, pose), carrier
    for frame in robot.frames if named_frames is None else named_frames:
        carrier, pose = attachments[frame.body]
        frames.append(Frame(frame.name, carrier, pose @ frame.pose))
    free = {carriers[name] for name in robot.free} - {WORLD}
    return replace(
        robot,
        links=tuple(replace(link, body=bodies[link.name]) for link in links),
        frames=tuple(frames),
        home=_home(robot, positions) if named_frames is None else None,
        free=frozenset(name for name in free if name is not None),
        visuals=moved(robot.visuals, attachments.__getitem__),
        collisions=moved(robot.collisions, attachments.__getitem__),
        missing=tuple(link.name for link in links if link.name in robot.missing and bodies[link.name] is None),
    )


def _with_fixed_joints(robot: Robot, positions: Positions) -> Robot:
    """A robot with flexible links keeps all links; locked joints become fixed joints at their positions."""

    def held(link: Link) -> Link:
        joint = link.joint
        if joint.name not in positions:
            return link
        pose = joint.placement @ joint.motion.pose(positions[joint.name])
        return replace(
            link, joint=replace(joint, motion=Fixed(), placement=pose, limits=NO_LIMITS, mimic=None, actuator=IDEAL)
        )

    home = robot.home
    if home is not None:
        locked_coordinates = {k for name in positions for k in range(robot.nq)[robot.span(robot.joint(name))[0]]}
        home = tuple(x for k, x in enumerate(home) if k not in locked_coordinates)
    return replace(robot, links=tuple(held(link) for link in robot.links), home=home)


def _positions(robot: Robot, joints: str | Iterable[str] | Mapping[str, object]) -> Positions:
    """Positions of all locked joints, including those that mimic one."""
    requested = (
        joints if isinstance(joints, Mapping) else dict.fromkeys([joints] if isinstance(joints, str) else joints)
    )
    positions: dict[str, tuple[float, ...]] = {}
    for name, position in requested.items():
        start = robot.start[robot.span(robot.joint(name))[0]]
        positions[name] = tuple(joint_coordinates(robot, name, start if position is None else position).tolist())
    for link in robot.links:
        if (mimic := link.joint.mimic) and mimic.leader in positions:
            positions[link.joint.name] = (mimic.multiplier * positions[mimic.leader][0] + mimic.offset,)
    return positions


def _home(robot: Robot, positions: Positions) -> tuple[float, ...] | None:
    if robot.home is None:
        return None
    spans = (robot.span(link.joint)[0] for link in robot.moving if link.joint.name not in positions)
    return tuple(x for span in spans for x in robot.home[span])
