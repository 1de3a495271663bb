"""Derivatives contracted with a vector while they are made: what an optimiser needs of a Jacobian it never forms.

weighted      Σ G · f, one number; its gradient is Jᵀ G, one backward sweep for all arguments
along         J d, the change of f along given directions d, one forward sweep
"""

from __future__ import annotations

from collections.abc import Sequence

from appell.compile.differentiate import forward
from appell.compile.graph import Graph
from appell.compile.tape import Array, Tape


def weighted(tape: Tape, name: str) -> Tape:
    """Σ G · result of a tape with one result; G, of its shape, is one more argument, the last."""
    [result] = tape.outputs
    graph = Graph()
    index = graph.splice(tape)
    total = graph.const(0.0)
    for k, node in enumerate(tape.results):
        total = graph.add(total, graph.mul(graph.input(tape.input_size + k), index[node]))
    return graph.tape(name, (*tape.inputs, Array("G", result.shape)), (Array(result.name, ()),), [total])


def along(tape: Tape, name: str, seeds: Sequence[Tape], directions: Sequence[Array]) -> Tape:
    """The change of all results along Σ seed d; the directions d are further arguments, one for each seed.

    A seed is as `differentiate.jacobian` wants it; d has a number for each of its columns.
    """
    inputs = (*tape.inputs, *directions)
    graph = Graph()
    changes = [graph.const(0.0)] * tape.input_size
    start = tape.input_size
    for seed, direction in zip(seeds, directions, strict=True):
        index = graph.splice(seed)
        for flat, node in enumerate(seed.results):
            scalar, column = divmod(flat, direction.size)
            part = graph.mul(index[node], graph.input(start + column))
            changes[scalar] = graph.add(changes[scalar], part)
        start += direction.size
    changes += [graph.const(0.0)] * (start - tape.input_size)
    total = graph.tape("direction", inputs, (Array("direction", (start, 1)),), changes)
    widened = Tape(tape.name, inputs, tape.outputs, tape.nodes, tape.results)
    return forward(widened, name, [total], [Array(f"d{result.name}", result.shape) for result in tape.outputs])
