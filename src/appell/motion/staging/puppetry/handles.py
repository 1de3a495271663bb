"""The places of a system that are worth dragging: a base that moves, hands, and the ends of its chains.

A hand is a link below which a single coordinate moves several links, as in a gripper with mimicking fingers; these
fingers are no ends then. On its link, a handle sits at the frame 'tool', or at the one farthest from the link's origin.
A mechanism is held at its named frames, or else at its platform or its last body, there at the origin, or at the
farthest point of its outline if that has more freedom: the origin of a wrist does not move at all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell.display.scene import Handle
from appell.dynamics import Dynamics
from appell.model.frame import Frame
from appell.model.mechanism import Mechanism
from appell.model.robot import Link, Robot
from appell.model.system import System
from appell.motion.staging.puppetry.following import RANK, Grip, velocities_at
from appell.motion.staging.visual_parts import pose_numbers

TOOL = "tool"


def grips(dyn: Dynamics) -> list[Grip]:
    """Where a system is held."""
    system = dyn.system
    if system.tree is not None:
        frames = [_frame(system, name) for name in _links(system.tree)]
    else:
        frames = [frame for frame in system.frames if frame.body is not None] or [_best(dyn)]
    return [Grip(frame.name, frame.body, frame.pose) for frame in frames if frame.body is not None]


def handles(held: Sequence[Grip], bodies: Sequence[str]) -> tuple[Handle, ...]:
    """The handles of an actor with these bodies."""
    return tuple(Handle(grip.name, bodies.index(grip.body), pose_numbers(grip.pose)) for grip in held)


def _links(tree: Robot) -> list[str]:
    """Roots that move about, hands and ends."""
    children: dict[str | None, list[Link]] = {}
    for link in tree.links:
        children.setdefault(link.parent, []).append(link)

    def below(name: str) -> list[Link]:
        return [x for child in children.get(name, []) for x in (child, *below(child.name))]

    def is_hand(name: str) -> bool:
        carried = below(name)
        return len(carried) > 1 and sum(link.joint.mimic is None for link in carried) <= 1

    hands = [link.name for link in tree.links if is_hand(link.name)]
    inside = {link.name for hand in hands for link in below(hand)}
    roots = [link.name for link in tree.links if link.parent is None and link.joint.motion.nv > 1]
    ends = [link.name for link in tree.links if not children.get(link.name)]
    return list(dict.fromkeys(name for name in (*roots, *hands, *ends) if name not in inside))


def _frame(system: System, link: str) -> Frame:
    """The frame of a link that is worth holding."""
    own = [frame for frame in system.frames if frame.body == link]
    if tools := [frame for frame in own if frame.name == TOOL]:
        return tools[0]
    farthest = max(own, key=lambda frame: float(np.linalg.norm([*frame.pose.translation])), default=None)
    return system.frame(link) if farthest is None else farthest


def _best(dyn: Dynamics) -> Frame:
    """The place of a mechanism without frames that can be moved in the most directions."""
    system = dyn.system
    body = "platform" if "platform" in system.body_names else system.body_names[-1]
    parts = system.parts if isinstance(system, Mechanism) else ()
    outline = next((part.outline for part in parts if part.name == body), ())
    J = dyn.jacobian(body)(system.start)
    far = max(outline, key=lambda point: float(np.linalg.norm(point)), default=(0.0, 0.0, 0.0))

    def freedoms(point: Sequence[float]) -> int:
        return int(np.linalg.matrix_rank(velocities_at(J, np.array(point)), tol=RANK * np.abs(J).max()))

    best = max([(0.0, 0.0, 0.0), tuple(far)], key=freedoms)  # the origin, if they are equal
    return Frame(body, body, Pose(translation=Vec3.of(best)))
