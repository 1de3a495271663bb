"""Passes over the links of a tree, whose joints are of several kinds, as one loop.

A visit to a link reads and writes parts by name. A part is a list of `Rows`, which give a link one row each (a joint
with three velocities reads three rows of v, others one), or a list of numbers per link. Links with the same kind of
joint that read and write the same number of rows share a loop body.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from appell.algebra.loops import LoopBody, Loops, Rows
from appell.algebra.scalar import Scalar, Vector
from appell.formulate.looped.joint_kinds import JointKind

Part = Sequence  # of Rows, or of a row of numbers per link
Parts = Mapping[str, Part]
Given = dict[str, list[Scalar]]
Visit = Callable[[JointKind, Given], Mapping[str, Vector]]  # (kind of joint, values read) -> values to write


class VisitKind(NamedTuple):
    """Properties that the links of one loop body have in common."""

    joint: JointKind
    absent: tuple[bool, ...]  # for all rows that are read and written: whether these links do not have it
    widths: tuple[int, ...]  # of their numbers


def run_pass(
    loops: Loops, order: Sequence[int], joint_kinds: Sequence[JointKind], visit: Visit, reads: Parts, writes: Parts
) -> None:
    """Visit the links in the given order."""
    tables = {name: part for name, part in reads.items() if isinstance(part[0], Rows)}
    numbers = {name: part for name, part in reads.items() if name not in tables}
    read, written = ([rows for part in parts.values() for rows in part] for parts in (tables, writes))

    def kind_of(k: int) -> VisitKind:
        absent = tuple(rows[k] is None for _, rows in (*read, *written))
        return VisitKind(joint_kinds[k], absent, tuple(len(part[k]) for part in numbers.values()))

    visited = [kind_of(k) for k in order]
    kinds = {kind: number for number, kind in enumerate(dict.fromkeys(visited))}
    loops.each(
        [_body(visit, kind, tables, list(numbers), writes) for kind in kinds],
        [kinds[kind] for kind in visited],
        [Rows(table, [rows[k] for k in order]) for table, rows in read],
        [Rows(table, [rows[k] for k in order]) for table, rows in written],
        [[x for part in numbers.values() for x in part[k]] for k in order] if numbers else (),
    )


def _body(visit: Visit, kind: VisitKind, tables: Parts, numbers: Sequence[str], writes: Parts) -> LoopBody:
    """Loop body of the visits of one kind, on rows in the order of the parts."""
    ends = [0, *accumulate(kind.widths)]
    absent = iter(kind.absent[sum(len(part) for part in tables.values()) :])
    missing = [[next(absent) for _ in part] for part in writes.values()]

    def body(*rows):
        remaining = iter(rows)
        given = {name: [x for _ in part for x in next(remaining)] for name, part in tables.items()}
        if numbers:
            row = next(remaining)
            given |= {name: list(row[i:j]) for name, (i, j) in zip(numbers, pairwise(ends), strict=True)}
        results = visit(kind.joint, given)
        return [row for name, none in zip(writes, missing, strict=True) for row in _split(results[name], none)]

    body.__name__ = visit.__name__
    return body


def _split(scalars: Vector, missing: Sequence[bool]) -> list[Vector]:
    """Split scalars into equal parts, one for each row that is not missing."""
    width = len(scalars) // max(1, missing.count(False))
    parts = (scalars[k : k + width] for k in range(0, len(scalars), width or 1))
    return [[] if none else next(parts) for none in missing]
