"""How an exported function is called: arguments by position or by name, leading axes are batches.

What is wrong with a call is said in the words of the function itself: which argument, its shape, what was expected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.compile.arguments import axes_text, title
from appell.errors import ArgumentError

if TYPE_CHECKING:
    from appell.compile.function import Function

Shape = tuple[int, ...]


def call_signature(function: Function) -> Signature:
    """The names of the arguments, in order, as Python shows them."""
    named = all(array.name.isidentifier() for array in function.inputs)
    kind = Parameter.POSITIONAL_OR_KEYWORD if named else Parameter.POSITIONAL_ONLY
    return Signature([Parameter(array.name if named else f"x{k}", kind) for k, array in enumerate(function.inputs)])


def in_order(function: Function, arguments: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
    """All arguments in the order of the function's inputs."""
    if len(arguments) == len(function.inputs) and not named:
        return list(arguments)
    names = [array.name for array in function.inputs]
    whose, expected = title(function.name, function.owner), ", ".join(map(str, function.inputs))
    given = dict(zip(names, arguments, strict=False))
    if len(arguments) > len(names):
        raise ArgumentError(f"{whose} is given {len(arguments)} arguments.", expected=expected)
    if unknown := [key for key in named if key not in names]:
        raise ArgumentError(f"{whose} has no argument '{unknown[0]}'.", expected=expected)
    if repeated := [key for key in named if key in given]:
        raise ArgumentError(f"{whose} is given {repeated[0]} twice.")
    given |= named
    if missing := [name for name in names if name not in given]:
        raise ArgumentError(f"{whose} lacks {', '.join(missing)}.", expected=expected)
    return [given[name] for name in names]


def batch_of(function: Function, shapes: Sequence[Shape]) -> Shape:
    """The common batch of arguments of these shapes, or an error that names the one that does not fit."""
    whose, batches = title(function.name, function.owner), []
    for array, shape in zip(function.inputs, shapes, strict=True):
        core = len(array.shape)
        if core and shape[-core:] != array.shape:
            raise ArgumentError(
                f"{whose}: argument {array.name} has shape {shape}.",
                expected=f"a last {axes_text(array.shape)}, after any batch axes",
            )
        batches.append(shape[: len(shape) - core])
    try:
        return np.broadcast_shapes(*batches)
    except ValueError:
        listed = ", ".join(f"{array.name} {batch}" for array, batch in zip(function.inputs, batches, strict=True))
        raise ArgumentError(f"{whose}: batches do not broadcast: {listed}.") from None


def handed_over(results: Sequence[Any]) -> Any:
    """One result as it is, several as a tuple."""
    return results[0] if len(results) == 1 else tuple(results)
