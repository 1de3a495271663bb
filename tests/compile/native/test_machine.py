"""Machine code made in parts: the same bits whatever the chunks and the parts; nothing shared, nothing lost."""

import threading
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import appell as ap
from appell.compile.llvm.kernel import loop_kernel, single_kernel
from appell.compile.llvm.lanes import DOUBLE, FLOAT, Form
from appell.compile.native import machine
from appell.compile.native.bound import bind
from appell.compile.native.machine import assemble, host, pack_image, unpack_image
from appell.errors import ArgumentError, CompileError
from compile.llvm.tapes import ARITHMETIC, arm_like, random_tape
from compile.object_file import undefined_symbols
from compile.ufuncs import make_ufunc

WHOLE = Form(chunk=100_000)


@contextmanager
def parts(count: int):
    """All code is made now, in so many parts."""
    divide = machine.split_module
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("APPELL_CACHE", "off")
        patch.setattr(machine, "MIN_PART_CHARACTERS", 1)
        patch.setattr(machine, "split_module", lambda text, most: divide(text, count))
        yield


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 3),
    chunk=st.sampled_from([7, 40, 150, 100_000]),
    count=st.integers(2, 9),
    kind=st.sampled_from(["d", "f"]),
    angle=st.sampled_from([1.0, 1e15]),
)
def test_bits_depend_on_neither_chunks_nor_parts(seed, chunk, count, kind, angle):
    of = random_tape(seed, 300)
    draw = np.random.default_rng(seed)
    x = [draw.uniform(-2, 2, (11, *array.shape)).astype(kind) for array in of.inputs]
    x[0] *= angle if kind == "d" else 1
    with np.errstate(all="ignore"):
        with parts(1):
            want = make_ufunc(of, form=WHOLE)(*x)
        with parts(count):
            found = make_ufunc(of, form=Form(chunk=chunk))(*x)
    for got, wanted in zip(found, want, strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("count", [2, 3, 20])
def test_a_single_call_has_the_same_bits_in_parts(count):
    of, x = arm_like(), np.random.default_rng(0).uniform(-3, 3, (3, 6))
    with parts(1):
        want = make_ufunc(of, form=WHOLE)(*x)
    with parts(count):
        alone = bind(of)
    alone.q, alone.v, alone.a = x
    alone()
    np.testing.assert_array_equal(alone.tau, want)


def test_libraries_with_functions_of_the_same_names_do_not_meet():
    x = np.random.default_rng(0).uniform(-2, 2, (3, 5, 6))
    with parts(1):
        want = [make_ufunc(arm_like(seed), form=WHOLE)(*x) for seed in range(4)]
    with parts(4):
        made = [make_ufunc(arm_like(seed), form=Form(chunk=60)) for seed in range(4)]
    for ufunc, wanted in zip(made, want, strict=True):
        np.testing.assert_array_equal(ufunc(*x), wanted)
    del made[0], ufunc  # its code goes, and that of the others stays
    for ufunc, wanted in zip(made, want[1:], strict=True):
        np.testing.assert_array_equal(ufunc(*x), wanted)


@pytest.mark.parametrize("kernel", [loop_kernel, single_kernel])
@pytest.mark.parametrize("number", [DOUBLE, FLOAT])
def test_parts_want_nothing_but_each_other(kernel, number):
    text = kernel(random_tape(1, 400), number, host().has_fma, Form(chunk=50))
    with parts(5):
        made = machine.compile_objects(text, host())
    assert len(made) == 5
    wanted = {name for part in made for name in undefined_symbols(part)}
    functions = {line.split("@")[1].split("(")[0] for line in text.splitlines() if line.startswith("define internal")}
    assert wanted <= functions
    assert wanted


def test_no_instruction_is_lost_or_changed_by_a_division():
    text = loop_kernel(random_tape(2, 400), DOUBLE, host().has_fma, Form(chunk=50))
    with parts(6):
        divided = machine.split_module(text, 6)
    assert len(divided) == 6
    within = [
        [line for line in whole.splitlines() if line[:1] in ("%", " ", "}")] for whole in (text, "".join(divided))
    ]
    assert within[0] == within[1]
    assert "".join(divided).count("\ndefine ") + divided[0].startswith("define ") == text.count("\ndefine ")


def test_short_code_stays_in_one_part_and_long_code_does_not():
    tapes = (random_tape(0, 20, ops=ARITHMETIC), random_tape(0, 3000))
    short, long = (loop_kernel(of, DOUBLE, host().has_fma, Form()) for of in tapes)
    assert machine.split_module(short, 8) == [short]
    assert machine.split_module(long, 1) == [long]
    assert 1 < len(machine.split_module(long, 4)) <= 4


def test_an_image_gives_back_its_objects():
    made = [b"\x7fELF one", b"", b"another" * 9]
    assert unpack_image(pack_image(made)) == (made, False)
    assert unpack_image(pack_image(made[:1], allocates=True)) == (made[:1], True)


def test_what_llvm_refuses_in_one_part_is_an_error_with_a_name():
    text = loop_kernel(random_tape(0, 300), DOUBLE, host().has_fma, Form(chunk=60))
    assert text.count("= fsub") > 3
    with parts(4), pytest.raises(CompileError, match="LLVM refused the code of 'mine'"):
        assemble(text.replace("= fsub", "= fnonsense"), host(), "mine")


def test_threads_are_limited_by_the_processes_cores_and_by_the_environment(monkeypatch):
    monkeypatch.delenv("APPELL_THREADS", raising=False)
    cores = machine.compiler_threads()
    assert cores >= 1
    monkeypatch.setenv("APPELL_THREADS", "1")
    assert machine.compiler_threads() == 1
    monkeypatch.setenv("APPELL_THREADS", str(cores + 7))
    assert machine.compiler_threads() == cores


@pytest.mark.parametrize("limit", ["0", "-1", "two", "1.5"])
def test_a_limit_that_is_no_number_of_threads_is_named(monkeypatch, limit):
    monkeypatch.setenv("APPELL_THREADS", limit)
    with pytest.raises(ArgumentError, match=f"APPELL_THREADS is '{limit}'"):
        machine.compiler_threads()


def test_one_thread_makes_one_object(monkeypatch):
    monkeypatch.setenv("APPELL_THREADS", "1")
    text = loop_kernel(random_tape(0, 2000), DOUBLE, host().has_fma, Form(chunk=300))
    assert len(machine.compile_objects(text, host())) == 1


def test_several_threads_that_make_long_functions_at_once_all_get_theirs():
    tapes = [random_tape(seed, 1200) for seed in range(4)]
    x = [np.random.default_rng(0).uniform(-2, 2, (7, *array.shape)) for array in tapes[0].inputs]
    found: dict[int, tuple] = {}

    def make(number: int) -> None:
        with np.errstate(all="ignore"):
            found[number] = make_ufunc(tapes[number])(*x)

    with parts(3):
        threads = [threading.Thread(target=make, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for number, of in enumerate(tapes):
        with parts(1), np.errstate(all="ignore"):
            want = make_ufunc(of, form=WHOLE)(*x)
        for got, wanted in zip(found[number], want, strict=True):
            np.testing.assert_array_equal(got, wanted)


def test_the_derivatives_of_a_robot_have_the_same_bits_in_parts():
    function = ap.Dynamics(ap.load("panda")).inverse_dynamics.jacobian("q", "v", "a")
    x = np.random.default_rng(0).uniform(-2, 2, (3, 9, 7))
    with parts(1):
        want = make_ufunc(function.fused)(*x)
    with parts(5):
        found = make_ufunc(function.fused)(*x)
    for got, wanted in zip(found, want, strict=True):
        np.testing.assert_array_equal(got, wanted)
