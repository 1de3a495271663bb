"""Growth of operation counts with the number of joints: the exact polynomials through the counts of a method."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from appell.compile.tape.count import OpCount
from appell.formulate.formulations import Method
from appell.model.robot import Robot
from appell_lab.counts.general_arm import general_arm
from appell_lab.counts.measure import Counted
from appell_lab.counts.polynomial import Polynomial, eventually_through

SIZES = range(2, 13)


@dataclass(frozen=True)
class Growth:
    """Multiplications (with divisions and roots) and additions as polynomials in n, valid from some n on."""

    mul: Polynomial
    add: Polynomial
    valid_from: int
    counts: Mapping[int, OpCount]

    def __str__(self) -> str:
        return f"{self.mul} M, {self.add} A for n ≥ {self.valid_from}"


def products(count: OpCount) -> int:
    """Return M as in the papers: multiplications, divisions and square roots."""
    return count.mul + count.div + count.sqrt


def growth(
    mode: Callable[[Robot, Method, Counted], OpCount], method: Method, quantity: Counted, sizes: Iterable[int] = SIZES
) -> Growth:
    """Return the counts of general arms of several sizes and the polynomials through them.

    Parameters
    ----------
    mode : `as_written` or `simplified`
    method : the method
    quantity : what the method computes
    sizes : numbers of joints
    """
    counts = {n: _count(mode, n, method, quantity) for n in sizes}
    mul, first = eventually_through({n: products(count) for n, count in counts.items()})
    add, second = eventually_through({n: count.add for n, count in counts.items()})
    return Growth(mul, add, max(first, second), counts)


@cache
def _count(mode: Callable, n: int, method: Method, quantity: Counted) -> OpCount:
    return mode(general_arm(n), method, quantity)
