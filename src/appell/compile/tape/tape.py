"""A tape: straight-line arithmetic in single-assignment form, the common input of all code generators.

    tape inverse_dynamics (q[2], v[2], a[2]) -> (tau[2])
      v0 = input 0         q[0]
      v1 = sin v0
      v2 = const 0.5
      v3 = mul v2 v1
      tau[0] = v3

A node is a tuple `(op, *operands)`: the operands are indices of earlier nodes, except for `(CONST, value)` and
`(INPUT, number)`. The op is a plain integer, which Python compares and looks up twice as fast as a member of `Op`.
Scalar inputs are numbered through all arguments in order, each argument flattened in row-major order; the results are
the node indices of all outputs, flattened in the same way.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from appell.compile.tape.ops import ARITY, Op
from appell.errors import CompileError, TraceError

Node = tuple[Any, ...]
CONST, INPUT = int(Op.CONST), int(Op.INPUT)  # the leaves; all other ops have larger numbers
_LENGTH = [1 + max(ARITY[op], 1) for op in Op]  # of a node
LITERALS = frozenset({0.0, 0.5, 1.0, 2.0})  # constants of formulas rather than of robots


@dataclass(frozen=True)
class Array:
    """Name and core shape of an argument or a result; the shape () is one scalar."""

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    def __str__(self) -> str:
        return f"{self.name}[{', '.join(map(str, self.shape))}]" if self.shape else self.name

    def element(self, flat: int) -> str:
        """Return the name of one element by its flat index: `M[1, 2]`."""
        index = []
        for size in reversed(self.shape):
            flat, position = divmod(flat, size)
            index.append(str(position))
        return f"{self.name}[{', '.join(reversed(index))}]" if index else self.name


def arrays(described: Mapping[str, Any] | Iterable[Array]) -> tuple[Array, ...]:
    """Return arrays by name and shape: `{"q": 6, "M": (6, 6), "t": ()}`; an integer is the size of a vector."""
    if not isinstance(described, Mapping):
        return tuple(described)
    return tuple(Array(name, (size,) if isinstance(size, int) else tuple(size)) for name, size in described.items())


@dataclass(frozen=True)
class Tape:
    """Nodes in the order of computation, with the arguments and results of the computation.

    Attributes
    ----------
    name : name of the tape
    inputs, outputs : names and shapes of arguments and results
    nodes : tuples (op, *operands)
    results : index of the node of each scalar result, all outputs flattened one after the other
    """

    name: str
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    nodes: tuple[Node, ...]
    results: tuple[int, ...]

    @property
    def input_size(self) -> int:
        """Number of scalar inputs."""
        return sum(array.size for array in self.inputs)

    @property
    def reads(self) -> set[int]:
        """Indices of the scalar inputs that are used."""
        return {node[1] for node in self.nodes if node[0] == INPUT}

    def uses(self) -> list[int]:
        """Return how often each node is an operand or a result."""
        counts = [0] * len(self.nodes)
        for result in self.results:
            counts[result] += 1
        for node in self.nodes:
            if node[0] > INPUT:
                for operand in node[1:]:
                    counts[operand] += 1
        return counts

    def __len__(self) -> int:
        return len(self.nodes)

    def __str__(self) -> str:
        arguments, results = (", ".join(map(str, arrays)) for arrays in (self.inputs, self.outputs))
        lines = [f"tape {self.name} ({arguments}) -> ({results})"]
        names = [array.element(k) for array in self.inputs for k in range(array.size)]
        for index, (op, *operands) in enumerate(self.nodes):
            match op:
                case Op.CONST:
                    text = f"const {operands[0]!r}"
                case Op.INPUT:
                    text = f"input {operands[0]}".ljust(16) + names[operands[0]]
                case _:
                    text = " ".join([Op(op).name.lower(), *(f"v{k}" for k in operands)])
            lines.append(f"  v{index} = {text}")
        elements = (array.element(k) for array in self.outputs for k in range(array.size))
        lines += [f"  {name} = v{index}" for name, index in zip(elements, self.results, strict=True)]
        return "\n".join(lines)

    @cached_property
    def digest(self) -> str:
        """Hash of the content; tapes with equal digests perform the same operations in the same order."""
        return self._hash(self.nodes)

    @cached_property
    def constants(self) -> tuple[float, ...]:
        """The constants except literals, each once, in the order of their first use."""
        values = dict.fromkeys(node[1] for node in self.nodes if node[0] == CONST)
        return tuple(value for value in values if value not in LITERALS)

    @cached_property
    def structure(self) -> str:
        """Hash of everything but the values of `constants`; tapes with equal ones share machine code."""
        return self.structure_among(self.constants)

    def structure_among(self, constants: Iterable[float]) -> str:
        """Return the structure of a part of a formula with these constants."""
        position = {value: -1.0 - k for k, value in enumerate(constants)}  # no literal is negative
        return self._hash(
            [(CONST, position.get(node[1], node[1])) if node[0] == CONST else node for node in self.nodes]
        )

    def _hash(self, nodes: Iterable[Node]) -> str:
        interface = repr((self.inputs, self.outputs, self.results))
        numbers = np.fromiter(chain.from_iterable(nodes), float)  # the op determines how many numbers follow it
        return hashlib.sha256(interface.encode() + numbers.tobytes()).hexdigest()


def needed(nodes: Sequence[Node], results: Iterable[int]) -> list[int]:
    """Return the indices of the nodes that the results depend on, in order."""
    marked = bytearray(len(nodes))
    for result in results:
        marked[result] = 1
    for index in range(len(nodes) - 1, -1, -1):
        if marked[index]:
            node = nodes[index]
            if node[0] > INPUT:
                for operand in node[1:]:
                    marked[operand] = 1
    return [index for index, mark in enumerate(marked) if mark]


def renumber(
    nodes: Sequence[Node] | Mapping[int, Node], order: Iterable[int], results: Iterable[int]
) -> tuple[tuple, tuple[int, ...]]:
    """Return the nodes of `order` with renumbered operands, and the new indices of the results."""
    new_index: Any = {} if isinstance(nodes, Mapping) else [0] * len(nodes)
    renumbered: list[Node] = []
    for number, index in enumerate(order):
        new_index[index] = number
        node = nodes[index]
        if node[0] <= INPUT:
            renumbered.append(node)
        elif len(node) == 3:  # the most frequent case
            op, x, y = node
            renumbered.append((op, new_index[x], new_index[y]))
        else:
            renumbered.append((node[0], *[new_index[k] for k in node[1:]]))
    return tuple(renumbered), tuple([new_index[k] for k in results])


def verify(tape: Tape) -> Tape:
    """Return the tape, or raise an error at the first violation of its rules; called after every pass."""

    def fail(index: int, problem: str):
        raise CompileError(f"tape '{tape.name}', node v{index} {tape.nodes[index]}: {problem}.")

    isfinite, inputs = math.isfinite, tape.input_size
    for index, node in enumerate(tape.nodes):
        op, length = node[0], len(node)
        if length != _LENGTH[op]:
            fail(index, f"{Op(op).name} takes {_LENGTH[op] - 1} operands")
        if op > INPUT:
            if length == 3:  # the most frequent case
                is_valid = -1 < node[1] < index and -1 < node[2] < index
            else:
                is_valid = min(node[1:]) > -1 and max(node[1:]) < index
            if not is_valid:
                fail(index, "an operand must be an earlier node")
        elif op == CONST:
            if not isfinite(node[1]):
                raise TraceError(
                    f"a constant of '{tape.name}' is {node[1]}.",
                    expected="finite numbers",
                    hint="Scale the formula so that products and sums of its constants do not overflow.",
                )
        elif not -1 < node[1] < inputs:
            fail(index, f"there are {inputs} scalar inputs")
    if len(tape.results) != sum(array.size for array in tape.outputs):
        raise CompileError(f"tape '{tape.name}' has {len(tape.results)} results for outputs {tape.outputs}.")
    if not all(0 <= k < len(tape.nodes) for k in tape.results):
        raise CompileError(f"tape '{tape.name}' has a result that is not one of its nodes.")
    return tape
