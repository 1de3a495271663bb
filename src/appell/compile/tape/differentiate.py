"""Derivatives of tapes, forward and reverse, from one table of local derivatives.

    seed        changes of all scalar inputs along the directions of one argument; every derivative starts from seeds
    jacobian    derivatives of all results along the columns of seeds, forward or reverse, whichever costs less
    along       J d, the directional derivative of the results along given directions d, in one forward sweep
    weighted    Σ G · results, one scalar; its gradient is Jᵀ G, one reverse sweep for all arguments

A row of the table gives, for each operand, the change of the node for a change d of that operand. Forward mode adds up
the contributions of a node's operands, one direction at a time, and skips directions on which the node does not depend;
reverse mode propagates the adjoint of a result to the operands. Both use the folding constructors of the graph, so that
derivatives are as economical as if they had been traced, and can be differentiated again. Where two branches meet, the
derivative is that of the branch that `select` takes: -1 for |x| at 0, that of the second operand for equal operands of
minimum and maximum.

The directions of an array of plain numbers are its elements. An argument that is not a vector space, such as a
quaternion, moves along the columns of a tangent: q̇ = N(q) v.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from appell.compile.tape.count import known
from appell.compile.tape.graph import Graph
from appell.compile.tape.ops import Op
from appell.compile.tape.passes import in_groups
from appell.compile.tape.tape import CONST, INPUT, Array, Tape
from appell.errors import TraceError

MAX_FORWARD_COLUMNS = 1000  # directions up to which a function with branches and few results uses forward mode


@dataclass(frozen=True)
class Elements:
    """The seed of an argument that is a vector space: one direction per element, an identity block from input `start`.

    As a tape, that of a thousand weights would have a million entries.
    """

    start: int
    size: int


Seed = Tape | Elements


def columns_of(seed: Seed) -> int:
    """Return the number of directions of a seed."""
    return seed.size if isinstance(seed, Elements) else seed.outputs[0].shape[1]


def seed(inputs: Sequence[Array], wrt: str, tangent: Tape | None = None) -> Seed:
    """Return the seed of one argument: one row per scalar input of all arguments, one column per direction.

    Parameters
    ----------
    inputs : arguments of the tape
    wrt : name of one of them
    tangent : directions of an argument that is not a vector space; by default its elements
    """
    position = [array.name for array in inputs].index(wrt)
    array, start = inputs[position], sum(array.size for array in inputs[:position])
    if tangent is None:
        return Elements(start, array.size)
    rows = sum(array.size for array in inputs)
    graph = Graph()
    index = graph.splice(tangent, [graph.input(start + k) for k in range(array.size)])
    columns = tangent.outputs[0].shape[1]
    entries = [index[k] for k in tangent.results]
    zero = graph.const(0.0)
    results = [zero] * (start * columns) + entries
    results += [zero] * (rows * columns - len(results))
    return graph.tape(f"seed_{wrt}", inputs, (Array("seed", (rows, columns)),), results)


# (graph, node, operands, d) -> change of the node for the change d of the operand; one function per operand
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
    Op.ABS: (lambda b, z, x, d: b.select(x[0], d, b.neg(d)),),
    Op.SIGN: (lambda b, z, x, d: b.const(0.0),),
    Op.MINIMUM: (
        lambda b, z, x, d: b.select(b.sub(x[1], x[0]), d, b.const(0.0)),
        lambda b, z, x, d: b.select(b.sub(x[1], x[0]), b.const(0.0), d),
    ),
    Op.MAXIMUM: (
        lambda b, z, x, d: b.select(b.sub(x[0], x[1]), d, b.const(0.0)),
        lambda b, z, x, d: b.select(b.sub(x[0], x[1]), b.const(0.0), d),
    ),
    Op.EXP: (lambda b, z, x, d: b.mul(z, d),),
    Op.LOG: (lambda b, z, x, d: b.div(d, x[0]),),
    Op.POWER: (
        lambda b, z, x, d: b.mul(d, b.mul(x[1], b.power(x[0], b.sub(x[1], b.const(1.0))))),
        # 0^y does not change with y > 0, although log 0 is infinite
        lambda b, z, x, d: b.mul(d, b.select(b.abs(x[0]), b.mul(z, b.log(x[0])), b.const(0.0))),
    ),
    Op.TANH: (lambda b, z, x, d: b.mul(d, _one_minus_square(b, z)),),
    Op.ARCSIN: (lambda b, z, x, d: b.div(d, b.sqrt(_one_minus_square(b, x[0]))),),
    Op.ARCCOS: (lambda b, z, x, d: b.neg(b.div(d, b.sqrt(_one_minus_square(b, x[0])))),),
    Op.ERF: (lambda b, z, x, d: b.mul(d, b.mul(b.const(2.0 / math.sqrt(math.pi)), b.exp(b.neg(b.mul(x[0], x[0]))))),),
}
_BRANCHES = (Op.SELECT, Op.MINIMUM, Op.MAXIMUM)


def _one_minus_square(b: Graph, x: int) -> int:
    """Return 1 - x² as a product, which is accurate near |x| = 1."""
    one = b.const(1.0)
    return b.mul(b.sub(one, x), b.add(one, x))


def _square_sum(b: Graph, x: Sequence[int]) -> int:
    return b.add(b.mul(x[0], x[0]), b.mul(x[1], x[1]))


def forward(tape: Tape, name: str, wrt: Sequence[Seed], outputs: Sequence[Array]) -> Tape:
    """Return the derivatives of the results along the columns of each seed (see `jacobian`), in one forward sweep.

    Parameters
    ----------
    tape : tape to differentiate
    name : name of the new tape
    wrt : seeds
    outputs : names and shapes of the derivatives
    """
    graph = Graph()
    directions = _seed(graph, wrt)
    index: list[int] = []
    tangents: list[dict[int, int]] = []  # by node: direction -> change
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
    widths = [columns_of(seed) for seed in wrt]
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
    """Yield the results of each direction; the results are matrices of `rows` rows, one after the other."""
    start = 0
    for width in widths:
        stop = start + rows * width
        for column in range(width):
            yield results[start + column : stop : width]
        start = stop


def reverse(tape: Tape, name: str, wrt: Sequence[Seed], outputs: Sequence[Array]) -> Tape:
    """Return the same derivatives, by one backward sweep per result.

    Parameters
    ----------
    tape : tape to differentiate
    name : name of the new tape
    wrt : seeds
    outputs : names and shapes of the derivatives
    """
    graph = Graph()
    index = graph.splice(tape)
    directions = _seed(graph, wrt)
    zero = graph.const(0.0)
    width = sum(map(columns_of, wrt))
    rows = []
    for result in tape.results:
        row = [zero] * width
        for number, change in input_adjoints(graph, tape, index, {result: graph.const(1.0)}):
            for direction, d in directions.get(number, {}).items():
                row[direction] = graph.add(row[direction], graph.mul(change, d))
        rows.append(row)
    results, start = [], 0
    for seed in wrt:
        stop = start + columns_of(seed)
        results += [entry for row in rows for entry in row[start:stop]]
        start = stop
    return graph.tape(name, tape.inputs, outputs, results)


def input_adjoints(
    graph: Graph, tape: Tape, index: Sequence[int], adjoint: dict[int, int]
) -> Iterator[tuple[int, int]]:
    """Yield scalar inputs of a tape and their adjoints, by one backward sweep.

    Parameters
    ----------
    graph, index : graph in which the tape is spliced, and the nodes of the tape there
    tape : tape to differentiate
    adjoint : adjoints of results, by node of the tape; it is emptied
    """
    for k in range(max(adjoint, default=-1), -1, -1):
        change = adjoint.pop(k, None)
        op, *operands = tape.nodes[k]
        if change is None or op == CONST:
            continue
        if op == INPUT:
            yield operands[0], change
            continue
        translated = [index[j] for j in operands]
        for rule, operand in zip(DERIVATIVE[op], operands, strict=True):
            part = rule(graph, index[k], translated, change)
            adjoint[operand] = graph.add(adjoint[operand], part) if operand in adjoint else part


def jacobian(tape: Tape, name: str, seeds: Sequence[Seed], labels: Sequence[str]) -> Tape:
    """Return the derivatives of all results along the columns of the seeds, with shape (*result, columns).

    A seed is a tape with the same inputs as `tape` and one output of shape (inputs, columns): row i is the change of
    scalar input i. The identity block of one argument gives plain partial derivatives; the columns of q̇ = N(q) v give
    derivatives along the velocities of a robot whose coordinates include quaternions.

    Parameters
    ----------
    tape : tape to differentiate
    name : name of the new tape
    seeds : one tape per group of directions
    labels : one name per seed, for the names of the results: dtau_dq
    """
    outputs = [
        Array(f"d{result.name}_d{label}", (*result.shape, columns_of(seed)))
        for seed, label in zip(seeds, labels, strict=True)
        for result in tape.outputs
    ]
    columns = sum(map(columns_of, seeds))
    few_results = 4 * len(set(tape.results)) < columns
    # in reverse mode, 0 · NaN of a branch that is not selected makes the derivative NaN; thousands of directions are
    # too many for forward mode
    mode = reverse if few_results and (columns > MAX_FORWARD_COLUMNS or not _branches(tape, seeds)) else forward
    return mode(tape, name, seeds, outputs)


def _branches(tape: Tape, seeds: Sequence[Seed]) -> bool:
    """Return whether the choice of a SELECT, MINIMUM or MAXIMUM depends on values that change along the seeds."""
    if not any(node[0] in _BRANCHES for node in tape.nodes):
        return False
    unchanged = set(range(sum(array.size for array in tape.inputs)))
    for seed in seeds:
        if isinstance(seed, Elements):
            unchanged -= set(range(seed.start, seed.start + seed.size))
            continue
        columns = columns_of(seed)
        unchanged -= {k // columns for k, r in enumerate(seed.results) if seed.nodes[r] != (Op.CONST, 0.0)}
    fixed = known(tape, unchanged)
    return any(node[0] in _BRANCHES and not done for node, done in zip(tape.nodes, fixed, strict=True))


def _seed(graph: Graph, seeds: Sequence[Seed]) -> dict[int, dict[int, int]]:
    """Rebuild the seeds in the graph; return, by scalar input, its change along each direction."""
    directions: dict[int, dict[int, int]] = {}
    start = 0
    for seed in seeds:
        for scalar, column, node in _entries(graph, seed):
            directions.setdefault(scalar, {})[start + column] = node
        start += columns_of(seed)
    return directions


def _entries(graph: Graph, seed: Seed) -> list[tuple[int, int, int]]:
    """Rebuild a seed in the graph; return its entries that are not zero: scalar input, column, node."""
    if isinstance(seed, Elements):
        one = graph.const(1.0)
        graph.const(0.0)
        return [(seed.start + k, k, one) for k in range(seed.size)]
    index = graph.splice(seed)
    rows, columns = seed.outputs[0].shape
    if rows != (size := sum(array.size for array in seed.inputs)):
        raise TraceError(f"seed '{seed.name}' has {rows} rows.", expected=f"{size}, one per scalar input")
    entries = ((*divmod(flat, columns), index[result]) for flat, result in enumerate(seed.results))
    return [entry for entry in entries if graph.value(entry[2]) != 0.0]


def weighted(tape: Tape, name: str, weights: Sequence[Array], output: str = "total") -> Tape:
    """Return the tape of Σ G · results.

    Parameters
    ----------
    tape : tape whose results are weighted
    name : name of the new tape
    weights : names and shapes of G, one number per scalar result; they become the last arguments
    output : name of the result
    """
    graph = Graph()
    index = graph.splice(tape)
    total = graph.const(0.0)
    for k, node in enumerate(tape.results):
        total = graph.add(total, graph.mul(graph.input(tape.input_size + k), index[node]))
    return graph.tape(name, (*tape.inputs, *weights), (Array(output, ()),), [total])


def along(tape: Tape, name: str, seeds: Sequence[Seed], directions: Sequence[Array]) -> Tape:
    """Return the directional derivative of all results along Σ seed d.

    Parameters
    ----------
    tape : tape to differentiate
    name : name of the new tape
    seeds : see `jacobian`
    directions : name and shape of d, one per seed, with one number per column; they become the last arguments
    """
    inputs = (*tape.inputs, *directions)
    graph = Graph()
    changes = [graph.const(0.0)] * tape.input_size
    start = tape.input_size
    for seed, direction in zip(seeds, directions, strict=True):
        entries = _entries(graph, seed)
        inputs_of = [graph.input(start + column) for column in range(direction.size)]
        for scalar, column, node in entries:
            changes[scalar] = graph.add(changes[scalar], graph.mul(node, inputs_of[column]))
        start += direction.size
    changes += [graph.const(0.0)] * (start - tape.input_size)
    total = graph.tape("direction", inputs, (Array("direction", (start, 1)),), changes)
    widened = Tape(tape.name, inputs, tape.outputs, tape.nodes, tape.results)
    return forward(widened, name, [total], [Array(f"d{result.name}", result.shape) for result in tape.outputs])
