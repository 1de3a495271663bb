"""An input that is not finite makes all results of its sample NaN and changes no other sample."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import appell as ap
from appell.compile.llvm.body import PROPAGATING, witnesses
from appell.compile.llvm.lanes import Form
from appell.compile.tape.evaluate import MEANING
from appell.compile.tape.ops import ARITY, Op
from compile.llvm.tapes import binary, random_tape, tape
from compile.ufuncs import make_ufunc

NOT_FINITE = [math.nan, math.inf, -math.inf]
OTHERS = [0.0, -0.0, 1.0, -2.5, 1e-320, 1e308, -1e308, *NOT_FINITE]


@pytest.mark.parametrize(("op", "operand"), [(op, k) for op, known in PROPAGATING.items() for k in known])
def test_an_operand_that_is_not_finite_leaves_nothing_finite(op, operand):
    for bad in NOT_FINITE:
        for others in np.ndindex(*[len(OTHERS)] * (ARITY[op] - 1)):
            operands = [OTHERS[k] for k in others]
            operands.insert(operand, bad)
            assert not math.isfinite(MEANING[op](*operands)), operands


@settings(max_examples=60, deadline=None)
@given(
    register=st.sampled_from([16, 32, 64]),
    chunk=st.sampled_from([30, 100_000]),
    seed=st.integers(0, 3),
    kind=st.sampled_from(["d", "f"]),
    nonfinite=st.dictionaries(
        st.integers(0, 18), st.tuples(st.integers(0, 9), st.sampled_from(NOT_FINITE)), max_size=3
    ),
)
def test_every_input_that_is_not_finite_makes_all_results_of_its_sample_nan(register, chunk, seed, kind, nonfinite):
    ufunc = make_ufunc(random_tape(seed, 90), form=Form(register, chunk))
    draw = np.random.default_rng(seed)
    x = draw.uniform(-2, 2, (19, 10)).astype(kind)
    with np.errstate(all="ignore"):
        want = ufunc(x[:, :3], x[:, 3:6], x[:, 6:].reshape(19, 2, 2))
        for sample, (element, bad) in nonfinite.items():
            x[sample, element] = bad
        got = ufunc(x[:, :3], x[:, 3:6], x[:, 6:].reshape(19, 2, 2))
    for one, other in zip(got, want, strict=True):
        for sample in range(19):
            if sample in nonfinite:
                assert np.isnan(one[sample]).all()
            else:
                np.testing.assert_array_equal(one[sample], other[sample])


@pytest.mark.parametrize("register", [16, 32, 64])
def test_an_overflow_gives_infinity_and_raises_no_other_flag(register):
    product = make_ufunc(binary(Op.MUL), form=Form(register))
    x = np.array([1e200, 2.0, -1e200, 3.0, 1.0])
    with np.errstate(invalid="raise", over="ignore"):
        np.testing.assert_array_equal(product(x, np.abs(x)), [np.inf, 4.0, -np.inf, 9.0, 1.0])


def test_denominators_and_selections_do_not_make_a_witness():
    nodes = [(Op.INPUT, 0), (Op.INPUT, 1), (Op.INPUT, 2), (Op.DIV, 0, 1), (Op.SELECT, 2, 3, 3), (Op.ADD, 3, 4)]
    of = tape({"x": (3,)}, {"y": (2,)}, nodes, [4, 5])
    assert witnesses(of) == ([], [0, 1, 2])
    with np.errstate(invalid="ignore"):
        assert np.isnan(make_ufunc(of)([1.0, np.inf, 1.0])).all()


def test_one_torque_is_the_witness_of_nearly_all_inputs_of_an_arm():
    """The first angle rotates the entire arm and changes no torque."""
    of = ap.Dynamics(ap.load("puma")).inverse_dynamics.fused
    results, inputs = witnesses(of)
    assert results == [of.results[0]]
    assert inputs == [0]
