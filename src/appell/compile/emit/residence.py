"""Where values live: as many as there is room for in registers, the rest in memory.

The machine has sixteen registers, and a value that finds none is written to memory and read when it is needed. Reading
costs next to nothing, since most instructions take one operand from memory as it is; writing is dear, on some machines
as dear as two multiplications. Code generators keep values apart in short functions only, so it is settled here, with
the whole schedule in view: whenever registers run out, the value leaves that is needed last (Belady 1966), without
being written a second time. Between functions, and where sines are computed, nothing stays in a register.

A slot of memory is given to a value when it leaves and taken back after its last use, so the frame is as large as the
widest cut through the tape, not as the tape. Constants and inputs lie in memory anyway, and so do results, from the
step that makes them: they need no slot and are not written again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from appell.compile.emit.lanes import NARROW, Lanes
from appell.compile.emit.schedule import Group, Step, operands
from appell.compile.ops import Op
from appell.compile.tape import Tape

ROOM = 14  # values that are kept in registers: of sixteen, some are left for what a step needs besides
WIDE_ROOM = 27  # where registers are wide there are thirty-two of them


@dataclass
class Residence:
    """The slot of every value that leaves its register, and what leaves before each step of each chunk."""

    slots: dict[int, int] = field(default_factory=dict)
    size: int = 0  # slots of the frame
    leaving: list[list[list[tuple[int, bool]]]] = field(default_factory=list)  # and whether it has to be written


def step_defines(step: Step) -> list[int]:
    return step.defines if isinstance(step, Group) else [step]


def step_uses(tape: Tape, step: Step) -> list[int] | tuple[int, ...]:
    return step.uses if isinstance(step, Group) else operands(tape, step)


def residence(tape: Tape, chunks: list[list[Step]], lanes: Lanes) -> Residence:
    """Go through the schedule once; every chunk has one entry more than steps, for what leaves at its end.

    A schedule that is not cut is left to the code generator.
    """
    found = Residence()
    if len(chunks) == 1:
        return found
    room = ROOM if lanes.bytes <= NARROW else WIDE_ROOM
    uses, results = _uses(tape, chunks), frozenset(tape.results)
    held: dict[int, int] = {}  # the values in registers, and when they are needed next
    free: list[int] = []

    def leave(node: int, entry: list[tuple[int, bool]]) -> None:
        del held[node]
        fresh = node not in found.slots and node not in results
        if fresh:
            if not free:
                free.append(found.size)
                found.size += 1
            found.slots[node] = free.pop()
        entry.append((node, fresh))

    time = 0
    for chunk in chunks:
        entries: list[list[tuple[int, bool]]] = []
        for step in chunk:
            entry: list[tuple[int, bool]] = []
            needed = [node for node in step_uses(tape, step) if node in uses]
            for node in needed:
                held[node] = time  # needed now, so it is the last to leave
            most = 0 if isinstance(step, Group) else room
            while len(held) > most and max(held.values()) > time:
                leave(max(held, key=held.__getitem__), entry)
            entries.append(entry)
            for node in {*needed}:
                uses[node].pop()
                if uses[node]:
                    held[node] = uses[node][-1]
                else:
                    del held[node]
                    if node in found.slots:
                        free.append(found.slots[node])
            for node in step_defines(step):
                if node in uses:
                    held[node] = uses[node][-1]
            time += 1
        last: list[tuple[int, bool]] = []
        for node in list(held):
            leave(node, last)
        found.leaving.append([*entries, last])
    return found


def _uses(tape: Tape, chunks: list[list[Step]]) -> dict[int, list[int]]:
    """The steps that use each value but constants and inputs, the last one first."""
    found: dict[int, list[int]] = {}
    steps = [step for chunk in chunks for step in chunk]
    for time in range(len(steps) - 1, -1, -1):
        for node in {*step_uses(tape, steps[time])}:
            if tape.nodes[node][0] > Op.INPUT:
                found.setdefault(node, []).append(time)
    return found
