"""Differentiation of tapes, forward and in reverse, with one table of local derivatives.

A row of the table gives, for each operand, the change of the node for a change d of that operand. Forward mode adds the
rows of a node's operands up, one direction at a time, and skips directions that cannot reach the node; reverse mode
hands the change of a result back to the operands. Both re-enter the folding constructors, so that derivatives come out
as economical as if they had been traced, and can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from appell.compile.count import known
from appell.compile.graph import Graph
from appell.compile.ops import Op
from appell.compile.passes.order import in_groups
from appell.compile.tape import CONST, INPUT, Array, Tape

# (graph, node, operands, d) -> change of the node for the change d of the operand; one function an operand
DERIVATIVE = {
    Op.ADD: (lambda b, z, x, d: d, lambda b, z, x, d: d),
    Op.SUB: (lambda b, z, x, d: d, lambda b, z, x, d: b.neg(d)),
    Op.MUL: (lambda b, z, x, d: b.mul(d, x[1]), lambda b, z, x, d: b.mul(x[0], d)),
    Op.DIV: (
        lambda b, z, x, d: b.div(d, x[1]),
        lambda b, z, x, d: b.neg(b.mul(z, b.div(d, x[1]))),
    ),
    Op.NEG: (lambda b, z, x, d: b.neg(d),),
    Op.SQRT: (lambda b, z, x, d: b.div(d, b.add(z, z)),),
    Op.SIN: (lambda b, z, x, d: b.mul(b.cos(x[0]), d),),
    Op.COS: (lambda b, z, x, d: b.neg(b.mul(b.sin(x[0]), d)),),
    Op.ATAN2: (
        lambda b, z, x, d: b.mul(d, b.div(x[1], _square_sum(b, x))),
        lambda b, z, x, d: b.neg(b.mul(d, b.div(x[0], _square_sum(b, x)))),
    ),
    Op.ROUND: (lambda b, z, x, d: b.const(0.0),),
    Op.LEVEL: (lambda b, z, x, d: b.const(0.0),),
    Op.SELECT: (
        lambda b, z, x, d: b.const(0.0),
        lambda b, z, x, d: b.select(x[0], d, b.const(0.0)),
        lambda b, z, x, d: b.select(x[0], b.const(0.0), d),
    ),
}


def _square_sum(b: Graph, x: Sequence[int]) -> int:
    return b.add(b.mul(x[0], x[0]), b.mul(x[1], x[1]))


def forward(tape: Tape, name: str, wrt: Sequence[Tape], outputs: Sequence[Array]) -> Tape:
    """∂results along the columns of each seed; see `jacobian` for what a seed is."""
    graph = Graph()
    directions = _seed(graph, wrt)
    index: list[int] = []
    tangents: list[dict[int, int]] = []  # for each node, direction -> its change
    zero, add = graph.const(0.0), graph.add
    for node in tape.nodes:
        op, *operands = node
        z = graph.copy(node, index)
        index.append(z)
        if op <= INPUT:
            tangents.append(directions.get(node[1], {}) if op == INPUT else {})
            continue
        translated = [index[k] for k in operands]
        change: dict[int, int] = {}
        for rule, operand in zip(DERIVATIVE[op], operands, strict=True):
            for direction, d in tangents[operand].items():
                part = rule(graph, z, translated, d)
                change[direction] = add(change[direction], part) if direction in change else part
        tangents.append({k: d for k, d in change.items() if d != zero})
    widths = [seed.outputs[0].shape[1] for seed in wrt]
    starts = [sum(widths[:k]) for k in range(len(widths))]
    results = [
        tangents[r].get(start + k, zero)
        for start, width in zip(starts, widths, strict=True)
        for r in tape.results
        for k in range(width)
    ]
    order = in_groups(graph.nodes, _columns(results, len(tape.results), widths))
    return graph.tape(name, tape.inputs, outputs, results, order)


def _columns(results: Sequence[int], rows: int, widths: Sequence[int]) -> Iterator[Sequence[int]]:
    """The results of each direction, of matrices of so many rows that follow each other."""
    start = 0
    for width in widths:
        stop = start + rows * width
        for column in range(width):
            yield results[start + column : stop : width]
        start = stop


def reverse(tape: Tape, name: str, wrt: Sequence[Tape], outputs: Sequence[Array]) -> Tape:
    """The same derivatives, one backward sweep for each result."""
    graph = Graph()
    index = graph.splice(tape)
    directions = _seed(graph, wrt)
    zero = graph.const(0.0)
    width = sum(seed.outputs[0].shape[1] for seed in wrt)
    rows = []
    for result in tape.results:
        adjoint: dict[int, int] = {result: graph.const(1.0)}
        row = [zero] * width
        for k in range(result, -1, -1):
            change = adjoint.pop(k, None)
            if change is None:
                continue
            op, *operands = tape.nodes[k]
            if op == INPUT:
                for direction, d in directions.get(operands[0], {}).items():
                    row[direction] = graph.add(row[direction], graph.mul(change, d))
            elif op != CONST:
                translated = [index[j] for j in operands]
                for rule, operand in zip(DERIVATIVE[op], operands, strict=True):
                    part = rule(graph, index[k], translated, change)
                    adjoint[operand] = graph.add(adjoint[operand], part) if operand in adjoint else part
        rows.append(row)
    results, start = [], 0
    for seed in wrt:
        stop = start + seed.outputs[0].shape[1]
        results += [entry for row in rows for entry in row[start:stop]]
        start = stop
    return graph.tape(name, tape.inputs, outputs, results)


def jacobian(tape: Tape, name: str, seeds: Sequence[Tape], labels: Sequence[str]) -> Tape:
    """Derivatives of all results along the columns of the seeds, as outputs of shape (*result, columns).

    A seed is a tape with the same inputs as `tape` and one output of shape (inputs, columns): row i is the change of
    scalar input i. The identity block of one argument gives plain partial derivatives; the columns of q̇ = N(q) v give
    derivatives along the velocities of a robot whose coordinates include quaternions.
    """
    outputs = [
        Array(f"d{result.name}_d{label}", (*result.shape, seed.outputs[0].shape[1]))
        for seed, label in zip(seeds, labels, strict=True)
        for result in tape.outputs
    ]
    columns = sum(seed.outputs[0].shape[1] for seed in seeds)
    few_results = 4 * len(set(tape.results)) < columns
    # going back, 0 · NaN of a branch not taken would spoil it
    mode = reverse if few_results and not _branches(tape, seeds) else forward
    return mode(tape, name, seeds, outputs)


def _branches(tape: Tape, seeds: Sequence[Tape]) -> bool:
    """Whether a choice is made of values that change along the seeds, or by them."""
    if not any(node[0] == Op.SELECT for node in tape.nodes):
        return False
    still = set(range(sum(array.size for array in tape.inputs)))
    for seed in seeds:
        columns = seed.outputs[0].shape[1]
        still -= {k // columns for k, r in enumerate(seed.results) if seed.nodes[r] != (Op.CONST, 0.0)}
    fixed = known(tape, still)
    return any(node[0] == Op.SELECT and not done for node, done in zip(tape.nodes, fixed, strict=True))


def _seed(graph: Graph, seeds: Sequence[Tape]) -> dict[int, dict[int, int]]:
    """For each scalar input, direction -> its change, with the seeds' nodes rebuilt in the graph."""
    directions: dict[int, dict[int, int]] = {}
    start = 0
    for seed in seeds:
        index = graph.splice(seed)
        columns = seed.outputs[0].shape[1]
        for flat, result in enumerate(seed.results):
            scalar, column = divmod(flat, columns)
            if graph.value(index[result]) != 0.0:
                directions.setdefault(scalar, {})[start + column] = index[result]
        start += columns
    return directions
