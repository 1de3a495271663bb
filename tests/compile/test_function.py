"""The face of a compiled function: calling, naming the wrong argument, pickling."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from appell.compile.count import OpCount
from appell.compile.function import Function
from appell.compile.tape import Array
from appell.compile.trace import trace
from appell.errors import ArgumentError


@pytest.fixture
def function():
    inputs = [Array("q", (2,)), Array("s", ())]
    return Function(trace("f", inputs, lambda q, s: {"r": [q[0] * s, q[1] + s, s]}), "Scales.", "robot 'toy'")


def test_it_is_a_ufunc_underneath(function):
    assert isinstance(function.ufunc, np.ufunc)
    assert function.ufunc.signature == "(2),()->(3)"
    assert function.ufunc.types == ["ff->f", "dd->d"]


def test_leading_axes_are_batch_and_broadcast(function):
    q, s = np.arange(24.0).reshape(4, 1, 3, 2), np.arange(15.0).reshape(5, 3)
    result = function(q, s)
    assert result.shape == (4, 5, 3, 3)
    np.testing.assert_array_equal(result[..., 0], q[..., 0] * s)


def test_out_is_filled_and_returned(function):
    out = np.empty((3,))
    assert function([1.0, 2.0], 3.0, out=out) is out
    assert out.tolist() == [3.0, 5.0, 3.0]


def test_lists_and_integers_are_accepted(function):
    assert function([1, 2], 3).tolist() == [3.0, 5.0, 3.0]
    assert function([1, 2], 3).dtype == np.float64


def test_single_precision_stays_single(function):
    assert function(np.float32([1, 2]), np.float32(3)).dtype == np.float32


def test_arguments_may_be_named(function):
    assert function(s=3.0, q=[1.0, 2.0]).tolist() == [3.0, 5.0, 3.0]
    assert function([1.0, 2.0], s=3.0).tolist() == [3.0, 5.0, 3.0]
    with pytest.raises(ArgumentError, match="q twice"):
        function([1.0, 2.0], 1.0, q=[1.0, 2.0])


def test_a_wrong_shape_names_the_argument_its_shape_and_the_owner(function):
    with pytest.raises(ValueError, match=r"f of robot 'toy': argument q has shape \(7, 3\)") as caught:
        function(np.zeros((7, 3)), 1.0)
    assert "axis of 2" in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (([1.0, 2.0],), "lacks s"),
        ((), "lacks q, s"),
        ((["a", "b"], 1.0), "argument q holds"),
        (([1j, 2.0], 1.0), "argument q holds complex128"),
        (([[1.0], [1.0, 2.0]], 1.0), "argument q is nested unevenly"),
        ((None, 1.0), "argument q holds object"),
    ],
)
def test_bad_arguments_are_named(function, arguments, complaint):
    with pytest.raises(ArgumentError, match=complaint):
        function(*arguments)


def test_batches_that_do_not_broadcast_are_a_value_error(function):
    with pytest.raises(ValueError, match="broadcast"):
        function(np.zeros((3, 2)), np.zeros(4))


def test_an_empty_batch_gives_an_empty_result(function):
    assert function(np.zeros((0, 2)), 1.0).shape == (0, 3)


def test_it_pickles_by_content(function):
    again = pickle.loads(pickle.dumps(function))
    assert again([1.0, 2.0], 3.0).tolist() == [3.0, 5.0, 3.0]
    assert repr(again) == repr(function) == "<Function f(q[2], s) -> r[3] of robot 'toy'>"


def test_it_binds_to_arrays_of_its_own(function):
    bound = function.bind()
    bound.q[:], bound.s[...] = [1.0, 2.0], 3.0
    bound()
    assert bound.r.tolist() == [3.0, 5.0, 3.0]


def test_counts_are_of_the_tape_before_fusing(function):
    assert function.count() == OpCount(mul=1, add=1)
    total = OpCount(mul=1, trig=2) + OpCount(mul=2, add=5)
    assert total == OpCount(mul=3, add=5, trig=2)
    assert str(total).split() == ["mul", "add", "div", "sqrt", "trig", "select", "3", "5", "0", "0", "2", "0"]
