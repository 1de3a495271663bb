"""Impulses of many laws at once, by sweeps over them: projected Gauss and Seidel.

    u = A f + b          A = B M⁻¹ Bᵀ (Delassus 1917),  b = B v°                                                (1)

A sweep takes law by law (`impulse_laws`), in their order, and solves each with the latest impulses of all others. The
number of sweeps is fixed. Where only ranges and boxes meet, each takes the convex function ½fᵀAf + (b - c)ᵀf down, from
0 at f = 0 on: without bounces, c ≤ 0, kinetic energy never grows, however few sweeps there are. Cones have no such
function; what the sweeps no longer change obeys all laws.

The sweep is one step of a loop: where loops stay loops, code does not grow with the number of sweeps.
"""

from __future__ import annotations

from collections.abc import Sequence

from appell.algebra.loops import Loops, Rows
from appell.algebra.scalar import Scalar, Vector, is_number
from appell.simulation.rollouts.contacts.impulse_laws import ImpulseLaw, Matrix


def swept(
    loops: Loops, A: Matrix, b: Vector, laws: Sequence[ImpulseLaw], sweeps: int, start: Vector | None = None
) -> list[Scalar]:
    """f of (1) after so many sweeps, from `start` on, by default from 0."""
    size = len(b)
    places: list[range] = []
    datas: list[list[Scalar]] = []
    for law in laws:
        first = places[-1].stop if places else 0
        places.append(range(first, first + law.size))
        datas.append(law.data([[A[i][j] for j in places[-1]] for i in places[-1]]))
    held = [*(A[i][j] for i in range(size) for j in range(i + 1)), *b, *(x for data in datas for x in data)]
    changing = [k for k, x in enumerate(held) if not is_number(x)]

    def sweep(f: Vector, known: Vector) -> list[Vector]:
        values = list(held)
        for k, x in zip(changing, known, strict=True):
            values[k] = x
        entries = iter(values)
        lower = [[next(entries) for _ in range(i + 1)] for i in range(size)]
        free = [next(entries) for _ in range(size)]
        f = list(f)
        for law, rows, data in zip(laws, places, datas, strict=True):
            latest_last = [*range(rows.start, size), *range(rows.start)]  # so that only the last sum has to wait for it
            u = [sum((lower[max(i, j)][min(i, j)] * f[j] for j in latest_last), start=free[i]) for i in rows]
            f[rows.start : rows.stop] = law.solved([next(entries) for _ in data], [f[i] for i in rows], u)
        return [f]

    impulses = loops.given([[0.0] * size if start is None else start])
    turns = [0] * sweeps
    kept = Rows(impulses, turns)
    loops.each([sweep], turns, [kept, Rows(loops.given([[held[k] for k in changing]]), turns)], [kept])
    return loops.values(impulses)[0]
