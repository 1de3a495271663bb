"""Loops over columns of matrices, and loops that are skipped: every backend gives the bits of the interpreter."""

import ctypes

import numpy as np
import pytest

from appell.algebra.loops import UNROLLED, Columns, LoopPart, Rows
from appell.algebra.scalar import select, sqrt
from appell.compile.function import Function
from appell.compile.llvm.lanes import Form
from appell.compile.program.reverse import Gradient, NotReversibleError, reverse
from appell.compile.program.roll import roll
from appell.compile.scan import Scan
from appell.compile.tape.evaluate import evaluate
from appell.compile.tape.formula import count, fused, unrolled
from appell.compile.tape.tape import arrays
from appell.errors import TraceError
from c_libraries import address, library
from compile.program.interpreter import run
from compile.ufuncs import make_ufunc


def dot(x, y):
    total = x[0] * y[0]
    for a, b in zip(x[1:], y[1:], strict=True):
        total = total + a * b
    return total


def rows_of(flat, size):
    return [flat[k : k + size] for k in range(0, len(flat), size)]


def flat(matrix):
    return [x for row in matrix for x in row]


def product(A, b):
    return [[dot(row, b) for row in rows_of(A, len(b))]]


def transposed_product(A, b):
    return [[dot(column, b) for column in zip(*rows_of(A, len(A) // len(b)), strict=True)]]


def cholesky(M):
    """The lower triangle, row by row, with inverse pivots on the diagonal."""
    n = int(len(M) ** 0.5)
    L = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i):
            L[i][j] = (M[i * n + j] - sum((L[i][k] * L[j][k] for k in range(j)), 0.0)) * L[j][j]
        L[i][i] = 1.0 / sqrt(M[i * n + i] - sum((L[i][k] * L[i][k] for k in range(i)), 0.0))
    return [[L[i][j] for i in range(n) for j in range(i + 1)]]


def half_solve(L, b):
    """L⁻¹ b."""
    x = []
    for i in range(len(b)):
        row = L[i * (i + 1) // 2 :]
        x.append((b[i] - sum((row[k] * x[k] for k in range(i)), 0.0)) * row[i])
    return [x]


def riccati(n, m, steps):
    """A sweep V ← Q + AᵀVA - YᵀY with Y = L⁻¹ BᵀVA and LLᵀ = R + BᵀVB, over `steps` stages."""
    shapes = {"A": (steps, n, n), "B": (steps, n, m), "Q": (n, n), "R": (m, m)}

    def body(A, B, Q, R, loops):
        A, B = (loops.given([flat(matrix) for matrix in each]) for each in (A, B))
        Q, R = (loops.given([flat(each)]) for each in (Q, R))
        V, VA, VB = loops.table(1, n * n), loops.table(1, n * n), loops.table(1, n * m)
        M, H, L, Y = (
            loops.table(1, m * m),
            loops.table(1, m * n),
            loops.table(1, m * (m + 1) // 2),
            loops.table(1, m * n),
        )
        loops.each([lambda q: [q]], [0], [Columns(Q, [0], n)], [Columns(V, [0], n)])

        def subtract(q, Y, A, va, y):
            return [[q[i] + w - z for i, (w, z) in enumerate(zip(product_t(A, va), product_t(Y, y), strict=True))]]

        def product_t(A, b):
            return transposed_product(A, b)[0]

        def weight(B, vb, r):
            return [[x + y for x, y in zip(r, product_t(B, vb), strict=True)]]

        order, only = range(steps - 1, -1, -1), [0] * steps
        loops.interleaved(
            [
                LoopPart(product, [Rows(V, only), Columns(A, order, n)], [Columns(VA, only, n)]),
                LoopPart(product, [Rows(V, only), Columns(B, order, m)], [Columns(VB, only, m)]),
                LoopPart(weight, [Rows(B, order), Columns(VB, only, m), Columns(R, only, m)], [Columns(M, only, m)]),
                LoopPart(transposed_product, [Rows(B, order), Columns(VA, only, n)], [Columns(H, only, n)]),
                LoopPart(cholesky, [Rows(M, only)], [Rows(L, only)]),
                LoopPart(half_solve, [Rows(L, only), Columns(H, only, n)], [Columns(Y, only, n)]),
                LoopPart(
                    subtract,
                    [Columns(Q, only, n), Rows(Y, only), Rows(A, order), Columns(VA, only, n), Columns(Y, only, n)],
                    [Columns(V, only, n)],
                ),
            ]
        )
        return {"V": rows_of(loops.values(V)[0], n), "Y": rows_of(loops.values(Y)[0], n)}

    return shapes, body


def in_place(n, m):
    """B ← L⁻¹ B in place, several times, in one loop of two kinds with numbers."""
    shapes = {"M": (n, n), "B": (n, m)}

    def body(M, B, loops):
        L, X = loops.table(1, n * (n + 1) // 2), loops.table(1, n * m)
        loops.each([lambda row: [row]], [0], [Rows(loops.given([flat(B)]), [0])], [Rows(X, [0])])
        loops.each([cholesky], [0], [Rows(loops.given([flat(M)]), [0])], [Rows(L, [0])])

        def scaled(L, b, numbers):
            return [[numbers[0] * x for x in b]]

        def solved(L, b, numbers):
            return [[x + numbers[0] for x in half_solve(L, b)[0]]]

        column = Columns(X, [0] * 5, m)
        loops.each(
            [scaled, solved],
            [1, 0, 1, 1, 0],
            [Rows(L, [0] * 5), column],
            [column],
            [[0.5], [2.0], [0.25], [3.0], [1.5]],
        )
        return {"X": rows_of(loops.values(X)[0], m)}

    return shapes, body


def samples(shapes, count=11, seed=5):
    draw = np.random.default_rng(seed)
    made = [0.4 * draw.normal(size=(count, *shape)) for shape in shapes.values()]
    for k, name in enumerate(shapes):
        if name in "QRM":
            made[k] = made[k] @ made[k].swapaxes(1, 2) + np.eye(made[k].shape[1])
    return made


def bits(results):
    return [np.ascontiguousarray(result).tobytes() for result in results]


SIZES = [(riccati(6, 3, 2)), riccati(3, 2, 1), in_place(4, 7), in_place(2, 13)]
IDS = ["riccati-6-3", "riccati-3-2", "in-place-7", "in-place-13"]


@pytest.mark.parametrize(("shapes", "body"), SIZES, ids=IDS)
def test_every_form_of_machine_code_has_the_bits_of_the_interpreter(shapes, body):
    function = Function.of("columns", shapes, body, loops=True)
    program, given = fused(function.formula), samples(shapes)
    wanted = [run(program, *sample) for sample in zip(*given, strict=True)]
    for form in (Form(), Form(register=64), Form(chunk=5)):
        result = make_ufunc(program, form=form)(*given)
        result = result if isinstance(result, tuple) else (result,)
        for k, row in enumerate(wanted):
            assert bits(part[k] for part in result) == bits(row)
    for k, row in enumerate(wanted):
        result = function(*(x[k] for x in given))
        assert bits(result if isinstance(result, tuple) else (result,)) == bits(row)


@pytest.mark.parametrize(("shapes", "body"), SIZES[:3], ids=IDS[:3])
def test_the_program_and_its_tape_compute_what_the_body_computes_on_numbers(shapes, body):
    program = roll("columns", arrays(shapes), body)
    given = [x[0] for x in samples(shapes)]
    wanted = body(*(x.tolist() for x in given), UNROLLED)
    for results in (run(program, *given), evaluate(unrolled(program), *given)):
        for result, name in zip(results, wanted, strict=True):
            np.testing.assert_allclose(result, np.array(wanted[name]), rtol=1e-12, atol=1e-13)
    assert count(program).total >= 0.9 * count(unrolled(program)).total


def test_a_riccati_sweep_is_that_of_numpy():
    shapes, body = riccati(6, 3, 2)
    A, B, Q, R = samples(shapes)
    V = Q
    for k in (1, 0):
        a, b = A[:, k], B[:, k]
        gain = np.linalg.solve(R + b.swapaxes(1, 2) @ V @ b, b.swapaxes(1, 2) @ V @ a)
        V = Q + a.swapaxes(1, 2) @ V @ (a - b @ gain)
    np.testing.assert_allclose(Function.of("sweep", shapes, body, loops=True)(A, B, Q, R).V, V, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("case", [0, 2], ids=["riccati", "in-place"])
def test_exported_c_has_the_bits_of_the_machine_code(case, tmp_path):
    shapes, body = SIZES[case]
    function = Function.of("sweep", shapes, body, loops=True)
    given = samples(shapes, count=19)
    exported = library(function.to_c("sweep"), tmp_path)
    wanted = function(*given)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    results = [np.empty(x.shape[1:]) for x in wanted]
    for k in range(19):
        exported.sweep(*(address(np.ascontiguousarray(x[k])) for x in given), *map(address, results))
        assert bits(results) == bits(x[k] for x in wanted)
    columns = [np.ascontiguousarray(np.moveaxis(x, 0, -1)) for x in given]
    batch = [np.empty((*x.shape[1:], 19)) for x in wanted]
    exported.sweep_batch(ctypes.c_size_t(19), *map(address, columns), *map(address, batch))
    assert bits(batch) == bits(np.moveaxis(x, 0, -1) for x in wanted)


def skipping(x, state, loops):
    """Newton's iteration for a root of x, four at a time, until the residual is small; skipped after that."""
    table, flag = loops.table(5, 1), loops.table(1, 1)
    given, number = loops.given([[x]]), loops.given([[state]])
    loops.each([lambda y: [y]], [0], [Rows(number, [0])], [Rows(table, [0])])
    loops.each(
        [lambda x, y: [[select(abs(y[0] * y[0] - x[0]) - 1e-9, 1.0, 0.0)]]],
        [0],
        [Rows(given, [0]), Rows(table, [0])],
        [Rows(flag, [0])],
    )
    loops.each(
        [lambda y, x: [[0.5 * (y[0] + x[0] / y[0])]]],
        [0] * 4,
        [Rows(table, range(4)), Rows(given, [0] * 4)],
        [Rows(table, range(1, 5))],
        when=Rows(flag, 0),
    )
    due, (first, *_, last) = loops.values(flag)[0][0], [row[0] for row in loops.values(table)]
    return {"state": select(due, last, first), "due": due}


def test_a_loop_is_skipped_if_its_flag_is_zero_in_all_samples(tmp_path):
    scan = Scan.of(
        "newton", {"state": ()}, {"x": ()}, {"t": ()}, lambda state, x, t, loops: skipping(x, state, loops), loops=True
    )
    x, start, clock = np.array([1.0, 2.0, 9.0, 1e6, 4.0]), np.array([1.0, 1.0, 3.0, 1.0, 1.5]), np.zeros(8)
    result = scan(start, x, clock)
    np.testing.assert_allclose(result.state[:, -1], np.sqrt(x), rtol=1e-8)
    assert result.due.sum(axis=1).tolist() == [0, 1, 0, 4, 1]
    step = Function(scan.step.formula)
    assert [stage.flag is not None for stage in step.formula.stages].count(True) == 1
    for k in range(5):
        assert bits(scan(start[k], x[k], clock)) == bits(part[k] for part in result)
    exported = library(step.to_c("newton"), tmp_path)
    out, due = np.empty(()), np.empty(())
    for k in range(5):
        value = start[k].copy()
        for row in range(8):
            exported.newton(
                ctypes.c_double(value), ctypes.c_double(x[k]), ctypes.c_double(0.0), address(out), address(due)
            )
            assert (out, due) == (result.state[k, row], result.due[k, row])
            value = out.copy()
    batch = np.empty((2, 5))
    exported.newton_batch(ctypes.c_size_t(5), *map(address, (start, x, np.zeros(5), batch[0], batch[1])))
    assert bits(batch) == bits((result.state[:, 0], result.due[:, 0]))


def test_columns_are_differentiated_in_reverse_and_skipped_loops_are_not():
    shapes, body = riccati(3, 2, 1)

    def total(*arguments):
        return {"s": dot(*[flat(body(*arguments)["V"])] * 2)}

    function = Function.of("total", shapes, total, loops=True)
    given = [x[0] for x in samples(shapes)]
    by_a = function.gradient("A")(*given).reshape(1, 3, 3)
    step = 1e-6
    for i, j in ((0, 0), (2, 1)):
        change = np.zeros((1, 3, 3))
        change[0, i, j] = step
        slope = (function(given[0] + change, *given[1:]) - function(given[0] - change, *given[1:])) / (2 * step)
        np.testing.assert_allclose(by_a[0, i, j], slope, rtol=1e-7)
    program = roll("skip", arrays({"x": (), "state": ()}), skipping)
    with pytest.raises(NotReversibleError, match="may be skipped"):
        reverse(program, "back", program.inputs, {"state": 1.0}, [Gradient("dx", "x")])


def wrong(writes, reads=lambda table: [Columns(table, [0], 3)], flag=None):
    def body(x, loops):
        table = loops.given([[*x]])
        result = loops.table(1, 6)
        loops.each([lambda *rows: [rows[0]]], [0], reads(table), writes(result), when=flag(table) if flag else None)
        return {"y": loops.values(result)[0]}

    return body


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (wrong(lambda t: [Columns(t, [0], 2)]), "columns"),
        (
            wrong(lambda t: [Columns(t, [0], 4)], lambda t: [Columns(t, [0], 4)]),
            "4 of 4 columns.* with rows of 6",
        ),
        (wrong(lambda t: [Rows(t, [0])]), "writes complete rows"),
        (wrong(lambda t: [Columns(t, [0], 3)], flag=lambda t: (t, 0)), "flag of a loop"),
    ],
)
def test_wrong_columns_and_flags_are_rejected(body, message):
    with pytest.raises(TraceError, match=message):
        roll("wrong", arrays({"x": 6}), body)


def test_a_column_that_reads_what_another_one_writes_is_rejected():
    def body(x, loops):
        table = loops.table(1, 6)
        loops.each([lambda row: [row]], [0], [Rows(loops.given([[*x]]), [0])], [Rows(table, [0])])
        loops.each(
            [lambda row, c: [[row[0] + c[0], c[1]]]],
            [0],
            [Rows(table, [0]), Columns(table, [0], 3)],
            [Columns(table, [0], 3)],
        )
        return {"y": loops.values(table)[0]}

    with pytest.raises(Exception, match="reads in one column what it writes in another"):
        roll("shared", arrays({"x": 6}), body)
