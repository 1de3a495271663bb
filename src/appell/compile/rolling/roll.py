"""From a traced function with loops to a program: straight code and loops in order of time, slots in their places."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from appell.compile.graph import Graph
from appell.compile.ops import Op
from appell.compile.program import FrameStep, Program, Stage, Window, verify
from appell.compile.rolling.rolled import ALWAYS, Rolled, RolledLoop, Slot, View
from appell.compile.rolling.sines import sines_first
from appell.compile.rolling.straight import Straight
from appell.compile.rolling.tables import SlotBlock, place
from appell.compile.tape import Array
from appell.compile.trace import recorded


def roll(name: str, inputs: Sequence[Array], body: Callable[..., Mapping[str, Any]]) -> Program:
    """The program of a function of nested lists of scalars and, last, of the loops that it may use."""
    graph = Graph()
    rolled = Rolled(graph, sum(array.size for array in inputs))
    outputs, results = recorded(graph, name, inputs, lambda *arrays: body(*arrays, rolled))
    kept = _kept(rolled, results)
    straight = Straight(rolled)
    size = place(_blocks(rolled, straight))
    stages = []
    for time in range(rolled.time + 1):
        if time in rolled.loops:
            stages.append(_stage(rolled.loops[time]))
        elif straight.stores[time]:
            stages.append(straight.stage(f"{name}_{time // 2}", time))
    slots = tuple(block.start + offset for block, offset in kept)
    return verify(sines_first(Program(name, tuple(inputs), tuple(outputs), size, tuple(stages), slots)))


def _kept(rolled: Rolled, results: list[int]) -> list[Slot]:
    """The slot of every result: where it lies already, or one that the last straight code stores it in."""
    made = SlotBlock(0, reads=[ALWAYS])
    found: dict[int, Slot] = {}
    for node in results:
        op, *operands = rolled.graph.nodes[node]
        if node in found:
            continue
        leaf = rolled.leaves[operands[0]] if op == Op.INPUT else None
        if leaf is not None and leaf.overwritten(rolled.time) is None:
            found[node] = (leaf.block, leaf.offset)
            leaf.block.reads.append(ALWAYS)
        else:
            found[node] = (made, made.size)
            rolled.stores[rolled.time].append((found[node], node))
            made.size += 1
    return [found[node] for node in results]


def _blocks(rolled: Rolled, straight: Straight) -> list[SlotBlock]:
    """All blocks that are read or written by anything that is left."""
    found = {rolled.inputs: None}
    for loop in rolled.loops.values():
        found |= {view.block: None for step in loop.steps for view in (*step.reads, *step.writes)}
    for pairs in straight.stores.values():
        found |= {block: None for (block, _), _ in pairs}
    return list(found)


def _stage(loop: RolledLoop) -> Stage:
    steps = (
        FrameStep(step.tape, tuple(map(_window, step.reads)), tuple(map(_window, step.writes)), step.numbers)
        for step in loop.steps
    )
    return Stage(tuple(steps), loop.order)


def _window(view: View) -> Window:
    return Window(tuple(view.block.start + start for start in view.starts), view.width, view.stride)
