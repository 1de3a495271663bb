"""Joints that are held, so that they are none.

A link on a held joint stands on the nearest moving link inboard of it: its matter is welded to that link, its place is
kept as a frame, and its look goes along. Matter that stands on the world is dropped, as it never moves. Since v = a = 0
at a held joint, the forces of all others are those of the full robot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from appell.algebra.rotation import Pose
from appell.errors import ArgumentError, ModelError
from appell.model.body import Body, welded
from appell.model.frame import IN_PLACE, WORLD, Frame
from appell.model.visual import moved

if TYPE_CHECKING:
    from appell.model.robot import Link, Robot

Positions = Mapping[str, tuple[float, ...]]  # joint -> where it is held


def locked(robot: Robot, joints: str | Iterable[str] | Mapping[str, object]) -> Robot:
    """The robot with some joints held: at given positions, or where they are at the start."""
    held = _positions(robot, joints)
    stand: dict[str | None, tuple[str | None, Pose]] = {WORLD: (WORLD, IN_PLACE)}
    bodies: dict[str | None, Body | None] = {}
    links: list[Link] = []
    frames: list[Frame] = []
    carriers: dict[str, str | None] = {}
    for link in robot.links:
        joint = link.joint
        carrier, place = stand[link.parent]
        place = place @ joint.placement
        if joint.name in held:
            place = place @ joint.motion.pose(held[joint.name])
            frames.append(Frame(link.name, carrier, place))
            bodies[carrier] = welded(bodies.get(carrier), link.body and link.body.moved(place))
        else:
            links.append(replace(link, parent=carrier, joint=replace(joint, placement=place)))
            bodies[link.name] = link.body
            carrier, place = link.name, IN_PLACE
        stand[link.name], carriers[link.name] = (carrier, place), carrier
    for frame in robot.frames:
        carrier, place = stand[frame.body]
        frames.append(Frame(frame.name, carrier, place @ frame.pose))
    free = {carriers[name] for name in robot.free} - {WORLD}
    return replace(
        robot,
        links=tuple(replace(link, body=bodies[link.name]) for link in links),
        frames=tuple(frames),
        home=_home(robot, held),
        free=frozenset(name for name in free if name is not None),
        visuals=moved(robot.visuals, stand.__getitem__),
        missing=tuple(link.name for link in links if link.name in robot.missing and bodies[link.name] is None),
    )


def _positions(robot: Robot, joints: str | Iterable[str] | Mapping[str, object]) -> Positions:
    """Where every held joint stands, those that mimic one included."""
    given = joints if isinstance(joints, Mapping) else dict.fromkeys([joints] if isinstance(joints, str) else joints)
    held: dict[str, tuple[float, ...]] = {}
    for name, position in given.items():
        joint = robot.joint(name)
        if joint.mimic:
            raise ModelError(
                f"joint '{name}' of {robot.owner} mimics '{joint.mimic.leader}' and cannot be held by itself.",
                hint=f"hold '{joint.mimic.leader}'",
            )
        try:
            at = robot.start[robot.span(joint)[0]] if position is None else np.atleast_1d(np.asarray(position, float))
        except (TypeError, ValueError):
            at = np.zeros(0)
        if at.shape != (joint.motion.nq,) or not np.isfinite(at).all():
            raise ArgumentError(
                f"joint '{name}' of {robot.owner} is to be held at {position}.",
                expected=f"{joint.motion.nq} finite numbers, or None for where it starts",
            )
        if ("qw", "1") in joint.motion.coordinates and not at[-4:].any():
            raise ArgumentError(
                f"joint '{name}' of {robot.owner} is to be held at a quaternion of zeros.",
                expected="a length above zero",
            )
        held[name] = tuple(at.tolist())
    for link in robot.links:
        if (mimic := link.joint.mimic) and mimic.leader in held:
            held[link.joint.name] = (mimic.multiplier * held[mimic.leader][0] + mimic.offset,)
    return held


def _home(robot: Robot, held: Positions) -> tuple[float, ...] | None:
    if robot.home is None:
        return None
    spans = (robot.span(link.joint)[0] for link in robot.moving if link.joint.name not in held)
    return tuple(x for span in spans for x in robot.home[span])
