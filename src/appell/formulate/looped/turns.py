"""Turns by name: a pass over links whose joints are of several kinds, as one loop.

A turn reads and writes parts by name. A part is a list of `Rows`, which give a link one row after another (a joint of
three velocities reads three rows of v, others one), or a list of numbers for each link. Links of one kind of joint
that read and write the same number of rows share a step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from appell.algebra.loops import Loops, Rows, LoopBody
from appell.algebra.scalar import Scalar, Vector
from appell.formulate.looped.mounts import Mount

Part = Sequence  # of Rows, or of a row of numbers for each link
Parts = Mapping[str, Part]
Given = dict[str, list[Scalar]]
Turn = Callable[[Mount, Given], Mapping[str, Vector]]  # the kind of joint and what is read -> what is written


class Kind(NamedTuple):
    """What the links of one step have in common."""

    mount: Mount
    absent: tuple[bool, ...]  # of all rows that are read and written: those that these links do not have
    widths: tuple[int, ...]  # of their numbers


def take(loops: Loops, order: Sequence[int], mounts: Sequence[Mount], turn: Turn, reads: Parts, writes: Parts) -> None:
    """Take a turn for each link in this order."""
    tables = {name: part for name, part in reads.items() if isinstance(part[0], Rows)}
    numbers = {name: part for name, part in reads.items() if name not in tables}
    read, written = ([rows for part in parts.values() for rows in part] for parts in (tables, writes))

    def kind_of(k: int) -> Kind:
        absent = tuple(rows[k] is None for _, rows in (*read, *written))
        return Kind(mounts[k], absent, tuple(len(part[k]) for part in numbers.values()))

    taken = [kind_of(k) for k in order]
    kinds = {kind: number for number, kind in enumerate(dict.fromkeys(taken))}
    loops.each(
        [_step(turn, kind, tables, list(numbers), writes) for kind in kinds],
        [kinds[kind] for kind in taken],
        [Rows(table, [rows[k] for k in order]) for table, rows in read],
        [Rows(table, [rows[k] for k in order]) for table, rows in written],
        [[x for part in numbers.values() for x in part[k]] for k in order] if numbers else (),
    )


def _step(turn: Turn, kind: Kind, tables: Parts, numbers: Sequence[str], writes: Parts) -> LoopBody:
    """The turn of one kind, as a step on rows in the order of the parts."""
    ends = [0, *accumulate(kind.widths)]
    absent = iter(kind.absent[sum(len(part) for part in tables.values()) :])
    missing = [[next(absent) for _ in part] for part in writes.values()]

    def step(*rows):
        taken = iter(rows)
        given = {name: [x for _ in part for x in next(taken)] for name, part in tables.items()}
        if numbers:
            row = next(taken)
            given |= {name: list(row[i:j]) for name, (i, j) in zip(numbers, pairwise(ends), strict=True)}
        found = turn(kind.mount, given)
        return [row for name, none in zip(writes, missing, strict=True) for row in _dealt(found[name], none)]

    step.__name__ = turn.__name__
    return step


def _dealt(scalars: Vector, missing: Sequence[bool]) -> list[Vector]:
    """Scalars in equal shares, one for each row that is there."""
    width = len(scalars) // max(1, missing.count(False))
    shares = (scalars[k : k + width] for k in range(0, len(scalars), width or 1))
    return [[] if none else next(shares) for none in missing]
