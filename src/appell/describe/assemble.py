"""Convert the parts of a description into the links and frames of a robot.

1. Parts keep the order in which they were described; an ancestor described later is moved before its descendants.
2. Fixed parts are lumped into the nearest moving link inboard of them: their rotated and shifted inertias are added to
   that link's, and their poses are kept as frames. Mass fixed to the world is dropped, because it never moves. Parts
   that are fixed to a flexible link, or are flexible, stay links on a fixed joint.
3. Mimics of mimics are resolved to the last leader:  q = m₁ (m₂ q_leader + o₂) + o₁.
4. Moving links without mass that were not declared massless are listed as missing their inertia.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from appell.algebra.matrix import IDENTITY, Mat3
from appell.algebra.rotation import Pose
from appell.algebra.scalar import snap
from appell.describe.diagnostics import ErrorCollector
from appell.errors import DescriptionError, unknown_name
from appell.model.actuator import IDEAL, Actuator
from appell.model.body import Body, Inertia
from appell.model.flexible import FlexibleBody
from appell.model.frame import IDENTITY_POSE, Frame
from appell.model.joints import Fixed, Motion
from appell.model.limits import NO_LIMITS, Limits
from appell.model.robot import Joint, Link, Mimic
from appell.model.visual import Attachment

LOOP_HINT = (
    "Cut the loop into branches of a tree, and close it with [[loop]] in TOML or robot.with_loops(...) in Python."
)


@dataclass(frozen=True)
class Part:
    """A link and the joint that carries it, as described; `motion` is None for a fixed joint."""

    name: str
    parent: str | None
    motion: Motion | None
    joint: str  # name of the joint; empty for a fixed root
    placement: Pose = IDENTITY_POSE
    body: Any = None  # a Body, a FlexibleBody, or None
    massless: bool = False  # declared to have no mass
    limits: Limits = NO_LIMITS
    mimic: Mimic | None = None
    actuator: Actuator = IDEAL
    where: str = ""  # file and line of the joint
    body_where: str = ""  # file and line of the body
    node: str | None = None  # of a flexible parent


@dataclass(frozen=True)
class FramePart:
    """A named frame on a part, as described."""

    name: str
    on: str | None
    pose: Pose
    where: str = ""
    node: str | None = None


def assemble(
    parts: Sequence[Part], frame_parts: Sequence[FramePart], errors: ErrorCollector
) -> tuple[tuple[Link, ...], tuple[Frame, ...], tuple[str, ...], dict[str | None, Attachment]]:
    """Assemble parts and frames into a tree.

    Parameters
    ----------
    parts : links with their joints, in any order
    frame_parts : named frames on these links
    errors : collects all errors of the parts

    Returns
    -------
    links : moving links, parents first, with the bodies fixed to them
    frames : frames of fixed links and of `frame_parts`
    missing : names of the links whose inertia is missing
    attachments : for every part and frame, the link that carries it (None: the world) and the pose on that link
    """
    parts = _parents_first(_unique(parts, errors), errors)
    leaders = _last_leaders(parts, errors)
    attachments: dict[str | None, Attachment] = {None: (None, IDENTITY_POSE)}
    bodies_on: dict[str | None, list[tuple[Pose, Body]]] = {None: []}
    joints: list[tuple[Part, Motion, str | None, Pose]] = []
    flexible = {part.name for part in parts if isinstance(part.body, FlexibleBody)}
    frames: list[Frame] = []
    for part in parts:
        carrier, pose = attachments[part.parent]
        pose = _compose(pose, part.placement)
        if part.motion is not None or part.name in flexible or carrier in flexible:
            joints.append((part, part.motion or Fixed(), carrier, pose))
            carrier, pose = part.name, IDENTITY_POSE
            bodies_on[carrier] = []
        else:
            frames.append(Frame(part.name, carrier, pose))
        attachments[part.name] = carrier, pose
        if part.body is not None:
            bodies_on[carrier].append((pose, part.body))

    links, missing = [], []
    for part, motion, carrier, pose in joints:
        body = errors.attempt(None, _lump, bodies_on[part.name], part)
        if body is None and not part.massless and motion.nv:
            missing.append(part.name)
        joint = Joint(part.joint, motion, pose, part.limits, leaders.get(part.joint), part.actuator)
        links.append(Link(part.name, carrier, joint, body, part.node))
    all_attachments = dict(attachments)  # shapes may be attached to frames; frames may not
    for frame in frame_parts:
        if frame.on not in attachments:
            sentence = unknown_name("link", str(frame.on), [part.name for part in parts], "The robot")
            problem = f"frame '{frame.name}' is fixed to '{frame.on}'. {sentence}"
            errors.add(DescriptionError(problem, source=frame.where))
            continue
        carrier, pose = attachments[frame.on]
        pose = _compose(pose, frame.pose)
        all_attachments.setdefault(frame.name, (carrier, pose))
        frames.append(Frame(frame.name, carrier, pose, frame.node))
    return tuple(links), tuple(frames), tuple(missing), all_attachments


def _unique(parts: Sequence[Part], errors: ErrorCollector) -> list[Part]:
    """Return the parts without those whose name, or joint name, occurred before."""
    names: dict[str, Part] = {}
    joints: dict[str, Part] = {}
    kept = []
    for part in parts:
        for what, name, seen in (("links", part.name, names), ("joints", part.joint, joints)):
            if name and name in seen:
                first = f", first at {seen[name].where}" if seen[name].where else ""
                errors.add(DescriptionError(f"there are two {what} named '{name}'{first}.", source=part.where))
        if part.name not in names and not (part.joint and part.joint in joints):
            kept.append(part)
        names.setdefault(part.name, part)
        joints.setdefault(part.joint, part)
    return kept


def _parents_first(parts: Sequence[Part], errors: ErrorCollector) -> list[Part]:
    """Return the parts in their order, with every ancestor moved before its descendants."""
    by_name = {part.name: part for part in parts}
    ordered: list[Part] = []
    done: set[str | None] = {None}
    for part in parts:
        waiting: dict[str, Part] = {}
        while part.name not in done:
            if part.name in waiting:
                cycle = " -> ".join([*list(waiting)[list(waiting).index(part.name) :], part.name])
                problem = f"the links form a cycle: {cycle}."
                errors.add(DescriptionError(problem, source=part.where, hint=LOOP_HINT))
                last = next(reversed(waiting))
                waiting[last] = replace(waiting[last], parent=None)
                break
            waiting[part.name] = part
            if part.parent is None or part.parent in done:
                break
            if part.parent not in by_name:
                sentence = unknown_name("link", part.parent, by_name, "The robot")
                problem = f"link '{part.name}' has parent '{part.parent}'. {sentence}"
                errors.add(DescriptionError(problem, source=part.where))
                waiting[part.name] = replace(part, parent=None)
                break
            part = by_name[part.parent]
        ordered += reversed(waiting.values())
        done.update(waiting)
    return ordered


def _last_leaders(parts: Sequence[Part], errors: ErrorCollector) -> dict[str, Mimic]:
    """Return, for every mimic joint, its relation to the last leader of its chain; each leader is resolved once."""
    by_joint = {part.joint: part for part in parts}
    resolved: dict[str, Mimic | None] = {}
    for part in parts:
        chain: dict[str, Part] = {}
        while part.mimic is not None and part.motion is not None and part.joint not in resolved:
            if part.joint in chain:
                errors.add(
                    DescriptionError(
                        f"joint '{part.joint}' mimics itself, directly or through other joints.", source=part.where
                    )
                )
                resolved |= dict.fromkeys(chain)
                break
            chain[part.joint] = part
            leader = errors.attempt(None, _leader, part, by_joint)
            if leader is None:
                resolved[part.joint] = None
                break
            part = leader
        for part in reversed(chain.values()):
            if part.joint in resolved or part.mimic is None:
                continue
            mimic, leader = part.mimic, by_joint[part.mimic.leader]
            inner = resolved[leader.joint] if leader.mimic is not None else Mimic(leader.joint)
            resolved[part.joint] = inner and Mimic(
                inner.leader, mimic.multiplier * inner.multiplier, mimic.multiplier * inner.offset + mimic.offset
            )
    return {joint: mimic for joint, mimic in resolved.items() if mimic is not None}


def _leader(part: Part, by_joint: Mapping[str, Part]) -> Part:
    """Return the part whose joint a mimic joint follows; both joints must have one axis."""
    assert part.mimic is not None
    assert part.motion is not None
    leader = by_joint.get(part.mimic.leader)
    if leader is None:
        sentence = unknown_name("joint", part.mimic.leader, [name for name in by_joint if name], "The robot")
        problem = f"joint '{part.joint}' mimics '{part.mimic.leader}'. {sentence}"
        hint = "Pass mimic=False to give every joint its own coordinate."
        raise DescriptionError(problem, source=part.where, hint=hint)
    if leader.motion is None or leader.motion.nq != 1 or part.motion.nq != 1:
        kinds = [(p.joint, p.motion.name if p.motion else "fixed") for p in (part, leader)]
        which = " and ".join(f"'{name}' is {kind}" for name, kind in kinds)
        problem = f"joint '{part.joint}' mimics '{leader.joint}', but {which}."
        raise DescriptionError(problem, expected="two joints with one axis each", source=part.where)
    return leader


def _compose(outer: Pose, inner: Pose) -> Pose:
    """Return outer @ inner, with entries that rounding moved off 0 and ±1 restored."""
    if outer.rotation == IDENTITY:
        return replace(inner, translation=outer.translation + inner.translation)
    pose = outer @ inner
    return Pose(Mat3.of([snap(x) for x in row] for row in pose.rotation.rows), pose.translation)


def _lump(bodies: Sequence[tuple[Pose, Body]], part: Part) -> Body | None:
    """Return the sum of the bodies on a link; a single body in the axes of the link is returned unchanged."""
    if not bodies:
        return None
    if len(bodies) == 1 and bodies[0][0] == IDENTITY_POSE:
        return bodies[0][1]
    total = sum((body.about_origin.moved(pose) for pose, body in bodies), start=Inertia())
    if total.mass == 0.0:
        problem = f"the masses lumped into link '{part.name}' add up to 0, but their inertias do not."
        raise DescriptionError(problem, expected="positive masses", source=part.where)
    return Body.from_inertia(total)
