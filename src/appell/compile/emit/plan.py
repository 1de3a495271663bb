"""The plan of a long tape: its order, its chunks, where its values live, and how many blocks a chunk is run on.

Three orders are tried, that of the tape and two that go depth first. Counted is what leaves registers for memory, and
how much memory: a value that is written is an instruction more, one that is read again is mostly an operand of an
instruction that is there anyway.

The code of a long tape is longer than the first cache for instructions. It comes from the second at some 15 bytes a
cycle, and the processor waits for it longer than it computes. So each chunk is run on two blocks of samples, if the
code that this saves outweighs what they keep beyond the first cache for data: their inputs and results, also as rows of
the user's arrays, and their frames.
"""

from __future__ import annotations

from dataclasses import dataclass

from appell.compile.emit.depth_first import depth_first
from appell.compile.emit.form import Form
from appell.compile.emit.lanes import Lanes
from appell.compile.emit.residence import Residence, residence
from appell.compile.emit.schedule import Step, chunks, schedule, weight
from appell.compile.tape import Tape

_SEARCHED = 10_000  # nodes: in longer tapes, derivatives of large robots, no other order was ever better
BLOCKS = 2  # on which a chunk is run
_READ = 0.25  # the cost of a value that is read again, in values that are written
_STEP = 14  # bytes of code, on average
_CLEARLY = 0.9  # of the cost of the order of the tape: less, or it stays


@dataclass(frozen=True)
class TapePlan:
    """How a tape is run."""

    pieces: list[list[Step]]
    frame: Residence
    blocks: int = 1
    data: int = 0  # bytes of a block: its inputs and results, also as rows of the user's arrays, and its frame

    @property
    def cost(self) -> float:
        """What leaves registers, and the frame for it."""
        left = [fresh for piece in self.frame.leaving for entry in piece for _, fresh in entry]
        return sum(left) + _READ * (len(left) - sum(left)) + self.frame.size


def plan(tape: Tape, lanes: Lanes, form: Form) -> TapePlan:
    """The best of the orders; a short tape is left as it is, for the code generator to arrange."""
    found = _arranged(tape, schedule(tape), lanes, form)
    if len(found.pieces) == 1 or len(tape) > _SEARCHED:
        return found
    others = [
        _arranged(tape, depth_first(tape, results), lanes, form) for results in (tape.results, tape.results[::-1])
    ]
    best = min(others, key=lambda each: each.cost)
    return best if best.cost < _CLEARLY * found.cost else found


def _arranged(tape: Tape, steps: list[Step], lanes: Lanes, form: Form) -> TapePlan:
    pieces = chunks(steps, form.chunk)
    frame = residence(tape, pieces, lanes)
    code = _STEP * sum(map(weight, steps))
    data = (2 * (tape.input_size + len(set(tape.results))) + frame.size) * lanes.bytes
    beyond, saved = BLOCKS * data - form.cache, code - code / BLOCKS
    together = len(pieces) > 1 and form.cache and code > form.code_cache and beyond <= saved
    return TapePlan(pieces, frame, BLOCKS if together else 1, data)
