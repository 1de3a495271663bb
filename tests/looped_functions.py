"""A function with all kinds of loops, for tests of the code that runs it."""

from appell.algebra.loops import Loops, Rows
from appell.algebra.scalar import cos, sin

SIZE = 7
SHAPES = {"q": SIZE, "v": SIZE}


def chain(q, v, loops: Loops):
    """Alternate two kinds of loop bodies, with a table updated in place and straight code before, between and after."""
    product = q[0] * v[1]
    pairs = loops.given(list(zip(q, v, strict=True)))
    made = loops.given([[a * b + 1.0, 3.0] for a, b in zip(q, v, strict=True)])
    total = loops.given([[0.5, product]])
    results = loops.table(SIZE, 2)

    def bent(pair, row, so_far, numbers):
        return [pair[0] * numbers[0] + sin(row[0]) * numbers[1], row[1] * cos(so_far[0])], [so_far[0] + pair[1], 0.25]

    def straight(pair, row, so_far, numbers):
        return [pair[0] - numbers[0], row[0]], [so_far[0] + 1.0, so_far[1] + row[1]]

    kinds = [k % 2 for k in range(SIZE)]
    numbers = [[0.5 * k, 2.0] if kinds[k] == 0 else [0.1 * k] for k in range(SIZE)]
    every, none = range(SIZE), [0] * SIZE
    reads = [Rows(pairs, every), Rows(made, every[::-1]), Rows(total, none)]
    loops.each([bent, straight], kinds, reads, [Rows(results, every), Rows(total, none)], numbers)
    [between] = loops.values(total)
    mixed = between[0] * product + between[1]
    loops.each(
        [lambda so_far, row: [[so_far[0] * row[0], so_far[1] + row[1]]]],
        none,
        [Rows(total, none), Rows(results, every)],
        [Rows(total, none)],
    )
    [after] = loops.values(total)
    return {
        "ends": [mixed, between[1], after[0], after[1] + between[0] / product, 2.0],
        "rows": loops.values(results),
        "same": q,
    }
