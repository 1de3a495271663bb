"""A formula is what a Function computes: a tape, or a program where a tape would be too long. What is asked of both."""

from __future__ import annotations

from dataclasses import replace

from appell.compile.program.program import FrameStep, Program, Stage
from appell.compile.tape import count as tapes
from appell.compile.tape.count import OpCount
from appell.compile.tape.graph import Graph
from appell.compile.tape.passes import factor, fuse
from appell.compile.tape.tape import Tape

Formula = Tape | Program


def fused(formula: Formula) -> Formula:
    """The formula that is run: with fused multiply-adds."""
    if isinstance(formula, Tape):
        return fuse(formula)
    stages = (
        Stage(tuple(replace(step, tape=fuse(step.tape)) for step in stage.steps), stage.order)
        for stage in formula.stages
    )
    return replace(formula, stages=tuple(stages))


def count(formula: Formula) -> OpCount:
    """The operations of one evaluation: of a program, those of every turn."""
    if isinstance(formula, Tape):
        return tapes.count(formula)
    total = OpCount()
    for stage in formula.stages:
        for number, step in enumerate(stage.steps):
            total += stage.order.count(number) * tapes.count(step.tape)
    return total


def unrolled(formula: Formula) -> Tape:
    """The same as one tape: every turn is taken, and its numbers are constants."""
    if isinstance(formula, Tape):
        return formula
    graph = Graph()
    frame: dict[int, int] = {slot: graph.input(slot) for slot in range(formula.input_size)}
    for stage in formula.stages:
        taken = [0] * len(stage.steps)
        for number in stage.order:
            _take(graph, frame, stage.steps[number], taken[number])
            taken[number] += 1
    results = [frame[slot] for slot in formula.results]
    return factor(graph.tape(formula.name, formula.inputs, formula.outputs, results))


def _take(graph: Graph, frame: dict[int, int], step: FrameStep, turn: int) -> None:
    operands = [frame[slot] for window in step.reads for slot in window.slots(turn)]
    operands += [graph.const(x) for x in step.numbers[turn]] if step.numbers else []
    index = graph.splice(step.tape, operands)
    written = (slot for window in step.writes for slot in window.slots(turn))
    frame |= zip(written, [index[node] for node in step.tape.results], strict=True)
