"""A step that remembers, as C: what it carries from call to call lies in a struct of the caller.

    typedef struct {
        double integral[6];
        double before[6];
    } arm_control_state;

    void arm_control_init(arm_control_state *state_);
    void arm_control_step(arm_control_state *state_, const double q[6], ..., double tau[6]);

The step is a function some of whose results are its arguments of the next call: `carried` pairs them, argument by
result. There is still no memory that is asked for, and none that two callers share. A step with a number that is not
finite carries NaN on; `_init` begins anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.compile.emit.lanes import Lanes
from appell.compile.export.c.library import fill
from appell.compile.export.c.names import function_name
from appell.compile.export.c.page import PageExtras
from appell.compile.export.c.signature import Signature
from appell.compile.export.c.source import CSource, c_source, checked_dtype, symbol
from appell.compile.export.c.statements import lanes_of, number
from appell.compile.tape import Array
from appell.errors import ArgumentError, unknown_name

if TYPE_CHECKING:
    from appell.compile.export.face import Exports
    from appell.compile.marching.march import March

_HEADER = """\
/* What a step remembers. */
typedef struct {
@fields@} @P@_state;

/* Begin, with what is remembered as at the start. */
void @P@_init(@P@_state *state_);

/* One step: what is remembered goes into the arguments @arguments@ and comes from the results @results@. */
void @P@_step(@P@_state *state_, @parameters@);

"""

_SOURCE = """
void @P@_init(@P@_state *state_)
{
@starts@    size_t k_;

@init@}

void @P@_step(@P@_state *state_, @parameters@)
{
@locals@
    @P@(@values@);
@carry@}
"""


@dataclass(frozen=True)
class StepMemory:
    """What a step carries: its arguments by the results that they come from, and the numbers it begins with."""

    carried: Mapping[str, str]
    start: Mapping[str, Any]
    given: Sequence[str] | None = None  # the results that a caller gets; None: all

    def check(self, function: Exports) -> None:
        inputs, outputs = ({array.name: array for array in side} for side in (function.inputs, function.outputs))
        checks: tuple[tuple[str, Iterable[str], Iterable[str]], ...] = (
            ("argument", self.carried, inputs),
            ("carried argument", self.start, self.carried),
            ("result", [*self.carried.values(), *(self.given or ())], outputs),
        )
        for kind, names, known in checks:
            if unknown := [name for name in names if name not in known]:
                raise ArgumentError(unknown_name(kind, unknown[0], known, f"step {function.name}"))
        for name, result in self.carried.items():
            if inputs[name].shape != outputs[result].shape:
                raise ArgumentError(
                    f"result {outputs[result]} of step {function.name} cannot become argument {inputs[name]}.",
                    expected="the same shape",
                )
        for name, value in self.start.items():
            if np.size(value) not in (1, inputs[name].size) or not np.isfinite(np.asarray(value, float)).all():
                raise ArgumentError(
                    f"the start of {name} is {value!r}.", expected=f"{inputs[name].size} finite numbers"
                )


def c_step(function: Exports, memory: StepMemory, name: str, dtype: Any = np.float64) -> CSource:
    """The function `name`, and `name`_init and `name`_step with their struct."""
    memory.check(function)
    words = _words(function_name(name), function, memory, lanes_of(checked_dtype(dtype)))
    return c_source(function, name, dtype, PageExtras(fill(_HEADER, words), fill(_SOURCE, words)))


def march_code(march: March, name: str | None, start: Mapping[str, Any], dtype: Any) -> CSource:
    """The step of a march: its carried arrays are remembered, what it notes is given."""
    step, carried = march.step, march.horizon.carried
    pairs = {before.name: after.name for before, after in zip(carried, step.outputs, strict=False)}
    noted = [array.name for array in step.outputs[len(carried) :]]
    return c_step(step, StepMemory(pairs, start, noted), symbol(step, name), dtype)


def _words(name: str, function: Exports, memory: StepMemory, lanes: Lanes) -> dict[str, str]:
    signature = Signature.of(function.fused, lanes.scalar)
    results = dict(zip((array.name for array in function.outputs), signature.outputs, strict=True))
    given = [array for key, array in results.items() if memory.given is None or key in memory.given]
    carried = [array for array in signature.inputs if array.name in memory.carried]
    taken = [array for array in signature.inputs if array.name not in memory.carried]
    parameters = [*map(signature.argument, taken), *map(signature.result, given)]
    inputs = [f"state_->{array.name}" if array in carried else array.name for array in signature.inputs]
    inputs = [x if a.shape or a in taken else f"{x}[0]" for x, a in zip(inputs, signature.inputs, strict=True)]
    values = [*inputs, *(array.name + "_" * (array not in given) for array in signature.outputs)]
    real = lanes.scalar
    carry = ""
    for array in carried:
        source = results[memory.carried[array.name]]
        local = source.name + "_" * (source not in given)
        carry += f"    memcpy(state_->{array.name}, {local}, sizeof state_->{array.name});\n"
    hidden = [array for array in signature.outputs if array not in given]
    return {
        "P": name,
        "fields": "".join(f"    {real} {array.name}[{array.size}];\n" for array in carried),
        "arguments": ", ".join(array.name for array in carried),
        "results": ", ".join(memory.carried[array.name] for array in carried),
        "parameters": ", ".join(parameters),
        "starts": "".join(_start(array, memory.start.get(array.name, 0.0), lanes) for array in carried),
        "init": "".join(_copied(array) for array in carried),
        "locals": "".join(f"    {real} {array.name}_[{array.size}];\n" for array in hidden),
        "values": ", ".join(values),
        "carry": carry,
    }


def _start(array: Array, value: Any, lanes: Lanes) -> str:
    numbers = ", ".join(number(float(x), lanes) for x in np.broadcast_to(np.asarray(value, float), array.shape).flat)
    return f"    static const {lanes.scalar} {array.name}_[{array.size}] = {{{numbers}}};\n"


def _copied(array: Array) -> str:
    return f"    for (k_ = 0; k_ < {array.size}; ++k_)\n        state_->{array.name}[k_] = {array.name}_[k_];\n"
