"""Steps of a fixed length h over abstract scalars: what takes a state (q, v) to the next one.

    q̇ = N(q) v            v̇ = a(t, q, v)                                                                        (1)

    rk4        x⁺ = x + h/6 (k₁ + 2k₂ + 2k₃ + k₄)        kᵢ the slopes (1) at x, x + h/2 k₁, x + h/2 k₂, x + h k₃
    euler      v⁺ = v + h a(t, q, v)                     q⁺ = q + h N(q) v⁺                 "semi-implicit"
    midpoint   v° = v + h/2 a(t + h/2, q°, v°)           q° = q + h/2 N(q°) v°              x⁺ = 2x° - x          (2)

Their errors over a given time shrink with the powers 4, 1 and 2 of h. What a step leads to is brought back to where the
system can be: quaternions to unit length, loops to closed ones by a step of Newton's method. Exact motions are there
already, so this moves a state by no more than the error of the step, and keeps the order. (2) keeps the length of a
quaternion by itself: q° is at right angles to its change.

(2) is solved by a fixed number of turns, v° first and q° with the new v°. A turn shrinks the error by about
(hω/2)² + h|∂a/∂v|/2 for a system that swings with ω: six turns reach rounding up to hω = 0.1. What the last turn
changed, in units of v, is noted as `residual`.

Turns and stages are written as loops, which unroll into straight code or stay loops: `IN_LOOPS` says which.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from appell.algebra.loops import Loops, Rows
from appell.algebra.scalar import Scalar, Vector, largest, magnitude

TURNS = 6  # of (2)
STAGES = ((0.0, 0.5, 1.0), (0.5, 0.5, 2.0), (0.5, 1.0, 2.0), (1.0, 0.0, 1.0))  # time, way to the next stage, weight
IN_LOOPS = {"rk4": True, "euler": False, "midpoint": True, "moreau": True}


class Slopes(Protocol):
    """(1), for what is `around` the state: time and step first, then all else that acts; `c` is the part of the step
    that has passed."""

    def rate(self, around: Vector, c: Scalar, q: Vector, v: Vector) -> list[Scalar]: ...

    def acceleration(self, around: Vector, c: Scalar, q: Vector, v: Vector) -> list[Scalar]: ...


class Stepped(NamedTuple):
    """A state after a step, not yet brought back, and what is left of the equations that were solved for it."""

    q: list[Scalar]
    v: list[Scalar]
    residual: Scalar | None = None


Scheme = Callable[[Loops, Slopes, Vector, Vector, Vector], Stepped]


def rk4(loops: Loops, slopes: Slopes, around: Vector, q: Vector, v: Vector) -> Stepped:
    n, x = len(q), [*q, *v]

    def turn(now: Vector, total: Vector, begun: Vector, outside: Vector, numbers: Vector) -> Sequence[Vector]:
        c, way, weight = numbers
        at_q, at_v = now[:n], now[n:]
        slope = [*slopes.rate(outside, c, at_q, at_v), *slopes.acceleration(outside, c, at_q, at_v)]
        ahead = [s + (way * outside[1]) * k for s, k in zip(begun, slope, strict=True)]
        return ahead, [t + weight * k for t, k in zip(total, slope, strict=True)]

    start, outside = loops.given([x]), loops.given([around])
    states, totals = loops.table(5, len(x)), loops.table(5, len(x))
    loops.each([lambda begun: (begun, [0.0] * len(x))], [0], [Rows(start, [0])], [Rows(states, [0]), Rows(totals, [0])])
    four = range(4)
    loops.each(
        [turn],
        [0] * 4,
        [Rows(states, four), Rows(totals, four), Rows(start, [0] * 4), Rows(outside, [0] * 4)],
        [Rows(states, range(1, 5)), Rows(totals, range(1, 5))],
        STAGES,
    )
    sixth = around[1] / 6.0
    end = [s + sixth * k for s, k in zip(x, loops.values(totals)[4], strict=True)]
    return Stepped(end[:n], end[n:])


def euler(loops: Loops, slopes: Slopes, around: Vector, q: Vector, v: Vector) -> Stepped:
    h = around[1]
    after = [x + h * a for x, a in zip(v, slopes.acceleration(around, 0.0, q, v), strict=True)]
    return Stepped([x + h * rate for x, rate in zip(q, slopes.rate(around, 0.0, q, after), strict=True)], after)


def midpoint(loops: Loops, slopes: Slopes, around: Vector, q: Vector, v: Vector) -> Stepped:
    n, x = len(q), [*q, *v]

    def guess(begun: Vector, outside: Vector) -> Sequence[Vector]:
        at_q, half = begun[:n], 0.5 * outside[1]
        rate = slopes.rate(outside, 0.5, at_q, begun[n:])
        return ([*(s + half * r for s, r in zip(at_q, rate, strict=True)), *begun[n:]],)

    def turn(now: Vector, begun: Vector, outside: Vector) -> Sequence[Vector]:
        at_q, half = now[:n], 0.5 * outside[1]
        a = slopes.acceleration(outside, 0.5, at_q, now[n:])
        at_v = [s + half * k for s, k in zip(begun[n:], a, strict=True)]
        rate = slopes.rate(outside, 0.5, at_q, at_v)
        return ([*(s + half * k for s, k in zip(begun[:n], rate, strict=True)), *at_v],)

    start, outside, states = loops.given([x]), loops.given([around]), loops.table(TURNS + 1, len(x))
    loops.each([guess], [0], [Rows(start, [0]), Rows(outside, [0])], [Rows(states, [0])])
    loops.each(
        [turn],
        [0] * TURNS,
        [Rows(states, range(TURNS)), Rows(start, [0] * TURNS), Rows(outside, [0] * TURNS)],
        [Rows(states, range(1, TURNS + 1))],
    )
    found = loops.values(states)
    end = [2.0 * m - s for m, s in zip(found[TURNS], x, strict=True)]
    moved = (magnitude(m - s) for m, s in zip(found[TURNS][n:], found[TURNS - 1][n:], strict=True))
    return Stepped(end[:n], end[n:], largest(moved) if v else 0.0)


SCHEMES: dict[str, Scheme] = {"rk4": rk4, "euler": euler, "midpoint": midpoint}
