"""The stack frame: where a value waits that one chunk computes and a later one reads.

A slot is given to a value when its chunk ends and taken back after the last chunk that reads it, so the frame is as
large as the widest cut through the tape, not as the tape. Constants, inputs and values used in one chunk need no slot.
"""

from __future__ import annotations

from dataclasses import dataclass

from appell.compile.emit.schedule import Group, Step, operands
from appell.compile.tape import Tape


@dataclass(frozen=True)
class StackFrame:
    """The slot of every value that waits, and the number of slots."""

    slots: dict[int, int]
    size: int


def step_defines(step: Step) -> list[int]:
    return step.defines if isinstance(step, Group) else [step]


def step_uses(tape: Tape, step: Step) -> list[int] | tuple[int, ...]:
    return step.uses if isinstance(step, Group) else operands(tape, step)


def stack_frame(tape: Tape, chunks: list[list[Step]]) -> StackFrame:
    """Give out the slots in one pass through the chunks."""
    born: dict[int, int] = {}
    last_read: dict[int, int] = {}
    for number, chunk in enumerate(chunks):
        for step in chunk:
            for node in step_uses(tape, step):
                if born.get(node, number) != number:
                    last_read[node] = number
            for node in step_defines(step):
                born[node] = number

    arriving: list[list[int]] = [[] for _ in chunks]
    leaving: list[list[int]] = [[] for _ in chunks]
    for node, number in last_read.items():
        arriving[born[node]].append(node)
        leaving[number].append(node)

    slots: dict[int, int] = {}
    free: list[int] = []
    size = 0
    for enter, leave in zip(arriving, leaving, strict=True):
        for node in enter:
            if free:
                slots[node] = free.pop()
            else:
                slots[node], size = size, size + 1
        # a slot that is read in this chunk may be written again only by the next one
        free += [slots[node] for node in leave]
    return StackFrame(slots, size)
