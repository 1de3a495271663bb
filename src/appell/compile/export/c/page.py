"""The two texts of an exported function: the header, and the file with the function for one sample and for batches.

A batch is computed in blocks of lanes, whose results lie on the stack until they are complete: the compiler knows that
they meet nothing else, and so makes vectors of the lanes. If a block reports a huge angle, its samples go through the
function for one sample, one after the other; the others of them get the same bits as before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from appell.compile.count import OpCount
from appell.compile.emit.lanes import Lanes
from appell.compile.export.c.body import CBody
from appell.compile.export.c.library import fill, library
from appell.compile.export.c.looped import looped
from appell.compile.export.c.names import comment
from appell.compile.export.c.signature import Signature
from appell.compile.export.c.straight import straight
from appell.compile.formula import Formula
from appell.compile.ops import Op
from appell.compile.program import Program
from appell.compile.tape import Array, Tape
from appell.version import VERSION

if TYPE_CHECKING:
    from appell.compile.export.face import Exports

BLOCK = 64  # bytes of the lanes of a block

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
/* Not a number in all results, if one argument is not finite; neighbours are s_ apart, in results o_. */
@P@_APART void @P@_spoil(@pointers@, const size_t s_, const size_t o_)
{
    int spoilt_ = 0;
    size_t k_;

    (void)s_;
@finite@
    if (!spoilt_)
        return;
@spoil@}

void @P@(@single@)
{
    @word@ flag_ = 0;
@one@    if (flag_ != 0u)
        @P@_spoil(@addresses@, 1, 1);
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

        if (n_ - i_ < @W@) /* the last block begins in the one before */
            i_ = n_ - @W@;
@lanes@        if (flag_ > 1u) {
            @P@_each(@W@, n_, @moved@);
            continue;
        }
        for (l_ = 0; flag_ != 0u && l_ < @W@; ++l_)
            @P@_spoil(@lane@, n_, @W@);
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
 * The bits are those of the function that appell compiles on a machine with fused multiply-adds, if products are fused
 * with sums nowhere else (gcc -ffp-contract=off) and the target has fused multiply-adds (x86: -mfma or -march=...;
 * without them the library's fma() is called, which is slow).
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


@dataclass(frozen=True)
class CPage:
    """The texts of a function."""

    source: str
    header: str


@dataclass(frozen=True)
class PageExtras:
    """What else stands in the header and in the file."""

    declared: str = ""
    defined: str = ""


def page(prefix: str, function: Exports, lanes: Lanes, more: PageExtras) -> CPage:
    """Both texts of a function called `prefix`."""
    formula = function.fused
    signature = Signature.of(formula, lanes.scalar)
    body = (looped if isinstance(formula, Program) else straight)(prefix, formula, signature, lanes)  # type: ignore
    title = f"{function.name} of {function.owner}" if function.owner else function.name
    words = {
        "library": library(prefix, lanes, _ops(formula)),
        "functions": body.functions,
        "declared": more.declared,
        "defined": more.defined,
        **_one(signature, body),
        **_batch(signature, body),
        "doc": "".join(f" * {comment(line)}\n" for line in (function.__doc__ or "").splitlines() if line.strip()),
        "arguments": "".join(_described(signature)),
        **words_of(prefix, lanes, comment(title), function.count()),
    }
    return CPage(fill(_SOURCE, words), fill(_HEADER, words))


def words_of(prefix: str, lanes: Lanes, title: str, count: OpCount) -> dict[str, str]:
    """What every text of a file needs."""
    return {
        "title": title,
        "counts": f"{count.mul} multiplications, {count.add} additions, {count.div} divisions, {count.sqrt} roots, "
        f"{count.trig} sines, cosines or arctangents, {count.select} choices a call.",
        "version": VERSION,
        "W": str(BLOCK // lanes.itemsize),
        "P": prefix,
        "real": lanes.scalar,
        "word": f"uint{lanes.integer_bits}_t",
    }


def _described(signature: Signature) -> Iterator[str]:
    for kind, arrays in (("takes", signature.inputs), ("gives", signature.outputs)):
        for array in arrays:
            shape = f", {' x '.join(map(str, array.shape))} row by row" if len(array.shape) > 1 else ""
            yield f" * {kind} {array.name}[{array.size}]{shape}\n" if array.shape else f" * {kind} {array.name}\n"


def _ops(formula: Formula) -> set[Op]:
    tapes: list[Tape] = (
        [step.tape for stage in formula.stages for step in stage.steps] if isinstance(formula, Program) else [formula]
    )
    return {Op(node[0]) for tape in tapes for node in tape.nodes}


def _one(signature: Signature, body: CBody) -> dict[str, str]:
    finite = "    for (k_ = 0; k_ < {size}; ++k_)\n        spoilt_ |= !({n}[k_ * s_] - {n}[k_ * s_] == 0);\n"
    spoil = "    for (k_ = 0; k_ < {size}; ++k_)\n        {n}[k_ * o_] = (@real@)NAN;\n"
    return {
        "finite": _every(finite, signature.inputs),
        "spoil": _every(spoil, signature.outputs),
        "one": body.one,
        "single": signature.single,
        "addresses": signature.addresses,
        "pointers": signature.pointers,
    }


def _batch(signature: Signature, body: CBody) -> dict[str, str]:
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
        "arrays": _every("    @real@ {n}_[{size} * @W@];\n", outputs) + frame,
        "lanes": body.lanes,
        "give": _every(row + "memcpy({n} + k_ * n_ + i_, {n}_ + k_ * @W@, @W@ * sizeof(@real@));\n", outputs),
        "names": ", ".join(array.name for array in arrays),
        "moved": ", ".join(f"{array.name} + i_" for array in arrays),
        "lane": signature.lanes,
    }


def _every(text: str, arrays: Sequence[Array]) -> str:
    """A text for every array: with its name n, its size and its number k."""
    return "".join(text.format(n=array.name, size=array.size, k=k) for k, array in enumerate(arrays))
