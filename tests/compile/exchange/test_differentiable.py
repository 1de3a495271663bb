"""Derivatives that are functions again, compared with Jacobians and with their transposes."""

from __future__ import annotations

import pickle

import numpy as np

import appell as ap
from appell.compile.exchange.differentiable import DifferentiableFunction
from appell.compile.function import Function


def test_the_forward_derivative_is_the_jacobian_times_the_directions():
    function, rng = ap.Dynamics(ap.load("puma")).forward_dynamics, np.random.default_rng(1)
    q, v, tau, dq, dtau = rng.normal(size=(5, 6))
    ahead = DifferentiableFunction(function).along([0, 2])
    assert [array.name for array in ahead.inputs] == ["q", "v", "tau", "dq", "dtau"]
    assert ahead.linear == (3, 4)
    by_q, by_tau = function.jacobian("q", "tau")(q, v, tau)
    assert np.allclose(ahead.function(q, v, tau, dq, dtau), by_q @ dq + by_tau @ dtau, rtol=1e-12, atol=1e-12)


def test_the_pullback_is_the_transposed_jacobian_and_its_transpose_the_jacobian():
    function, rng = ap.Dynamics(ap.load("puma")).inverse_dynamics, np.random.default_rng(2)
    q, v, a, weights = rng.normal(size=(4, 6))
    back = DifferentiableFunction(function).pulled_back([0, 1])
    assert [array.name for array in back.inputs] == ["q", "v", "a", "G_dtau"]
    by_q, by_v = function.jacobian("q", "v")(q, v, a)
    for gradient, jacobian in zip(back.function(q, v, a, weights), (by_q, by_v), strict=True):
        assert np.allclose(gradient, weights @ jacobian, rtol=1e-12, atol=1e-12)
    forth = back.transposed(back.linear)
    assert len(forth.outputs) == 1
    dq, dv = rng.normal(size=(2, 6))
    assert np.allclose(forth.function(q, v, a, dq, dv), by_q @ dq + by_v @ dv, rtol=1e-12, atol=1e-12)


def test_a_pullback_costs_less_than_a_jacobian():
    function = ap.Dynamics(ap.load("puma")).forward_dynamics
    back = DifferentiableFunction(function).pulled_back([0, 1, 2]).function
    assert back.count().total < 4 * function.count().total  # the cheap gradient principle gives a factor of 4 or 5
    assert back.count().total < function.jacobian("q", "v", "tau").count().total


def test_a_pullback_of_several_results_of_any_shape():
    function = Function.of(
        "shapes", {"x": (2, 2), "t": ()}, lambda x, t: {"y": [[x[0][0] * t, x[0][1] * x[1][0]]], "z": t * t * x[1][1]}
    )
    back = DifferentiableFunction(function).pulled_back([0, 1])
    assert [array.shape for array in (*back.inputs, *back.outputs)] == [(2, 2), (), (1, 2), (), (2, 2), ()]
    x, t = np.array([[2.0, 3.0], [5.0, 7.0]]), 11.0
    by_x, by_t = back.function(x, t, [[1.0, 10.0]], 100.0)
    assert np.array_equal(by_x, [[11.0, 50.0], [30.0, 12100.0]])
    assert by_t == 2.0 + 100.0 * 2.0 * 11.0 * 7.0


def test_directions_have_unique_names_at_any_order():
    of = DifferentiableFunction(Function.of("cube", {"x": (), "dx": ()}, lambda x, dx: {"y": x * x * x * dx}))
    third = of.along([0]).along([0]).along([0])
    names = [array.name for array in third.inputs]
    assert len(set(names)) == len(names)
    assert third.function(2.0, 5.0, 1.0, 1.0, 1.0) == 30.0


def test_differentiable_functions_are_compared_by_content():
    function = ap.Dynamics(ap.load("planar-2r")).inverse_dynamics
    of = DifferentiableFunction(function)
    again = pickle.loads(pickle.dumps(of))
    assert (again, hash(again)) == (of, hash(of))
    assert of.along([0]) == again.along([0])
    assert of.along([0]) != of.along([1])
    assert of.along([0]).function is of.along([0]).function
