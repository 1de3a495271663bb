"""Tracing: run a Python function on scalars that record the operations performed on them.

>>> from appell.compile.tape.tape import Array
>>> print(trace("area", [Array("r", ())], lambda r: {"area": 3.0 * r * r}))
tape area (r) -> (area)
  v0 = input 0          r
  v1 = const 3.0
  v2 = mul v1 v0
  v3 = mul v0 v2
  area = v3

`inline` evaluates a tape on the scalars of another trace. All operations then end in one tape, where equal expressions
are shared. A quotient x / y is inlined as x · (1 / y): a derivative divides by the same denominator many times, and
then divides once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from appell.algebra.scalar import is_number
from appell.compile.tape.evaluate import evaluate
from appell.compile.tape.graph import Graph
from appell.compile.tape.ops import Op
from appell.compile.tape.passes import factor
from appell.compile.tape.tape import CONST, Array, Node, Tape
from appell.errors import TraceError


def _operators(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """x ∘ other and other ∘ x, by the name of the graph's constructor; NotImplemented for what is no scalar."""
    make = getattr(Graph, name)

    def left(self, other):
        k = self._index_of(other)
        if k is None:
            return NotImplemented
        graph = self.graph
        index = make(graph, self.index, k)
        node = graph.nodes[index]  # `scalar` written out, here and below: most of the time of a trace is spent here
        return node[1] if node[0] == CONST else Traced(graph, index)

    def right(self, other):
        k = self._index_of(other)
        if k is None:
            return NotImplemented
        graph = self.graph
        index = make(graph, k, self.index)
        node = graph.nodes[index]
        return node[1] if node[0] == CONST else Traced(graph, index)

    return left, right


class Traced:
    """A number that is not known yet. Operations with a constant result return a plain float."""

    __slots__ = ("graph", "index")
    __array_ufunc__ = None  # NumPy numbers and arrays leave arithmetic with traced scalars to them
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, graph: Graph, index: int):
        self.graph = graph
        self.index = index

    def scalar(self, index: int) -> Traced | float:
        """A node of the same trace; a constant is a plain number."""
        value = self.graph.value(index)
        return Traced(self.graph, index) if value is None else value

    def _index_of(self, other: Any) -> int | None:
        """The node of an operand; None for what is neither a number nor a traced scalar."""
        if type(other) is float:  # nearly always one that was met before, and then it is finite
            known = self.graph.index.get((CONST, other + 0.0))
            if known is not None:
                return known
        elif isinstance(other, Traced):
            if other.graph is not self.graph:
                raise TraceError("two traced scalars come from different traces; a trace cannot use another's values.")
            return other.index
        if not is_number(other):
            return None
        if other - other != 0.0:
            raise TraceError(f"the number {other} was met while tracing; a tape holds finite constants only.")
        return self.graph.const(other)

    __add__, __radd__ = _operators("add")
    __sub__, __rsub__ = _operators("sub")
    __mul__, __rmul__ = _operators("mul")
    _over, __rtruediv__ = _operators("div")

    def __truediv__(self, other):
        if is_number(other) and other == 0.0:
            raise TraceError("a traced scalar is divided by the constant 0.")
        return self._over(other)

    def __neg__(self):
        return self.scalar(self.graph.neg(self.index))

    def __pos__(self):
        return self

    def __pow__(self, exponent):
        if exponent == 0.5:
            return self.sqrt()
        if not isinstance(exponent, int):
            raise TraceError(f"a traced scalar is raised to the power {exponent}; whole numbers and 0.5 are known.")
        if exponent < 0:
            return 1.0 / self ** (-exponent)
        half = self ** (exponent // 2) if exponent > 1 else 1.0
        return half * half * self if exponent % 2 else half * half

    def __abs__(self):
        return self.select(self, -self)

    # ---- functions, by the names that algebra.scalar and NumPy's object arrays look for

    def sin(self):
        return self.scalar(self.graph.sin(self.index))

    def cos(self):
        return self.scalar(self.graph.cos(self.index))

    def rint(self):
        return self.scalar(self.graph.round(self.index))

    def level(self):
        return self.scalar(self.graph.level(self.index))

    def sqrt(self):
        return self.scalar(self.graph.sqrt(self.index))

    def atan2(self, x):
        return self.scalar(self.graph.atan2(self.index, self.node_of(x)))

    def atan2_of(self, y):
        return self.scalar(self.graph.atan2(self.node_of(y), self.index))

    def select(self, if_positive, otherwise):
        return self.scalar(self.graph.select(self.index, self.node_of(if_positive), self.node_of(otherwise)))

    def node_of(self, other: Any) -> int:
        """The node of a number or of a scalar of the same trace."""
        k = self._index_of(other)
        if k is None:
            raise TraceError(f"{other!r} is neither a number nor a traced scalar.")
        return k

    # ---- what a value that is not known yet cannot do

    def _refuse(self, *_):
        raise TraceError(
            "Python asked a traced scalar for its value, which is not known while tracing.",
            hint="appell.select(condition, if_positive, otherwise) instead of if, min, max, and, or",
        )

    __bool__ = __float__ = __int__ = __index__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse  # type: ignore[assignment]


def trace(name: str, inputs: Sequence[Array], function: Callable[..., Mapping[str, Any]]) -> Tape:
    """The tape of a function of nested lists of scalars that returns its results by name, nested as their shape."""
    return factor(record(Graph(), name, inputs, function))


def record(graph: Graph, name: str, inputs: Sequence[Array], function: Callable[..., Mapping[str, Any]]) -> Tape:
    """What a function does, as the graph takes it down."""
    return graph.tape(name, inputs, *recorded(graph, name, inputs, function))


def recorded(
    graph: Graph, name: str, inputs: Sequence[Array], function: Callable[..., Mapping[str, Any]]
) -> tuple[list[Array], list[int]]:
    """The results of a function that is run on the inputs of the graph, and the nodes that they are."""
    arguments = split([Traced(graph, graph.input(k)) for k in range(sum(array.size for array in inputs))], inputs)
    outputs, results = [], []
    for label, value in function(*arguments).items():
        scalars, shape = flatten(value)
        outputs.append(Array(label, shape))
        for scalar in scalars:
            if isinstance(scalar, Traced):
                if scalar.graph is not graph:
                    raise TraceError(f"result '{label}' of '{name}' comes from another trace.")
                results.append(scalar.index)
            elif is_number(scalar):
                results.append(graph.const(scalar))
            else:
                raise TraceError(f"result '{label}' of '{name}' holds {scalar!r}, which is not a scalar.")
    return outputs, results


def split(scalars: Sequence, arrays: Sequence[Array]) -> list:
    """A flat list as one nested list for each array."""
    ends = list(accumulate(array.size for array in arrays))
    return [nest(scalars[end - array.size : end], array.shape) for end, array in zip(ends, arrays, strict=True)]


def nest(scalars: Sequence, shape: tuple[int, ...]):
    """A flat list as nested lists of a shape; the shape () is the scalar itself."""
    if not shape:
        return scalars[0]
    if len(shape) == 1:
        return list(scalars)
    size = len(scalars) // shape[0]
    return [nest(scalars[k * size : (k + 1) * size], shape[1:]) for k in range(shape[0])]


def flatten(value) -> tuple[list, tuple[int, ...]]:
    """The scalars of nested sequences, row by row, and their shape."""
    if isinstance(value, (Traced, str)) or not hasattr(value, "__iter__"):
        return [value], ()
    parts = [flatten(part) for part in value]
    shapes = {shape for _, shape in parts}
    if len(shapes) > 1:
        raise TraceError(f"a result is nested unevenly: its parts have shapes {sorted(shapes)}.")
    return [scalar for scalars, _ in parts for scalar in scalars], (len(parts), *(shapes.pop() if shapes else ()))


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
        index.append(_inlined(graph, node, index, inputs))
    return split([traced.scalar(index[k]) for k in tape.results], tape.outputs)


def _inlined(graph: Graph, node: Node, index: list[int], inputs: list[int]) -> int:
    if node[0] == Op.INPUT:
        return inputs[node[1]]
    if node[0] == Op.DIV and graph.value(index[node[2]]) is None:
        return graph.mul(index[node[1]], graph.div(graph.const(1.0), index[node[2]]))
    return graph.copy(node, index)
