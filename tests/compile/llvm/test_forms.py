"""Every form of a kernel gives the same bits for all register widths and chunks."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import appell as ap
from appell.compile.llvm.kernel import loop_kernel
from appell.compile.llvm.lanes import DOUBLE, FLOAT, Form, Lanes
from appell.compile.llvm.transpose import groups
from appell.compile.llvm.tuning import Tuning, tunings
from appell.compile.native.bound import bind
from appell.compile.native.kernels import load_kernel
from appell.compile.native.machine import allowed_features, describe
from appell.compile.tape.evaluate import evaluate
from appell.errors import ArgumentError
from compile.llvm.tapes import arm_like, random_tape
from compile.ufuncs import make_ufunc

LARGE_CACHE_BYTES = 1 << 30  # of an L1 cache in which results of every size are prefetched
TUNINGS = st.builds(
    Tuning,
    register=st.sampled_from([16, 32, 64]),
    chunk=st.just(300),
    undivided=st.integers(1, 4),
    held=st.sampled_from([5, 14, 27]),
    squares=st.booleans(),
    unrolled=st.sampled_from([0, 5, 150]),
    angles=st.sampled_from([1, 4, 45]),
)
FORMS = st.builds(
    Form,
    register=st.sampled_from([16, 32, 64]),
    chunk=st.sampled_from([30, 200, 100_000]),
    cache=st.sampled_from([0, LARGE_CACHE_BYTES]),
    tuning=TUNINGS,
)
LAYOUTS = st.sampled_from(["rows", "columns", "every second", "backwards"])
kinds = pytest.mark.parametrize("kind", ["d", "f"])


def laid_out(x, layout):
    """Return the same numbers in another memory layout."""
    if layout == "columns":
        return np.asfortranarray(x)
    if layout == "every second":
        return np.repeat(np.repeat(x, 2, axis=0), 2, axis=-1)[::2, ..., ::2]
    return np.ascontiguousarray(x[::-1])[::-1] if layout == "backwards" else x


@settings(max_examples=40, deadline=None)
@given(
    form=FORMS,
    seed=st.integers(0, 2),
    count=st.integers(0, 35),
    kind=st.sampled_from(["d", "f"]),
    sizes=st.sampled_from([(3, 3), (1, 7), (6, 16), (9, 2), (17, 45)]),
    layouts=st.tuples(LAYOUTS, LAYOUTS),
    angle=st.sampled_from([1.0, 1e6, 1e15]),
)
def test_a_batch_has_the_bits_of_its_samples_in_every_form(form, seed, count, kind, sizes, layouts, angle):
    size, results = sizes
    of = random_tape(seed, 8 * size + 60, {"x": (size,), "y": ()}, {"z": (results,), "w": (2, 3)})
    draw = np.random.default_rng(count)
    x, y = (draw.uniform(-2, 2, (count, *array.shape)).astype(kind) for array in of.inputs)
    y *= (kind == "d" and angle) or 1
    alone = bind(of, np.dtype(kind))
    want = [np.empty((count, *array.shape), kind) for array in of.outputs]
    with np.errstate(all="ignore"):
        for sample in range(count):
            alone.x[:], alone.y[...] = x[sample], y[sample]
            alone()
            want[0][sample], want[1][sample] = alone.z, alone.w
        out = [laid_out(np.full_like(array, 7.0), layouts[1]) for array in want]
        make_ufunc(of, form=form)(laid_out(x, layouts[0]), y, out=tuple(out))
    for got, wanted in zip(out, want, strict=True):
        np.testing.assert_array_equal(got, wanted)


@kinds
@pytest.mark.parametrize("name", ["puma", "panda"])
def test_the_functions_of_a_robot_have_the_same_bits_in_every_form(name, kind):
    robot = ap.load(name)
    dyn, draw = ap.Dynamics(robot), np.random.default_rng(0)
    arguments = [draw.uniform(-3, 3, (37, size)).astype(kind) for size in (robot.nq, robot.nv, robot.nv)]
    for function in (dyn.inverse_dynamics, dyn.mass_matrix, dyn.forward_dynamics):
        given = arguments[: len(function.inputs)]
        want = make_ufunc(function.fused, form=Form(chunk=100_000))(*given)
        forms = (Form(16, 300), Form(32, 300), Form(64, 300), Form(64, 100_000), Form(64, 50, LARGE_CACHE_BYTES))
        for form in (*forms, *(Form(row.register, row.chunk, tuning=row) for row in tunings().values())):
            np.testing.assert_array_equal(make_ufunc(function.fused, form=form)(*given), want)


@kinds
@pytest.mark.parametrize("register", [16, 32, 64])
def test_a_sample_that_is_not_finite_is_nan_in_every_form(kind, register):
    ufunc = make_ufunc(arm_like(), form=Form(register, 100))
    x = np.random.default_rng(0).uniform(-3, 3, (3, 21, 6)).astype(kind)
    want = ufunc(*x)
    for sample in (0, 7, 15, 20):
        changed = x.copy()
        changed[sample % 3, sample, 2] = np.nan
        got = ufunc(*changed)
        assert np.isnan(got[sample]).all()
        np.testing.assert_array_equal(np.delete(got, sample, 0), np.delete(want, sample, 0))


def test_a_wide_kernel_agrees_with_the_interpreter():
    of = random_tape(4, 60)
    x = [np.random.default_rng(0).uniform(-2, 2, (9, *array.shape)) for array in of.inputs]
    with np.errstate(all="ignore"):
        results = make_ufunc(of, form=Form(64))(*x)
    for sample in range(9):
        for got, want in zip(results, evaluate(of, *(each[sample] for each in x)), strict=True):
            np.testing.assert_allclose(got[sample], want, rtol=1e-9, atol=1e-9)


def test_a_form_changes_the_text_of_its_kernel():
    of = random_tape(3, length=400)
    assert "<8 x double>" in loop_kernel(of, Form(64))
    assert "<16 x float>" in loop_kernel(of, Form(64, format=FLOAT))
    assert "@body_chunk9(" in loop_kernel(of, Form(chunk=30))
    assert "@body_chunk0(" not in loop_kernel(of, Form(chunk=100_000))


def test_a_batch_that_does_not_fill_its_last_block_writes_nothing_beyond_its_end():
    of = random_tape(3, length=400)
    ufunc, plain = make_ufunc(of, form=Form(64, 30, LARGE_CACHE_BYTES)), make_ufunc(of, form=Form(64, 100_000))
    for count in (0, 1, 7, 8, 9, 15, 16, 17, 24, 25, 40):
        x = [np.random.default_rng(count).uniform(-2, 2, (count, *array.shape)) for array in of.inputs]
        x[0][count // 2 : count // 2 + 1] = np.nan
        space = [np.full((count + 3, *array.shape), 7.0) for array in of.outputs]
        with np.errstate(all="ignore"):
            want = plain(*x)
            ufunc(*x, out=tuple(each[:count] for each in space))
        for got, wanted in zip(space, want, strict=True):
            np.testing.assert_array_equal(got[:count], wanted)
            assert (got[count:] == 7.0).all()


def test_forms_of_one_tape_have_different_cache_entries(monkeypatch):
    keys = []
    monkeypatch.setattr("appell.compile.cache.object_cache.fetch", lambda key, make: keys.append(key) or make())
    forms = (Form(16), Form(32), Form(64), Form(32, 100), Form(32, cache=1))
    for form in forms:
        load_kernel(random_tape(0, 20), float, "loop", form)
        load_kernel(random_tape(0, 20), float, "single", form)
    assert len(set(keys)) == 2 * len(forms)


def test_groups_cover_a_row_and_nothing_else():
    for format, register, size, squares in product((DOUBLE, FLOAT), (16, 32, 64), range(1, 60), (False, True)):
        parts = groups(size, Lanes(format, register), squares)
        covered = {k for start, elements in parts for k in range(start, start + elements)}
        assert covered == (set(range(size)) if parts else set()), (format, register, size, squares)
        assert bool(parts) == (size >= 16 // format.itemsize), (format, register, size, squares)


def test_only_wide_registers_write_as_many_elements_as_they_have_lanes():
    """In narrow ones such groups are slower."""
    assert groups(45, Lanes(DOUBLE, 64), squares=True)[0] == (0, 8)
    assert groups(45, Lanes(FLOAT, 64), squares=True)[0] == (0, 16)
    for format, register in product((DOUBLE, FLOAT), (16, 32)):
        assert groups(45, Lanes(format, register), squares=True) == groups(45, Lanes(format, register))


class Features(dict):
    """Features of a processor in the format of LLVM."""

    def flatten(self):
        return ",".join(("+" if has else "-") + name for name, has in self.items())


def test_wide_registers_are_used_where_the_machine_has_them():
    plain = describe("x86_64-linux", "haswell", Features(fma=True, avx512f=False), arm=False)
    wide = describe("x86_64-linux", "skylake-avx512", Features(fma=True, avx512f=True), arm=False)
    neon = describe("aarch64-linux", "neoverse-n1", Features(neon=True), arm=True)
    assert (plain.kind, wide.kind, neon.kind) == ("avx2", "avx512", "neon")
    assert (plain.register, wide.register, neon.register) == (32, 64, 32)
    assert "-prefer-256-bit" in wide.features
    assert "-prefer-256-bit" not in plain.features + neon.features
    assert plain.has_fma
    assert neon.has_fma


def test_a_register_of_samples_that_the_machine_splits_holds_fewer_values():
    row = tunings()["avx2"]
    assert [row.registers(size) for size in (8, 32, 64)] == [row.held, row.held, row.held // 2]


def test_instructions_can_be_limited_to_avx2(monkeypatch):
    features = Features({"fma": True, "avx2": True, "avx512f": True, "avx512vl": True, "avx10.1": False})
    assert allowed_features(features) is features
    monkeypatch.setenv("APPELL_INSTRUCTIONS", "avx2")
    limited = allowed_features(features)
    assert [name for name, has in limited.items() if has] == ["fma", "avx2"]
    target = describe("x86_64-linux", "znver5", limited, arm=False)
    assert (target.kind, target.register) == ("avx2", 32)
    assert "-avx512f" in target.features.split(",")
    monkeypatch.setenv("APPELL_INSTRUCTIONS", "sse")
    with pytest.raises(ArgumentError, match=r"APPELL_INSTRUCTIONS is 'sse'.*\n.*'avx2'"):
        allowed_features(features)
