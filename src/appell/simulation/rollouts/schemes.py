"""Integration schemes with a fixed step h over abstract scalars.

    q̇ = N(q) v            v̇ = a(t, q, v)                                                                        (1)

    rk4        x⁺ = x + h/6 (k₁ + 2k₂ + 2k₃ + k₄)        kᵢ the slopes (1) at x, x + h/2 k₁, x + h/2 k₂, x + h k₃
    euler      v⁺ = v + h a(t, q, v)                     q⁺ = q + h N(q) v⁺                 "semi-implicit"
    midpoint   v° = v + h/2 a(t + h/2, q°, v°)           q° = q + h/2 N(q°) v°              x⁺ = 2x° - x          (2)

Their errors over a given time decrease with the powers 4, 1 and 2 of h. The result of a step is projected: quaternions
to unit length, loops to closed ones by two steps of Newton's method. Exact motions are invariant under this projection,
so that it changes a state by no more than the error of the step, and preserves the order. (2) preserves the length of a
quaternion by itself: q° is orthogonal to its change.

(2) is solved by a fixed number of iterations, v° first and then q° with the new v°. An iteration reduces the error by a
factor of about (hω/2)² + h|∂a/∂v|/2 for a system that oscillates with ω: six iterations reach rounding error up to
hω = 0.1. The change made by the last iteration, in units of v, is recorded as `residual`.

Iterations and stages are written as loops, which are unrolled into straight-line code or stay loops in the kernel:
`IN_LOOPS` decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple, Protocol

from appell.algebra.loops import Loops, Rows
from appell.algebra.scalar import Scalar, Vector, maximum

MIDPOINT_ITERATIONS = 6  # of (2)
STAGES = ((0.0, 0.5, 1.0), (0.5, 0.5, 2.0), (0.5, 1.0, 2.0), (1.0, 0.0, 1.0))  # time, length to the next stage, weight
IN_LOOPS = {"rk4": True, "euler": False, "midpoint": True, "moreau": True}


class Slopes(Protocol):
    """The derivatives (1) as functions of `inputs` (time, step length, then everything else that acts on the system),
    of the part `c` of the step that has passed, and of the state."""

    def rate(self, around: Vector, c: Scalar, q: Vector, v: Vector) -> list[Scalar]: ...

    def acceleration(self, around: Vector, c: Scalar, q: Vector, v: Vector) -> list[Scalar]: ...


class Stepped(NamedTuple):
    """A state after a step before the projection, and the residual of the implicit equations if there are any."""

    q: list[Scalar]
    v: list[Scalar]
    residual: Scalar | None = None


Scheme = Callable[[Loops, Slopes, Vector, Vector, Vector], Stepped]


def rk4(loops: Loops, slopes: Slopes, inputs: Vector, q: Vector, v: Vector) -> Stepped:
    """Take a step of the classical Runge-Kutta method."""
    n, x = len(q), [*q, *v]

    def stage(now: Vector, total: Vector, start: Vector, given: Vector, numbers: Vector) -> Sequence[Vector]:
        c, length, weight = numbers
        at_q, at_v = now[:n], now[n:]
        slope = [*slopes.rate(given, c, at_q, at_v), *slopes.acceleration(given, c, at_q, at_v)]
        ahead = [s + (length * given[1]) * k for s, k in zip(start, slope, strict=True)]
        return ahead, [t + weight * k for t, k in zip(total, slope, strict=True)]

    start, given = loops.given([x]), loops.given([inputs])
    states, totals = loops.table(5, len(x)), loops.table(5, len(x))
    loops.each([lambda first: (first, [0.0] * len(x))], [0], [Rows(start, [0])], [Rows(states, [0]), Rows(totals, [0])])
    four = range(4)
    loops.each(
        [stage],
        [0] * 4,
        [Rows(states, four), Rows(totals, four), Rows(start, [0] * 4), Rows(given, [0] * 4)],
        [Rows(states, range(1, 5)), Rows(totals, range(1, 5))],
        STAGES,
    )
    sixth = inputs[1] / 6.0
    end = [s + sixth * k for s, k in zip(x, loops.values(totals)[4], strict=True)]
    return Stepped(end[:n], end[n:])


def euler(loops: Loops, slopes: Slopes, inputs: Vector, q: Vector, v: Vector) -> Stepped:
    """Take a step of the semi-implicit Euler method."""
    h = inputs[1]
    after = [x + h * a for x, a in zip(v, slopes.acceleration(inputs, 0.0, q, v), strict=True)]
    return Stepped([x + h * rate for x, rate in zip(q, slopes.rate(inputs, 0.0, q, after), strict=True)], after)


def midpoint(loops: Loops, slopes: Slopes, inputs: Vector, q: Vector, v: Vector) -> Stepped:
    """Take a step of the implicit midpoint rule."""
    n, x, count = len(q), [*q, *v], MIDPOINT_ITERATIONS

    def guess(start: Vector, given: Vector) -> Sequence[Vector]:
        at_q, half = start[:n], 0.5 * given[1]
        rate = slopes.rate(given, 0.5, at_q, start[n:])
        return ([*(s + half * r for s, r in zip(at_q, rate, strict=True)), *start[n:]],)

    def iteration(now: Vector, start: Vector, given: Vector) -> Sequence[Vector]:
        at_q, half = now[:n], 0.5 * given[1]
        a = slopes.acceleration(given, 0.5, at_q, now[n:])
        at_v = [s + half * k for s, k in zip(start[n:], a, strict=True)]
        rate = slopes.rate(given, 0.5, at_q, at_v)
        return ([*(s + half * k for s, k in zip(start[:n], rate, strict=True)), *at_v],)

    start, given, states = loops.given([x]), loops.given([inputs]), loops.table(count + 1, len(x))
    loops.each([guess], [0], [Rows(start, [0]), Rows(given, [0])], [Rows(states, [0])])
    loops.each(
        [iteration],
        [0] * count,
        [Rows(states, range(count)), Rows(start, [0] * count), Rows(given, [0] * count)],
        [Rows(states, range(1, count + 1))],
    )
    iterates = loops.values(states)
    end = [2.0 * m - s for m, s in zip(iterates[count], x, strict=True)]
    changes = (abs(m - s) for m, s in zip(iterates[count][n:], iterates[count - 1][n:], strict=True))
    return Stepped(end[:n], end[n:], reduce(maximum, changes) if v else 0.0)


SCHEMES: dict[str, Scheme] = {"rk4": rk4, "euler": euler, "midpoint": midpoint}
