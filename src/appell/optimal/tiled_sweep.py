"""A stage of the sweep for many states, as a loop over products of square tiles.

The straight code of a stage (`sweep.stage`) has 116,000 operations for a quadruped with 36 states. Here S, H and V are
divided into tiles of b rows and columns, and each task of the loop computes one tile. Tasks of one kind share their
code. The entries of z are divided into copied coordinates, other states and inputs, each padded with zeros to whole
tiles. With N = Tᵀ V T, divided into copied coordinates c and the rows s to which S leads:

    M = N_ss S + [N_sc 0]          U = H + [N_cc + N_csS_c]           H' = U + Sᵀ M + Fᵀ G                         (1)
    L Lᵀ = H'_uu + ρ               Y = L⁻¹ H'_ux,  K = -L⁻ᵀ Y         V = H'_xx - Yᵀ Y                             (2)

F are the derivatives of contact forces and Fᵀ G the part of the Hessian that comes from them, if there are any.
All tasks of a knot are followed by those of the knot before it. Most of them are C + Σ Aᵣᵀ Bᵣ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from appell.algebra.loops import Loops, Rows, Table
from appell.algebra.scalar import Matrix, Scalar, Vector, minimum
from appell.optimal.sweep import cholesky, gains_of, lower, reduced, sparse_dot, transformed

TILE_SIZES = range(4, 9)


class Task(NamedTuple):
    """One iteration of the loop: a body, and the pairs of a table and a row that it reads and writes."""

    body: Callable[..., Sequence[Vector]]
    reads: Sequence[tuple[Table, int]]
    writes: Sequence[tuple[Table, int]]


class SweepTables(NamedTuple):
    """Tables of the sweep, one row per knot or one row, and the tables and rows that `unpack` reads at a knot."""

    value: Table
    constant: Table
    rho: Table
    gain: Table
    forward: Table
    knot: Callable[[int], list[tuple[Table, int]]]


def run(loops: Loops, tasks: Sequence[Task], when: Any) -> None:
    """Run tasks one after the other in one loop; those with one body and the same tables share their code."""
    columns: list[dict[tuple[int, int], list[int | None]]] = [{}, {}]  # of reads and writes, by table and its ordinal
    tables: dict[int, Table] = {}
    kinds: dict[Any, int] = {}
    first: list[Task] = []
    order = []
    for number, task in enumerate(tasks):
        keys = _keys(task.reads), _keys(task.writes)
        for side, pairs, used in zip(columns, (task.reads, task.writes), keys, strict=True):
            for key, (table, row) in zip(used, pairs, strict=True):
                if key not in side:
                    tables[key[0]], side[key] = table, [None] * len(tasks)
                side[key][number] = row
        order.append(kinds.setdefault((task.body, *keys), len(kinds)))
        if order[-1] == len(first):
            first.append(task)
    positions = [{key: k for k, key in enumerate(side)} for side in columns]

    def wrapped(task: Task) -> Callable:
        read, written = ([at[key] for key in _keys(x)] for at, x in zip(positions, task[1:], strict=True))

        def body(*rows: Vector) -> list[Vector]:
            results: list[Vector] = [[] for _ in columns[1]]
            for k, row in zip(written, task.body(*(rows[k] for k in read)), strict=True):
                results[k] = row
            return results

        body.__name__ = task.body.__name__
        return body

    reads, writes = ([Rows(tables[key[0]], rows) for key, rows in side.items()] for side in columns)
    loops.each([wrapped(task) for task in first], order, reads, writes, when=when)


def _keys(pairs: Sequence[tuple[Table, int]]) -> tuple[tuple[int, int], ...]:
    """Return the identity of every table, and how often it occurs before."""
    counts: dict[int, int] = {}
    keys = []
    for table, _ in pairs:
        number = counts.get(id(table), 0)
        counts[id(table)] = number + 1
        keys.append((id(table), number))
    return tuple(keys)


def tile_size(segments: Sequence[int]) -> int:
    """Return the size of tiles that needs the least padding; of several, the largest."""
    return min(TILE_SIZES, key=lambda b: (sum(-(-n // b) * b for n in segments) ** 3, -b))


class TiledSweep:
    """The tasks of a stage.

    Parameters
    ----------
    states, copied, inputs : sizes of x, of its copied coordinates (`sweep.Step`), and of u
    columns : columns of the right-hand side
    forces : rows of F and G
    unpack : returns value, step, cost, F and G from the rows of the value, the constant and those of `SweepTables.knot`
    """

    def __init__(self, states: int, copied: int, inputs: int, columns: int, forces: int, unpack: Callable):
        segments = (copied, states - copied, inputs)
        self.inputs, self.columns, self.unpack = inputs, columns, unpack
        self.b = b = tile_size(segments)
        starts = (0, copied, states)
        spans = [
            [[*range(k, min(k + b, start + n))] for k in range(start, start + n, b)]
            for start, n in zip(starts, segments, strict=True)
        ]
        self.copied, self.mapped, self.of_u = spans  # indices in z of every tile
        self.of_forces = [range(k, min(k + b, forces)) for k in range(0, forces, b)]
        self.all = [*self.copied, *self.mapped, *self.of_u]
        self.c, self.s, self.u = (len(x) for x in spans)
        self.x = self.c + self.s
        self.first_row = copied
        s, z = range(self.s), range(len(self.all))
        halves = [(i, j) for i in z for j in range(i + 1)]
        given = [("S", k, j) for k in s for j in z] + [("N", k, j) for k in s for j in s]
        given += [(name, k, j) for name in "FG" for k in range(len(self.of_forces)) for j in z]
        given += [("E", k, j) for k in s for j in range(self.c)] + [("A", *pair) for pair in halves]
        others = [("M", k, j) for k in s for j in z] + [("U", i, j) for i, j in halves if i < self.c]
        others += [("H", *pair) for pair in halves] + [("V", i, j) for i, j in halves if i < self.x]
        others += [(name, k, j) for name in "YK" for k in range(self.u) for j in range(self.x)] + [("zero", 0, 0)]
        self.given = given
        self.tile = {key: k for k, key in enumerate([*given, *others])}
        vectors = [("lin", k) for k in s] + [("r", j) for j in z]
        self.given_vectors = vectors
        later = [("R", j) for j in z] + [("g", k) for k in range(self.u)] + [("W", j) for j in range(self.x)]
        self.vector = {key: k for k, key in enumerate([*vectors, *later])}

    # ---- bodies

    def prepare(self, *rows: Vector) -> list[Vector]:
        """Return the tiles of S, N and H, the right-hand side, and the constant."""
        value, step, cost, F, G = self.unpack(*rows)
        after = transformed(value, step, cost)
        c, states = self.first_row, self.mapped

        def entry(i: int, j: int) -> Scalar:
            x = cost.hessian[i][j]
            return x + after.hessian[i][j] if i < c and j < c else x

        entries: dict[str, Any] = {
            "S": (lambda i, j: step.map[i - c][j], states, self.all),
            "F": (lambda i, j: F[i][j], self.of_forces, self.all),
            "G": (lambda i, j: G[i][j], self.of_forces, self.all),
            "N": (lambda i, j: after.hessian[i][j], states, states),
            "E": (lambda i, j: after.hessian[i][j], states, self.copied),
            "A": (entry, self.all, self.all),
        }
        tiles = []
        for name, i, j in self.given:
            get, across, down = entries[name]
            tiles.append(self._tile([[get(row, column) for column in down[j]] for row in across[i]]))
        vectors = [self._vector([after.linear[i] for i in span]) for span in states]
        for span in self.all:
            pairs = [(cost.linear[i], after.linear[i] if i < c else []) for i in span]
            vectors.append(self._vector([[x + y for x, y in zip(a, b, strict=True)] if b else a for a, b in pairs]))
        return [*tiles, *vectors, [*lower(after.constant), rows[1][-1]]]

    def _tile(self, rows: Matrix) -> list[Scalar]:
        b = self.b
        padded = [[*row, *[0.0] * (b - len(row))] for row in rows] + [[0.0] * b] * (b - len(rows))
        return [x for row in padded for x in row]

    def _vector(self, rows: Matrix) -> list[Scalar]:
        return [x for row in rows for x in row] + [0.0] * ((self.b - len(rows)) * self.columns)

    def plus(self, C: Vector, *factors: Vector) -> list[Vector]:
        """Return C + Σ Aᵣᵀ Bᵣ."""
        return [self._sum(C, factors, 1.0, symmetric=False)]

    def plus_symmetric(self, C: Vector, *factors: Vector) -> list[Vector]:
        """Return the same for a symmetric result."""
        return [self._sum(C, factors, 1.0, symmetric=True)]

    def minus(self, C: Vector, *factors: Vector) -> list[Vector]:
        """Return C - Σ Aᵣᵀ Bᵣ."""
        return [self._sum(C, factors, -1.0, symmetric=False)]

    def minus_symmetric(self, C: Vector, *factors: Vector) -> list[Vector]:
        """Return the same for a symmetric result."""
        return [self._sum(C, factors, -1.0, symmetric=True)]

    def _sum(self, C: Vector, factors: Sequence[Vector], sign: float, *, symmetric: bool) -> list[Scalar]:
        """Return C ± Σ Aᵣᵀ Bᵣ for tiles A, then B; B and C are tiles, or vectors with the columns of the right side."""
        b, half = self.b, len(factors) // 2
        width = len(C) // b
        A, B = factors[:half], factors[half:]

        def entry(i: int, j: int) -> Scalar:
            total = C[i * width + j]
            for left, right in zip(A, B, strict=True):
                for k in range(b):
                    term = left[k * b + i] * right[k * width + j]
                    total = total + term if sign > 0.0 else total - term
            return total

        if symmetric:
            half_rows = [[entry(i, j) for j in range(i + 1)] for i in range(b)]
            return [half_rows[max(i, j)][min(i, j)] for i in range(b) for j in range(b)]
        return [entry(i, j) for i in range(b) for j in range(width)]

    def factor(self, rho: Vector, constant: Vector, *rows: Vector) -> list[Vector]:
        """Factorise H'_uu + ρ and eliminate the right-hand side."""
        u, b, nu, columns = self.u, self.b, self.inputs, self.columns
        tiles = dict(zip([(i, j) for i in range(u) for j in range(i + 1)], rows, strict=False))
        H = [[tiles[i // b, j // b][i % b * b + j % b] for j in range(i + 1)] for i in range(nu)]
        right = [list(rows[len(tiles) + i // b][i % b * columns : (i % b + 1) * columns]) for i in range(nu)]
        L, inverse, smallest = cholesky([row[:-1] for row in H], [row[-1] + rho[1] for row in H])
        Y = reduced(L, inverse, right)
        feed = gains_of(L, inverse, Y)
        entries = [(i, j) for i in range(columns) for j in range(i + 1)]
        change = [sparse_dot([row[i] for row in Y], [row[j] for row in Y]) for i, j in entries]
        after = [x - y for x, y in zip(constant, change, strict=False)]
        spans = [range(k, min(k + b, nu)) for k in range(0, nu, b)]
        return [
            [*(x for row in L for x in row), *inverse],
            *(self._vector([Y[i] for i in span]) for span in spans),
            [x for row in feed for x in row],
            [*after, minimum(constant[-1], smallest)],
        ]

    def eliminate(self, factor: Vector, *tiles: Vector) -> list[Vector]:
        """Return the tiles of Y and K in a column."""
        b, nu = self.b, self.inputs
        right = [list(tiles[i // b][i % b * b : (i % b + 1) * b]) for i in range(nu)]
        L = [list(factor[i * (i - 1) // 2 : i * (i + 1) // 2]) for i in range(nu)]
        inverse = list(factor[nu * (nu - 1) // 2 :])
        Y = reduced(L, inverse, right)
        return [self._tile(rows[k : k + b]) for rows in (Y, gains_of(L, inverse, Y)) for k in range(0, nu, b)]

    def finish(self, *rows: Vector) -> list[Vector]:
        """Return the rows of the value and of the gains."""
        b, columns = self.b, self.columns
        halves = [(i, j) for i in range(self.x) for j in range(i + 1)]
        tiles = dict(zip(halves, rows, strict=False))
        W, K = rows[len(halves) : len(halves) + self.x], rows[len(halves) + self.x :]
        at = [(j, k) for j in range(self.x) for k in range(len(self.all[j]))]  # tile and entry of every state
        V = [tiles[i, j][p * b + q] for n, (i, p) in enumerate(at) for j, q in at[: n + 1]]
        linear = [x for i, p in at for x in W[i][p * columns : (p + 1) * columns]]
        gains = [K[i // b * self.x + j][i % b * b + q] for i in range(self.inputs) for j, q in at]
        return [[*V, *linear], gains]

    # ---- tasks

    def run(self, loops: Loops, tables: SweepTables, knots: int, when: Any) -> None:
        """Run the stages of all knots, the last first."""
        tiles, vectors = loops.table(len(self.tile), self.b**2), loops.table(len(self.vector), self.b * self.columns)
        nu = self.inputs
        factor = loops.table(1, nu * (nu + 1) // 2)
        zero = loops.given([[0.0] * self.b**2])
        loops.each([_copied], [0], [Rows(zero, [0])], [Rows(tiles, [self.tile["zero", 0, 0]])], when=when)
        tasks = [task for k in reversed(range(knots)) for task in self._tasks(tables, tiles, vectors, factor, k)]
        run(loops, tasks, when)

    def _tasks(self, t: SweepTables, tiles: Table, vectors: Table, factor: Table, k: int) -> list[Task]:
        c, s, x, u, z, f = self.c, self.s, self.x, self.u, len(self.all), len(self.of_forces)

        def at(*key: Any) -> tuple[Table, int]:
            return tiles, self.tile[key]

        def vector(*key: Any) -> tuple[Table, int]:
            return vectors, self.vector[key]

        once = t.constant, 0
        prepared = [*(at(*key) for key in self.given), *(vector(*key) for key in self.given_vectors), once]
        tasks = [Task(self.prepare, [(t.value, k + 1), once, *t.knot(k)], prepared)]
        for i in range(s):
            for j in range(z):
                before = at("E", i, j) if j < c else at("zero", 0, 0)
                factors = [*(at("N", r, i) for r in range(s)), *(at("S", r, j) for r in range(s))]
                tasks.append(Task(self.plus, [before, *factors], [at("M", i, j)]))
        for i in range(c):
            for j in range(i + 1):
                factors = [*(at("E", r, i) for r in range(s)), *(at("S", r, j) for r in range(s))]
                tasks.append(Task(self.plus, [at("A", i, j), *factors], [at("U", i, j)]))
        for i in range(z):
            for j in range(i + 1):
                body = self.plus_symmetric if i == j else self.plus
                factors = [*(at("S", r, i) for r in range(s)), *(at("F", r, i) for r in range(f))]
                factors += [*(at("M", r, j) for r in range(s)), *(at("G", r, j) for r in range(f))]
                tasks.append(Task(body, [at("U" if i < c else "A", i, j), *factors], [at("H", i, j)]))
            factors = [*(at("S", r, i) for r in range(s)), *(vector("lin", r) for r in range(s))]
            tasks.append(Task(self.plus, [vector("r", i), *factors], [vector("R", i)]))
        halves = [at("H", x + i, x + j) for i in range(u) for j in range(i + 1)]
        right, eliminated = ([vector(name, first + i) for i in range(u)] for name, first in (("R", x), ("g", 0)))
        reads = [(t.rho, 0), once, *halves, *right]
        tasks.append(Task(self.factor, reads, [(factor, 0), *eliminated, (t.forward, k), once]))
        for j in range(x):
            reads = [(factor, 0), *(at("H", x + i, j) for i in range(u))]
            tasks.append(Task(self.eliminate, reads, [at(name, i, j) for name in "YK" for i in range(u)]))
        for i in range(x):
            for j in range(i + 1):
                body = self.minus_symmetric if i == j else self.minus
                factors = [*(at("Y", r, i) for r in range(u)), *(at("Y", r, j) for r in range(u))]
                tasks.append(Task(body, [at("H", i, j), *factors], [at("V", i, j)]))
            factors = [*(at("Y", r, i) for r in range(u)), *eliminated]
            tasks.append(Task(self.minus, [vector("R", i), *factors], [vector("W", i)]))
        reads = [at("V", i, j) for i in range(x) for j in range(i + 1)]
        reads += [*(vector("W", i) for i in range(x)), *(at("K", i, j) for i in range(u) for j in range(x))]
        tasks.append(Task(self.finish, reads, [(t.value, k), (t.gain, k)]))
        return tasks


def _copied(row: Vector) -> list[Vector]:
    return [row]
