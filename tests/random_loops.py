"""Random functions with loops: several kinds, tables updated in place, views of inputs, straight code in between."""

import random
from collections.abc import Callable

from appell.algebra.loops import Loops, Rows
from appell.algebra.scalar import cos, select, sin

SIZE = 6
SHAPES = {"q": SIZE, "p": ()}


def random_body(seed: int, angles: bool) -> Callable:
    """Return a function of q and p whose operations are drawn from the seed each time it runs."""

    def body(q, p, loops: Loops):
        return _Text(random.Random(seed), angles, loops).write(q, p)

    return body


class _Text:
    def __init__(self, draw: random.Random, angles: bool, loops: Loops):
        self.draw, self.angles, self.loops = draw, angles, loops
        self.tables: list[tuple] = []  # table, rows, width
        self.scalars: list = []

    def write(self, q, p):
        draw, loops = self.draw, self.loops
        self.scalars = [*q, p]
        self._given([[q[k], q[-1 - k]] for k in range(SIZE)])
        self._given([[x] for x in q[1 : 1 + draw.randint(1, SIZE - 1)]])
        for _ in range(draw.randint(1, 4)):
            self._loop()
            for table, _, _ in draw.sample(self.tables, min(2, len(self.tables))):
                self.scalars += loops.values(table)[-1]
            if draw.random() < 0.5:
                self._given([self._mixed(draw.sample(self.scalars, 3), 2) for _ in range(draw.randint(1, 3))])
            if draw.random() < 0.3:
                rows = loops.values(draw.choice(self.tables)[0])
                self._given([list(column) for column in zip(*rows, strict=True)])  # a view across the rows
        results = {f"t{k}": loops.values(table) for k, (table, _, _) in enumerate(self.tables)}
        return {**results, "s": self._mixed(self.scalars, 4) + draw.sample(self.scalars, 3) + [1.5]}

    def _given(self, rows):
        self.tables.append((self.loops.given(rows), len(rows), len(rows[0])))

    def _loop(self):
        draw, turns = self.draw, self.draw.choice((1, 2, 5, 9))
        kinds = [draw.randrange(3) for _ in range(turns)]
        reads = draw.sample(self.tables, draw.randint(1, min(3, len(self.tables))))
        writes = draw.sample(self.tables, draw.randint(0, 1))  # in place, and often also read
        width = draw.randint(1, 3)
        new = (self.loops.table(turns, width), turns, width)
        rows = [Rows(table, [draw.randrange(count) for _ in range(turns)]) for table, count, _ in (*reads, *writes)]
        backwards = list(range(turns))[:: draw.choice((1, -1))]
        widths = [width for _, _, width in writes] + [new[2]]
        steps = [self._step(draw.randrange(1 << 30), widths) for _ in range(3)]
        columns = draw.randint(0, 3)
        same = [draw.choice((0.0, 1.0, 0.5, None)) for _ in range(columns)]
        numbers = [[draw.uniform(-1, 1) if x is None else x for x in same] for _ in kinds] if columns else ()
        self.loops.each(steps, kinds, rows[: len(reads)], [*rows[len(reads) :], Rows(new[0], backwards)], numbers)
        self.tables.append(new)

    def _step(self, seed: int, widths: list[int]):
        def step(*rows):
            text = _Text(random.Random(seed), self.angles, self.loops)
            scalars = [x for row in rows for x in row]
            return [text._mixed(scalars, width) for width in widths]

        return step

    def _mixed(self, scalars: list, width: int) -> list:
        """Return scalars of moderate size computed from others; also constants and the scalars themselves."""
        draw, pool = self.draw, list(scalars)
        for _ in range(draw.randint(1, 8)):
            x, y = draw.choice(pool), draw.choice(pool)
            makers = [
                lambda x, y: 0.5 * (x + y),
                lambda x, y: x - 0.75 * y,
                lambda x, y: x * y / (1.0 + y * y),
                lambda x, y: select(x - y, x, y),
                lambda x, y: 0.25,
            ]
            pool.append(draw.choice(makers + [lambda x, y: sin(x) * cos(y)] * self.angles)(x, y))
        return [draw.choice(pool) for _ in range(width)]
