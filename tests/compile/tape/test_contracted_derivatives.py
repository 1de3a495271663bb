"""Derivatives contracted with a vector, compared with the Jacobian and with finite differences of Pinocchio."""

from __future__ import annotations

import numpy as np
import pytest

from appell.compile.function import Function
from appell.compile.tape.evaluate import evaluate
from appell.describe.load import load
from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell_lab.references.oracle import Oracle
from robots import random_motion, random_tree

STEP = 1e-5  # central differences of derivatives: error about STEP² of a third derivative, and 1e-16 / STEP
DIFFERENCES = 1e-7


def test_a_directional_derivative_is_the_jacobian_times_the_direction():
    robot = random_tree(6, 4, base="floating")
    function, rng = Dynamics(robot).inverse_dynamics, np.random.default_rng(0)
    motion, (dq, dv) = random_motion(robot, rng), rng.normal(size=(2, robot.nv))
    by_q, by_v = evaluate(function.jacobian("q", "v").tape, *motion)
    along = function.directional("q", "v")
    assert [array.name for array in (*along.inputs, *along.outputs)] == ["q", "v", "a", "dq", "dv", "dtau"]
    assert len(along.fused) < len(function.jacobian("q", "v").fused)
    assert np.allclose(along(*motion, dq, dv), by_q @ dq + by_v @ dv, rtol=1e-12, atol=1e-12)


def test_a_directional_derivative_has_all_results():
    function = Function.of("two", {"x": 2, "y": ()}, lambda x, y: {"f": [x[0] * x[1], y * x[0]], "g": y * y})
    df, dg = function.directional("x", "y")([2.0, 3.0], 5.0, [1.0, 10.0], 100.0)
    assert np.array_equal(df, [23.0, 205.0])
    assert dg == 1000.0


def test_second_derivatives_of_inverse_dynamics_are_differences_of_pinocchio():
    robot = load("puma")
    oracle, rng = Oracle(robot), np.random.default_rng(1)
    (q, v, a), G = random_motion(robot, rng), rng.normal(size=robot.nv)
    hessian = Dynamics(robot).inverse_dynamics.hessian("q", "v")
    assert [array.name for array in hessian.outputs] == ["d2tau_dq_dq", "d2tau_dv_dq", "d2tau_dq_dv", "d2tau_dv_dv"]
    q_q, v_q, q_v, v_v = evaluate(hessian.tape, q, v, a, G)

    def gradients(q, v):
        return [G @ part for part in oracle.inverse_dynamics_derivatives(q, v, a)[:2]]

    for k, unit in enumerate(np.eye(robot.nv)):
        above, below = gradients(q + STEP * unit, v), gradients(q - STEP * unit, v)
        by_q = [(x - y) / (2 * STEP) for x, y in zip(above, below, strict=True)]
        assert np.abs(q_q[:, k] - by_q[0]).max() <= DIFFERENCES * np.abs(q_q).max()
        assert np.abs(v_q[:, k] - by_q[1]).max() <= DIFFERENCES * np.abs(v_q).max()
        above, below = gradients(q, v + STEP * unit), gradients(q, v - STEP * unit)
        by_v = [(x - y) / (2 * STEP) for x, y in zip(above, below, strict=True)]
        assert np.abs(q_v[:, k] - by_v[0]).max() <= DIFFERENCES * np.abs(q_v).max()
        assert np.abs(v_v[:, k] - by_v[1]).max() <= DIFFERENCES * np.abs(v_v).max()


def test_second_derivatives_on_a_floating_base_are_differences_along_motions():
    robot = random_tree(9, 2, base="floating")
    dyn, rng = Dynamics(robot), np.random.default_rng(2)
    (q, v, a), G = random_motion(robot, rng), rng.normal(size=robot.nv)
    gradient = dyn.inverse_dynamics.pullback("q")
    q_q = evaluate(dyn.inverse_dynamics.hessian("q").tape, q, v, a, G)[0]
    for k, unit in enumerate(np.eye(robot.nv)):
        above, below = (gradient(robot.integrate(q, sign * STEP * unit), v, a, G) for sign in (1.0, -1.0))
        assert np.abs(q_q[:, k] - (above - below) / (2 * STEP)).max() <= DIFFERENCES * np.abs(q_q).max()


def test_further_directions_and_weights_have_their_own_names():
    function = Function.of("f", {"q": 2, "dt": ()}, lambda q, dt: {"y": [q[0] * q[0] * q[1] * dt, q[1].sin()]})
    twice = function.directional("q").directional("q", "dt", "dq")
    assert [array.name for array in twice.inputs] == ["q", "dt", "dq", "dq2", "ddt", "ddq"]
    assert [array.name for array in function.pullback("q").pullback("q").inputs] == ["q", "dt", "G", "G2"]
    bound = function.directional("q").directional("q").bind()
    bound.q, bound.dt, bound.dq, bound.dq2 = [0.3, 0.7], 2.0, [1.0, 10.0], [5.0, 2.0]
    bound()
    hessian = function.jacobian("q").jacobian("q")([0.3, 0.7], 2.0)
    np.testing.assert_allclose(bound.ddy, hessian @ [5.0, 2.0] @ [1.0, 10.0], rtol=1e-14)


def test_a_hessian_times_a_vector_is_the_directional_derivative_of_the_pullback():
    robot = load("puma")
    function, rng = Dynamics(robot).inverse_dynamics, np.random.default_rng(3)
    motion, (G, dq) = random_motion(robot, rng), rng.normal(size=(2, robot.nv))
    hessian = evaluate(function.hessian("q").tape, *motion, G)[0]
    assert np.allclose(function.pullback("q").directional("q")(*motion, G, dq), hessian @ dq, rtol=1e-11, atol=1e-11)


def test_unknown_arguments_are_named():
    function = Dynamics(load("pendulum")).inverse_dynamics
    with pytest.raises(ArgumentError, match="'x'"):
        function.directional("x")
    with pytest.raises(ArgumentError, match=r"directional of .*: no argument is named"):
        function.directional()
    with pytest.raises(ArgumentError, match=r"hessian of .*: it has 2 results"):
        Dynamics(load("pendulum")).energy.hessian("q")
