"""Composition: a function called with traced scalars inlines its tape into the trace of the caller.

    f = Function.of("step", {"q": 7, "v": 7, "u": 7}, lambda q, v, u: {"v": v + 1e-3 * dyn.forward_dynamics(q, v, u)})

Nothing is compiled. Arguments may mix traced scalars and numbers, which become constants. Leading axes broadcast as in
any call, and the tape is inlined once per sample. Loops of a program are unrolled.

An argument of the caller that is passed on as a whole inherits the tangents of the function: if q has a quaternion,
derivatives of the composed function with respect to q are along velocities too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from appell.algebra import scalar as scalar_functions
from appell.algebra.derivative import Dual
from appell.compile.arguments import common_batch, in_order, numbers
from appell.compile.exchange.replay import Table, functions, replay
from appell.compile.results import named_results
from appell.compile.tape.graph import Graph
from appell.compile.tape.ops import Op
from appell.compile.tape.tape import Array, Tape
from appell.compile.tape.trace import Traced, inlined, is_traced
from appell.compile.tape.traced_array import traced_array
from appell.errors import ArgumentError, TraceError

SCALARS: Table = functions(scalar_functions, {Op.ROUND: "nearest"})  # on dual numbers, for users' constraints


def composed(
    title: str, tape: Tape, tangents: Mapping[str, Tape], arguments: Sequence[Any], named: Mapping[str, Any]
) -> Any:
    """Return the results of a tape on arrays of traced scalars, as arrays of traced scalars.

    Parameters
    ----------
    title : name of the function in messages
    tape, tangents : its operations, and the directions of its arguments that are not vector spaces
    arguments, named : arguments of the call, by position and by name

    Raises
    ------
    ArgumentError
        If an argument is missing, has a wrong shape, or does not hold numbers and traced scalars.
    TraceError
        If traced scalars of two traces, or numbers that are not finite, are among the arguments.
    """
    given = in_order(title, tape.inputs, arguments, named, options="; a call with traced scalars has no options")
    values = [_scalars(title, array, value) for array, value in zip(tape.inputs, given, strict=True)]
    origins = [f" ({value.origin})" if getattr(value, "origin", "") else "" for value in given]
    named_inputs = [Array(array.name + origin, array.shape) for array, origin in zip(tape.inputs, origins, strict=True)]
    batch = common_batch(title, named_inputs, [value.shape for value in values])
    graph = _common_graph(title, tape.inputs, values)
    for array, value in zip(tape.inputs, values, strict=True):
        if graph is not None and array.name in tangents and (nodes := _nodes(value)):
            graph.tangents.setdefault(nodes, {})[tangents[array.name].digest] = tangents[array.name]
    spread = [np.broadcast_to(value, (*batch, *array.shape)) for array, value in zip(tape.inputs, values, strict=True)]
    is_dual = any(isinstance(x, Dual) for value in values for x in value.flat)
    evaluated = partial(replay, tape, SCALARS) if is_dual else partial(inlined, tape)
    samples = [evaluated([x for value in spread for x in value[(*index, ...)].flat]) for index in np.ndindex(*batch)]
    results, start = [], 0
    for array in tape.outputs:
        entries = np.empty(len(samples) * array.size, dtype=object)
        entries[:] = [x for sample in samples for x in sample[start : start + array.size]]
        start += array.size
        results.append(traced_array(entries.reshape((*batch, *array.shape)), f"result {array.name} of {title}"))
    return named_results(tape.name, tape.outputs, results)


def _scalars(title: str, array: Array, value: Any) -> np.ndarray:
    """Return an argument as an array of traced scalars and Python numbers."""
    if not is_traced(value):
        return numbers(title, array, value).astype(object)
    scalars = np.asarray(value, dtype=object).view(np.ndarray)
    for scalar in scalars.flat:
        if isinstance(scalar, np.ndarray | list | tuple):
            raise ArgumentError(f"{title}: argument {array.name} is nested unevenly.")
        if not isinstance(scalar, Traced | Dual):
            numbers(title, array, scalar)  # raises unless it is a number
    return scalars


def inherited(title: str, arguments: Sequence[Any], inputs: Sequence[Array]) -> dict[str, Tape]:
    """Return the tangents of the arguments that the traced body of a function passed to functions with tangents.

    Parameters
    ----------
    title : name of the function that was traced, in messages
    arguments, inputs : its traced arguments, and their names
    """
    tangents = {}
    for array, value in zip(inputs, arguments, strict=True):
        scalars = np.asarray(value, dtype=object)
        nodes = _nodes(scalars)
        candidates = list(scalars.flat[0].graph.tangents.get(nodes, {}).values()) if nodes else []
        if len(candidates) > 1:
            raise TraceError(
                f"argument {array.name} of {title} is passed to functions of systems whose coordinates differ in kind.",
                expected="systems with the same joints",
                hint="Use one argument per system.",
            )
        if candidates:
            tangents[array.name] = candidates[0]
    return tangents


def _nodes(value: np.ndarray) -> tuple[int, ...]:
    """Return the nodes of the scalars of an argument; empty if one is a number."""
    nodes = tuple(x.index for x in value.flat if isinstance(x, Traced))
    return nodes if len(nodes) == value.size else ()


def _common_graph(title: str, inputs: Sequence[Array], values: Sequence[np.ndarray]) -> Graph | None:
    """Return the graph of the trace to which all traced scalars belong; None if there are only numbers."""
    graph, first = None, ""
    for array, value in zip(inputs, values, strict=True):
        for scalar in value.flat:
            if isinstance(scalar, Dual):
                continue
            if not isinstance(scalar, Traced):
                if not np.isfinite(scalar):
                    raise TraceError(
                        f"{title}: argument {array.name} holds the constant {scalar}.", expected="finite numbers"
                    )
            elif graph is None:
                graph, first = scalar.graph, array.name
            elif scalar.graph is not graph:
                raise TraceError(
                    f"{title}: arguments {first} and {array.name} hold traced scalars of different traces.",
                    expected="scalars of one trace, or numbers",
                    hint="Pass values of an outer function to an inner one as arguments.",
                )
    return graph
