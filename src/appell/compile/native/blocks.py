"""How the batch of a generalised ufunc is cut into blocks: which part of every operand belongs to which samples.

    signature     (6),(6),(n,3)->(n)         core axes come last in every operand
    batch         what the axes before them broadcast to

A block is one slice for each axis of the batch. An operand has the same slices for its own axes, counted from the last,
but for those of length one, which all blocks share.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise, product
from math import prod
from typing import Any, NamedTuple

import numpy as np

_ALLOWED = frozenset({"out", "dtype", "casting"})
_PLAIN = frozenset({np.ndarray, list, tuple, bool, int, float, np.float64, np.float32})
_CORE = re.compile(r"\(([^()]*)\)")
_WHOLE = slice(None)
Block = tuple[slice, ...]


class Batch(NamedTuple):
    """The shape of a call: its samples, and what one of them takes and gives."""

    shape: tuple[int, ...]
    cores: tuple[tuple[int, ...], ...]  # of arguments, then of results

    @property
    def samples(self) -> int:
        return prod(self.shape)

    @property
    def numbers(self) -> int:
        """Of one sample: all that goes in and comes out."""
        return sum(map(prod, self.cores))

    def blocks(self, pieces: int, grain: int = 1) -> Iterator[Block]:
        """About so many blocks: the longest axis is cut, and others with it if it is too short.

        A long axis is cut at multiples of `grain`.
        """
        cuts = [1] * len(self.shape)
        while prod(cuts) < pieces:
            longest = max(range(len(cuts)), key=lambda axis: self.shape[axis] / cuts[axis])
            wanted = min(self.shape[longest], cuts[longest] * -(-pieces // prod(cuts)))
            if wanted == cuts[longest]:
                break
            cuts[longest] = wanted
        return product(*(_slices(size, parts, grain) for size, parts in zip(self.shape, cuts, strict=True)))

    def part(self, operand: Any, core: tuple[int, ...]) -> Callable[[Block], Any]:
        """What belongs to a block in one operand."""
        outer = np.shape(operand)[: np.ndim(operand) - len(core)]
        first = len(self.shape) - len(outer)
        if not outer:
            return lambda block: operand
        if 1 not in outer:
            return lambda block: operand[block[first:]]
        return lambda block: operand[tuple(_WHOLE if n == 1 else x for x, n in zip(block[first:], outer, strict=True))]


@lru_cache(maxsize=256)
def _cores(signature: str) -> tuple[tuple[Any, ...], ...]:
    """The core axes of all operands, by size or by name; none at all if some may be missing or of length one."""
    if "?" in signature or "|" in signature:
        return ()
    axes = (filter(None, core.replace(" ", "").split(",")) for core in _CORE.findall(signature))
    return tuple(tuple(int(name) if name.isdecimal() else name for name in core) for core in axes)


def batch_of(ufunc: np.ufunc, arguments: Sequence[Any], options: Mapping[str, Any]) -> Batch | None:
    """The batch of a call; None if the call is to be left to NumPy as it is, which may refuse it."""
    cores = _cores(ufunc.signature or "()" * ufunc.nargs)
    plain = len(arguments) == ufunc.nin and _ALLOWED.issuperset(options) and _PLAIN.issuperset(map(type, arguments))
    if not cores or not plain:
        return None
    outers: set[tuple[int, ...]] = set()
    sizes: dict[Any, int] = {}
    try:
        for each, core in zip(arguments, cores, strict=False):
            shape = each.shape if type(each) is np.ndarray else np.shape(each)
            start = len(shape) - len(core)
            if start < 0:
                return None
            outers.add(shape[:start])
            if shape[start:] != core:
                sizes = _sized(core, shape[start:], sizes)
        shape = outers.pop() if len(outers) == 1 else np.broadcast_shapes(*outers)
        if sizes:
            cores = tuple(tuple(sizes[axis] if isinstance(axis, str) else axis for axis in core) for core in cores)
        return Batch(shape, cores)
    except (ValueError, KeyError):
        return None


def _sized(core: tuple[Any, ...], sizes: tuple[int, ...], known: Mapping[Any, int]) -> dict[Any, int]:
    """The sizes of core axes; a ValueError if one has two."""
    found = dict(known)
    for axis, size in zip(core, sizes, strict=True):
        if found.setdefault(axis, axis if isinstance(axis, int) else size) != size:
            raise ValueError(axis)
    return found


def results_of(
    ufunc: np.ufunc, arguments: Sequence[Any], options: Mapping[str, Any], batch: Batch
) -> tuple[np.ndarray, ...] | None:
    """The arrays for the results, given or new; None if what is given cannot be written block by block."""
    out = options.get("out")
    outs: tuple[Any, ...] = out if isinstance(out, tuple) else (out,) * (ufunc.nout if out is None else 1)
    if len(outs) != ufunc.nout:
        return None
    cores = batch.cores[ufunc.nin :]
    for number, (each, core) in enumerate(zip(outs, cores, strict=True)):
        if each is None:
            continue
        if type(each) is not np.ndarray or each.shape != batch.shape + core or _overlaps_itself(each):
            return None
        for other, its_core in zip(arguments, batch.cores, strict=False):
            if np.may_share_memory(each, other) and not _are_same(each, core, other, its_core):
                return None
        if any(other is not None and np.may_share_memory(each, other) for other in outs[:number]):
            return None
    if all(each is not None for each in outs):
        return outs
    try:
        kinds = _kinds(ufunc, arguments, options)
    except TypeError:
        return None
    new = (np.empty(batch.shape + core, kind) for core, kind in zip(cores, kinds, strict=True))
    return tuple(fresh if each is None else each for each, fresh in zip(outs, new, strict=True))


def _kinds(ufunc: np.ufunc, arguments: Sequence[Any], options: Mapping[str, Any]) -> tuple[Any, ...]:
    """The element types of results that NumPy would choose."""
    taken = [type(x) if type(x) in (int, float) else np.asarray(x).dtype for x in arguments]
    chosen = {name: options[name] for name in ("casting",) if name in options}
    if options.get("dtype") is not None:
        chosen["signature"] = (None,) * ufunc.nin + (np.dtype(options["dtype"]),) * ufunc.nout
    return ufunc.resolve_dtypes((*taken, *[None] * ufunc.nout), **chosen)[ufunc.nin :]


def _overlaps_itself(array: np.ndarray) -> bool:
    """Whether two elements may be the same memory."""
    reach = array.itemsize
    for step, size in sorted((abs(step), size) for step, size in zip(array.strides, array.shape, strict=True)):
        if size > 1 and step < reach:
            return True
        reach += step * (size - 1)
    return False


def _are_same(one: np.ndarray, core: tuple[int, ...], other: Any, its_core: tuple[int, ...]) -> bool:
    """Whether a sample of one is the same sample of the other, as in `f(x, out=x)`."""
    if type(other) is not np.ndarray or (one.dtype, core) != (other.dtype, its_core):
        return False
    here, there = (each.__array_interface__["data"] for each in (one, other))
    return (here, one.shape, one.strides) == (there, other.shape, other.strides)


def _slices(size: int, parts: int, grain: int) -> list[slice]:
    """An axis in so many parts, as even as they can be."""
    unit = grain if parts * grain <= size else 1
    ends = [*(size * k // (parts * unit) * unit for k in range(parts)), size]
    return [slice(start, stop) for start, stop in pairwise(ends)]
