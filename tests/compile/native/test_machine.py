"""Machine code compiled in parts has the same bits for all chunks and parts."""

import subprocess
import sys
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

UNDIVIDED = Form(chunk=100_000)


@contextmanager
def parts(count: int):
    """Compile all code without a cache, in `count` parts."""
    divide = machine.split_module
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("APPELL_CACHE", "off")
        patch.setattr(machine, "MIN_PART_CHARACTERS", 1)
        patch.setattr(machine, "split_module", lambda text, max_parts: divide(text, count))
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
            want = make_ufunc(of, form=UNDIVIDED)(*x)
        with parts(count):
            results = make_ufunc(of, form=Form(chunk=chunk))(*x)
    for got, wanted in zip(results, want, strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("count", [2, 3, 20])
def test_a_single_call_has_the_same_bits_in_parts(count):
    of, x = arm_like(), np.random.default_rng(0).uniform(-3, 3, (3, 6))
    with parts(1):
        want = make_ufunc(of, form=UNDIVIDED)(*x)
    with parts(count):
        alone = bind(of)
    alone.q, alone.v, alone.a = x
    alone()
    np.testing.assert_array_equal(alone.tau, want)


def test_libraries_with_functions_of_the_same_names_do_not_interfere():
    x = np.random.default_rng(0).uniform(-2, 2, (3, 5, 6))
    with parts(1):
        want = [make_ufunc(arm_like(seed), form=UNDIVIDED)(*x) for seed in range(4)]
    with parts(4):
        made = [make_ufunc(arm_like(seed), form=Form(chunk=60)) for seed in range(4)]
    for ufunc, wanted in zip(made, want, strict=True):
        np.testing.assert_array_equal(ufunc(*x), wanted)
    del made[0], ufunc  # frees its code but not that of the others
    for ufunc, wanted in zip(made, want[1:], strict=True):
        np.testing.assert_array_equal(ufunc(*x), wanted)


@pytest.mark.parametrize("kernel", [loop_kernel, single_kernel])
@pytest.mark.parametrize("format", [DOUBLE, FLOAT])
def test_parts_refer_only_to_each_other(kernel, format):
    text = kernel(random_tape(1, 400), Form(chunk=50, format=format, fused=host().has_fma))
    with parts(5):
        made = machine.compile_objects(text, host())
    assert len(made) == 5
    wanted = {name for part in made for name in undefined_symbols(part)}
    functions = {line.split("@")[1].split("(")[0] for line in text.splitlines() if line.startswith("define internal")}
    assert wanted <= functions
    assert wanted


def test_dividing_a_module_does_not_change_its_instructions():
    text = loop_kernel(random_tape(2, 400), Form(chunk=50, fused=host().has_fma))
    with parts(6):
        divided = machine.split_module(text, 6)
    assert len(divided) == 6
    within = [
        [line for line in module.splitlines() if line[:1] in ("%", " ", "}")] for module in (text, "".join(divided))
    ]
    assert within[0] == within[1]
    assert "".join(divided).count("\ndefine ") + divided[0].startswith("define ") == text.count("\ndefine ")


def test_short_code_stays_in_one_part_and_long_code_does_not():
    tapes = (random_tape(0, 20, ops=ARITHMETIC), random_tape(0, 3000))
    short, long = (loop_kernel(of, Form(fused=host().has_fma)) for of in tapes)
    assert machine.split_module(short, 8) == [short]
    assert machine.split_module(long, 1) == [long]
    assert 1 < len(machine.split_module(long, 4)) <= 4


def test_unpacking_an_image_restores_its_objects():
    made = [b"\x7fELF one", b"", b"another" * 9]
    assert unpack_image(pack_image(made)) == (made, False)
    assert unpack_image(pack_image(made[:1], allocates=True)) == (made[:1], True)


def test_code_that_llvm_rejects_in_one_part_raises_an_error_with_its_name():
    text = loop_kernel(random_tape(0, 300), Form(chunk=60, fused=host().has_fma))
    assert text.count("= fsub") > 3
    with parts(4), pytest.raises(CompileError, match="LLVM rejected the code of 'mine'"):
        assemble(text.replace("= fsub", "= fnonsense"), host(), "mine")


REJECTED = """
import gc
from dataclasses import replace
from appell.compile.native.machine import assemble, host
from appell.errors import CompileError
for number in range(100):
    try:
        assemble("define void @f() {\\n ret void\\n}\\n", replace(host(), triple="sparc64-unknown-linux-gnu"), "mine")
    except CompileError as error:
        latest = error
    if number % 20 == 0:
        gc.collect()
print(latest.problem)
"""


def test_garbage_collection_after_an_error_of_llvm_does_not_end_the_process():
    done = subprocess.run([sys.executable, "-c", REJECTED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "LLVM rejected the code of 'mine'" in done.stdout


def test_compiler_threads_are_limited_by_cores_and_environment(monkeypatch):
    monkeypatch.delenv("APPELL_THREADS", raising=False)
    cores = machine.compiler_threads()
    assert cores >= 1
    monkeypatch.setenv("APPELL_THREADS", "1")
    assert machine.compiler_threads() == 1
    monkeypatch.setenv("APPELL_THREADS", str(cores + 7))
    assert machine.compiler_threads() == cores


@pytest.mark.parametrize("limit", ["0", "-1", "two", "1.5"])
def test_an_invalid_thread_limit_is_named(monkeypatch, limit):
    monkeypatch.setenv("APPELL_THREADS", limit)
    with pytest.raises(ArgumentError, match=f"APPELL_THREADS is '{limit}'"):
        machine.compiler_threads()


def test_one_thread_compiles_one_object(monkeypatch):
    monkeypatch.setenv("APPELL_THREADS", "1")
    text = loop_kernel(random_tape(0, 2000), Form(chunk=300, fused=host().has_fma))
    assert len(machine.compile_objects(text, host())) == 1


def test_several_threads_can_compile_long_functions_at_once():
    tapes = [random_tape(seed, 1200) for seed in range(4)]
    x = [np.random.default_rng(0).uniform(-2, 2, (7, *array.shape)) for array in tapes[0].inputs]
    results: dict[int, tuple] = {}

    def make(number: int) -> None:
        with np.errstate(all="ignore"):
            results[number] = make_ufunc(tapes[number])(*x)

    with parts(3):
        threads = [threading.Thread(target=make, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for number, of in enumerate(tapes):
        with parts(1), np.errstate(all="ignore"):
            want = make_ufunc(of, form=UNDIVIDED)(*x)
        for got, wanted in zip(results[number], want, strict=True):
            np.testing.assert_array_equal(got, wanted)


def test_the_derivatives_of_a_robot_have_the_same_bits_in_parts():
    function = ap.Dynamics(ap.load("panda")).inverse_dynamics.jacobian("q", "v", "a")
    x = np.random.default_rng(0).uniform(-2, 2, (3, 9, 7))
    with parts(1):
        want = make_ufunc(function.fused)(*x)
    with parts(5):
        results = make_ufunc(function.fused)(*x)
    for got, wanted in zip(results, want, strict=True):
        np.testing.assert_array_equal(got, wanted)
