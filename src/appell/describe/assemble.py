"""From the parts of a description to the links and frames of a robot.

1. Parts keep the order in which they were described; an ancestor that came late is moved up before its descendants.
2. A fixed part stands on the nearest moving link below it. Its mass is added to that link's (turned and shifted), and
   its place is kept as a frame. Mass that stands on the world is dropped: it never moves.
3. A mimic of a mimic is traced to its last leader:  q = m₁ (m₂ q_leader + o₂) + o₁.
4. A moving link that neither carries mass nor was said to have none is listed as missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from appell.algebra.matrix import IDENTITY, Mat3
from appell.algebra.rotation import Pose
from appell.algebra.scalar import snap
from appell.describe.flaws import Flaws
from appell.errors import DescriptionError, unknown_name
from appell.model.actuator import IDEAL, Actuator
from appell.model.body import Body, Inertia
from appell.model.frame import IN_PLACE, Frame
from appell.model.joints import Motion
from appell.model.limits import NO_LIMITS, Limits
from appell.model.robot import Joint, Link, Mimic
from appell.model.visual import Stand

LOOPS = "cut the loop into branches of a tree and close it: [[loop]] in TOML, robot.with_loops(...) in Python"


@dataclass(frozen=True)
class Part:
    """A link and the joint below it, as described; `motion` is None for a fixed joint."""

    name: str
    parent: str | None
    motion: Motion | None
    joint: str  # its name; a fixed root has none
    placement: Pose = IN_PLACE
    body: Body | None = None
    massless: bool = False  # said to be so
    limits: Limits = NO_LIMITS
    mimic: Mimic | None = None
    actuator: Actuator = IDEAL
    where: str = ""
    body_where: str = ""


@dataclass(frozen=True)
class FramePart:
    """A named place on a part."""

    name: str
    on: str | None
    pose: Pose
    where: str = ""


def assemble(
    parts: Sequence[Part], places: Sequence[FramePart], flaws: Flaws
) -> tuple[tuple[Link, ...], tuple[Frame, ...], tuple[str, ...], dict[str | None, Stand]]:
    """Links, frames, the names of the links whose mass is missing, and where every part and frame stands."""
    parts = _parents_first(_unique(parts, flaws), flaws)
    leaders = _last_leaders(parts, flaws)
    stand: dict[str | None, Stand] = {None: (None, IN_PLACE)}
    carried: dict[str | None, list[tuple[Pose, Body]]] = {None: []}
    joints: list[tuple[Part, Motion, str | None, Pose]] = []
    frames: list[Frame] = []
    for part in parts:
        carrier, place = stand[part.parent]
        place = _compose(place, part.placement)
        if part.motion is not None:
            joints.append((part, part.motion, carrier, place))
            carrier, place = part.name, IN_PLACE
            carried[carrier] = []
        else:
            frames.append(Frame(part.name, carrier, place))
        stand[part.name] = carrier, place
        if part.body is not None:
            carried[carrier].append((place, part.body))

    links, missing = [], []
    for part, motion, carrier, place in joints:
        body = flaws.tried(None, _lump, carried[part.name], part)
        if body is None and not part.massless:
            missing.append(part.name)
        joint = Joint(part.joint, motion, place, part.limits, leaders.get(part.joint), part.actuator)
        links.append(Link(part.name, carrier, joint, body))
    stands = dict(stand)  # frames carry shapes, but no other frames
    for frame in places:
        if frame.on not in stand:
            sentence = unknown_name("link", str(frame.on), [part.name for part in parts], "The robot")
            problem = f"frame '{frame.name}' is fixed to '{frame.on}'. {sentence}"
            flaws.add(DescriptionError(problem, source=frame.where))
            continue
        carrier, place = stand[frame.on]
        here = _compose(place, frame.pose)
        stands.setdefault(frame.name, (carrier, here))
        frames.append(Frame(frame.name, carrier, here))
    return tuple(links), tuple(frames), tuple(missing), stands


def _unique(parts: Sequence[Part], flaws: Flaws) -> list[Part]:
    """The parts without those whose name, or whose joint's, was there before."""
    names: dict[str, Part] = {}
    joints: dict[str, Part] = {}
    kept = []
    for part in parts:
        for what, name, seen in (("links", part.name, names), ("joints", part.joint, joints)):
            if name and name in seen:
                first = f", first at {seen[name].where}" if seen[name].where else ""
                flaws.add(DescriptionError(f"there are two {what} named '{name}'{first}.", source=part.where))
        if part.name not in names and not (part.joint and part.joint in joints):
            kept.append(part)
        names.setdefault(part.name, part)
        joints.setdefault(part.joint, part)
    return kept


def _parents_first(parts: Sequence[Part], flaws: Flaws) -> list[Part]:
    """The parts in their own order, with every ancestor that comes late moved up."""
    by_name = {part.name: part for part in parts}
    ordered: list[Part] = []
    done: set[str | None] = {None}
    for part in parts:
        waiting: dict[str, Part] = {}
        while part.name not in done:
            if part.name in waiting:
                cycle = " -> ".join([*list(waiting)[list(waiting).index(part.name) :], part.name])
                problem = f"links carry each other in a circle: {cycle}."
                flaws.add(DescriptionError(problem, source=part.where, hint=LOOPS))
                last = next(reversed(waiting))
                waiting[last] = replace(waiting[last], parent=None)
                break
            waiting[part.name] = part
            if part.parent is None or part.parent in done:
                break
            if part.parent not in by_name:
                sentence = unknown_name("link", part.parent, by_name, "The robot")
                problem = f"link '{part.name}' has parent '{part.parent}'. {sentence}"
                flaws.add(DescriptionError(problem, source=part.where))
                waiting[part.name] = replace(part, parent=None)
                break
            part = by_name[part.parent]
        ordered += reversed(waiting.values())
        done.update(waiting)
    return ordered


def _last_leaders(parts: Sequence[Part], flaws: Flaws) -> dict[str, Mimic]:
    """For every mimic joint, the joint with a coordinate that it follows in the end; each leader is resolved once."""
    by_joint = {part.joint: part for part in parts}
    resolved: dict[str, Mimic | None] = {}
    for part in parts:
        chain: dict[str, Part] = {}
        while part.mimic is not None and part.motion is not None and part.joint not in resolved:
            if part.joint in chain:
                flaws.add(DescriptionError(f"joint '{part.joint}' mimics itself in the end.", source=part.where))
                resolved |= dict.fromkeys(chain)
                break
            chain[part.joint] = part
            leader = flaws.tried(None, _leader, part, by_joint)
            if leader is None:
                resolved[part.joint] = None
                break
            part = leader
        for part in reversed(chain.values()):
            if part.joint in resolved or part.mimic is None:
                continue
            own, leader = part.mimic, by_joint[part.mimic.leader]
            inner = resolved[leader.joint] if leader.mimic is not None else Mimic(leader.joint)
            resolved[part.joint] = inner and Mimic(
                inner.leader, own.multiplier * inner.multiplier, own.multiplier * inner.offset + own.offset
            )
    return {joint: mimic for joint, mimic in resolved.items() if mimic is not None}


def _leader(part: Part, by_joint: Mapping[str, Part]) -> Part:
    """The part that a mimic joint follows, of one axis like itself."""
    assert part.mimic is not None
    assert part.motion is not None
    leader = by_joint.get(part.mimic.leader)
    if leader is None:
        sentence = unknown_name("joint", part.mimic.leader, by_joint, "The robot")
        problem = f"joint '{part.joint}' mimics '{part.mimic.leader}'. {sentence}"
        hint = "mimic=False gives every joint a coordinate of its own"
        raise DescriptionError(problem, source=part.where, hint=hint)
    if leader.motion is None or leader.motion.nq != 1 or part.motion.nq != 1:
        kinds = [(p.joint, p.motion.name if p.motion else "fixed") for p in (part, leader)]
        which = " and ".join(f"'{name}' is {kind}" for name, kind in kinds)
        problem = f"joint '{part.joint}' mimics '{leader.joint}', but {which}."
        raise DescriptionError(problem, expected="two joints of one axis each", source=part.where)
    return leader


def _compose(outer: Pose, inner: Pose) -> Pose:
    """outer @ inner, with the zeros and ones that rounding has blurred made sharp again."""
    if outer.rotation == IDENTITY:
        return replace(inner, translation=outer.translation + inner.translation)
    pose = outer @ inner
    return Pose(Mat3.of([snap(x) for x in row] for row in pose.rotation.rows), pose.translation)


def _lump(carried: Sequence[tuple[Pose, Body]], part: Part) -> Body | None:
    """One body for all that a link carries; untouched if that is a single body in the link's own axes."""
    if not carried:
        return None
    if len(carried) == 1 and carried[0][0] == IN_PLACE:
        return carried[0][1]
    whole = sum((body.about_origin.seen_from(pose) for pose, body in carried), start=Inertia())
    if whole.mass == 0.0:
        problem = f"the masses that link '{part.name}' carries add up to nothing, but not their inertias."
        raise DescriptionError(problem, expected="positive masses", source=part.where)
    return Body.from_inertia(whole)
