"""A seed: how all scalar inputs of a function change along the directions of one argument.

Plain numbers move along their own axes. An argument that is no vector space, such as a quaternion, moves along the
columns of a tangent: q̇ = N(q) v.
"""

from __future__ import annotations

from collections.abc import Sequence

from appell.compile.graph import Graph
from appell.compile.tape import Array, Tape


def seed(inputs: Sequence[Array], wrt: str, tangent: Tape | None = None) -> Tape:
    """The seed of one argument, as `differentiate.jacobian` wants it: a row for each scalar input of all arguments."""
    position = [array.name for array in inputs].index(wrt)
    array, start = inputs[position], sum(array.size for array in inputs[:position])
    rows = sum(array.size for array in inputs)
    graph = Graph()
    if tangent is not None:
        index = graph.splice(tangent, [graph.input(start + k) for k in range(array.size)])
        columns = tangent.outputs[0].shape[1]
        entries = [index[k] for k in tangent.results]
    else:
        columns = array.size
        entries = [graph.const(float(i == j)) for i in range(columns) for j in range(columns)]
    zero = graph.const(0.0)
    results = [zero] * (start * columns) + entries
    results += [zero] * (rows * columns - len(results))
    return graph.tape(f"seed_{wrt}", inputs, (Array("seed", (rows, columns)),), results)
