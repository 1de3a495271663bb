"""What the results of a tape depend on: arguments, constants, and sums of its inputs."""

from __future__ import annotations

from appell.compile.tape.ops import Op
from appell.compile.tape.tape import CONST, INPUT, Tape


def result_arguments(tape: Tape) -> list[frozenset[str]]:
    """Return the names of the arguments on which each scalar result depends."""
    owner = [array.name for array in tape.inputs for _ in range(array.size)]
    reached: list[frozenset[str]] = []
    for node in tape.nodes:
        if node[0] <= INPUT:
            reached.append(frozenset([owner[node[1]]]) if node[0] == INPUT else frozenset())
        else:
            reached.append(frozenset().union(*(reached[k] for k in node[1:])))
    return [reached[k] for k in tape.results]


def result_constants(tape: Tape) -> list[float | None]:
    """Return the value of each scalar result that is a constant, None for others."""
    nodes = [tape.nodes[k] for k in tape.results]
    return [node[1] if node[0] == CONST else None for node in nodes]


def summed_inputs(tape: Tape) -> set[int]:
    """Return the scalar inputs to which a constant or another input is added, or from which it is subtracted."""
    numbers: set[int] = set()
    for op, *operands in tape.nodes:
        if op in (Op.ADD, Op.SUB):
            nodes = [tape.nodes[k] for k in operands]
            if all(node[0] in (CONST, INPUT) for node in nodes):
                numbers |= {node[1] for node in nodes if node[0] == INPUT}
    return numbers
