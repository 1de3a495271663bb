"""Hoisting of sines: if angles are known before a loop starts, a separate loop before it computes their sines.

A sine has a long latency, because each of its few dozen instructions depends on the one before. An iteration that needs
the sine at once waits for all of them. The sines of several independent angles overlap:

    for iterations k, k+1, k+2, k+3:   sin, cos of the angles         four iterations at once
    for iteration k:                   everything else, as before

The order of a tape is chosen by the same rule (`llvm.schedule`). An angle is known before the loop if the loop writes
none of the slots on which it depends. The bits of the results do not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from appell.compile.program.program import FrameStep, Program, Stage, Window, frame_step, window_slots
from appell.compile.tape.ops import Op
from appell.compile.tape.tape import Node, needed, renumber

GROUPED_ITERATIONS = 4  # iterations whose sines are computed together
_TRIG = (Op.SIN, Op.COS)


def hoist_sines(program: Program) -> Program:
    """Return the same program with loops for sines and cosines before the loops that need them."""
    size, stages = program.size, []
    for stage in program.stages:
        trig = any(node[0] in _TRIG for step in stage.steps for node in step.tape.nodes)
        written = _written(stage) if trig and len(stage.order) > 1 else None
        hoisted = [[] if written is None else _early(step, written) for step in stage.steps]
        if any(hoisted):
            before = []
            steps = list(stage.steps)
            for k, (step, sines) in enumerate(zip(stage.steps, hoisted, strict=True)):
                if sines:
                    iterations = stage.order.count(k)
                    window = Window(tuple(range(size, size + iterations * len(sines), len(sines))), len(sines))
                    size += iterations * len(sines)
                    before += _grouped(_only_sines(step, sines, window))
                    steps[k] = _without_sines(step, sines, window)
            order = [k for k, step in enumerate(before) for _ in step.writes[0].starts]
            stages.append(Stage(tuple(before), tuple(order), flag=stage.flag))
            stage = replace(stage, steps=tuple(steps))
        stages.append(stage)
    return replace(program, size=size, stages=tuple(stages))


def _written(stage: Stage) -> set[int]:
    """Return all slots that the stage writes."""
    slots = (window_slots(step.writes, stage.order.count(k)) for k, step in enumerate(stage.steps))
    return {slot for each in slots for slot in each.ravel().tolist()}


def _early(step: FrameStep, written: set[int]) -> list[int]:
    """Return the sines and cosines of a step whose angles no iteration changes, if its iterations are dependent."""
    known = [
        all(start + k * window.stride not in written for start in window.starts)
        for window in step.reads
        for k in range(window.width)
    ]
    nodes, early = step.tape.nodes, []
    for op, *operands in nodes:
        if op == Op.INPUT:
            early.append(operands[0] >= len(known) or known[operands[0]])
        else:
            early.append(op == Op.CONST or all(early[k] for k in operands))
    if all(early[k] for k in step.tape.results):
        return []  # the iterations are independent, so the processor overlaps them
    return [k for k, node in enumerate(nodes) if node[0] in _TRIG and early[k]]


def _only_sines(step: FrameStep, trig: list[int], window: Window) -> FrameStep:
    """Return a step that computes only the sines and cosines."""
    tape, read = step.tape, sum(window.width for window in step.reads)
    order = needed(tape.nodes, trig)
    inputs = sorted(tape.nodes[k][1] for k in order if tape.nodes[k][0] == Op.INPUT)
    sources = [(window, k) for window in step.reads for k in range(window.width)]
    reads = [Window(tuple(s + k * w.stride for s in w.starts), 1) for w, k in (sources[n] for n in inputs if n < read)]
    columns = [number - read for number in inputs if number >= read]
    numbers = tuple(tuple(row[k] for k in columns) for row in step.numbers) if columns else ()
    index = {number: k for k, number in enumerate(inputs)}
    content = {k: (Op.INPUT, index[tape.nodes[k][1]]) if tape.nodes[k][0] == Op.INPUT else tape.nodes[k] for k in order}
    nodes, results = renumber(content, order, trig)
    return frame_step(f"{tape.name}_sines", nodes, results, reads, [window], numbers)


def _without_sines(step: FrameStep, trig: list[int], window: Window) -> FrameStep:
    """Return the step with its sines and cosines read from a window."""
    tape, read = step.tape, sum(window.width for window in step.reads)
    loaded = {node: (Op.INPUT, read + k) for k, node in enumerate(trig)}

    def moved(k: int, node: Node) -> Node:
        if node[0] == Op.INPUT and node[1] >= read:
            return (Op.INPUT, node[1] + len(trig))
        return loaded.get(k, node)

    content = [moved(k, node) for k, node in enumerate(tape.nodes)]
    nodes, results = renumber(content, needed(content, tape.results), tape.results)
    return frame_step(tape.name, nodes, results, (*step.reads, window), step.writes, step.numbers)


def _grouped(step: FrameStep) -> list[FrameStep]:
    """Return the same iterations, several at a time, and a step for the remaining ones."""
    total = len(step.writes[0].starts)
    grouped = total - total % GROUPED_ITERATIONS
    steps = [_joined(step, GROUPED_ITERATIONS, range(grouped))] if grouped else []
    return steps + ([_joined(step, 1, range(grouped, total))] if grouped < total else [])


def _joined(step: FrameStep, count: int, iterations: range) -> FrameStep:
    """Return the step on `count` iterations at a time, with `count` copies of its tape."""

    def spread(windows: Sequence[Window]) -> list[Window]:
        shares = [iterations[k::count] for k in range(count)]
        return [replace(w, starts=tuple(w.starts[k] for k in share)) for share in shares for w in windows]

    numbers = tuple(sum(step.numbers[k : k + count], ()) for k in iterations[::count]) if step.numbers else ()
    tape, read = step.tape, sum(window.width for window in step.reads)
    columns = tape.input_size - read
    nodes: list[Node] = []
    results: list[int] = []
    for k in range(count):
        shift = len(nodes)
        for op, *operands in tape.nodes:
            if op == Op.INPUT:
                number = operands[0]
                index = number + k * read if number < read else number + (count - 1) * read + k * columns
                nodes.append((op, index))
            else:
                nodes.append((op, *operands) if op == Op.CONST else (op, *(j + shift for j in operands)))
        results += [j + shift for j in tape.results]
    return frame_step(tape.name, nodes, results, spread(step.reads), spread(step.writes), numbers)
