"""Robots that differ only in numbers share machine code, and each computes with its own numbers."""

import numpy as np
import pytest

import appell as ap
from appell.compile.llvm.lanes import Form
from appell.compile.native import kernels
from appell.compile.native.gufunc import UfuncLoops
from appell.compile.tape.tape import LITERALS


@pytest.fixture
def compilations(monkeypatch, tmp_path):
    """Names of the formulas that are compiled, with an empty cache."""
    monkeypatch.setenv("APPELL_CACHE", str(tmp_path))
    names, assemble = [], kernels.assemble
    monkeypatch.setattr(
        kernels, "assemble", lambda text, target, name: names.append(name) or assemble(text, target, name)
    )
    return names


def arguments(function, dtype=float):
    rng = np.random.default_rng(1)
    return [rng.uniform(-1.0, 1.0, (19, *array.shape)).astype(dtype) for array in function.inputs]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_another_payload_is_not_compiled_and_gives_the_bits_of_its_own_compilation(compilations, monkeypatch, dtype):
    loads = [ap.load("puma").with_payload(mass, com=(0.02, 0.01, 0.05)) for mass in (0.7, 2.1)]
    first, second = (ap.Dynamics(robot).inverse_dynamics for robot in loads)
    x = arguments(first, dtype)
    torques = first(*x)
    compiled = len(compilations)
    shared = second(*x)
    assert len(compilations) == compiled
    assert not np.allclose(shared, torques, atol=0.1)
    monkeypatch.setattr("appell.compile.cache.object_cache.fetch", lambda key, make: make())
    separate = np.empty_like(shared)
    UfuncLoops(second.fused).ufunc()(*x, out=separate)
    assert len(compilations) == compiled + 1
    np.testing.assert_array_equal(shared, separate)


def test_loops_and_single_samples_read_the_numbers_of_their_robot(compilations):
    for robot in (ap.load("puma").with_payload(m, com=(0.01, 0.02, 0.03)) for m in (1.0, 1.5)):
        function = ap.Dynamics(robot).forward_dynamics
        x = arguments(function)
        np.testing.assert_array_equal(function(*(each[4] for each in x)), function(*x)[4])


def test_a_number_that_becomes_zero_has_another_structure():
    def formula(c):
        return ap.trace("f", [ap.Array("x", (2,))], lambda x: {"y": c * x[0] + 3.5 * x[1]})

    assert formula(2.25).structure == formula(7.0).structure != formula(0.0).structure
    assert formula(2.25).structure != formula(3.5).structure  # one number, used twice
    assert all(formula(2.25).structure != formula(c).structure for c in LITERALS)
    assert formula(2.25).constants == (2.25, 3.5)


@pytest.mark.parametrize("register", [16, 32, 64])
def test_tables_of_every_width_are_filled(compilations, register):
    def ufunc(scale):
        tape = ap.trace("f", [ap.Array("x", (2,))], lambda x: {"y": scale * ap.sin(x[0]) + 0.3 * scale * x[1]})
        return UfuncLoops(tape, form=Form(register)).ufunc()

    x = np.random.default_rng(0).uniform(-1.0, 1.0, (11, 2))
    for scale in (1.5, 2.5):
        np.testing.assert_allclose(ufunc(scale)(x), scale * np.sin(x[:, 0]) + 0.3 * scale * x[:, 1], rtol=1e-14)
    assert len(compilations) == 1
