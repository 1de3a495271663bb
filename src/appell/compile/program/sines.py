"""Sines first: angles that are known before a loop begins get their sine and cosine in a loop of their own before it.

A sine takes longer than its few dozen instructions, because each waits for the one before. In a turn whose arithmetic
needs it at once, the machine waits too. Several angles a turn, with nothing else to do, do not wait for each other.

    for turns k, k+1, k+2, k+3:   sin, cos of the angles              four at once
    for turns k:                  everything else, as before

It is the order in which a tape is computed (`emit.schedule`), for loops. An angle is known before if none of the slots
it depends on is written in the loop. The bits of the results do not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from appell.compile.program.program import FrameStep, Program, Stage, Window, frame_step
from appell.compile.tape.ops import Op
from appell.compile.tape.tape import Node, needed, renumber

AT_ONCE = 4  # turns whose angles are taken together
_TRIG = (Op.SIN, Op.COS)


def sines_first(program: Program) -> Program:
    """The same program, with loops for sines and cosines before loops that need them."""
    size, stages = program.size, []
    for stage in program.stages:
        found = [_early(step, _written(stage)) if len(stage.order) > 1 else [] for step in stage.steps]
        if any(found):
            before = []
            steps = list(stage.steps)
            for k, (step, trig) in enumerate(zip(stage.steps, found, strict=True)):
                if trig:
                    turns = stage.order.count(k)
                    window = Window(tuple(range(size, size + turns * len(trig), len(trig))), len(trig))
                    size += turns * len(trig)
                    before += _grouped(_alone(step, trig, window))
                    steps[k] = _without(step, trig, window)
            order = [k for k, step in enumerate(before) for _ in step.writes[0].starts]
            stages.append(Stage(tuple(before), tuple(order)))
            stage = Stage(tuple(steps), stage.order)
        stages.append(stage)
    return replace(program, size=size, stages=tuple(stages))


def _written(stage: Stage) -> set[int]:
    """All slots that a turn of the stage writes."""
    windows = (window for step in stage.steps for window in step.writes)
    return {slot for window in windows for turn in range(len(window.starts)) for slot in window.slots(turn)}


def _early(step: FrameStep, written: set[int]) -> list[int]:
    """The sines and cosines of a step whose angles no turn changes, if its turns depend on each other."""
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
        return []  # turns that do not wait for each other anyway
    return [k for k, node in enumerate(nodes) if node[0] in _TRIG and early[k]]


def _alone(step: FrameStep, trig: list[int], window: Window) -> FrameStep:
    """The sines and cosines of a step and nothing else."""
    tape, read = step.tape, sum(window.width for window in step.reads)
    kept = needed(tape.nodes, trig)
    inputs = sorted(tape.nodes[k][1] for k in kept if tape.nodes[k][0] == Op.INPUT)
    sources = [(window, k) for window in step.reads for k in range(window.width)]
    reads = [Window(tuple(s + k * w.stride for s in w.starts), 1) for w, k in (sources[n] for n in inputs if n < read)]
    columns = [number - read for number in inputs if number >= read]
    numbers = tuple(tuple(row[k] for k in columns) for row in step.numbers) if columns else ()
    place = {number: k for k, number in enumerate(inputs)}
    content = {k: (Op.INPUT, place[tape.nodes[k][1]]) if tape.nodes[k][0] == Op.INPUT else tape.nodes[k] for k in kept}
    nodes, results = renumber(content, kept, trig)
    return frame_step(f"{tape.name}_sines", nodes, results, reads, [window], numbers)


def _without(step: FrameStep, trig: list[int], window: Window) -> FrameStep:
    """The step with its sines and cosines read from a window."""
    tape, read = step.tape, sum(window.width for window in step.reads)
    found = {node: (Op.INPUT, read + k) for k, node in enumerate(trig)}

    def moved(k: int, node: Node) -> Node:
        if node[0] == Op.INPUT and node[1] >= read:
            return (Op.INPUT, node[1] + len(trig))
        return found.get(k, node)

    content = [moved(k, node) for k, node in enumerate(tape.nodes)]
    nodes, results = renumber(content, needed(content, tape.results), tape.results)
    return frame_step(tape.name, nodes, results, (*step.reads, window), step.writes, step.numbers)


def _grouped(step: FrameStep) -> list[FrameStep]:
    """The same turns, several at a time, and a step for those that are left over."""
    turns = len(step.writes[0].starts)
    whole = turns - turns % AT_ONCE
    made = [_joined(step, AT_ONCE, range(whole))] if whole else []
    return made + ([_joined(step, 1, range(whole, turns))] if whole < turns else [])


def _joined(step: FrameStep, count: int, turns: range) -> FrameStep:
    """The step on `count` turns at a time: its tape so many times over."""

    def spread(windows: Sequence[Window]) -> list[Window]:
        shares = [turns[k::count] for k in range(count)]
        return [replace(w, starts=tuple(w.starts[turn] for turn in share)) for share in shares for w in windows]

    numbers = tuple(sum(step.numbers[turn : turn + count], ()) for turn in turns[::count]) if step.numbers else ()
    tape, read = step.tape, sum(window.width for window in step.reads)
    columns = tape.input_size - read
    nodes: list[Node] = []
    results: list[int] = []
    for k in range(count):
        shift = len(nodes)
        for op, *operands in tape.nodes:
            if op == Op.INPUT:
                number = operands[0]
                moved = number + k * read if number < read else number + (count - 1) * read + k * columns
                nodes.append((op, moved))
            else:
                nodes.append((op, *operands) if op == Op.CONST else (op, *(j + shift for j in operands)))
        results += [j + shift for j in tape.results]
    return frame_step(tape.name, nodes, results, spread(step.reads), spread(step.writes), numbers)
