"""Coefficients of `compile/llvm/elementary.py`: minimax polynomials by Remez' exchange algorithm.

    python lab/tools/minimax.py             print all tables, with the error of each polynomial

A polynomial is determined coefficient by coefficient: the lowest one is rounded to the number format, and the others
are computed again for what remains. Errors are relative to the function that the polynomial is part of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mpmath import MPContext

mp = MPContext()
mp.prec = 200
GRID = 400  # Chebyshev points on which errors are searched
MAX_EXCHANGES = 30
DOUBLE, FLOAT = 53, 24  # bits


@dataclass(frozen=True)
class Fit:
    """A function to approximate by a polynomial, on an interval, with the weight of its error."""

    function: Callable
    weight: Callable
    low: float
    high: float


def _ratio(function: Callable) -> Callable:
    """Return f(√z)/√z - 1 for an odd function f."""
    return lambda z: function(mp.sqrt(z)) / mp.sqrt(z) - 1


def _odd(function: Callable, high: float) -> Fit:
    """Return the fit of T in f(x) = x + x z T(z), z = x²."""
    ratio = _ratio(function)
    return Fit(lambda z: ratio(z) / z, lambda z: z / (1 + ratio(z)), 0.0, high)


def _logarithm(z):
    return 2 * _ratio(mp.atanh)(z) / z


def _complement(high: float) -> Fit:
    return Fit(lambda x: mp.log(mp.erfc(x)) / x, lambda x: x * mp.erfc(x) / mp.erf(x), 1.0, high)


_HALF = float(mp.log(2) / 2) * 1.003
_SQUARE = 0.02945  # of (√2 - 1)/(√2 + 1)
_EXP = Fit(lambda r: (mp.exp(r) - 1 - r) / r**2, lambda r: r * r / mp.exp(r), -_HALF, _HALF)
_ERF = Fit(_ratio(mp.erf), lambda z: 1 / (1 + _ratio(mp.erf)(z)), 0.0, 1.0)
_LOG = Fit(_logarithm, lambda z: z / 2, 0.0, _SQUARE)
_POWER = Fit(lambda z: (_logarithm(z) - mp.mpf(2) / 3) / z, lambda z: z * z / 2, 0.0, _SQUARE)
TABLES = {  # name -> bits: fit and number of coefficients
    "EXPONENTIAL": {DOUBLE: (_EXP, 10), FLOAT: (_EXP, 5)},
    "LOGARITHM": {DOUBLE: (_LOG, 7), FLOAT: (_LOG, 3)},
    "POWER": {DOUBLE: (_POWER, 8), FLOAT: (_POWER, 3)},
    "TANGENT": {DOUBLE: (_odd(mp.tanh, 0.36), 11), FLOAT: (_odd(mp.tanh, 0.36), 5)},
    "ARCSINE": {DOUBLE: (_odd(mp.asin, 0.2501), 12), FLOAT: (_odd(mp.asin, 0.2501), 5)},
    "ERROR": {DOUBLE: (_ERF, 12), FLOAT: (_ERF, 7)},
    "COMPLEMENT": {DOUBLE: (_complement(5.95), 18), FLOAT: (_complement(4.0), 6)},
}


def exchange(x: list, f: list, weight: list, count: int) -> list:
    """Return the coefficients of the polynomial with the smallest weighted error on a grid.

    Parameters
    ----------
    x, f, weight : grid, values of the function and weights of the error
    count : number of coefficients
    """
    indices = [round((1 - float(mp.cos(mp.pi * (k + 0.5) / (count + 1)))) / 2 * (len(x) - 1)) for k in range(count + 1)]
    best, smallest = [], mp.inf
    for _ in range(MAX_EXCHANGES):
        rows = [[weight[j] * x[j] ** k for k in range(count)] + [(-1) ** i] for i, j in enumerate(indices)]
        solution = mp.lu_solve(mp.matrix(rows), mp.matrix([f[j] * weight[j] for j in indices]))
        coefficients, level = list(solution[:count]), abs(solution[count])
        error = [(b - mp.polyval(coefficients[::-1], a)) * c for a, b, c in zip(x, f, weight, strict=True)]
        largest, extrema = max(map(abs, error)), _extrema(error, count + 1)
        if largest < smallest:
            best, smallest = coefficients, largest
        if len(extrema) <= count or extrema == indices or largest < 1.01 * level:
            break
        indices = extrema
    return best  # the iteration may not converge near a rounded coefficient


def _extrema(error: list, count: int) -> list[int]:
    """Return the largest errors of alternating sign."""
    indices: list[int] = []
    for j in range(len(error)):
        if not indices or (error[j] > 0) != (error[indices[-1]] > 0):
            indices.append(j)
        elif abs(error[j]) > abs(error[indices[-1]]):
            indices[-1] = j
    while len(indices) > count:
        if len(indices) == count + 1:
            indices.pop(0 if abs(error[indices[0]]) < abs(error[indices[-1]]) else -1)
        else:
            pairs = range(len(indices) - 1)
            k = min(pairs, key=lambda k: max(abs(error[indices[k]]), abs(error[indices[k + 1]])))
            del indices[k : k + 2]
    return indices


def coefficients(fit: Fit, count: int, bits: int) -> tuple[list[float], float]:
    """Return rounded coefficients, the lowest first, and the largest error as a power of two.

    Parameters
    ----------
    fit : what to approximate
    count : number of coefficients
    bits : bits of a coefficient
    """
    low, high = mp.mpf(fit.low), mp.mpf(fit.high)
    x = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (k + 0.5) / GRID) for k in range(GRID)]
    values, weights = [fit.function(a) for a in x], [fit.weight(a) for a in x]
    rest, scale, rounded = values, weights, []
    for k in range(count):
        first = exchange(x, rest, scale, count - k)[0]
        fraction, exponent = mp.frexp(first)
        rounded.append(mp.ldexp(mp.nint(mp.ldexp(fraction, bits)), exponent - bits))
        rest = [(b - rounded[-1]) / a for a, b in zip(x, rest, strict=True)]
        scale = [abs(a) * c for a, c in zip(x, scale, strict=True)]
    error = max(abs(b - mp.polyval(rounded[::-1], a)) * c for a, b, c in zip(x, values, weights, strict=True))
    return [float(c) for c in rounded], float(mp.log(error, 2))


def main() -> None:
    for name, formats in TABLES.items():
        for bits, (fit, count) in formats.items():
            numbers, error = coefficients(fit, count, bits)
            print(f"{name}, {bits} bits, error 2^{error:.1f}")
            print("".join(f"    {number!r},\n" for number in numbers), end="")


if __name__ == "__main__":
    main()
