"""Compiled functions: calls, errors that name the wrong argument, pickling."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import pydoc
import re
import weakref

import numpy as np
import pytest

import appell as ap
from appell.compile.arguments import call_signature
from appell.compile.function import Function
from appell.compile.native import gufunc
from appell.compile.tape.count import OpCount
from appell.errors import ArgumentError, TraceError


@pytest.fixture
def function():
    def body(q, s):
        return {"r": [q[0] * s, q[1] + s, s]}

    return Function.of("f", {"q": 2, "s": ()}, body, "Scales.", "robot 'toy'")


def test_the_function_wraps_a_ufunc(function):
    assert isinstance(function.ufunc, np.ufunc)
    assert function.ufunc.signature == "(2),()->(3)"
    assert function.ufunc.types == ["dd->d", "ff->f"]


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


def test_derived_functions_are_cached_and_freed_with_the_function(function):
    for derive in (function.jacobian, function.pullback, function.directional, function.hessian):
        assert derive("q") is derive("q")
        assert derive("q") is not derive("s")
    assert pickle.loads(pickle.dumps(function)).jacobian("q") is not function.jacobian("q")
    copied = Function(function.formula)
    derived = weakref.ref(copied.jacobian("q"))
    del copied
    gc.collect()
    assert derived() is None


def test_arguments_may_be_named(function):
    assert function(s=3.0, q=[1.0, 2.0]).tolist() == [3.0, 5.0, 3.0]
    assert function([1.0, 2.0], s=3.0).tolist() == [3.0, 5.0, 3.0]
    with pytest.raises(ArgumentError, match="got argument q twice"):
        function([1.0, 2.0], 1.0, q=[1.0, 2.0])


def test_a_wrong_shape_names_the_argument_its_shape_and_the_owner(function):
    with pytest.raises(ValueError, match=r"f of robot 'toy': argument q has shape \(7, 3\)") as caught:
        function(np.zeros((7, 3)), 1.0)
    assert "axis of 2" in str(caught.value)


LONG_DOUBLE = pytest.mark.skipif(
    np.finfo(np.longdouble).bits == np.finfo(float).bits, reason="a long double of this system is a double"
)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (([1.0, 2.0],), "missing argument s"),
        ((), "missing arguments q, s"),
        ((["a", "b"], 1.0), "argument q holds"),
        (([1j, 2.0], 1.0), "argument q holds complex128"),
        (([[1.0], [1.0, 2.0]], 1.0), "argument q is nested unevenly"),
        ((None, 1.0), "argument q holds object"),
        pytest.param((np.ones(2, np.longdouble), 1.0), "f of robot 'toy': ufunc 'f' not supported", marks=LONG_DOUBLE),
        ((np.ones(2), 1.0, np.ones(3), 4.0), "got 4 arguments"),
    ],
)
def test_bad_arguments_are_named(function, arguments, complaint):
    with pytest.raises(ArgumentError, match=complaint):
        function(*arguments)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("batch", [(), (20,), (4, 5)])
@pytest.mark.parametrize("results", [1, 2])
def test_results_are_written_to_out_and_never_to_a_further_argument(results, batch, kind):
    def body(q):
        return dict(zip("rs", ([q[1], q[0] * q[1]], [q[0], 2.0]), strict=True)) if results > 1 else {"r": [q[1], q[0]]}

    function = Function.of("f", {"q": 2}, body, owner="robot 'toy'")
    q, kept = np.full((*batch, 2), 3.0, kind), [np.ones((*batch, 2), kind) for _ in range(3)]
    message = r"f of robot 'toy' got {} arguments.\n.*expected *q\[2\]\n.*`out=`"
    for _ in range(2):  # the first call compiles
        for further in range(1, 4):
            with pytest.raises(ArgumentError, match=message.format(1 + further)):
                function(q, *kept[:further])
            with pytest.raises(ArgumentError, match=message.format(1 + further)):
                function(q.tolist(), *kept[:further], threads=2)
        expected = function(q)
        assert all((each == 1.0).all() for each in kept)
    out = tuple(np.ones((*batch, 2), kind) for _ in range(results))
    returned = function(q, out=out if results > 1 else out[0])
    assert all(x is y for x, y in zip(returned if results > 1 else (returned,), out, strict=True))
    np.testing.assert_array_equal(out, expected if results > 1 else (expected,))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"dtype": np.int64}, "f of robot 'toy': No loop matching"),
        ({"dtype": np.float16}, "f of robot 'toy': No loop matching"),
        ({"out": np.empty(3, int)}, "f of robot 'toy': Cannot cast"),
        ({"out": np.empty(4)}, "f of robot 'toy': .*size 4 is different from 3"),
        ({"out": [0.0, 0.0, 0.0]}, "f of robot 'toy': return arrays must be"),
        ({"qq": 1.0}, "f of robot 'toy' has no argument 'qq'"),
    ],
)
@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("named", [False, True])
def test_options_that_numpy_rejects_raise_a_named_error(function, kind, named, options, complaint):
    arguments = {"q": kind([1, 2]), "s": kind(3)}
    with pytest.raises(ArgumentError, match=complaint):
        function(**arguments, **options) if named else function(*arguments.values(), **options)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("out_kind", [np.float64, np.float32])
def test_results_in_either_precision_from_either_precision(function, kind, out_kind):
    arguments, out = (kind([1, 2]), kind(3)), np.empty(3, out_kind)
    assert function(*arguments, out=out) is out
    assert out.tolist() == [3.0, 5.0, 3.0]
    assert function(*arguments, dtype=np.float32).dtype == np.float32


@pytest.fixture
def loaded(monkeypatch) -> list[str]:
    """Number formats for which loops are loaded, in order."""
    kinds, real = [], gufunc.load_kernel
    monkeypatch.setattr(gufunc, "load_kernel", lambda *given: kinds.append(given[1].char) or real(*given))
    return kinds


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_compile_builds_only_the_requested_format_and_the_first_call_builds_nothing(function, loaded, kind):
    assert function.compile(kind) is function
    assert loaded == [np.dtype(kind).char]
    assert function(kind([1, 2]), kind(3)).tolist() == [3.0, 5.0, 3.0]
    assert function.compile(kind)(kind([[1, 2]]), kind(3)).tolist() == [[3.0, 5.0, 3.0]]
    assert loaded == [np.dtype(kind).char]


def test_a_first_call_compiles_only_its_own_format(function, loaded):
    narrow, out = (np.float32([1, 2]), np.float32(3)), np.empty(3, np.float32)
    assert function(*narrow).dtype == np.float32
    assert function(*narrow, out=out) is out
    assert loaded == ["f"]
    assert function([1, 2], 3).dtype == np.float64
    assert loaded == ["f", "d"]
    assert function(*narrow).dtype == np.float32
    assert loaded == ["f", "d"]


def test_only_float64_and_float32_can_be_compiled(function):
    with pytest.raises(ArgumentError, match="'f' cannot be compiled for int64"):
        function.compile(np.int64)


def test_the_log_states_duration_and_origin_of_compiled_code(function, tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("APPELL_CACHE", str(tmp_path / "cache"))
    with caplog.at_level("INFO", logger="appell"):
        function([1.0, 2.0], 3.0)
        pickle.loads(pickle.dumps(function)).compile()
    compiled, loaded = [record.message for record in caplog.records]
    assert re.fullmatch(r"f, loop for float64: \d+ bytes of machine code made in \d+\.\d{3} s", compiled)
    assert re.fullmatch(r"f, loop for float64: \d+ bytes of machine code found in the cache in \d+\.\d{3} s", loaded)


def test_batches_that_do_not_broadcast_are_a_value_error(function):
    with pytest.raises(ValueError, match="broadcast"):
        function(np.zeros((3, 2)), np.zeros(4))


def test_an_empty_batch_gives_an_empty_result(function):
    assert function(np.zeros((0, 2)), 1.0).shape == (0, 3)


def test_a_function_pickles_by_content(function):
    again = pickle.loads(pickle.dumps(function))
    assert again([1.0, 2.0], 3.0).tolist() == [3.0, 5.0, 3.0]
    assert repr(again) == repr(function) == "<Function f(q[2], s) -> r[3] of robot 'toy'>"


def test_compilation_does_not_change_class_signature_and_docstring(function):
    seen = weakref.ref(function)
    for _ in range(2):
        assert type(function) is Function
        assert callable(function)
        assert str(inspect.signature(function)) == "(*arguments, **options)"
        assert function.__doc__ == "Scales."
        assert "Scales." in pydoc.render_doc(function)
        assert function([1.0, 2.0], 3.0).tolist() == [3.0, 5.0, 3.0]
        assert function.ufunc is function.ufunc
        assert seen() is function
        assert copy.copy(function)([1.0, 2.0], 3.0).tolist() == [3.0, 5.0, 3.0]
    assert pickle.loads(pickle.dumps(function))(np.ones(2), 3.0).tolist() == [3.0, 4.0, 3.0]


def test_an_unreferenced_function_is_freed():
    def body(x):
        return {"y": [x[0] * x[1], x[0]]}

    uncalled, called = (Function.of("f", {"x": 2}, body) for _ in range(2))
    called(np.ones(2)), called(np.ones((5, 2), np.float32)), called.jacobian("x")(np.ones(2)), called.bind()
    references = [weakref.ref(x) for each in (uncalled, called) for x in (each, each.tape)]
    del uncalled, called
    gc.collect()
    assert [reference() for reference in references] == [None] * 4


def matrix(x, y):
    return {"Y": [[x[0], 0.0, y * x[1], 2.0], [0.0, 0.0, x[1] * x[1], ap.sin(y)]]}


X, Y = np.array([[0.3, -1.2], [2.0, 0.5]]), np.array([0.7, -0.4])


def test_columns_equal_those_of_the_full_matrix_and_omit_other_operations():
    full = Function.of("f", {"x": 2, "y": ()}, matrix, "A matrix.", "robot 'toy'")
    part = full.columns([2, 0])
    np.testing.assert_array_equal(part(X, Y), full(X, Y)[..., [2, 0]])
    assert part.count().trig == 0
    assert (part.__doc__, part.owner, part.outputs[0].shape) == ("A matrix.", "robot 'toy'", (2, 2))
    with pytest.raises(ArgumentError, match="has no column 4"):
        full.columns([0, 4])


def test_a_pullback_is_the_gradient_of_the_weighted_sum():
    function = Function.of("f", {"x": 2, "y": ()}, matrix)
    G = np.random.default_rng(0).normal(size=(2, 2, 4))
    dx, dy = function.pullback("x", "y")(X, Y, G)
    by_x, by_y = function.jacobian("x", "y")(X, Y)
    np.testing.assert_allclose(dx, np.einsum("tij,tijk->tk", G, by_x), rtol=1e-14)
    np.testing.assert_allclose(np.squeeze(dy), np.einsum("tij,tijk->tk", G, by_y)[:, 0], rtol=1e-14)


def test_structural_zeros_are_zero_and_the_others_are_not():
    function = Function.of("f", {"x": 2, "y": ()}, matrix)
    assert function.structural_zeros.tolist() == [[False, True, False, False], [True, True, False, False]]
    np.testing.assert_array_equal(function(X, Y) == 0.0, [function.structural_zeros] * 2)


def test_operations_on_a_single_result_reject_functions_with_several():
    pair = Function.of("f", {"x": 2}, lambda x: {"a": x[0], "b": x[1]}, owner="robot 'toy'")
    for derive in (lambda: pair.columns([0]), lambda: pair.pullback("x"), lambda: pair.structural_zeros):
        with pytest.raises(ArgumentError, match="of f of robot 'toy': it has 2 results"):
            derive()


def test_bind_allocates_arrays(function):
    bound = function.bind()
    bound.q[:], bound.s[...] = [1.0, 2.0], 3.0
    bound()
    assert bound.r.tolist() == [3.0, 5.0, 3.0]


def test_operations_are_counted_before_fusing(function):
    assert function.count() == OpCount(mul=1, add=1)
    total = OpCount(mul=1, trig=2) + OpCount(mul=2, add=5)
    assert total == OpCount(mul=3, add=5, trig=2)
    assert str(total).split() == ["mul", "add", "div", "sqrt", "trig", "select", "3", "5", "0", "0", "2", "0"]


def test_a_constant_that_is_not_finite_is_a_trace_error_that_names_the_function():
    function = Function.of("f", {"x": ()}, lambda x: {"y": (x * 1e300) * (x * 1e300)})
    with pytest.raises(TraceError, match=r"a constant of 'f_dx_dx' is inf.\n.*finite numbers"):
        function.jacobian("x").jacobian("x")
    with pytest.raises(TraceError, match="a constant of 'g' is nan"):
        Function.of("g", {"x": ()}, lambda x: {"y": [x, np.nan]})


def test_a_signature_with_a_reserved_word_has_positional_parameters():
    function = Function.of("f", {"lambda": 2}, lambda x: {"y": x})
    assert str(call_signature(function.inputs)) == "(x0, /)"
