"""A scan gives the results of calling its step repeatedly, to the last bit."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appell.algebra.scalar import select
from appell.compile.function import Function
from appell.compile.llvm.lanes import Form
from appell.compile.llvm.scan import interleaved_blocks
from appell.compile.native import parallel
from appell.compile.native.parallel import Batch
from appell.compile.scan import Scan
from appell.errors import CompileError, TraceError
from compile.llvm.tapes import random_tape
from compile.llvm.test_forms import FORMS, LAYOUTS, laid_out
from compile.scan.steps import assert_same, drawn, pendulums, repeated, rolled
from compile.ufuncs import make_ufunc

PENDULUMS, ROLLED = pendulums(), rolled()
scans = pytest.mark.parametrize("scan", [PENDULUMS, ROLLED], ids=["tape", "program"])
kinds = pytest.mark.parametrize("kind", ["d", "f"])


def test_repeated_addition_of_integers_gives_their_cumulative_sums():
    """Exact arithmetic, compared with NumPy."""
    scan = Scan.of("count", {"n": 2}, {}, {"u": 2}, lambda n, u: {"n": [a + b for a, b in zip(n, u, strict=True)]})
    u = np.random.default_rng(0).integers(-9, 9, (21, 12, 2)).astype(float)
    for every in (1, 3, 12):
        want = 5.0 + np.cumsum(u, axis=1)[:, every - 1 :: every]
        np.testing.assert_array_equal(scan([5.0, 5.0], u, every=every), want)


def test_a_rotation_repeated_is_a_power_of_its_matrix():
    """x → A x a hundred times, within rounding errors that grow with the number of steps."""
    rotation = np.array([[0.9, -0.4], [0.4, 0.9]]) / np.hypot(0.9, 0.4)
    scan = Scan.of(
        "rotate",
        {"x": 2},
        {},
        {"t": ()},
        lambda x, t: {"x": [rotation[k, 0] * x[0] + rotation[k, 1] * x[1] for k in range(2)], "clock": t},
    )
    start = np.random.default_rng(1).normal(size=(9, 2))
    x, clock = scan(start, np.arange(100.0))
    for k in (0, 1, 50, 99):
        want = start @ np.linalg.matrix_power(rotation, k + 1).T
        np.testing.assert_allclose(x[:, k], want, rtol=0, atol=4 * (k + 2) * 2.0**-52 * np.abs(start).max())
    np.testing.assert_array_equal(clock, np.broadcast_to(np.arange(100.0), (9, 100)))


@scans
@kinds
@pytest.mark.parametrize("count", [1, 3, 8, 9, 16, 17, 40])
def test_a_batch_of_any_size_has_the_bits_of_a_python_loop(scan, kind, count):
    arguments = drawn(scan, count, 12, kind)
    for every in (1, 4, 12):
        assert_same(scan(*arguments, every=every), repeated(scan, arguments, every))


@kinds
def test_interleaved_short_steps_have_the_same_bits(kind):
    """Up to four blocks of registers: none of them full, some, or all."""
    scan = pendulums("short", size=1)
    assert interleaved_blocks(scan.step.fused) > 1
    for count in (1, 7, 8, 9, 31, 33, 65, 129):
        arguments = drawn(scan, count, 6, kind)
        assert_same(scan(*arguments, every=2), repeated(scan, arguments, 2))


@settings(max_examples=25, deadline=None)
@given(
    form=FORMS,
    count=st.integers(0, 35),
    kind=st.sampled_from(["d", "f"]),
    sizes=st.sampled_from([(3, 3, 1), (1, 7, 2), (6, 2, 6), (17, 1, 19)]),
    every=st.sampled_from([1, 2, 6]),
    layouts=st.tuples(LAYOUTS, LAYOUTS, LAYOUTS),
    same=st.booleans(),
)
def test_every_form_and_layout_has_the_same_bits(form, count, kind, sizes, every, layouts, same):
    size, further, driven = sizes
    inputs = {"x": (size,), "n": (2, 1), "p": (), "u": (driven,), "t": ()}
    of = random_tape(size, 9 * size + 60, inputs, {"x": (size,), "n": (2, 1), "z": (further,)})
    scan, draw = Scan(Function(of), 2, 1), np.random.default_rng(count)
    shapes = [(count, size), (count, 2, 1), (count,), (1 if same else count, 6, driven), (count, 6)]
    arguments = [draw.uniform(-1, 1, shape).astype(kind) for shape in shapes]
    moved = [laid_out(x, layouts[k % 2]) if x.ndim > 1 else x for k, x in enumerate(arguments)]
    arrays = scan.arguments.in_rows(moved, every)
    with np.errstate(all="ignore"):
        want = repeated(scan, arguments, every)
        out = tuple(laid_out(np.full_like(array, 7.0), layouts[2]) for array in want)
        make_ufunc(scan.step.fused, form=form, scan=(2, 1))(*arrays, out=out)
    assert_same(out, want)


@scans
def test_results_do_not_depend_on_the_register_width(scan):
    arguments = drawn(scan, 21, 6)
    want = repeated(scan, arguments, 2)
    for form in (Form(16), Form(32), Form(64)):
        assert_same(make_ufunc(scan.step.fused, form=form, scan=(2, 1))(*scan.arguments.in_rows(arguments, 2)), want)


@scans
def test_a_batch_can_be_split_anywhere_and_run_by_several_threads(scan):
    arguments = drawn(scan, 61, 10)
    want = scan(*arguments, every=5)
    for cuts in ([0, 1, 61], [0, 8, 30, 61], [0, 59, 61]):
        slices = [slice(*pair) for pair in pairwise(cuts)]
        with ThreadPoolExecutor(len(slices)) as pool:
            parts = list(pool.map(lambda s: scan(*(x[s] for x in arguments), every=5), slices))
        assert_same(tuple(np.concatenate(each) for each in zip(*parts, strict=True)), want)


@scans
@kinds
def test_results_do_not_depend_on_the_number_of_threads(scan, kind, monkeypatch):
    """Batches down to a few samples are divided among threads."""
    monkeypatch.setattr(parallel, "WORTHWHILE_NS", 0.0)
    for count, steps in ((3, 4000), (40, 1000), (301, 200)):
        arguments = drawn(scan, count, steps, kind)
        arguments[2] = np.abs(arguments[2])  # damping must be positive
        want = scan(*arguments, every=50, threads=1)
        for threads in (2, 3):
            assert_same(scan(*arguments, every=50, threads=threads), want)


@pytest.mark.parametrize(("size", "pieces"), [(100, 8), (1000, 8), (17, 3), (8, 1), (20, 3)])
def test_threads_receive_full_registers_of_samples(size, pieces):
    """A register of eight lanes takes as long with one sample as with eight."""
    slices = [block[0] for block in Batch((size,), ()).blocks(pieces, 8)]
    assert [k for part in slices for k in range(size)[part]] == list(range(size))
    assert sum(-(-len(range(size)[part]) // 8) for part in slices) == -(-size // 8)


def test_steps_can_be_divided_between_calls():
    q, v, p, t, u = drawn(PENDULUMS, 11, 20)
    undivided = PENDULUMS(q, v, p, t, u)
    first = PENDULUMS(q, v, p, t[:, :7], u[:, :7])
    second = PENDULUMS(first[0][:, -1], first[1][:, -1], p, t[:, 7:], u[:, 7:])
    assert_same(tuple(np.concatenate(pair, axis=1) for pair in zip(first, second, strict=True)), undivided)


@scans
def test_batch_axes_broadcast(scan):
    """A grid of initial states and parameters with a common clock."""
    draw = np.random.default_rng(3)
    q, v, p = draw.uniform(-1, 1, (4, 1, 3)), draw.uniform(-1, 1, 3), draw.uniform(0, 1, (5, 2))
    t, u = np.arange(6.0), draw.uniform(-1, 1, (4, 1, 6, 3))
    got = scan(q, v, p, t, u, every=3)
    assert got[0].shape == (4, 5, 2, 3)
    assert_same(got, repeated(scan, (q, v, p, t, u), 3))


def test_integers_lists_and_mixed_types_are_computed_in_float64():
    _, v, p, t, u = drawn(PENDULUMS, 3, 4)
    want = PENDULUMS(np.ones(3), v, p, t, u)
    assert_same(PENDULUMS([1, 1, 1], v.tolist(), p, t, u), want)
    assert PENDULUMS(np.ones(3, "f"), v, p, t, u)[0].dtype == np.float64
    assert_same(PENDULUMS(v=v, q=np.ones(3), p=p, u=u, t=t), want)


def test_results_are_written_to_out():
    arguments = drawn(PENDULUMS, 5, 6)
    want = PENDULUMS(*arguments, every=2)
    out = tuple(np.full((2, *x.shape), 7.0)[:, ..., ::-1][0] if x.ndim > 2 else np.empty_like(x) for x in want)
    got = PENDULUMS(*arguments, every=2, out=out)
    assert all(one is other for one, other in zip(got, out, strict=True))
    assert_same(out, want)


def test_no_steps_or_samples_give_empty_results():
    q, v, p, t, u = drawn(PENDULUMS, 5, 6)
    assert [x.shape for x in PENDULUMS(q, v, p, t[:, :0], u[:, :0])] == [(5, 0, 3), (5, 0, 3), (5, 0), (5, 0)]
    assert PENDULUMS(q[:0], v[:0], p[:0], t[:0], u[:0], every=3)[0].shape == (0, 2, 3)


@scans
@kinds
def test_only_a_sample_that_is_not_finite_becomes_nan(scan, kind):
    for argument, step in ((0, 0), (2, 0), (4, 3)):
        arguments = drawn(scan, 19, 6, kind)
        want = scan(*arguments)
        arguments[argument][(7, step)] = np.inf if argument else np.nan
        with np.errstate(invalid="ignore"):
            got = scan(*arguments)
        for one, other in zip(got, want, strict=True):
            assert np.isnan(one[7, step:]).all()
            np.testing.assert_array_equal(one[7, :step], other[7, :step])
            np.testing.assert_array_equal(np.delete(one, 7, 0), np.delete(other, 7, 0))


def test_a_sample_that_overflows_becomes_nan():
    """x → x² overflows; results from which folding has removed x become NaN as well."""
    scan = Scan.of("square", {"x": ()}, {}, {"t": ()}, lambda x, t: {"x": select(x - 1.0, x * x, x), "five": 5.0})
    with np.errstate(over="ignore", invalid="ignore"):
        x, five = scan([0.5, 1e100, 1.0], np.zeros(4))
    np.testing.assert_array_equal(x, [[0.5] * 4, [1e200, np.inf, np.nan, np.nan], [1.0] * 4])
    np.testing.assert_array_equal(five, [[5.0] * 4, [5.0, 5.0, np.nan, np.nan], [5.0] * 4])


def test_carried_states_may_be_permuted():
    """Carried results may be inputs: none is overwritten before it is read."""

    def body(a, b, c, t):
        return {"a": b, "b": c, "c": a}

    for loops in (False, True):
        of = (lambda *x: body(*x[:4])) if loops else body
        scan = Scan.of("swap", {"a": 2, "b": 2, "c": 2}, {}, {"t": ()}, of, loops=loops)
        start = np.arange(6.0).reshape(3, 2)
        for steps in (1, 2, 3, 4):
            got = [x[-1] for x in scan(*start, np.zeros(steps))]
            np.testing.assert_array_equal(got, np.roll(start, -steps, axis=0))


def test_different_numbers_of_carried_and_held_inputs_are_different_kernels():
    """One step with three divisions of its inputs into carried, held and driven."""
    step = Function.of("mix", {"a": (), "b": (), "c": (), "t": ()}, lambda a, b, c, t: {"x": a + b, "y": b + c})
    given = (1.0, 2.0, 4.0, np.zeros(3))
    assert [x.tolist() for x in Scan(step, 2, 1)(*given)] == [[3.0, 9.0, 19.0], [6.0, 10.0, 14.0]]
    assert [x.tolist() for x in Scan(step, 1, 2)(*given)] == [[3.0, 5.0, 7.0], [6.0, 6.0, 6.0]]
    driven = np.array([4.0, 5.0, 6.0])
    assert [x.tolist() for x in Scan(step, 1, 1)(1.0, 2.0, driven, driven)] == [[3.0, 5.0, 7.0], [6.0, 7.0, 8.0]]


def test_a_state_may_be_larger_than_the_stack_limit():
    size = 2000
    scan = Scan.of("long", {"x": size}, {}, {"u": ()}, lambda x, u: {"x": [*x[1:], x[0] + u]})
    x = scan(np.arange(float(size)), np.full(3, 0.5))
    np.testing.assert_array_equal(x[-1], [*range(3, size), 0.5, 1.5, 2.5])


def test_a_scan_pickles_by_content():
    arguments = drawn(ROLLED, 5, 4)
    other = pickle.loads(pickle.dumps(ROLLED))
    assert_same(other(*arguments), ROLLED(*arguments))
    assert repr(other) == repr(ROLLED) == "<Scan rolled: carried q[3], v[3]; held p[2]; driven t, u[3]>"
    assert other.__name__ == "rolled"


def test_the_ufunc_of_a_scan_has_rows_of_steps_as_core_axes():
    assert PENDULUMS.ufunc.signature == "(3),(3),(2),(r,e),(r,e,3)->(r,3),(r,3),(r),(r)"


@pytest.mark.parametrize(
    ("counts", "message"),
    [((0, 1), "no carried array"), ((2, 2), "no driven array"), ((2, 0), "is y"), ((3, 0), "2 results for 3")],
)
def test_a_step_that_cannot_be_repeated_is_rejected(counts, message):
    step = Function.of(
        "odd", {"x": 2, "n": (), "m": (), "t": ()}, lambda x, n, m, t: {"x": [m + a for a in x], "y": [n, t]}
    )
    with pytest.raises(CompileError, match=message):
        Scan(step, *counts)


def test_a_step_that_omits_a_carried_state_is_rejected_by_name():
    with pytest.raises(TraceError, match=r"fall of robot 'x' does not return the carried v"):
        Scan.of("fall", {"q": 1, "v": 1}, {}, {"t": ()}, lambda q, v, t: {"q": q}, owner="robot 'x'")
