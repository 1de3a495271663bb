"""Tracing: run a Python function on scalars that record the operations performed on them.

>>> from appell.compile.tape.tape import Array
>>> print(trace("area", [Array("r", ())], lambda r: {"area": 3.0 * r * r}))
tape area (r) -> (area)
  v0 = input 0         r
  v1 = const 3.0
  v2 = mul v1 v0
  v3 = mul v0 v2
  area = v3

`inline` evaluates a tape on the scalars of another trace. All operations are then on one tape, where equal expressions
are shared. A quotient x / y is inlined as x · (1 / y): a derivative divides by the same denominator many times, and the
reciprocal is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from appell.algebra.derivative import Dual
from appell.algebra.scalar import is_number
from appell.compile.tape.evaluate import evaluate
from appell.compile.tape.graph import Graph
from appell.compile.tape.ops import Op
from appell.compile.tape.passes import factor
from appell.compile.tape.tape import CONST, Array, Node, Tape
from appell.compile.tape.traced_array import TracedArray, apply_ufunc
from appell.errors import TraceError


def _operators(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the methods x ∘ other and other ∘ x for a constructor of `Graph`.

    They return NotImplemented if `other` is not a scalar.
    """
    make = getattr(Graph, name)

    def left(self, other):
        k = self._index_of(other)
        if k is None:
            return NotImplemented
        graph = self.graph
        index = make(graph, self.index, k)
        node = graph.nodes[index]  # `scalar` inlined, here and below: tracing spends most of its time here
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


def _function(name: str) -> Callable[..., Any]:
    """Return the method for a constructor of `Graph` with one operand."""
    make = getattr(Graph, name)
    return lambda self: self.scalar(make(self.graph, self.index))


def _functions(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the methods f(x, other) and f(other, x) for a constructor of `Graph`."""
    make = getattr(Graph, name)

    def first(self, other):
        return self.scalar(make(self.graph, self.index, self.node_of(other)))

    def second(self, other):
        return self.scalar(make(self.graph, self.node_of(other), self.index))

    return first, second


class Traced:
    """A scalar whose value is unknown while tracing. Operations with a constant result return a plain float."""

    __slots__ = ("graph", "index")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, graph: Graph, index: int):
        self.graph = graph
        self.index = index

    def __repr__(self) -> str:
        return "<traced scalar>"

    def scalar(self, index: int) -> Traced | float:
        """Return a node of the same trace as a scalar; a constant as a plain number."""
        value = self.graph.value(index)
        return Traced(self.graph, index) if value is None else value

    def _index_of(self, other: Any) -> int | None:
        """Return the node of an operand, or None if it is neither a number nor a traced scalar."""
        if type(other) is float:  # nearly always a constant that exists already, and is therefore finite
            known = self.graph.index.get((CONST, other + 0.0))
            if known is not None:
                return known
        elif isinstance(other, Traced):
            if other.graph is not self.graph:
                raise TraceError(
                    "two traced scalars belong to different traces.", expected="operands of the same trace, or numbers"
                )
            return other.index
        if not is_number(other):
            return None
        if other - other != 0.0:
            raise TraceError(f"a traced scalar is combined with the number {other}.", expected="finite numbers")
        return self.graph.const(other)

    __add__, __radd__ = _operators("add")
    __sub__, __rsub__ = _operators("sub")
    __mul__, __rmul__ = _operators("mul")
    _over, __rtruediv__ = _operators("div")

    def __truediv__(self, other):
        if is_number(other) and other == 0.0:
            raise TraceError("a traced scalar is divided by the constant 0.")
        return self._over(other)

    __neg__ = _function("neg")

    def __pos__(self):
        return self

    def __pow__(self, exponent):
        if not isinstance(exponent, (int, np.integer)):
            if self._index_of(exponent) is None:
                return NotImplemented
            return self.sqrt() if is_number(exponent) and exponent == 0.5 else self.power(exponent)
        if exponent < 0:
            return 1.0 / self ** (-exponent)
        half = self ** (exponent // 2) if exponent > 1 else 1.0
        return half * half * self if exponent % 2 else half * half

    def __rpow__(self, base):
        return NotImplemented if self._index_of(base) is None else self.power_of(base)

    # ---- functions, by the names that algebra.scalar and NumPy's object arrays look up

    sin, cos, sqrt, level, sign = map(_function, ("sin", "cos", "sqrt", "level", "sign"))
    exp, log, tanh, arcsin, arccos, erf = map(_function, ("exp", "log", "tanh", "arcsin", "arccos", "erf"))
    fabs = __abs__ = _function("abs")
    rint = _function("round")
    atan2, atan2_of = _functions("atan2")
    minimum, minimum_of = _functions("minimum")
    maximum, maximum_of = _functions("maximum")
    power, power_of = _functions("power")

    def select(self, if_positive, otherwise):
        return self.scalar(self.graph.select(self.index, self.node_of(if_positive), self.node_of(otherwise)))

    def node_of(self, other: Any) -> int:
        """Return the node of a number or of a scalar of the same trace."""
        k = self._index_of(other)
        if k is None:
            raise TraceError(f"{other!r} is neither a number nor a traced scalar.")
        return k

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return apply_ufunc(ufunc, method, inputs, options)

    # ---- operations that need the value

    def _raise_value_unknown(self, *_):
        raise TraceError(
            "the value of a traced scalar is needed, but it is unknown while tracing.",
            hint="Use appell.minimum and appell.maximum instead of min and max, "
            "appell.select(condition, if_positive, otherwise) instead of if, and, or, appell.sin instead of math.sin, "
            "np.array([...]) or np.stack instead of filling np.zeros(...).",
        )

    __bool__ = __float__ = __int__ = __index__ = _raise_value_unknown
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _raise_value_unknown  # type: ignore[assignment]


def is_traced(value: Any) -> bool:
    """Return whether an argument of a call holds traced scalars."""
    if isinstance(value, np.ndarray):
        return isinstance(value, TracedArray) or (value.dtype == object and any(map(is_traced, value.flat)))
    return isinstance(value, Traced | Dual) or (isinstance(value, (list, tuple)) and any(map(is_traced, value)))


def trace(name: str, inputs: Sequence[Array], function: Callable[..., Mapping[str, Any]]) -> Tape:
    """Run a Python function on traced scalars and return its operations as a tape.

    Parameters
    ----------
    name : str
        Name of the tape.
    inputs : sequence of Array
        Names and shapes of the arguments.
    function : callable
        Receives one nested list of scalars per argument (a scalar for the shape `()`) and returns its results by name,
        as scalars or nested lists.

    Returns
    -------
    Tape

    Raises
    ------
    TraceError
        If the function needs the value of a traced scalar, or returns something that is not a scalar.

    Examples
    --------
    >>> import appell as ap
    >>> print(ap.trace("torque", [ap.Array("q", (1,))], lambda q: {"tau": 4.905 * ap.sin(q[0])}))
    tape torque (q[1]) -> (tau)
      v0 = input 0         q[0]
      v1 = sin v0
      v2 = const 4.905
      v3 = mul v2 v1
      tau = v3
    """
    return factor(record(Graph(), name, inputs, function))


def record(graph: Graph, name: str, inputs: Sequence[Array], function: Callable[..., Mapping[str, Any]]) -> Tape:
    """Record the operations of a function in a graph and return them as a tape.

    Parameters
    ----------
    graph : empty graph
    name, inputs, function : as for `trace`
    """
    return graph.tape(name, inputs, *recorded(graph, name, inputs, function))


def recorded(
    graph: Graph, name: str, inputs: Sequence[Array], function: Callable[..., Mapping[str, Any]]
) -> tuple[list[Array], list[int]]:
    """Run a function on the inputs of a graph; return its results as arrays, and the nodes of their scalars.

    Parameters
    ----------
    graph : graph in which operations are recorded
    name, inputs, function : as for `trace`
    """
    arguments = split([Traced(graph, graph.input(k)) for k in range(sum(array.size for array in inputs))], inputs)
    outputs, results = [], []
    for label, value in function(*arguments).items():
        scalars, shape = flatten(value)
        outputs.append(Array(label, shape))
        for scalar in scalars:
            if isinstance(scalar, Traced):
                if scalar.graph is not graph:
                    raise TraceError(f"result '{label}' of '{name}' belongs to another trace.")
                results.append(scalar.index)
            elif is_number(scalar):
                results.append(graph.const(scalar))
            else:
                raise TraceError(f"result '{label}' of '{name}' holds {scalar!r}, which is not a scalar.")
    return outputs, results


def split(scalars: Sequence, arrays: Sequence[Array]) -> list:
    """Return a flat list as one nested list per array."""
    ends = list(accumulate(array.size for array in arrays))
    return [nest(scalars[end - array.size : end], array.shape) for end, array in zip(ends, arrays, strict=True)]


def nest(scalars: Sequence, shape: tuple[int, ...]):
    """Return a flat list as nested lists of a shape; for the shape () the scalar itself."""
    if not shape:
        return scalars[0]
    if len(shape) == 1:
        return list(scalars)
    size = len(scalars) // shape[0]
    return [nest(scalars[k * size : (k + 1) * size], shape[1:]) for k in range(shape[0])]


def flatten(value) -> tuple[list, tuple[int, ...]]:
    """Return the scalars of nested sequences in row-major order, and their shape."""
    if isinstance(value, (Traced, str)) or not hasattr(value, "__iter__"):
        return [value], ()
    parts = [flatten(part) for part in value]
    shapes = {shape for _, shape in parts}
    if len(shapes) > 1:
        raise TraceError(f"a result is nested unevenly: its parts have shapes {sorted(shapes)}.")
    return [scalar for scalars, _ in parts for scalar in scalars], (len(parts), *(shapes.pop() if shapes else ()))


def inline(tape: Tape, *arguments) -> list[Any]:
    """Return the results of a tape on nested scalars, as nested lists; for plain numbers as plain numbers."""
    return split(inlined(tape, [scalar for argument in arguments for scalar in flatten(argument)[0]]), tape.outputs)


def inlined(tape: Tape, scalars: Sequence[Any]) -> list[Any]:
    """Return all scalar results of a tape on its scalar inputs."""
    if len(scalars) != tape.input_size:
        raise TraceError(f"'{tape.name}' is called with {len(scalars)} scalars.", expected=f"{tape.input_size}")
    traced = next((scalar for scalar in scalars if isinstance(scalar, Traced)), None)
    if traced is None:
        return [x for result in evaluate(tape, scalars) for x in np.ravel(result).tolist()]
    graph = traced.graph
    inputs = [traced.node_of(scalar) for scalar in scalars]
    index: list[int] = []
    for node in tape.nodes:
        index.append(_inlined(graph, node, index, inputs))
    return [traced.scalar(index[k]) for k in tape.results]


def _inlined(graph: Graph, node: Node, index: list[int], inputs: list[int]) -> int:
    if node[0] == Op.INPUT:
        return inputs[node[1]]
    if node[0] == Op.DIV and graph.value(index[node[2]]) is None:
        return graph.mul(index[node[1]], graph.div(graph.const(1.0), index[node[2]]))
    return graph.copy(node, index)
