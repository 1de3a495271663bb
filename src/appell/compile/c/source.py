"""A function as C99: a file and its header, which compute the same bits as the compiled function.

    code = dyn.inverse_dynamics.to_c("arm_torques")
    code.write("firmware")                                arm_torques.c, arm_torques.h

The code allocates no memory, stores nothing between calls and includes only standard headers. It is the fused formula
from which the machine code is made, statement by statement; sine, exponential and other functions are part of the file,
so that the last bit does not depend on a library.

A batch is computed in blocks of lanes, whose results are on the stack until they are complete: since they cannot
overlap other arrays, the compiler vectorises the lanes. If a block reports a huge angle, the function for one sample
computes its samples one after the other; samples without a huge angle get the same bits as before.

A step with memory stores its state in a struct of the caller:

    typedef struct {
        double integral[6];
        double before[6];
    } arm_control_state;

    void arm_control_init(arm_control_state *state_);
    void arm_control_step(arm_control_state *state_, const double q[6], ..., double tau[6]);

The step is a function some of whose results are its arguments in the next call: `carried` maps arguments to results.
The code allocates nothing and shares nothing between callers. After a number that is not finite, the state is NaN until
`_init` is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.compile.c.body import CBody, looped, straight
from appell.compile.c.signature import Signature, comment, function_name, identifier, local_name, quoted_owner
from appell.compile.c.statements import c_number, fill, lanes_of, library
from appell.compile.llvm.lanes import Lanes
from appell.compile.program.program import Program
from appell.compile.tape.count import OpCount
from appell.compile.tape.formula import Formula
from appell.compile.tape.ops import TRANSCENDENTAL, Op
from appell.compile.tape.tape import Array, Tape
from appell.errors import ArgumentError, unknown_name
from appell.files import check_target, replacing
from appell.version import VERSION

if TYPE_CHECKING:
    from appell.compile.function import Function
    from appell.compile.scan import Scan


BLOCK_BYTES = 64  # of the lanes of a block

_SOURCE = """\
/* @title@: see @P@.h.
 *
 * Written by appell @version@. @counts@
 */

#include "@P@.h"

@library@
#if defined(__GNUC__)
#define @P@_APART static __attribute__((noinline))
#else
#define @P@_APART static
#endif
#if defined(__GNUC__) && !defined(__clang__)
#define @P@_IVDEP _Pragma("GCC ivdep")
#else
#define @P@_IVDEP
#endif
@functions@
/* Set all results to NaN if an argument is not finite; elements of arguments are s_ apart, those of results o_. */
@P@_APART void @P@_invalidate(@pointers@, const size_t s_, const size_t o_)
{
    int invalid_ = 0;
    size_t k_;

    (void)s_;
@finite@
    if (!invalid_)
        return;
@invalidate@}

void @P@(@single@)
{
    @word@ flag_ = 0;
@one@    if (flag_ != 0u)
        @P@_invalidate(@addresses@, 1, 1);
}

/* Some samples of a batch of n_, one after the other. */
@P@_APART void @P@_each(const size_t count_, const size_t n_, @pointers@)
{
@samples@    size_t k_, l_;

    for (l_ = 0; l_ < count_; ++l_) {
@pick@        @P@(@values@);
@put@    }
}

void @P@_batch(size_t n_, @pointers@)
{
@arrays@    size_t i_, k_, l_;

    if (n_ < @W@) {
        @P@_each(n_, n_, @names@);
        return;
    }
    for (i_ = 0; i_ < n_; i_ += @W@) {
        @word@ flag_ = 0;

        if (n_ - i_ < @W@) /* the last block overlaps the one before */
            i_ = n_ - @W@;
@lanes@        if (flag_ > 1u) {
            @P@_each(@W@, n_, @moved@);
            continue;
        }
        for (l_ = 0; flag_ != 0u && l_ < @W@; ++l_)
            @P@_invalidate(@lane@, n_, @W@);
@give@    }
}
@defined@"""

_HEADER = """\
/* @title@
 *
@doc@ *
@arguments@ *
 * @P@_batch computes n_ samples: element k of sample i is x[k * n_ + i] in every array.
 * Arrays of one call must not overlap. An argument that is not finite makes all results of its sample NaN.
 *
 * The results have the same bits as the function that appell compiles on a machine with fused multiply-adds. Compile
 * with -ffp-contract=off, and for a target that has fused multiply-adds (x86: -mfma or -march=native);
 * otherwise the library function fma() is called, which is slow.
 *
 * @counts@
 * Written by appell @version@.
 */

#ifndef @P@_H
#define @P@_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

@declared@/* One sample, and many. */
void @P@(@single@);
void @P@_batch(size_t n_, @pointers@);

#ifdef __cplusplus
}
#endif

#endif
"""


def _described(signature: Signature) -> Iterator[str]:
    for kind, arrays in (("argument", signature.inputs), ("result", signature.outputs)):
        for array in arrays:
            shape = f", {' x '.join(map(str, array.shape))}, row-major" if len(array.shape) > 1 else ""
            yield f" * {kind} {array.name}[{array.size}]{shape}\n" if array.shape else f" * {kind} {array.name}\n"


def _ops(formula: Formula) -> set[Op]:
    tapes: list[Tape] = (
        [step.tape for stage in formula.stages for step in stage.steps] if isinstance(formula, Program) else [formula]
    )
    return {Op(node[0]) for tape in tapes for node in tape.nodes}


def _single_words(signature: Signature, body: CBody) -> dict[str, str]:
    finite = "    for (k_ = 0; k_ < {size}; ++k_)\n        invalid_ |= !({n}[k_ * s_] - {n}[k_ * s_] == 0);\n"
    invalidate = "    for (k_ = 0; k_ < {size}; ++k_)\n        {n}[k_ * o_] = (@real@)NAN;\n"
    return {
        "finite": _every(finite, signature.inputs),
        "invalidate": _every(invalidate, signature.outputs),
        "one": body.one,
        "single": signature.single,
        "addresses": signature.addresses,
        "pointers": signature.pointers,
    }


def _batch_words(signature: Signature, body: CBody) -> dict[str, str]:
    inputs, outputs, arrays = signature.inputs, signature.outputs, signature.arrays
    frame = f"    @real@ frame_[{body.frame} * @W@];\n" if body.frame else ""
    row = "        for (k_ = 0; k_ < {size}; ++k_)\n            "
    passed = [f"x{k}" if array.shape else f"x{k}[0]" for k, array in enumerate(inputs)]
    passed += [f"y{k}" for k in range(len(outputs))]
    return {
        "samples": _every("    @real@ x{k}[{size}];\n", inputs) + _every("    @real@ y{k}[{size}];\n", outputs),
        "pick": _every(row + "x{k}[k_] = {n}[k_ * n_ + l_];\n", inputs),
        "put": _every(row + "{n}[k_ * n_ + l_] = y{k}[k_];\n", outputs),
        "values": ", ".join(passed),
        "arrays": _every("    @real@ {local}[{size} * @W@];\n", outputs) + frame,
        "lanes": body.lanes,
        "give": _every(row + "memcpy({n} + k_ * n_ + i_, {local} + k_ * @W@, @W@ * sizeof(@real@));\n", outputs),
        "names": ", ".join(array.name for array in arrays),
        "moved": ", ".join(f"{array.name} + i_" for array in arrays),
        "lane": signature.lanes,
    }


def _every(text: str, arrays: Sequence[Array]) -> str:
    """Return a text once per array, with its name n, the name of its local copy, its size and its index k."""
    return "".join(
        text.format(n=array.name, local=local_name(array), size=array.size, k=k) for k, array in enumerate(arrays)
    )


@dataclass(frozen=True)
class CSource:
    """A C source file and its header; `name` is the name of the function and of the files."""

    name: str
    source: str = field(repr=False)
    header: str = field(repr=False)
    count: OpCount

    def write(self, folder: str | Path, overwrite: bool = False) -> tuple[Path, ...]:
        """Write both files to a folder, which is created if necessary; replace existing files only if `overwrite`."""
        files: dict[str, str | bytes] = {f"{self.name}.c": self.source, f"{self.name}.h": self.header}
        return write_files(folder, files, overwrite, "C code")


def write_files(folder: str | Path, files: Mapping[str, str | bytes], overwrite: bool, what: str) -> tuple[Path, ...]:
    """Write files to a folder: all of them, or none if one cannot be written; `what` names them in messages."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = f"{what} cannot be written to the folder '{folder}': {error.strerror or error}."
        raise ArgumentError(problem, expected="the name of a folder") from None
    targets = {check_target(Path(folder, name), overwrite=overwrite): content for name, content in files.items()}
    with ExitStack() as stack:
        for target, content in targets.items():
            part = stack.enter_context(replacing(target, what))
            part.write_bytes(content if isinstance(content, bytes) else content.encode())
    return tuple(targets)


def checked_dtype(dtype: Any) -> np.dtype:
    """Return float64 or float32 as a `numpy.dtype`; raise an error for any other type."""
    try:
        kind = np.dtype(dtype)
    except TypeError:
        kind = np.dtype(object)
    if kind not in (np.float64, np.float32):
        raise ArgumentError(f"cannot generate C code for {dtype!r}.", expected="float64 (double) or float32 (float)")
    return kind


def symbol(function: Function, name: str | None) -> str:
    """Return the name of a function in C: `name`, by default the names of the robot and of the function."""
    if name is not None:
        return function_name(name)
    return identifier(f"{quoted_owner(function.owner) or 'appell'}_{function.name}")


def c_source(
    function: Function, name: str | None = None, dtype: Any = np.float64, declared: str = "", defined: str = ""
) -> CSource:
    """Return a function as C source code, for one sample and for batches.

    Parameters
    ----------
    function : function to export
    name : its name in C; by default the names of the robot and of the function
    dtype : float64 or float32
    declared, defined : further text for the header and for the file
    """
    prefix = symbol(function, name)
    if prefix in {array.name for array in (*function.inputs, *function.outputs)}:
        raise ArgumentError(f"name '{prefix}' is the name of an argument or a result.", expected="another name")
    formula, lanes, count = function.fused, lanes_of(checked_dtype(dtype)), function.count()
    signature = Signature.of(formula, lanes.scalar)
    body = (looped if isinstance(formula, Program) else straight)(prefix, formula, signature, lanes)  # type: ignore
    has_others = not set(TRANSCENDENTAL).isdisjoint(_ops(formula))
    functions = "sines, exponentials or other functions" if has_others else "sines, cosines or arctangents"
    words = {
        "library": library(prefix, lanes, _ops(formula)),
        "functions": body.functions,
        "declared": declared,
        "defined": defined,
        **_single_words(signature, body),
        **_batch_words(signature, body),
        "doc": "".join(f" * {comment(line)}\n" for line in function.summary.splitlines() if line.strip()),
        "arguments": "".join(_described(signature)),
        "title": comment(function.title),
        "counts": f"{count.mul} multiplications, {count.add} additions, {count.div} divisions, {count.sqrt} roots, "
        f"{count.trig} {functions}, {count.select} selections per call.",
        "version": VERSION,
        "W": str(BLOCK_BYTES // lanes.itemsize),
        "P": prefix,
        "real": lanes.scalar,
        "word": f"uint{lanes.integer_bits}_t",
    }
    return CSource(prefix, fill(_SOURCE, words), fill(_HEADER, words), count)


_STEP_HEADER = """\
/* State that is carried from step to step. */
typedef struct {
@fields@} @P@_state;

/* Set the initial state. */
void @P@_init(@P@_state *state_);

/* One step: the state provides the arguments @arguments@ and receives the results @results@. */
void @P@_step(@P@_state *state_, @parameters@);

"""

_STEP_SOURCE = """
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
    """The state of a step: carried arguments with the results they come from, and initial values."""

    carried: Mapping[str, str]
    start: Mapping[str, Any]
    given: Sequence[str] | None = None  # results that the caller receives; None: all

    def check(self, function: Function) -> None:
        """Raise an error if names, shapes or initial values do not match the function."""
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
                    f"the initial value of {name} is {value!r}.", expected=f"{inputs[name].size} finite numbers"
                )


def c_step(function: Function, memory: StepMemory, name: str, dtype: Any = np.float64) -> CSource:
    """Return the function `name`, and `name`_init and `name`_step with their struct, as C source code.

    Parameters
    ----------
    function : one step
    memory : its state
    name : name in C
    dtype : float64 or float32
    """
    memory.check(function)
    words = _step_words(function_name(name), function, memory, lanes_of(checked_dtype(dtype)))
    return c_source(function, name, dtype, fill(_STEP_HEADER, words), fill(_STEP_SOURCE, words))


def c_scan(scan: Scan, name: str | None, start: Mapping[str, Any], dtype: Any) -> CSource:
    """Return the step of a scan as C source code: carried arrays are the state, further results are returned.

    Parameters
    ----------
    scan : scan whose step is exported
    name : name in C; None for the names of the robot and of the step
    start : initial values of carried arrays, by name; zeros by default
    dtype : float64 or float32
    """
    step, carried = scan.step, scan.arguments.carried
    pairs = {before.name: after.name for before, after in zip(carried, step.outputs, strict=False)}
    further = [array.name for array in step.outputs[len(carried) :]]
    return c_step(step, StepMemory(pairs, start, further), symbol(step, name), dtype)


def _step_words(name: str, function: Function, memory: StepMemory, lanes: Lanes) -> dict[str, str]:
    signature = Signature.of(function.fused, lanes.scalar)
    results = dict(zip((array.name for array in function.outputs), signature.outputs, strict=True))
    given = [array for key, array in results.items() if memory.given is None or key in memory.given]
    carried = [array for array in signature.inputs if array.name in memory.carried]
    arguments = [array for array in signature.inputs if array.name not in memory.carried]
    parameters = [*map(signature.argument, arguments), *map(signature.result, given)]
    inputs = [f"state_->{array.name}" if array in carried else array.name for array in signature.inputs]
    inputs = [x if a.shape or a in arguments else f"{x}[0]" for x, a in zip(inputs, signature.inputs, strict=True)]
    values = [*inputs, *(array.name if array in given else local_name(array) for array in signature.outputs)]
    real = lanes.scalar
    carry = ""
    for array in carried:
        source = results[memory.carried[array.name]]
        local = source.name if source in given else local_name(source)
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
        "locals": "".join(f"    {real} {local_name(array)}[{array.size}];\n" for array in hidden),
        "values": ", ".join(values),
        "carry": carry,
    }


def _start(array: Array, value: Any, lanes: Lanes) -> str:
    numbers = ", ".join(c_number(float(x), lanes) for x in np.broadcast_to(np.asarray(value, float), array.shape).flat)
    return f"    static const {lanes.scalar} {local_name(array)}[{array.size}] = {{{numbers}}};\n"


def _copied(array: Array) -> str:
    return f"    for (k_ = 0; k_ < {array.size}; ++k_)\n        state_->{array.name}[k_] = {local_name(array)}[k_];\n"
