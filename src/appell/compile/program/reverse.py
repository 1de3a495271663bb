"""Reverse mode for programs: the gradient of a weighted sum of results, with loops that stay loops.

    forward     the stages of the program; every stage writes slots of its own, so that no value is overwritten
    start       adjoints of all slots are zero, those of the results are their weights
    backward    the stages in reverse order, and the iterations of each: x̄ += (∂y/∂x)ᵀ ȳ for y = tape(x)

The adjoint of a slot lies `size` slots behind it. The code grows with the tapes of the steps, not with the number of
iterations: the gradient with respect to thousands of weights of a network is a few loops over their rows.

A loop that overwrites a slot which the same loop wrote (a sum in place) would lose values that the way back needs, and
an iteration that reads a slot twice would need two sums at once; such programs raise `NotReversibleError`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from appell.compile.program.program import FrameStep, Program, Stage, Window, frame_step, verify_program
from appell.compile.tape.differentiate import input_adjoints
from appell.compile.tape.graph import Graph
from appell.compile.tape.passes import factor
from appell.compile.tape.tape import CONST, INPUT, Array, Tape
from appell.errors import CompileError

FILL_WIDTH = 16  # slots that one iteration sets


class NotReversibleError(CompileError):
    """A program whose values are overwritten before the way back needs them."""


@dataclass(frozen=True)
class Gradient:
    """A result of the reversed program: the gradient with respect to an argument, added to an input if one is named."""

    name: str
    argument: str
    added_to: str = ""


def reverse(
    program: Program, name: str, inputs: Sequence[Array], weights: Mapping[str, str | float], wrt: Sequence[Gradient]
) -> Program:
    """Return the program of the gradient of Σ weight · result.

    Parameters
    ----------
    program : program to differentiate
    name, inputs : name and arguments of the new program; an argument of `program` that is not among them is zero
    weights : by result of `program`, the new argument that holds its weights, or one number; others have the weight 0
    wrt : results of the new program

    Raises
    ------
    NotReversibleError
        If a loop overwrites a value that it wrote, or reads a slot twice in one iteration.
    """
    slots = _spans(inputs)
    forward, size, location = _unshared(program, slots, sum(array.size for array in inputs))
    starts: dict[int, tuple[list[int], float]] = {}  # by adjoint of a result: slots and a number that it is the sum of
    for array, span in zip(program.outputs, _spans(program.outputs).values(), strict=True):
        weight = weights.get(array.name, 0.0)
        for k, result in enumerate(program.results[span.start : span.stop]):
            adjoint = size + location[result]
            sources, constant = starts.get(adjoint, ([adjoint], 0.0))
            if isinstance(weight, str):
                sources = [*sources, slots[weight].start + k]
            else:
                constant += weight
            starts[adjoint] = sources, constant
    filled, copied = _initial(size, slots, wrt)
    stages = [*forward, *filled, *copied, _start(name, starts)]
    stages += [_backward(stage, size) for stage in reversed(forward)]
    outputs = tuple(Array(each.name, (slots[each.argument].stop - slots[each.argument].start,)) for each in wrt)
    results = tuple(size + slot for each in wrt for slot in slots[each.argument])
    kept = tuple(stage for stage in stages if stage.steps)
    return verify_program(Program(name, tuple(inputs), outputs, 2 * size, kept, results))


def _spans(arrays: Sequence[Array]) -> dict[str, range]:
    """Return the flat positions of each array, by name."""
    ends = accumulate(array.size for array in arrays)
    return {array.name: range(end - array.size, end) for array, end in zip(arrays, ends, strict=True)}


def _unshared(program: Program, slots: Mapping[str, range], size: int) -> tuple[list[Stage], int, dict[int, int]]:
    """Return stages that write slots of their own, the number of slots, and the last slot of each slot of `program`."""
    location: dict[int, int] = {}
    absent: list[int] = []
    for array, span in zip(program.inputs, _spans(program.inputs).values(), strict=True):
        if array.name in slots:
            location |= zip(span, slots[array.name], strict=True)
        else:
            location |= zip(span, range(size, size + array.size), strict=True)
            absent += range(size, size + array.size)
            size += array.size
    stages = [_fill([(slot, slot + 1) for slot in absent])] if absent else []
    for stage in program.stages:
        if stage.flag is not None:
            raise NotReversibleError(f"a loop of program '{program.name}' may be skipped.")
        windows = [window for step in stage.steps for window in step.writes]
        written = {slot for window in windows for k in range(len(window.starts)) for slot in window.slots(k)}
        first = min(written, default=0)
        shift, end = size - first, size + max(written, default=first - 1) - first + 1
        done: set[int] = set()
        reads: list[list[list[int]]] = [[] for _ in stage.steps]  # by step and iteration: where its inputs lie
        for number in stage.order:
            step, k = stage.steps[number], len(reads[number])
            read = [slot for window in step.reads for slot in window.slots(k)]
            reads[number].append([slot + shift if slot in done else location[slot] for slot in read])
            for slot in (slot for window in step.writes for slot in window.slots(k)):
                if slot in done:
                    raise NotReversibleError(f"a loop of program '{program.name}' overwrites a value that it wrote.")
                done.add(slot)
        location |= {slot: slot + shift for slot in done}
        steps = [_moved(step, where, shift) for step, where in zip(stage.steps, reads, strict=True)]
        stages.append(Stage(tuple(steps), stage.order))
        size = end
    return stages, size, location


def _moved(step: FrameStep, reads: list[list[int]], shift: int) -> FrameStep:
    """Return a step with other slots; windows of which the slots are no longer evenly spaced are divided."""
    windows = _windows(np.array(reads))
    writes = [replace(window, starts=tuple(start + shift for start in window.starts)) for window in step.writes]
    return frame_step(step.tape.name, step.tape.nodes, step.tape.results, windows, writes, step.numbers)


def _windows(slots: np.ndarray) -> list[Window]:
    """Return windows that cover slots (iterations, columns), in order."""
    windows, first, columns = [], 0, slots.shape[1]
    while first < columns:
        last = first
        stride = int(slots[0, first + 1] - slots[0, first]) if first + 1 < columns else 1
        while stride > 0 and last + 1 < columns and (slots[:, last + 1] - slots[:, last] == stride).all():
            last += 1
        width = last - first + 1
        windows.append(Window(tuple(int(x) for x in slots[:, first]), width, stride if width > 1 else 1))
        first = last + 1
    return windows


def _initial(size: int, slots: Mapping[str, range], wrt: Sequence[Gradient]) -> tuple[list[Stage], list[Stage]]:
    """Return the stages that set all adjoints: to zero, or to the input that a gradient is added to."""
    copied = [(size + slots[each.argument].start, slots[each.added_to]) for each in wrt if each.added_to]
    edges = sorted((start, start + len(span)) for start, span in copied)
    gaps, before = [], size
    for start, stop in [*edges, (2 * size, 2 * size)]:
        gaps.append((before, start))
        before = stop
    copies = [
        _stage("copy", [(start + at, span.start + at, width) for at, width in _pieces(len(span))])
        for start, span in copied
    ]
    return [_fill(gaps)], copies


def _pieces(length: int) -> list[tuple[int, int]]:
    multiple = length - length % FILL_WIDTH
    return [(at, FILL_WIDTH) for at in range(0, multiple, FILL_WIDTH)] + [(at, 1) for at in range(multiple, length)]


def _fill(runs: Sequence[tuple[int, int]]) -> Stage:
    """Return the stage that sets runs of slots to zero."""
    return _stage("zero", [(start + at, None, width) for start, stop in runs for at, width in _pieces(stop - start)])


def _stage(name: str, pieces: Sequence[tuple[int, int | None, int]]) -> Stage:
    """Return the stage of iterations (target, source or None for zero, width)."""
    steps: list[FrameStep] = []
    order: list[int] = []
    for width in (FILL_WIDTH, 1):
        chosen = [piece for piece in pieces if piece[2] == width]
        if not chosen:
            continue
        targets = [Window(tuple(target for target, _, _ in chosen), width)]
        if chosen[0][1] is None:
            step = frame_step(name, [(CONST, 0.0)], [0] * width, [], targets)
        else:
            sources = [Window(tuple(source or 0 for _, source, _ in chosen), width)]
            step = frame_step(name, [(INPUT, k) for k in range(width)], range(width), sources, targets)
        order += [len(steps)] * len(chosen)
        steps.append(step)
    return Stage(tuple(steps), tuple(order))


def _start(name: str, starts: Mapping[int, tuple[list[int], float]]) -> Stage:
    """Return the stage that adds the weights to the adjoints of the results: sums of slots and a number each."""
    graph, results = Graph(), []
    sources = [slot for slots, _ in starts.values() for slot in slots]
    number = 0
    for slots, constant in starts.values():
        total = graph.const(constant)
        for _ in slots:
            total = graph.add(total, graph.input(number))
            number += 1
        results.append(total)
    reads, writes = [Window((slot,), 1) for slot in sources], [Window((slot,), 1) for slot in starts]
    return Stage((frame_step(f"{name}_start", graph.nodes, results, reads, writes),), (0,))


def _backward(stage: Stage, size: int) -> Stage:
    """Return the stage that runs the iterations of a stage backwards on the adjoints, without steps of constants."""
    steps = [_pullback(step, size) for step in stage.steps]
    number_of = {k: number for number, k in enumerate(k for k, step in enumerate(steps) if step.writes)}
    order = tuple(number_of[k] for k in stage.order[::-1] if k in number_of)
    return Stage(tuple(steps[k] for k in number_of), order)


def _pullback(step: FrameStep, size: int) -> FrameStep:
    """Return the step that adds to the adjoints of the windows that a step reads."""
    tape, graph = step.tape, Graph()
    read_size = sum(window.width for window in step.reads)
    numbers = tape.input_size - read_size
    # inputs: what the step reads, adjoints of what it writes, adjoints of what it reads, its numbers
    written = sum(window.width for window in step.writes)
    order = [*range(read_size), *range(2 * read_size + written, 2 * read_size + written + numbers)]
    changes = _reverse_sweep(graph, tape, [graph.input(k) for k in order], read_size)
    windows = [(window, 0) for window in step.reads] + [(window, size) for window in (*step.writes, *step.reads)]
    results, writes = [], []
    for span, window in zip(
        _spans([Array(str(k), (w.width,)) for k, w in enumerate(step.reads)]).values(), step.reads, strict=True
    ):
        parts = [changes.get(k) for k in span]
        if any(part is not None for part in parts):
            sums = [graph.input(read_size + written + k) for k in span]
            results += [x if part is None else graph.add(x, part) for x, part in zip(sums, parts, strict=True)]
            writes.append(window)
    reversed_windows = [
        Window(tuple(start + shift for start in window.starts[::-1]), window.width, window.stride)
        for window, shift in windows
    ]
    targets = [Window(tuple(start + size for start in w.starts[::-1]), w.width, w.stride) for w in writes]
    for k in range(len(step.reads[0].starts) if step.reads else 0):
        touched = [slot for window in targets for slot in window.slots(k)]
        if len(set(touched)) < len(touched):
            raise NotReversibleError(f"an iteration of step '{tape.name}' reads a slot twice.")
    shape = [Array(str(k), (window.width,)) for k, window in enumerate(reversed_windows)]
    shape += [Array("numbers", (numbers,))] if numbers else []
    made = factor(
        graph.tape(f"{tape.name}_reverse", shape, [Array(str(k), (w.width,)) for k, w in enumerate(targets)], results)
    )
    return _without_unused(made, reversed_windows, targets, step.numbers[::-1])


def _reverse_sweep(graph: Graph, tape: Tape, inputs: list[int], read_size: int) -> dict[int, int]:
    """Return the adjoints of the inputs of a tape that depend on its results, whose adjoints are inputs too."""
    index = graph.splice(tape, inputs)
    adjoint: dict[int, int] = {}
    for k, node in enumerate(tape.results):
        weight = graph.input(read_size + k)
        adjoint[node] = graph.add(adjoint[node], weight) if node in adjoint else weight
    return {number: x for number, x in input_adjoints(graph, tape, index, adjoint) if number < read_size}


def _without_unused(tape: Tape, reads: list[Window], writes: list[Window], numbers: tuple) -> FrameStep:
    """Return a step without the windows of which it uses nothing."""
    spans = list(_spans([Array(str(k), (window.width,)) for k, window in enumerate(reads)]).values())
    kept = [k for k, span in enumerate(spans) if not tape.reads.isdisjoint(span)]
    total = sum(window.width for window in reads)
    used = [slot for k in kept for slot in spans[k]] + [*range(total, tape.input_size)]
    number_of = {old: new for new, old in enumerate(used)}
    nodes = [(INPUT, number_of[node[1]]) if node[0] == INPUT else node for node in tape.nodes]
    return frame_step(tape.name, nodes, tape.results, [reads[k] for k in kept], writes, numbers)
