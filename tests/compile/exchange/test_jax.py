"""Functions in JAX: the bits of the compiled function, derivatives as JAX itself finds them, and rollouts."""

from __future__ import annotations

import logging
import pickle
import re
import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import appell as ap
from appell.compile.exchange import xla
from appell.compile.exchange.jax_primitives import replayed
from appell.compile.function import Function
from appell.compile.tape.evaluate import evaluate
from appell.errors import ArgumentError, CompileError
from export_cases import (
    EVERY_OP,
    SAME_BITS,
    arm_step,
    backward_through_time,
    case_of,
    every_op,
    plain_arguments,
    relative,
    rooted,
)
from robots import random_tree

VALUES, DERIVATIVES = 1e-13, 1e-11  # tolerances; the errors are about 4e-15


@pytest.fixture(autouse=True)
def doubles():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize(("robot", "name"), SAME_BITS)
def test_results_have_the_bits_of_the_compiled_function(robot, name):
    function, arguments = case_of(robot, name)
    assert np.array_equal(function.to_jax()(*arguments), function(*arguments))


def test_float32_is_computed_in_float32_and_mixed_arguments_by_the_rules_of_jax():
    function = ap.Dynamics(ap.load("planar-2r")).inverse_dynamics
    arguments = np.random.default_rng(1).normal(size=(3, 9, 2))
    single, exported = arguments.astype(np.float32), function.to_jax()
    assert exported(*single).dtype == np.float32
    assert np.array_equal(exported(*single), function(*single))
    assert exported(arguments[0], *single[1:]).dtype == np.float64
    assert np.array_equal(exported([1, 2], [0, 1], [2, 3]), function([1, 2], [0, 1], [2, 3]))
    with jax.enable_x64(False):
        assert np.array_equal(exported(*arguments), function(*single))  # JAX has converted float64 to float32


def test_batches_broadcast_as_in_the_compiled_function():
    function = ap.Dynamics(ap.load("planar-2r")).inverse_dynamics
    exported, rng = function.to_jax(), np.random.default_rng(2)
    for batches in [
        ((), (), ()),
        ((7,), (), (7,)),
        ((4, 1), (3,), ()),
        ((2, 1, 3), (5, 1), (2, 5, 3)),
        ((0,), (), (0,)),
    ]:
        arguments = [rng.normal(size=(*batch, 2)) for batch in batches]
        assert np.array_equal(exported(*arguments), function(*arguments))


def test_vmap_adds_an_axis_anywhere_without_copies():
    function = ap.Dynamics(ap.load("planar-2r")).inverse_dynamics
    exported, rng = function.to_jax(), np.random.default_rng(3)
    q, v, a = rng.normal(size=(2, 6)), rng.normal(size=(4, 2)), rng.normal(size=2)
    mapped = jax.vmap(jax.vmap(exported, (None, 0, None)), (1, None, None), out_axes=1)
    assert np.array_equal(mapped(q, v, a), function(q.T, v[:, None], a))
    [called] = re.findall(r"custom_call @appell_inverse_dynamics_.*", jax.jit(mapped).lower(q, v, a).as_text())
    assert "(tensor<6x1x2xf64>, tensor<1x4x2xf64>, tensor<1x1x2xf64>) -> tensor<6x4x2xf64>" in called


@pytest.mark.parametrize("native", [True, False])
def test_every_instruction_agrees_with_the_compiled_function(native):
    function, rng = Function.of("every_op", EVERY_OP, every_op), np.random.default_rng(4)
    arguments = [rng.uniform(-2.0, 2.0, (50, *array.shape)) for array in function.inputs]
    for result, expected in zip(function.to_jax(native=native)(*arguments), function(*arguments), strict=True):
        assert relative(result, expected) <= VALUES
    singles = [x.astype(np.float32) for x in arguments]
    for result, expected in zip(function.to_jax(native=native)(*singles), function(*singles), strict=True):
        assert result.dtype == np.float32
        assert relative(result, expected) <= 1e-6  # eight units of the last place


def test_a_number_that_is_not_finite_affects_only_its_sample_with_and_without_kernel():
    function = Function.of("apart", {"x": 2}, lambda x: {"y": [x[0], x[1]]})
    x = np.array([[1.0, 2.0], [np.inf, 3.0], [1e308, 1e308]])
    with pytest.warns(RuntimeWarning, match="invalid value encountered in apart"):
        expected = function(x)
    for native in (True, False):
        assert np.array_equal(function.to_jax(native=native)(x), expected, equal_nan=True)


def test_derivatives_of_every_instruction_agree_with_those_of_jax():
    """JAX differentiates the same operations by its own rules."""
    function, rng = Function.of("every_op", EVERY_OP, every_op), np.random.default_rng(5)
    point = [rng.uniform(0.2, 0.6, array.shape) for array in function.inputs]
    moved = [rng.normal(size=array.shape) for array in function.inputs]
    weights = [jnp.asarray(rng.normal(size=array.shape)) for array in function.outputs]
    exported = function.to_jax()

    @partial(jax.jit, static_argnums=0)
    def both_ways(f):
        return *jax.jvp(f, point, moved)[1], *jax.vjp(f, *point)[1](tuple(weights))

    pairs = zip(both_ways(exported), both_ways(lambda *x: tuple(replayed(function.tape, *x))), strict=True)
    assert max(relative(result, expected) for result, expected in pairs) <= DERIVATIVES


@pytest.mark.parametrize("native", [True, False])
def test_a_branch_that_is_not_selected_does_not_affect_a_derivative(native):
    """√x has no derivative at 0; JAX's own `where` would give NaN."""
    exported = rooted().to_jax(native=native)
    assert jax.grad(exported)(0.0) == 3.0
    assert jax.grad(exported)(4.0) == 0.25
    assert jax.jvp(exported, (0.0,), (2.0,))[1] == 6.0


def test_derivatives_of_any_order_agree_with_those_of_jax():
    function = ap.Dynamics(ap.load("planar-2r")).forward_dynamics
    q, v, tau = np.random.default_rng(6).normal(size=(3, 2))
    exported = function.to_jax()

    def itself(q, v, tau):
        return replayed(function.tape, q, v, tau)[0]

    for transform in (
        lambda f: jax.jacfwd(f, (0, 1, 2)),
        lambda f: jax.jacrev(f, (0, 1, 2)),
        jax.hessian,
        lambda f: jax.jacrev(jax.jacrev(f, 1), 0),
        lambda f: jax.jacfwd(jax.grad(lambda q, v, tau: jax.jvp(f, (q, v, tau), (v, tau, q))[1] @ v)),  # the third
    ):
        pairs = zip(*(jax.tree.leaves(jax.jit(transform(f))(q, v, tau)) for f in (exported, itself)), strict=True)
        assert max(relative(result, expected) for result, expected in pairs) <= DERIVATIVES


def test_derivatives_by_a_quaternion_are_by_its_four_elements():
    """Along the velocities of the base they are appell's own; along the length of the quaternion nothing changes."""
    robot = random_tree(2, 4, base="floating")
    dyn = ap.Dynamics(robot)
    function = dyn.inverse_dynamics
    (q, v, a) = (x[0] for x in plain_arguments(function, dyn, 1))
    by_q, by_v = jax.jit(jax.jacrev(function.to_jax(), (0, 1)))(q, v, a)
    assert by_q.shape == (robot.nv, robot.nq)
    [directions] = evaluate(function.tangents["q"], q)
    expected_q, expected_v = function.jacobian("q", "v")(q, v, a)
    assert relative(by_q @ directions, expected_q) <= DERIVATIVES
    assert relative(by_v, expected_v) <= DERIVATIVES
    along_length = np.zeros(robot.nq)
    along_length[3:7] = q[3:7]
    assert abs(by_q @ along_length).max() <= 1e-13 * abs(by_q).max()


def test_derivative_functions_are_exported_like_any_other():
    function = ap.Dynamics(ap.load("puma")).inverse_dynamics.jacobian("q", "v")
    arguments = np.random.default_rng(7).normal(size=(3, 20, 6))
    for result, expected in zip(function.to_jax()(*arguments), function(*arguments), strict=True):
        assert np.array_equal(result, expected)


def test_a_gradient_through_a_hundred_steps_is_that_of_the_jacobians_multiplied_backward():
    """By hand: λₖ = λₖ₊₁ ∂step/∂state, with the compiled Jacobians of one step. One rollout, and 10,000 at once."""
    step = arm_step()
    exported = step.to_jax()

    def cost(u, q, v):
        final, _ = jax.lax.scan(lambda state, u: (exported(*state, u), None), (q, v), u)
        return sum(jnp.sum(x**2) for x in final)

    rng = np.random.default_rng(8)
    q, v = rng.normal(scale=0.2, size=(2, 10_000, 6))
    u = rng.normal(scale=5.0, size=(100, 6))
    gradient = jax.jit(jax.vmap(jax.value_and_grad(cost), (None, 0, 0)))
    costs, result = gradient(u, q, v)
    assert costs.shape == (10_000,)
    for k in (0, 9_999):
        value, expected = backward_through_time(step, q[k], v[k], u)
        assert abs(costs[k] - value) <= 1e-13 * value
        assert relative(result[k], expected) <= 1e-12
    assert relative(jax.jit(jax.grad(cost))(u, q[0], v[0]), result[0]) <= 1e-13


def test_an_exported_function_accepts_names_and_can_be_pickled():
    function = ap.Dynamics(ap.load("planar-2r")).inverse_dynamics
    exported = function.to_jax()
    q, v, a = np.random.default_rng(9).normal(size=(3, 2))
    again = pickle.loads(pickle.dumps(exported))
    assert np.array_equal(again(q, a=a, v=v), function(q, v, a))
    assert xla.function_target(again.function, np.float64) == xla.function_target(function, np.float64)
    assert "JAX kernel of <Function inverse_dynamics(q[2], v[2], a[2])" in repr(again)
    assert again.__name__ == "inverse_dynamics"


def test_other_devices_use_operations_of_jax():
    function = ap.Dynamics(ap.load("planar-2r")).inverse_dynamics
    traced = jax.jit(jax.grad(lambda *x: function.to_jax()(*x).sum())).trace(*np.ones((3, 2)))
    assert "appell" in traced.lower(lowering_platforms=("cpu",)).as_text()
    text = traced.lower(lowering_platforms=("cuda",)).as_text()
    assert "cosine" in text
    assert "custom_call" not in text


def test_an_untested_interface_is_rejected_or_replaced_by_operations_of_jax(monkeypatch, caplog):
    function = ap.Dynamics(ap.load("planar-2r")).inverse_dynamics
    monkeypatch.setattr(xla, "TESTED_VERSIONS", ((7, 1),))
    xla.interface.cache_clear()
    try:
        with pytest.raises(CompileError, match=r"has version 0\.\d+; kernels have been tested with versions 7\.1"):
            function.to_jax(native=True)
        with caplog.at_level(logging.WARNING, logger="appell"):
            assert not function.to_jax().native
        assert (
            "runs with JAX's own operations, which are slower: the foreign-function interface of jaxlib" in caplog.text
        )
    finally:
        xla.interface.cache_clear()


def test_wrong_calls_name_the_argument():
    function = ap.Dynamics(ap.load("planar-2r")).inverse_dynamics.to_jax()
    q = np.zeros(2)
    for arguments, named, message in [
        ((q, q), {}, "missing argument a"),
        ((q, q, q, q), {}, "got 4 arguments"),
        ((q, q, q), {"v": q}, "got argument v twice"),
        ((q, q), {"b": q}, "has no argument 'b'"),
        ((q, np.zeros(3), q), {}, r"argument v has shape \(3,\)"),
        ((np.zeros((3, 2)), np.zeros((4, 2)), q), {}, r"do not broadcast: q \(3,\), v \(4,\), a \(\)"),
        ((q, q, jnp.zeros(2, jnp.float16).astype(complex)), {}, "is called with numbers of type complex128"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            function(*arguments, **named)


def test_a_missing_package_is_named_with_an_install_hint(monkeypatch):
    function = ap.Dynamics(ap.load("planar-2r")).inverse_dynamics
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(ArgumentError, match=r"to_jax needs the package jax(.|\n)*pip install 'appell\[jax\]'"):
        function.to_jax()
