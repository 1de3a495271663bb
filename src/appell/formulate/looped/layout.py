"""A tree laid out for loops: the links in depth-first order, their kinds, numbers and rows.

A pass goes over all links, outward or inward. What a link leaves for its children, or for its parent, stands in a row
that is free again as soon as the last of them has read it: a chain needs one row however long it is, a tree as many as
it has branches under way. Only what a later pass needs has a row for every link.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from appell.algebra.loops import Loops, Rows, Table
from appell.algebra.scalar import Scalar, Vector, is_number
from appell.formulate.looped.mounts import Mount
from appell.formulate.looped.turns import Part, Parts, Turn, take
from appell.formulate.tree import Tree, TreeLink

WORLD_ROW = 0  # of what is passed on from link to link, before the first turn


@dataclass(frozen=True)
class Layout:
    """A tree in aligned frames (see `aligned`), and its links in depth-first order."""

    tree: Tree
    links: tuple[TreeLink, ...]

    @staticmethod
    def of(tree: Tree) -> Layout:
        children: dict[str | None, list[TreeLink]] = {}
        for link in tree.links:
            children.setdefault(link.parent, []).append(link)
        found, waiting = [], children[None][::-1]
        while waiting:
            found.append(waiting.pop())
            waiting += children.get(found[-1].name, [])[::-1]
        return Layout(tree, tuple(found))

    @cached_property
    def mounts(self) -> tuple[Mount, ...]:
        """The kind of each link's joint."""
        return tuple(map(Mount.of, self.links))

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """The number of each link's parent, from 0; -1 is the world."""
        number = {link.name: k for k, link in enumerate(self.links)} | {None: -1}
        return tuple(number[link.parent] for link in self.links)

    @cached_property
    def branch_rows(self) -> dict[int, int]:
        """A row for every link, and for the world, that is free again when the last child takes its turn."""
        last = {parent: k for k, parent in enumerate(self.parents)}
        rows, free = {-1: WORLD_ROW}, []
        for k, parent in enumerate(self.parents):
            if last[parent] == k:
                free.append(rows[parent])
            rows[k] = free.pop() if free else max(rows.values()) + 1
            if k not in last:
                free.append(rows[k])
        return rows

    # ---- what turns read and write

    def every(self, table: Table) -> Part:
        """A row a link."""
        return [Rows(table, range(len(self.links)))]

    def passed(self, loops: Loops, width: int, start: Vector) -> tuple[Part, Part]:
        """A new table of what each link leaves to its children: the rows of the parents, those of the links.

        The world has left `start`.
        """
        rows = self.branch_rows
        table = loops.table(max(rows.values()) + 1, width)
        begin(loops, table, WORLD_ROW, start)
        own = [rows[k] for k in range(len(self.links))]
        return [Rows(table, [rows[k] for k in self.parents])], [Rows(table, own)]

    def by_mount(self, loops: Loops, width: Callable[[Mount], int]) -> Part:
        """New tables, one for each kind of joint, with a row for each link of the kind."""
        counts = Counter[Mount]()
        number = []
        for kind in self.mounts:
            number.append(counts[kind])
            counts[kind] += 1
        pairs = list(zip(number, self.mounts, strict=True))
        return [
            Rows(loops.table(count, width(kind)), [k if own == kind else None for k, own in pairs])
            for kind, count in counts.items()
        ]

    def positions(self, loops: Loops, q: Vector) -> Part:
        """The joint's own share of q."""
        return _shares(loops, q, [self.tree.robot.span(link.joint)[0] for link in self.links])

    def velocities(self, loops: Loops, v: Vector) -> Part:
        """The joint's own share of a vector with the layout of v."""
        return _shares(loops, v, [self.tree.robot.span(link.joint)[1] for link in self.links])

    @cached_property
    def placements(self) -> Part:
        """The numbers of each link's mount."""
        return [mount.numbers(link) for mount, link in zip(self.mounts, self.links, strict=True)]

    def matter(self, loops: Loops) -> Part:
        """Mass, first and second moments: numbers or, if some of them are to stay inputs, scalars."""
        rows = [[link.inertia.mass, *link.inertia.first, *link.inertia.second.upper] for link in self.links]
        return rows if all(is_number(x) for row in rows for x in row) else self.every(loops.given(rows))

    # ---- forces along the joints

    def at_joints(self, loops: Loops) -> Part:
        """A new table with a row for every v, then one for every mimic joint."""
        robot = self.tree.robot
        spans, size = [], robot.nv
        for link in self.links:
            spans.append(slice(size, size + 1) if link.joint.mimic else robot.span(link.joint)[1])
            size = max(size, spans[-1].stop)
        return _stretches(loops.table(size, 1), spans)

    def gathered(self, loops: Loops, at_joints: Part) -> list[Scalar]:
        """What was written along the joints, along v: shares of mimic joints are added to their leaders'."""
        table, rows = at_joints[0]
        robot = self.tree.robot
        followers = [(k, link.joint) for k, link in enumerate(self.links) if link.joint.mimic]
        if followers:
            led = Rows(table, [robot.span(joint)[1].start for _, joint in followers])
            own = Rows(table, [rows[k] for k, _ in followers])
            loops.each(
                [_add_scaled], [0] * len(followers), [led, own], [led], [[joint.scale] for _, joint in followers]
            )
        return [x for row in loops.values(table)[: robot.nv] for x in row]

    # ---- passes

    def outward(self, loops: Loops, turn: Turn, reads: Parts, writes: Parts) -> None:
        """Take a turn for each link, parents first."""
        take(loops, range(len(self.links)), self.mounts, turn, reads, writes)

    def inward(self, loops: Loops, turn: Turn, reads: Parts, writes: Parts) -> None:
        """Take a turn for each link, parents last."""
        take(loops, range(len(self.links))[::-1], self.mounts, turn, reads, writes)


def begin(loops: Loops, table: Table, row: int, numbers: Vector) -> None:
    """Write numbers to a row of a table."""
    loops.each([lambda given: [given]], [0], [], [Rows(table, [row])], [list(numbers)])


def _shares(loops: Loops, x: Vector, spans: Sequence[slice]) -> Part:
    """Rows of a table with a row for each x; numbers, if x are."""
    if all(map(is_number, x)):
        return [list(x[span]) for span in spans]
    return _stretches(loops.given([[scalar] for scalar in x]), spans)


def _stretches(table: Table, spans: Sequence[slice]) -> Part:
    most = max(span.stop - span.start for span in spans)
    return [
        Rows(table, [span.start + k if span.start + k < span.stop else None for span in spans]) for k in range(most)
    ]


def _add_scaled(total, share, numbers):
    return [[total[0] + numbers[0] * share[0]]]
