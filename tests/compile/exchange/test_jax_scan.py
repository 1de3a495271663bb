"""Scans in JAX: the bits of the scan, and derivatives as JAX finds them through single steps."""

from __future__ import annotations

import pickle
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from appell.algebra.scalar import sin
from appell.compile.exchange.jax_primitives import replayed
from appell.compile.scan import Scan
from appell.errors import ArgumentError
from export_cases import arm_step, backward_through_time

STEPS = 7


@cache
def swing() -> Scan:
    """A pendulum under a torque, with held damping, and with its energy as a result."""

    def body(x, v, p, t, u):
        a = u[0] + u[1] * t - sin(x[0]) - p * v
        v = v + 0.1 * a
        return {"x": [x[0] + 0.1 * v, x[1] + 0.1 * x[0]], "v": v, "energy": 0.5 * v * v + x[0] * x[1]}

    return Scan.of("swing", {"x": 2, "v": ()}, {"p": ()}, {"t": (), "u": 2}, body)


@pytest.fixture(autouse=True)
def doubles():
    with jax.enable_x64(True):
        yield


def arguments(*batch: int) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    shapes = [(2,), (), (), (STEPS,), (STEPS, 2)]
    return [rng.normal(size=(*batch, *shape)) for shape in shapes]


def by_single_steps(x, v, p, t, u):
    """The same by JAX's own operations and its own derivatives, step by step."""

    def step(state, driven):
        result = replayed(swing().step.tape, *state, p, *driven)
        return tuple(result[:2]), tuple(result)

    return jax.lax.scan(step, (x, v), (jnp.asarray(t), jnp.asarray(u)))[1]


@pytest.mark.parametrize("native", [True, False])
def test_results_are_those_of_the_scan(native):
    exported, given = swing().to_jax(native=native), arguments(5)
    given[2], given[3] = given[2][0], given[3][0]  # damping and clock are shared by all samples
    for result, expected in zip(exported(*given), swing()(*given), strict=True):
        assert np.array_equal(result, expected) if native else np.allclose(result, expected, rtol=1e-13, atol=1e-13)
    mapped = jax.vmap(exported, (0, 0, None, None, 0))
    for result, expected in zip(mapped(*given), swing()(*given), strict=True):
        assert np.allclose(result, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("native", [True, False])
def test_derivatives_of_any_order_are_those_through_single_steps(native):
    """By all arguments: carried, held and driven; backward, forward over backward, backward over backward."""
    exported, given = swing().to_jax(native=native), arguments()
    weights = [jnp.asarray(np.random.default_rng(2).normal(size=(STEPS, *array.shape))) for array in swing().outputs]

    def total(f):
        return lambda *x: sum((w * jnp.sin(y)).sum() for w, y in zip(weights, f(*x), strict=True))

    @partial(jax.jit, static_argnums=0)
    def derivatives(f, given):
        once = jax.grad(total(f), tuple(range(5)))(*given)
        if not native:
            return once
        forward = jax.jvp(lambda u: jax.grad(total(f), 2)(*given[:4], u), (given[4],), (given[4] + 1.0,))
        backward = jax.grad(lambda *x: jax.grad(total(f), 1)(*x) ** 2, (0, 2, 4))(*given)
        return once, forward, backward

    pairs = zip(*(jax.tree.leaves(derivatives(f, given)) for f in (exported, by_single_steps)), strict=True)
    for result, expected in pairs:
        assert np.allclose(result, expected, rtol=1e-11, atol=1e-11)


def test_gradients_of_shared_arguments_are_summed():
    exported, given = swing().to_jax(), arguments(4)
    p = given[2][0]

    def total(p, k=slice(None)):
        return exported(given[0][k], given[1][k], p, given[3][k], given[4][k])[0].sum()

    by_all, by_each = jax.jit(lambda p: (jax.grad(total)(p), [jax.grad(total)(p, k) for k in range(4)]))(p)
    assert np.allclose(by_all, sum(by_each), rtol=1e-13)


def test_a_gradient_through_a_hundred_steps_of_an_arm_is_one_backward_scan():
    step, rng = arm_step(), np.random.default_rng(3)
    scan = Scan(step, 2).to_jax()
    q, v, u = 0.2 * rng.normal(size=6), 0.2 * rng.normal(size=6), 5.0 * rng.normal(size=(100, 6))

    def cost(u):
        return sum((x[-1] ** 2).sum() for x in scan(q, v, u))

    compiled = jax.jit(jax.grad(cost)).lower(u)
    assert "while" not in compiled.as_text()  # no loop of XLA's
    _, expected = backward_through_time(step, q, v, u)
    assert np.abs(compiled.compile()(u) - expected).max() <= 1e-12 * np.abs(expected).max()


def test_a_scan_in_jax_can_be_pickled_and_names_wrong_arguments():
    exported, given = swing().to_jax(), arguments()
    again = pickle.loads(pickle.dumps(exported))
    assert np.array_equal(again(*given[:4], u=given[4])[2], swing()(*given)[2])
    assert "JAX kernel of <Scan swing" in repr(again)
    with pytest.raises(ArgumentError, match="swing: missing argument u"):
        exported(*given[:4])
    with pytest.raises(ArgumentError, match=r"argument u has shape \(7, 3\)"):
        exported(*given[:4], np.zeros((STEPS, 3)))
    with pytest.raises(ArgumentError, match="different numbers of steps: t 7, u 8"):
        exported(*given[:4], np.zeros((STEPS + 1, 2)))
