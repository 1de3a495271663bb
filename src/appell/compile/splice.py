"""A tape inside a trace: call it on the scalars of another function.

Everything ends in one tape, where equal expressions meet. A quotient x / y is written x · (1 / y): a derivative divides
by the same denominator again and again, and so does it once.
"""

from __future__ import annotations

from typing import Any

from appell.compile.evaluate import evaluate
from appell.compile.graph import Graph
from appell.compile.ops import Op
from appell.compile.tape import Node, Tape
from appell.compile.trace import Traced, flatten, split
from appell.errors import TraceError


def inline(tape: Tape, *arguments) -> list[Any]:
    """The results of a tape on nested scalars, each nested as its shape; plain numbers give plain numbers."""
    scalars = [scalar for argument in arguments for scalar in flatten(argument)[0]]
    if len(scalars) != tape.input_size:
        raise TraceError(f"'{tape.name}' is called on {len(scalars)} scalars.", expected=f"{tape.input_size}")
    traced = next((scalar for scalar in scalars if isinstance(scalar, Traced)), None)
    if traced is None:
        return [result.tolist() for result in evaluate(tape, scalars)]
    graph = traced.graph
    inputs = [traced.node_of(scalar) for scalar in scalars]
    index: list[int] = []
    for node in tape.nodes:
        index.append(_rebuilt(graph, node, index, inputs))
    return split([traced.scalar(index[k]) for k in tape.results], tape.outputs)


def _rebuilt(graph: Graph, node: Node, index: list[int], inputs: list[int]) -> int:
    if node[0] == Op.INPUT:
        return inputs[node[1]]
    if node[0] == Op.DIV:
        return graph.mul(index[node[1]], graph.div(graph.const(1.0), index[node[2]]))
    return graph.copy(node, index)
