"""A tree laid out for loops: links in depth-first order, their kinds of joints, numbers and table rows.

A pass visits all links, outward or inward. The values that a link passes to its children, or to its parent, are in a
row that is reused as soon as the last of them has read it: a chain of any length needs one row, a tree one row per
unfinished branch. Only values that a later pass reads have a row per link.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from appell.algebra.loops import Loops, Rows, Table
from appell.algebra.scalar import Scalar, Vector, is_number
from appell.formulate.looped.joint_kinds import JointKind
from appell.formulate.looped.passes import Part, Parts, Visit, run_pass
from appell.formulate.tree import Tree, TreeLink

WORLD_ROW = 0  # row of the values that the world passes to its children


@dataclass(frozen=True)
class LoopTree:
    """A tree in aligned frames (see `aligned`), and its links in depth-first order."""

    tree: Tree
    links: tuple[TreeLink, ...]

    @staticmethod
    def of(tree: Tree) -> LoopTree:
        children: dict[str | None, list[TreeLink]] = {}
        for link in tree.links:
            children.setdefault(link.parent, []).append(link)
        ordered, waiting = [], children[None][::-1]
        while waiting:
            ordered.append(waiting.pop())
            waiting += children.get(ordered[-1].name, [])[::-1]
        return LoopTree(tree, tuple(ordered))

    @cached_property
    def joint_kinds(self) -> tuple[JointKind, ...]:
        """Kind of each link's joint."""
        return tuple(map(JointKind.of, self.links))

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """Index of each link's parent; -1 is the world."""
        index = {link.name: k for k, link in enumerate(self.links)} | {None: -1}
        return tuple(index[link.parent] for link in self.links)

    @cached_property
    def branch_rows(self) -> dict[int, int]:
        """Row of each link, and of the world (-1), for values passed outward; reused after the last child's visit."""
        last = {parent: k for k, parent in enumerate(self.parents)}
        rows, free = {-1: WORLD_ROW}, []
        for k, parent in enumerate(self.parents):
            if last[parent] == k:
                free.append(rows[parent])
            rows[k] = free.pop() if free else max(rows.values()) + 1
            if k not in last:
                free.append(rows[k])
        return rows

    # ---- parts that visits read and write

    def per_link(self, table: Table) -> Part:
        """One row per link."""
        return [Rows(table, range(len(self.links)))]

    def passed_outward(self, loops: Loops, width: int, start: Vector) -> tuple[Part, Part]:
        """Create a table of the values that links pass to their children: the rows of the parents, those of the links.

        The world passes `start`.
        """
        rows = self.branch_rows
        table = loops.table(max(rows.values()) + 1, width)
        write_row(loops, table, WORLD_ROW, start)
        of_links = [rows[k] for k in range(len(self.links))]
        return [Rows(table, [rows[k] for k in self.parents])], [Rows(table, of_links)]

    def by_joint_kind(self, loops: Loops, width: Callable[[JointKind], int]) -> Part:
        """Create one table per kind of joint, with one row per link of that kind."""
        counts = Counter[JointKind]()
        numbers = []
        for kind in self.joint_kinds:
            numbers.append(counts[kind])
            counts[kind] += 1
        pairs = list(zip(numbers, self.joint_kinds, strict=True))
        return [
            Rows(loops.table(count, width(kind)), [k if other == kind else None for k, other in pairs])
            for kind, count in counts.items()
        ]

    def positions(self, loops: Loops, q: Vector) -> Part:
        """Coordinates of each link's joint in q."""
        return _spans(loops, q, [self.tree.robot.span(link.joint)[0] for link in self.links])

    def velocities(self, loops: Loops, v: Vector) -> Part:
        """Components of each link's joint in a vector with the layout of v."""
        return _spans(loops, v, [self.tree.robot.span(link.joint)[1] for link in self.links])

    @cached_property
    def placements(self) -> Part:
        """Numbers that describe the placement of each link's joint."""
        return [kind.numbers(link) for kind, link in zip(self.joint_kinds, self.links, strict=True)]

    def inertias(self, loops: Loops) -> Part:
        """Mass, first and second moments of each link: numbers, or scalars if some of them are inputs."""
        rows = [[link.inertia.mass, *link.inertia.first, *link.inertia.second.upper] for link in self.links]
        return rows if all(is_number(x) for row in rows for x in row) else self.per_link(loops.given(rows))

    # ---- values along the joints

    def joint_table(self, loops: Loops) -> Part:
        """Create a table with one row per v, followed by one row per mimic joint."""
        robot = self.tree.robot
        spans, size = [], robot.nv
        for link in self.links:
            spans.append(slice(size, size + 1) if link.joint.mimic else robot.span(link.joint)[1])
            size = max(size, spans[-1].stop)
        return _rows_of_spans(loops.table(size, 1), spans)

    def gather(self, loops: Loops, joint_table: Part) -> list[Scalar]:
        """Values along v from those along the joints: the values of mimic joints are added to their leaders'."""
        table, rows = joint_table[0]
        robot = self.tree.robot
        followers = [(k, link.joint) for k, link in enumerate(self.links) if link.joint.mimic]
        if followers:
            leader_rows = Rows(table, [robot.span(joint)[1].start for _, joint in followers])
            follower_rows = Rows(table, [rows[k] for k, _ in followers])
            loops.each(
                [_add_scaled],
                [0] * len(followers),
                [leader_rows, follower_rows],
                [leader_rows],
                [[joint.scale] for _, joint in followers],
            )
        return [x for row in loops.values(table)[: robot.nv] for x in row]

    # ---- passes

    def outward(self, loops: Loops, visit: Visit, reads: Parts, writes: Parts) -> None:
        """Visit each link, parents first."""
        run_pass(loops, range(len(self.links)), self.joint_kinds, visit, reads, writes)

    def inward(self, loops: Loops, visit: Visit, reads: Parts, writes: Parts) -> None:
        """Visit each link, parents last."""
        run_pass(loops, range(len(self.links))[::-1], self.joint_kinds, visit, reads, writes)


def write_row(loops: Loops, table: Table, row: int, numbers: Vector) -> None:
    """Write numbers to a row of a table."""
    loops.each([lambda given: [given]], [0], [], [Rows(table, [row])], [list(numbers)])


def _spans(loops: Loops, x: Vector, spans: Sequence[slice]) -> Part:
    """Part with the entries of x in each span: numbers if x are numbers, otherwise rows of a table."""
    if all(map(is_number, x)):
        return [list(x[span]) for span in spans]
    return _rows_of_spans(loops.given([[scalar] for scalar in x]), spans)


def _rows_of_spans(table: Table, spans: Sequence[slice]) -> Part:
    longest = max(span.stop - span.start for span in spans)
    return [
        Rows(table, [span.start + k if span.start + k < span.stop else None for span in spans]) for k in range(longest)
    ]


def _add_scaled(total, term, numbers):
    return [[total[0] + numbers[0] * term[0]]]
