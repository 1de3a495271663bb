"""Functions bound to preallocated arrays."""

import gc
import sys

import numpy as np
import pytest

from appell.compile.native.bound import bind
from appell.compile.tape.ops import Op
from appell.errors import ArgumentError
from compile.llvm.tapes import arm_like, arm_looped, random_tape, tape
from compile.ufuncs import make_ufunc

kinds = pytest.mark.parametrize("kind", ["d", "f"])
formulas = pytest.mark.parametrize("like", [arm_like, arm_looped])


def fill(bound, names, seed):
    draw = np.random.default_rng(seed)
    for name in names:
        getattr(bound, name)[...] = draw.uniform(-3, 3, getattr(bound, name).shape)


@kinds
@pytest.mark.parametrize("outputs", [{"tau": (6,), "s": ()}, {"M": (20, 20)}], ids=str)
def test_a_binding_has_the_bits_of_the_ufunc(kind, outputs):
    of = random_tape(1, 300, {"q": (6,), "g": (), "A": (2, 3)}, outputs)
    bound, ufunc = bind(of, kind), make_ufunc(of)
    for seed in range(5):
        fill(bound, ("q", "g", "A"), seed)
        with np.errstate(all="ignore"):
            want = ufunc(bound.q, bound.g, bound.A)
        assert bound() is None
        for name, result in zip(outputs, want if len(outputs) > 1 else [want], strict=True):
            assert getattr(bound, name).dtype == kind
            np.testing.assert_array_equal(getattr(bound, name), result)


@kinds
def test_a_bound_program_has_the_bits_of_its_ufunc_and_propagates_nan(kind):
    bound, ufunc = bind(arm_looped(), kind), make_ufunc(arm_looped())
    for seed in range(5):
        fill(bound, ("q", "v", "a"), seed)
        bound()
        np.testing.assert_array_equal(bound.tau, ufunc(bound.q, bound.v, bound.a))
    bound.q[3] = np.nan
    bound()
    assert np.isnan(bound.tau).all()


@kinds
def test_a_number_that_is_not_finite_makes_all_results_nan(kind):
    bound = bind(tape({"x": (2,)}, {"y": (2,)}, [(Op.INPUT, 0), (Op.CONST, 1.0), (Op.NEG, 0)], [1, 2]), kind)
    bound.x = 1.0, np.nan
    bound()
    assert np.isnan(bound.y).all()
    bound.x = 1.0, 2.0
    bound()
    np.testing.assert_array_equal(bound.y, [1.0, -1.0])


def test_assignment_copies_and_never_replaces_an_array():
    bound = bind(arm_like())
    q = bound.q
    bound.q = range(6)
    assert bound.q is q
    np.testing.assert_array_equal(q, np.arange(6))
    with pytest.raises(ValueError, match="broadcast"):
        bound.q = np.ones(5)
    with pytest.raises(AttributeError, match="qq"):
        bound.qq = 1.0
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del bound.q


@formulas
def test_calls_do_not_change_the_reference_count_of_none(like):
    bound = bind(like())
    before = sys.getrefcount(None)
    for _ in range(10_000):
        bound()
    assert abs(sys.getrefcount(None) - before) < 1000


@formulas
def test_the_call_keeps_its_arrays_and_code_alive(like):
    bound = bind(like())
    bound.q = bound.v = bound.a = 0.3
    call, tau = bound.__call__, bound.tau
    call()
    want = tau.copy()
    del bound
    gc.collect()
    others = [bind(like(seed)) for seed in range(1, 4)]
    tau[:] = 0
    call()
    np.testing.assert_array_equal(tau, want)
    assert len(others) == 3


def test_two_bindings_of_one_tape_do_not_share_arrays():
    one, other = bind(arm_like()), bind(arm_like())
    one.q = 1.0
    assert (other.q == 0).all()


def test_repr_shows_the_name_and_the_arrays():
    assert repr(bind(arm_like())) == "<bound arm0 (q: (6,), v: (6,), a: (6,), tau: (6,))>"


def test_names_that_cannot_be_attributes_are_rejected():
    with pytest.raises(ArgumentError, match="'f' cannot be bound: x cannot be the name"):
        bind(tape({"x": ()}, {"x": ()}, [(Op.INPUT, 0)], [0]))


def test_other_number_formats_are_rejected_by_name():
    with pytest.raises(ArgumentError, match="cannot be compiled for int64"):
        bind(arm_like(), np.int64)
