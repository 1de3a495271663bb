"""How a frame follows the hand that drags it: the nearest configuration that brings it there, or nearest to it.

A tree goes by damped least squares within its limits (`motion.inverse.numerical`), from where it is. A base that moves
about stays where it is while something on it is dragged: the pose is sought in its axes. A mechanism, and a tree with
loops, goes by Gauss and Newton's method (`nearest_root`) on the same error

    e = ( Rᵀ(p* - p),  log(RᵀR*) )         ė = -J v                                                            (1)

over the directions that it has. A step that a leg does not reach, that opens a loop or that goes beyond a limit does
not count. What has fewer than six freedoms follows the place, or the turn as long as the hand only turns (`Intent`).

Handles are the places of a system that are worth dragging: a base that moves, hands, and the ends of its chains.
A hand is a link below which a single coordinate moves several links, as in a gripper with mimicking fingers; these
fingers are no ends then. On its link, a handle sits at the frame 'tool', or at the one farthest from the link's origin.
A mechanism is held at its named frames, or else at its platform or its last body, there at the origin, or at the
farthest point of its outline if that has more freedom: the origin of a wrist does not move at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell.dynamics import Dynamics
from appell.formulate.constrained.assembling import nearest_root
from appell.kinematics.assembly import ConstraintRows, step_along, tree_dynamics
from appell.kinematics.inverse import NumericalSolver, numerical
from appell.model.frame import Frame
from appell.model.joints import quaternion_difference
from appell.model.robot import Link, Robot
from appell.model.system import System
from appell.show.scene.poses import quaternions
from appell.show.scene.scene import Handle
from appell.show.stage.links import pose_numbers

ALL = 6  # freedoms that a pose has
TOLERANCE = 1e-9  # m and rad: what counts as there
SAME = 1e-5  # m and rad: a hand that moves or turns less does not; pages have seven digits
LONGEST_STEP = 0.3  # rad or m: the longest of a step of (1)
CLOSED = 1e-9  # m or rad: a loop that is open by more is open
RANK = 1e-6  # of the largest singular value
ROWS = {"all": slice(0, 6), "place": slice(0, 3), "turn": slice(3, 6)}  # of (1)


@dataclass(frozen=True)
class Followed:
    """Where a system went, and by how much its frame is not where it was wanted, in m and rad."""

    q: np.ndarray
    position: float
    rotation: float

    @property
    def note(self) -> str:
        """By how much it is out of reach; empty if it is there."""
        missed = [f"{self.position:.3g} m"] if self.position > 1e3 * TOLERANCE else []
        missed += [f"{np.degrees(self.rotation):.3g}°"] if self.rotation > 1e3 * TOLERANCE else []
        return f"out of reach by {' and '.join(missed)}" if missed else ""


@dataclass(frozen=True)
class Grip:
    """A place on a body that is held: a frame of a tree, any place of a mechanism."""

    name: str
    body: str
    pose: Pose


class Intent:
    """Whether the hand only turns what it holds, seen from where it was before, or from where that is now."""

    def __init__(self):
        self.last: np.ndarray | None = None
        self.turns = False

    def of(self, target: np.ndarray, present: np.ndarray) -> bool:
        for seen_from in (present if self.last is None else self.last, present):
            e = pose_error(target, seen_from)
            moved, turned = np.linalg.norm(e[:3]) > SAME, np.linalg.norm(e[3:]) > SAME
            if moved != turned:
                self.turns = bool(turned)
                break
        self.last = target
        return self.turns


def pose_error(target: np.ndarray, T: np.ndarray) -> np.ndarray:
    """e of (1) from a pose to a target, 4x4 each."""
    if not np.isfinite(T).all():
        return np.full(6, np.nan)
    turn = quaternion_difference(quaternions(T[:3, :3]), quaternions(target[:3, :3]))
    return np.concatenate([T[:3, :3].T @ (target[:3, 3] - T[:3, 3]), turn])


def velocities_at(J: np.ndarray, place: np.ndarray) -> np.ndarray:
    """The linear rows of a body's Jacobian for another place on it, in its axes."""
    return J[:3] - np.cross(place, J[3:].T).T


class TreeFollower:
    """Bring what is held of a tree without loops to 4x4 poses."""

    def __init__(self, dyn: Dynamics, robot: Robot, grip: Grip):
        self.dyn, self.grip, self.intent = dyn, grip, Intent()
        root = robot.link(_root(robot, grip.body))
        self.base = root if root.joint.motion.nv > 1 and root.name != grip.body else None
        arm = robot if self.base is None else robot.locked([self.base.joint.name])
        weight = 1.0 if _freedoms(arm, grip.body) >= ALL else 0.0
        self.solver: NumericalSolver = numerical(arm, grip.name, weight=weight)
        if self.base is not None:
            self.carried = dyn.pose(self.base.name)
            self.standing = self.carried(robot.start)
            self.kept = np.setdiff1d(np.arange(robot.nq), np.arange(robot.nq)[robot.span(self.base.joint)[0]])

    def follow(self, target: np.ndarray, q: np.ndarray) -> Followed:
        if self.base is None:
            turns = not self.solver.weight and self.intent.of(target, self.turning.held(q))
            return self.turning.nearest(target, q, "turn") if turns else self._solved(target, q)
        found = self._solved(self.standing @ np.linalg.inv(self.carried(q)) @ target, q[self.kept])
        whole = np.array(q)
        whole[self.kept] = found.q
        return Followed(whole, found.position, found.rotation)

    @cached_property
    def turning(self) -> NewtonFollower:
        return NewtonFollower(self.dyn, self.grip)

    def _solved(self, target: np.ndarray, q: np.ndarray) -> Followed:
        found = self.solver(target, q, tolerance=TOLERANCE, starts=1)
        return Followed(found.q, float(found.position_error), float(found.rotation_error) * self.solver.weight)


class NewtonFollower:
    """Bring what is held of a mechanism or of a tree with loops to 4x4 poses, and turn what a short chain holds."""

    def __init__(self, dyn: Dynamics, grip: Grip):
        self.dyn, self.system, self.limits = dyn, dyn.system, dyn.system.limits
        self.rows = ConstraintRows(dyn) if self.system.is_constrained else None
        catalogue = dyn if self.rows is None else tree_dynamics(dyn)
        self.pose, self.jacobian = catalogue.pose(grip.body), catalogue.jacobian(grip.body)
        self.on_body = np.array(grip.pose.matrix, float)
        self.intent = Intent()

    @cached_property
    def freedoms(self) -> int:
        J = self._directions(self.system.start)
        return int(np.linalg.matrix_rank(J, rtol=RANK)) if J.any() else 0

    def held(self, q: np.ndarray) -> np.ndarray:
        """The pose of what is held."""
        return self.pose(q) @ self.on_body

    def follow(self, target: np.ndarray, q: np.ndarray) -> Followed:
        if self.freedoms >= ALL:
            return self.nearest(target, q, "all")
        return self.nearest(target, q, "turn" if self.intent.of(target, self.held(q)) else "place")

    def nearest(self, target: np.ndarray, q: np.ndarray, what: str) -> Followed:
        """Bring all, the place or the turn of what is held to a target."""
        rows, longest = ROWS[what], np.full(self._directions(q).shape[1], LONGEST_STEP)

        def gaps(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return pose_error(target, self.held(at))[rows], -self._directions(at)[rows]  # (1)

        root, e = nearest_root(gaps, self._moved, q, longest, TOLERANCE), np.zeros(6)
        e[rows] = root.gaps
        return Followed(root.q, float(np.linalg.norm(e[:3])), float(np.linalg.norm(e[3:])))

    def _directions(self, q: np.ndarray) -> np.ndarray:
        """J of what is held, along the directions in which the system can move."""
        J, (back, place) = self.jacobian(q), (self.on_body[:3, :3].T, self.on_body[:3, 3])
        J = np.concatenate([back @ velocities_at(J, place), back @ J[3:]])
        return J if self.rows is None else J @ self.rows.tangents(q)

    def _moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """q after a step, or nowhere if it cannot be made."""
        found = step_along(self.dyn, q, step)
        bounded = self.limits.contain(found) or not self.limits.contain(q)
        return found if bounded and self._is_closed(found) else np.full_like(found, np.nan)

    def _is_closed(self, q: np.ndarray) -> bool:
        if self.rows is not None:
            return self.rows.open_by(q) <= CLOSED
        return not self.system.out_of_reach(q.tolist())


Follower = TreeFollower | NewtonFollower


def follower(dyn: Dynamics, grip: Grip) -> Follower:
    """What brings a place of a system to where it is dragged."""
    system = dyn.system
    return TreeFollower(dyn, system.tree, grip) if system.is_tree else NewtonFollower(dyn, grip)


def _root(robot: Robot, body: str) -> str:
    """The link on the world that carries a body."""
    link = robot.link(body)
    while link.parent is not None:
        link = robot.link(link.parent)
    return link.name


def _freedoms(robot: Robot, body: str | None) -> int:
    """How many independent velocities move a body."""
    found: set[int] = set()
    while body is not None:
        link = robot.link(body)
        span = robot.span(link.joint)[1]
        found |= {*range(span.start, span.stop)}
        body = link.parent
    return len(found)


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
    parts = system.parts
    outline = next((part.outline for part in parts if part.name == body), ())
    J = dyn.jacobian(body)(system.start)
    far = max(outline, key=lambda point: float(np.linalg.norm(point)), default=(0.0, 0.0, 0.0))

    def freedoms(point: Sequence[float]) -> int:
        return int(np.linalg.matrix_rank(velocities_at(J, np.array(point)), tol=RANK * np.abs(J).max()))

    best = max([(0.0, 0.0, 0.0), tuple(far)], key=freedoms)  # the origin, if they are equal
    return Frame(body, body, Pose(translation=Vec3.of(best)))
