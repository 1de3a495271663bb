"""A tape: straight-line arithmetic in single-assignment form, the one thing that every emitter reads.

    tape inverse_dynamics (q[2], v[2], a[2]) -> (tau[2])
      v0 = input 0          q[0]
      v1 = sin v0
      v2 = const 0.5
      v3 = mul v2 v1
      tau[0] = v3

A node is a tuple `(op, *operands)`: the operands are indices of earlier nodes, except for `(CONST, value)` and
`(INPUT, number)`. The op is held as a plain number, which Python compares and looks up in half the time that a member
of `Op` takes. Scalar inputs are numbered through all arguments in order, each argument flattened row by row; the
results are the node indices of all outputs, flattened the same way.
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
from appell.errors import CompileError

Node = tuple[Any, ...]
CONST, INPUT = int(Op.CONST), int(Op.INPUT)  # the leaves: all other ops are above
_LENGTH = [1 + max(ARITY[op], 1) for op in Op]  # of a node


@dataclass(frozen=True)
class Array:
    """The name and core shape of an argument or a result; the shape () is one scalar."""

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __str__(self) -> str:
        return f"{self.name}[{', '.join(map(str, self.shape))}]" if self.shape else self.name

    def element(self, flat: int) -> str:
        """The name of one element, by its flat number: `M[1, 2]`."""
        index = []
        for size in reversed(self.shape):
            flat, position = divmod(flat, size)
            index.append(str(position))
        return f"{self.name}[{', '.join(reversed(index))}]" if index else self.name


def arrays(described: Mapping[str, Any] | Iterable[Array]) -> tuple[Array, ...]:
    """Arrays by name and shape: `{"q": 6, "M": (6, 6), "t": ()}`; a whole number is the size of a vector."""
    if not isinstance(described, Mapping):
        return tuple(described)
    return tuple(Array(name, (size,) if isinstance(size, int) else tuple(size)) for name, size in described.items())


@dataclass(frozen=True)
class Tape:
    """Nodes in order of computation, what they read and what they give."""

    name: str
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    nodes: tuple[Node, ...]
    results: tuple[int, ...]

    @property
    def input_size(self) -> int:
        return sum(array.size for array in self.inputs)

    @property
    def reads(self) -> set[int]:
        """The scalar inputs that matter."""
        return {node[1] for node in self.nodes if node[0] == INPUT}

    def uses(self) -> list[int]:
        """How often each node is an operand or a result."""
        found = [0] * len(self.nodes)
        for result in self.results:
            found[result] += 1
        for node in self.nodes:
            if node[0] > INPUT:
                for operand in node[1:]:
                    found[operand] += 1
        return found

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
        """The content of the tape as a hash: equal tapes compute the same thing in the same order."""
        face = repr((self.inputs, self.outputs, self.results))
        numbers = np.fromiter(chain.from_iterable(self.nodes), float)  # an op tells how many numbers follow it
        return hashlib.sha256(face.encode() + numbers.tobytes()).hexdigest()


def needed(nodes: Sequence[Node], results: Iterable[int]) -> list[int]:
    """The nodes that the results need, in order."""
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
    """Some nodes in another order, and the results among them."""
    place: dict[int, int] = {}
    kept: list[Node] = []
    for number, index in enumerate(order):
        place[index] = number
        node = nodes[index]
        if node[0] <= INPUT:
            kept.append(node)
        elif len(node) == 3:  # most are
            op, x, y = node
            kept.append((op, place[x], place[y]))
        else:
            kept.append((node[0], *[place[k] for k in node[1:]]))
    return tuple(kept), tuple([place[k] for k in results])


def verify(tape: Tape) -> Tape:
    """Return the tape, or raise on the first rule it breaks. Run after every pass."""

    def fail(index: int, problem: str):
        raise CompileError(f"tape '{tape.name}', node v{index} {tape.nodes[index]}: {problem}.")

    isfinite, inputs = math.isfinite, tape.input_size
    for index, node in enumerate(tape.nodes):
        op, length = node[0], len(node)
        if length != _LENGTH[op]:
            fail(index, f"{Op(op).name} takes {_LENGTH[op] - 1} operands")
        if op > INPUT:
            if length == 3:  # most are
                fine = -1 < node[1] < index and -1 < node[2] < index
            else:
                fine = min(node[1:]) > -1 and max(node[1:]) < index
            if not fine:
                fail(index, "an operand must be an earlier node")
        elif op == CONST:
            if not isfinite(node[1]):
                fail(index, "a constant must be finite")
        elif not -1 < node[1] < inputs:
            fail(index, f"there are {inputs} scalar inputs")
    if len(tape.results) != sum(array.size for array in tape.outputs):
        raise CompileError(f"tape '{tape.name}' has {len(tape.results)} results for outputs {tape.outputs}.")
    if not all(0 <= k < len(tape.nodes) for k in tape.results):
        raise CompileError(f"tape '{tape.name}' has a result that is not one of its nodes.")
    return tape
