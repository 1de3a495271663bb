"""Arguments of laws and costs in rollouts, above all the weights of a policy, and gradients with respect to them."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.compile.program.program import Program
from appell.compile.program.reverse import Gradient, NotReversibleError, reverse
from appell.compile.tape.formula import unrolled
from appell.errors import ArgumentError
from appell.simulation import Feedback, Rollout
from robots import example_urdfs

SIZES = (12, 64, 64, 6)
SHAPES = {f"W{k}": (SIZES[k + 1], SIZES[k]) for k in range(3)} | {f"b{k}": SIZES[k + 1] for k in range(3)}
DT, STEPS, MEMBERS = 2e-3, 10, 3


@pytest.fixture(scope="module")
def arm():
    """Return the dynamics of a UR5."""
    return ap.Dynamics(ap.load(next(path for path in example_urdfs() if path.stem == "ur5_robot")))


def network(tanh, x, W0, b0, W1, b1, W2, b2):
    """Return the torques of a policy with two hidden layers of 64."""
    return 20.0 * (W2 @ tanh(W1 @ tanh(W0 @ x + b0) + b1) + b2)


def test_the_gradient_by_the_weights_of_a_policy_of_64x64_equals_that_of_jax(arm):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    jnp, acceleration, gravity = jax.numpy, arm.forward_dynamics.to_jax(), arm.gravity.to_jax()

    def policy(t, q, v, *, W0, b0, W1, b1, W2, b2):
        return network(ap.tanh, np.concatenate([q, v]), W0, b0, W1, b1, W2, b2) + arm.gravity(q)

    def cost(t, q, v, tau):
        return q @ q + 0.1 * v @ v + 1e-4 * tau @ tau

    plan = Rollout(
        arm, method="euler", law=Feedback(policy, period=DT), cost=cost, final_cost=lambda q, v: v @ v, arguments=SHAPES
    )
    assert isinstance(plan.scan.step.formula, Program)  # the layers are loops
    assert isinstance(plan.adjoint.step.formula, Program)
    rng = np.random.default_rng(0)
    weights = {name: 0.2 * rng.normal(size=shape) for name, shape in SHAPES.items()}
    q0, v0 = 0.3 * rng.normal(size=(2, MEMBERS, 6))

    def total(weights, q, v):
        def step(state, _):
            q, v, cost = state
            tau = network(jnp.tanh, jnp.concatenate([q, v]), **weights) + gravity(q)
            after = v + DT * acceleration(q, v, tau)
            return (q + DT * after, after, cost + DT * (q @ q + 0.1 * v @ v + 1e-4 * tau @ tau)), None

        (q, v, cost), _ = jax.lax.scan(step, (q, v, 0.0), None, length=STEPS)
        return cost + v @ v

    gradient = plan.gradient(q0, v0, steps=STEPS, dt=DT, arguments=weights)
    for k in range(MEMBERS):
        value, slopes = jax.value_and_grad(total)(weights, q0[k], v0[k])
        np.testing.assert_allclose(gradient.cost[k], value, rtol=1e-12)
        for name, slope in slopes.items():
            np.testing.assert_allclose(gradient.arguments[name][k], slope, rtol=0.0, atol=1e-10 * np.abs(slope).max())


def test_gains_and_goals_are_arguments_of_laws_and_costs():
    arm, method = ap.Dynamics(ap.load("planar-2r")), "rk4"

    def law(t, q, v, *, gains, goal):
        return arm.gravity(q) - gains[0] @ (q - goal) - gains[1] @ v

    def cost(t, q, v, tau, *, goal):
        return (q - goal) @ (q - goal)

    def final(q, v, *, goal):
        return np.sum((q - goal) ** 2) + v @ v

    plan = Rollout(arm, method=method, law=law, cost=cost, final_cost=final, arguments={"gains": (2, 2, 2), "goal": 2})
    rng = np.random.default_rng(1)
    given = {"gains": np.stack([10.0 * np.eye(2), np.eye(2)]), "goal": rng.normal(size=(MEMBERS, 2))}
    q0 = rng.normal(size=(MEMBERS, 2))
    run = {"steps": 5, "dt": 1e-3}
    records = plan(q0, **run, arguments=given)
    single = ap.rollout(
        arm,
        q0[1],
        **run,
        method=method,
        law=law,
        cost=cost,
        final_cost=final,
        arguments={"gains": given["gains"], "goal": given["goal"][1]},
    )
    np.testing.assert_array_equal(records.cost[1], single.cost[0])
    along = {"goal": rng.normal(size=2), "gains": rng.normal(size=(2, 2, 2))}
    gradient, change = plan.gradient(q0, **run, arguments=given), plan.change(q0, **run, arguments=given, along=along)
    slope = gradient.arguments["goal"] @ along["goal"] + np.einsum(
        "mkij,kij->m", gradient.arguments["gains"], along["gains"]
    )
    np.testing.assert_allclose(change.dcost, slope, rtol=1e-10)
    moved = [plan(q0, **run, arguments={n: given[n] + s * d for n, d in along.items()}).cost for s in (1e-6, -1e-6)]
    np.testing.assert_allclose(slope, (moved[0] - moved[1]) / 2e-6, rtol=1e-6)


def test_arguments_that_do_not_fit_are_named(arm):
    def law(t, q, v, *, gain):
        return -gain[0] * v

    with pytest.raises(ArgumentError, match="parameter 'gain' of 'law' is not an argument"):
        Rollout(arm, law=law)
    with pytest.raises(ArgumentError, match="argument 'goal' of the rollout is not used"):
        Rollout(arm, law=law, arguments={"gain": 1, "goal": 6})
    with pytest.raises(ArgumentError, match="argument 'q' has the name of an input"):
        Rollout(arm, law=law, arguments={"gain": 1, "q": 6})
    with pytest.raises(ArgumentError, match=r"argument 'gain' of the rollout has shape \(0,\)"):
        Rollout(arm, law=law, arguments={"gain": 0})
    plan = Rollout(arm, law=law, arguments={"gain": 1})
    for given, message in (
        ({}, "arguments are given for nothing"),
        ({"gian": [1.0]}, "arguments are given for gian"),
        ({"gain": [1.0, 2.0]}, r"argument 'gain' has shape \(2,\)"),
        ({"gain": [np.nan]}, "argument 'gain' contains a value that is not finite"),
        ({"gain": "a"}, "argument 'gain' is not an array of numbers"),
    ):
        with pytest.raises(ArgumentError, match=message):
            plan(steps=2, arguments=given)
    records = plan(np.ones(6), steps=2, arguments={"gain": [[1.0], [np.nan]]}, check=False)
    assert records.finished.tolist() == [True, False]  # only the member with the weight that is not finite is lost


# ---- reverse mode of programs


def layers(W, b, V, x):
    """Return a sum of two layers, the second one transposed."""
    hidden = ap.tanh(W @ x + b)
    y = V.T @ hidden
    return {"J": y @ y + hidden.sum() + x[0] * b[0]}


def test_reverse_mode_of_a_program_equals_that_of_its_tape():
    function = ap.Function.of("layers", {"W": (20, 14), "b": 20, "V": (20, 20), "x": 14}, layers)
    names = [array.name for array in function.inputs]
    program = reverse(function.formula, "g", function.inputs, {"J": 1.0}, [Gradient(name, name) for name in names])
    straight = ap.Function(unrolled(function.formula)).jacobian(*names)
    rng = np.random.default_rng(2)
    given = [0.3 * rng.normal(size=(5, *array.shape)) for array in function.inputs]
    for slopes, expected in zip(ap.Function(program)(*given), straight(*given), strict=True):
        np.testing.assert_allclose(slopes, expected, rtol=0.0, atol=1e-13)


def test_the_gradient_by_thousands_of_numbers_is_a_program():
    function = ap.Function.of("layers", {"W": (64, 20), "b": 64, "V": (64, 64), "x": 20}, layers)
    assert isinstance(function.gradient("V").formula, Program)
    given = [np.full(array.shape, 0.01) for array in function.inputs]
    hidden = np.tanh(given[0] @ given[3] + given[1])
    expected = 2.0 * np.outer(hidden, given[2].T @ hidden)
    np.testing.assert_allclose(function.gradient("V")(*given), expected.ravel(), rtol=1e-12)


def test_a_sum_in_place_is_not_reversible():
    from appell.algebra.loops import Rows

    def body(x, loops):
        total = loops.given([[0.0 * x[0] + 1.0]])
        loops.each(
            [lambda t, row: [[t[0] * row[0]]]],
            [0] * 3,
            [Rows(total, [0] * 3), Rows(loops.given([[y] for y in x]), range(3))],
            [Rows(total, [0] * 3)],
        )
        return {"y": loops.values(total)[0][0]}

    function = ap.Function.of("product", {"x": 3}, body, loops=True)
    with pytest.raises(NotReversibleError, match="overwrites a value that it wrote"):
        reverse(function.formula, "g", function.inputs, {"y": 1.0}, [Gradient("dx", "x")])
    np.testing.assert_allclose(function.gradient("x")([2.0, 3.0, 4.0]), [12.0, 8.0, 6.0])  # by its unrolled tape
