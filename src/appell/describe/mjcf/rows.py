"""Links in rows that share a body of MJCF.

MuJoCo takes no moving body without mass, so a link without any shares the body of the one link it carries: with the
placements P₁ ... P_k of the joints in a row, the body stands at P₁ ... P_k, and joint i in it at the inverse of
P_{i+1} ... P_k.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from appell.algebra.rotation import Pose
from appell.errors import ModelError
from appell.model.frame import IN_PLACE
from appell.model.joints import Floating, Spherical
from appell.model.robot import Link, Robot

SMALLEST = 1e-15  # what MuJoCo takes for a mass or a moment of inertia of a body that moves


@dataclass(frozen=True)
class LinkRow:
    """Links in a row that share a body: all but the last are without mass."""

    links: tuple[Link, ...]

    @property
    def last(self) -> Link:
        return self.links[-1]

    def places(self) -> Iterator[tuple[Link, Pose]]:
        """Every link, and the last one's place seen from it."""
        rest = IN_PLACE
        found = []
        for link in reversed(self.links):
            found.append((link, rest))
            rest = _joined(link.joint.placement, rest)
        yield from reversed(found)

    @property
    def placement(self) -> Pose:
        first, rest = next(self.places())
        return _joined(first.joint.placement, rest)


def rows_of(tree: Robot) -> Iterator[LinkRow]:
    carried: dict[str | None, list[Link]] = {}
    for link in tree.links:
        carried.setdefault(link.parent, []).append(link)
    inner: set[str] = set()
    for link in tree.links:
        if link.name in inner:
            continue
        row = [link]
        while row[-1].body is None and len(carried.get(row[-1].name, ())) == 1 and _may_share(row[-1]):
            row.append(carried[row[-1].name][0])
            inner.add(row[-1].name)
        yield LinkRow(tuple(row))


def outward(rows: Sequence[LinkRow]) -> Iterator[LinkRow]:
    """The rows in the order in which MuJoCo numbers bodies: each before what it carries, one branch after the other."""
    below: dict[str | None, list[LinkRow]] = {}
    owner = {link.name: row.last.name for row in rows for link in row.links}
    for row in rows:
        parent = row.links[0].parent
        below.setdefault(None if parent is None else owner[parent], []).append(row)
    waiting = list(reversed(below.get(None, [])))
    while waiting:
        row = waiting.pop()
        yield row
        waiting += reversed(below.get(row.last.name, []))


def _may_share(link: Link) -> bool:
    return not isinstance(link.joint.motion, (Floating, Spherical))


def check_rows(tree: Robot, rows: Sequence[LinkRow]) -> None:
    lacking = [name for name in tree.missing if name in {row.last.name for row in rows}]
    for row in rows:
        body, name = row.last.body, row.last.name
        if body is None:
            why = "lacks its inertia" if name in lacking else "has no mass, and does not carry one link alone"
            raise ModelError(f"link '{name}' of {tree.owner} {why}; MuJoCo takes no such body.", hint="give it a mass")
        if body.mass < SMALLEST or body.moments[0] < SMALLEST:
            problem = (
                f"link '{name}' of {tree.owner} has mass {body.mass:g} kg and least moment {body.moments[0]:g} kg m²"
            )
            raise ModelError(f"{problem}; MuJoCo takes none below {SMALLEST:g}.", hint="give it a small inertia")
    for link in tree.links:
        joint = link.joint
        if isinstance(joint.motion, Floating) and (link.parent is not None or joint.placement != IN_PLACE):
            problem = (
                f"joint '{joint.name}' of {tree.owner} floats on {link.parent or 'a place that is not the origin'}"
            )
            raise ModelError(f"{problem}; in MJCF only a body on the world is free, and its place is its q.")


def _joined(outer: Pose, inner: Pose) -> Pose:
    return inner if outer == IN_PLACE else outer if inner == IN_PLACE else outer @ inner
