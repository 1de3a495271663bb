"""What a kernel asks of a formula, be it a tape or a program: its body, and where inputs and results lie."""

from __future__ import annotations

from dataclasses import dataclass

from appell.compile.emit.body import BodyCode, slots
from appell.compile.emit.body import body as tape_body
from appell.compile.emit.emitter import Value
from appell.compile.emit.form import Form
from appell.compile.emit.lanes import Lanes
from appell.compile.emit.memory import Memory
from appell.compile.emit.program_body import program_body
from appell.compile.formula import Formula
from appell.compile.program import Program


@dataclass(frozen=True)
class BlockLayout:
    """The blocks that a body works on: the inputs come first in the block `taken`."""

    taken: int  # registers
    given: int | None  # registers of the block of results; None if they lie in the block `taken`
    places: tuple[int, ...]  # where in its block each result lies

    def reserve(self, memory: Memory, blocks: int) -> tuple[Value, Value]:
        """Room for so many of them, one after the other."""
        taken = memory.block(self.taken * blocks)
        return taken, taken if self.given is None else memory.block(self.given * blocks)


def layout(formula: Formula) -> BlockLayout:
    """Where the body of a formula finds its inputs and leaves its results."""
    if isinstance(formula, Program):
        return BlockLayout(formula.size, None, formula.results)
    places = slots(formula)
    return BlockLayout(formula.input_size, len(places), tuple(places[node] for node in formula.results))


def body(formula: Formula, lanes: Lanes, fused: bool, form: Form, ahead: bool = False) -> BodyCode:
    """All functions of the body; with `ahead` it is told where its results go, and may fetch what lies there."""
    if isinstance(formula, Program):
        return BodyCode(program_body(formula, lanes, fused, form))
    return tape_body(formula, lanes, fused, form, ahead)
