"""Exact polynomials through operation counts, and their notation.

>>> str(through({2: 91, 3: 187, 4: 283, 5: 379, 6: 475}))
'96n-101'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from appell.errors import ArgumentError


@dataclass(frozen=True)
class Polynomial:
    """A polynomial with rational coefficients, constant first."""

    coefficients: tuple[Fraction, ...]

    def __call__(self, n: int) -> Fraction:
        return sum((c * n**k for k, c in enumerate(self.coefficients)), start=Fraction(0))

    def __add__(self, other: Polynomial) -> Polynomial:
        size = max(len(self.coefficients), len(other.coefficients))
        padded = [(*p.coefficients, *[Fraction(0)] * (size - len(p.coefficients))) for p in (self, other)]
        return polynomial(*(a + b for a, b in zip(*padded, strict=True)))

    def __str__(self) -> str:
        terms = [_term(c, k) for k, c in enumerate(self.coefficients) if c]
        return "".join(reversed(terms)).removeprefix("+") or "0"


def polynomial(*coefficients: Fraction | int | float) -> Polynomial:
    """Return the polynomial with the given coefficients, constant first; trailing zeros are dropped."""
    exact = [Fraction(c) for c in coefficients]
    while exact and exact[-1] == 0:
        exact.pop()
    return Polynomial(tuple(exact))


def through(points: Mapping[int, int]) -> Polynomial | None:
    """Return the polynomial of lowest degree through all points; None unless at least three extra points confirm it."""
    xs = list(points)
    table = [Fraction(points[x]) for x in xs]
    newton = []  # divided differences
    for order in range(len(xs)):
        newton.append(table[0])
        table = [(b - a) / (xs[k + order + 1] - xs[k]) for k, (a, b) in enumerate(pairwise(table))]
    while newton and newton[-1] == 0:
        newton.pop()
    if len(newton) + 3 > len(xs):
        return None
    result = polynomial()
    for k in reversed(range(len(newton))):
        result = _times(result, xs[k]) + polynomial(newton[k])
    return result


def eventually_through(points: Mapping[int, int]) -> tuple[Polynomial, int]:
    """Return the polynomial that holds from some n on, and that n: the first links of an arm may fold differently."""
    for first in sorted(points):
        candidate = through({n: value for n, value in sorted(points.items()) if n >= first})
        if candidate is not None:
            return candidate, first
    raise ArgumentError(f"no polynomial passes through the counts {dict(points)}.")


def _times(p: Polynomial, root: int) -> Polynomial:
    """Return p(n) (n - root)."""
    shifted = polynomial(0, *p.coefficients)
    return shifted + polynomial(*(-root * c for c in p.coefficients))


def _term(c: Fraction, power: int) -> str:
    sign = "-" if c < 0 else "+"
    size = abs(c)
    number = f"{float(size):g}" if size.denominator in (1, 2, 4) else str(size)
    name = "" if power == 0 else "n" if power == 1 else f"n{'²³⁴⁵'[power - 2]}"
    return sign + ("" if number == "1" and power else number) + name
