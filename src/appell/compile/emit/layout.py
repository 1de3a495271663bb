"""What a kernel asks of a formula, be it a tape or a program: its body, and where inputs and results lie."""

from __future__ import annotations

from dataclasses import dataclass

from appell.compile.emit.body import body as tape_body
from appell.compile.emit.body import slots
from appell.compile.emit.emitter import Value
from appell.compile.emit.lanes import Lanes
from appell.compile.emit.memory import LARGE, Memory
from appell.compile.emit.program_body import program_body
from appell.compile.formula import Formula
from appell.compile.program import Program


@dataclass(frozen=True)
class Layout:
    """The blocks that a body works on: the inputs come first in the block `taken`."""

    taken: int  # registers
    given: int | None  # registers of the block of results; None if they lie in the block `taken`
    places: tuple[int, ...]  # where in its block each result lies

    def borrows(self, lanes: Lanes) -> bool:
        """Whether a block is too large for the stack."""
        return max(self.taken, self.given or 0) * lanes.bytes > LARGE

    def blocks(self, memory: Memory) -> tuple[Value, Value]:
        taken = memory.block(self.taken)
        return taken, taken if self.given is None else memory.block(self.given)


def layout(formula: Formula) -> Layout:
    """Where the body of a formula finds its inputs and leaves its results."""
    if isinstance(formula, Program):
        return Layout(formula.size, None, formula.results)
    places = slots(formula)
    return Layout(formula.input_size, len(places), tuple(places[node] for node in formula.results))


def body(formula: Formula, lanes: Lanes, fused: bool, chunk: int) -> str:
    """All functions of the body."""
    if isinstance(formula, Program):
        return program_body(formula, lanes, fused, chunk)
    return tape_body(formula, lanes, fused, chunk)
