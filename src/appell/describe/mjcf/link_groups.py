"""Groups of links that share one body in MJCF.

MuJoCo does not accept a moving body without mass, so a massless link shares the body of the only link it carries. With
the placements P₁ ... P_k of the joints in a group, the pose of the body is P₁ ... P_k, and the pose of joint i in the
body is the inverse of P_{i+1} ... P_k.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from appell.algebra.rotation import Pose
from appell.errors import ModelError
from appell.model.frame import IDENTITY_POSE
from appell.model.joints import Floating, Spherical
from appell.model.robot import Link, Robot

ROUNDING_EXCESS = 1e-13  # excess of the largest moment that is written as 0, because MuJoCo accepts none
MIN_INERTIA = 1e-15  # kg or kg m²: smallest mass and principal moment that MuJoCo accepts for a moving body


@dataclass(frozen=True)
class LinkGroup:
    """A chain of links that share a body; all but the last are massless."""

    links: tuple[Link, ...]

    @property
    def last(self) -> Link:
        """The link that has mass."""
        return self.links[-1]

    def poses_of_last(self) -> Iterator[tuple[Link, Pose]]:
        """Yield every link with the pose of the last link in its axes, all joints at zero."""
        pose = IDENTITY_POSE
        pairs = []
        for link in reversed(self.links):
            pairs.append((link, pose))
            pose = _compose(link.joint.placement, pose)
        yield from reversed(pairs)

    @property
    def placement(self) -> Pose:
        """The pose of the body on the parent of the group."""
        first, pose = next(self.poses_of_last())
        return _compose(first.joint.placement, pose)


def link_groups(tree: Robot) -> Iterator[LinkGroup]:
    """Yield the links of a tree in groups, in the order of their first links."""
    carried: dict[str | None, list[Link]] = {}
    for link in tree.links:
        carried.setdefault(link.parent, []).append(link)
    inner: set[str] = set()
    for link in tree.links:
        if link.name in inner:
            continue
        group = [link]
        while group[-1].body is None and len(carried.get(group[-1].name, ())) == 1 and _may_share(group[-1]):
            group.append(carried[group[-1].name][0])
            inner.add(group[-1].name)
        yield LinkGroup(tuple(group))


def depth_first(groups: Sequence[LinkGroup]) -> Iterator[LinkGroup]:
    """Yield the groups in the order in which MuJoCo numbers bodies: depth first, parents before children."""
    children: dict[str | None, list[LinkGroup]] = {}
    last_link = {link.name: group.last.name for group in groups for link in group.links}
    for group in groups:
        parent = group.links[0].parent
        children.setdefault(None if parent is None else last_link[parent], []).append(group)
    waiting = list(reversed(children.get(None, [])))
    while waiting:
        group = waiting.pop()
        yield group
        waiting += reversed(children.get(group.last.name, []))


def _may_share(link: Link) -> bool:
    return not isinstance(link.joint.motion, (Floating, Spherical))


def check_groups(tree: Robot, groups: Sequence[LinkGroup]) -> None:
    """Raise ModelError for bodies and joints that MuJoCo does not accept."""
    missing = [name for name in tree.missing if name in {group.last.name for group in groups}]
    for group in groups:
        body, name = group.last.body, group.last.name
        if body is None:
            reason = "has no inertia" if name in missing else "is massless and does not carry exactly one link"
            problem = f"link '{name}' of {tree.owner} {reason}; MuJoCo does not accept such a body."
            raise ModelError(problem, hint="Give the link a mass.")
        if body.mass < MIN_INERTIA or body.moments[0] < MIN_INERTIA:
            problem = (
                f"link '{name}' of {tree.owner} has mass {body.mass:g} kg and smallest moment {body.moments[0]:g} kg m²"
            )
            problem = f"{problem}; MuJoCo does not accept values below {MIN_INERTIA:g}."
            raise ModelError(problem, hint="Give the link a small inertia.")
        low, middle, high = body.moments
        if high - low - middle > ROUNDING_EXCESS * high:
            problem = (
                f"link '{name}' of {tree.owner} has a moment of inertia that exceeds the sum of the other two by "
                f"{100.0 * (high - low - middle) / high:.2g} %; MuJoCo does not accept such a body."
            )
            raise ModelError(problem, hint="Correct the inertia of the link.")
    for link in tree.links:
        joint = link.joint
        if isinstance(joint.motion, Floating) and (link.parent is not None or joint.placement != IDENTITY_POSE):
            carrier = f"is carried by link '{link.parent}'" if link.parent else "is not at the origin of the world"
            problem = f"floating joint '{joint.name}' of {tree.owner} {carrier}"
            raise ModelError(f"{problem}; in MJCF, free joints must be on the world, at its origin.")


def _compose(outer: Pose, inner: Pose) -> Pose:
    return inner if outer == IDENTITY_POSE else outer if inner == IDENTITY_POSE else outer @ inner
