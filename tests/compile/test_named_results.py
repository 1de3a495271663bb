"""Several results of a function are a named tuple, on every path of a call."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pytest

import appell as ap

Q, V = np.array([0.3, -0.2]), np.array([1.0, 0.5])


@pytest.fixture(scope="module")
def derivatives():
    return ap.Dynamics(ap.load("planar-2r")).inverse_dynamics.jacobian("q", "v")


def _twice(x):
    return np.stack([x, x])


@pytest.mark.parametrize(
    "call",
    [
        lambda f, *args: f(*args),  # one sample, in machine code
        lambda f, *args: f(*map(_twice, args)),  # a batch, in machine code
        lambda f, *args: f(*map(list, args)),  # through the ufunc
        lambda f, *args: f(q=args[0], v=args[1], a=args[2]),
        lambda f, *args: f(*(x.astype(np.float32) for x in args)),
        lambda f, *args: f(*map(_twice, args), threads=2),
        lambda f, *args: f(*map(_twice, args), out=(np.empty((2, 2, 2)), np.empty((2, 2, 2)))),
        lambda f, *args: f(*args, out=(np.empty((2, 2)), np.empty((2, 2)))),
    ],
)
def test_every_path_of_a_call_returns_the_results_by_name(derivatives, call):
    results = call(derivatives, Q, V, V)
    dtau_dq, dtau_dv = results
    assert results._fields == ("dtau_dq", "dtau_dv")
    assert results.dtau_dq is dtau_dq
    assert results.dtau_dv is dtau_dv
    np.testing.assert_allclose(np.broadcast_to(derivatives(Q, V, V).dtau_dv, dtau_dv.shape), dtau_dv, rtol=1e-6)


def test_results_are_accepted_as_out_and_filled(derivatives):
    for arguments in ((Q, V, V), tuple(map(_twice, (Q, V, V)))):
        first = derivatives(*arguments)
        kept = [x.copy() for x in first]
        for x in first:
            x[...] = np.nan
        again = derivatives(*arguments, out=first)
        assert all(x is y for x, y in zip(again, first, strict=True))
        assert all(np.array_equal(x, y) for x, y in zip(first, kept, strict=True))


def test_out_keeps_no_reference(derivatives):
    arguments, out = tuple(map(_twice, (Q, V, V))), (np.empty((2, 2, 2)), np.empty((2, 2, 2)))
    derivatives(*arguments, out=out)
    counts = [sys.getrefcount(x) for x in out]
    for _ in range(100):
        derivatives(*arguments, out=out)
    assert [sys.getrefcount(x) for x in out] == counts


def test_results_pickle_and_keep_their_names(derivatives):
    results = derivatives(Q, V, V)
    restored = pickle.loads(pickle.dumps(results))
    assert type(restored) is type(results)
    assert np.array_equal(restored.dtau_dq, results.dtau_dq)


def test_results_whose_names_are_not_identifiers_have_fields_all_the_same():
    f = ap.Function.of("two-fold", {"x": 2}, lambda x: {"left-foot": [x[0]], "class": [x[1]], "left_foot": [x[0]]})
    results = f([1.0, 2.0])
    assert results._fields == ("left_foot_2", "class_2", "left_foot")
    assert [float(x[0]) for x in results] == [1.0, 2.0, 1.0]


def test_torch_returns_the_same_names(derivatives):
    torch = pytest.importorskip("torch")
    tensors = [torch.from_numpy(x) for x in (Q, V, V)]
    assert derivatives.to_torch()(*tensors)._fields == ("dtau_dq", "dtau_dv")
