"""A formula is what a `Function` computes: a tape, or a program where a tape would be too long.

This module has the operations that both support: fusing multiply-adds, counting operations, unrolling loops.
"""

from __future__ import annotations

from dataclasses import replace

from appell.compile.program.program import FrameStep, Program
from appell.compile.tape import count as tapes
from appell.compile.tape.count import OpCount
from appell.compile.tape.graph import Graph
from appell.compile.tape.passes import factor, fuse
from appell.compile.tape.tape import Tape
from appell.errors import CompileError

Formula = Tape | Program


def check_arrays(formula: Formula) -> None:
    """Raise an error unless a formula has arguments and results, none of which is empty."""
    if not formula.inputs or not formula.outputs:
        missing = "results" if formula.inputs else "arguments"
        raise CompileError(f"'{formula.name}' has no {missing}.", expected="at least one argument and one result")
    for array in (*formula.inputs, *formula.outputs):
        if array.size == 0:
            raise CompileError(f"'{formula.name}': {array} is empty.", expected="arrays of at least one element")


def fused(formula: Formula) -> Formula:
    """Return the formula with fused multiply-adds, as it is executed."""
    if isinstance(formula, Tape):
        return fuse(formula)
    stages = (
        replace(stage, steps=tuple(replace(step, tape=fuse(step.tape)) for step in stage.steps))
        for stage in formula.stages
    )
    return replace(formula, stages=tuple(stages))


def count(formula: Formula) -> OpCount:
    """Return the operations of one evaluation; in a program those of all iterations."""
    if isinstance(formula, Tape):
        return tapes.count(formula)
    total = OpCount()
    for stage in formula.stages:
        for number, step in enumerate(stage.steps):
            total += stage.order.count(number) * tapes.count(step.tape)
    return total


def unrolled(formula: Formula) -> Tape:
    """Return the formula as one tape: all iterations one after the other, with their numbers as constants."""
    if isinstance(formula, Tape):
        return formula
    graph = Graph()
    frame: dict[int, int] = {slot: graph.input(slot) for slot in range(formula.input_size)}
    for stage in formula.stages:
        iterations = [0] * len(stage.steps)
        for number in stage.order:
            _unroll(graph, frame, stage.steps[number], iterations[number])
            iterations[number] += 1
    results = [frame[slot] for slot in formula.results]
    return factor(graph.tape(formula.name, formula.inputs, formula.outputs, results))


def _unroll(graph: Graph, frame: dict[int, int], step: FrameStep, iteration: int) -> None:
    operands = [frame[slot] for window in step.reads for slot in window.slots(iteration)]
    operands += [graph.const(x) for x in step.numbers[iteration]] if step.numbers else []
    index = graph.splice(step.tape, operands)
    written = (slot for window in step.writes for slot in window.slots(iteration))
    frame |= zip(written, [index[node] for node in step.tape.results], strict=True)
