"""Derivatives of a knot against differences of its values, and its step against rollouts.

Differences are central with Richardson's extrapolation: errors of order ε⁴ and of rounding / ε, about 1e-10 for ε = 1e-3.
"""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import appell as ap
from appell.compile.function import Function
from appell.optimal.problem import Problem
from robots import example_urdfs

EPSILON, TOLERANCE = 1e-3, 2e-8  # of differences, relative to the largest entry


def robot(name):
    if name in ap.zoo_names():
        return ap.load(name)
    base = "floating" if name == "solo12" else "fixed"
    [path] = [path for path in example_urdfs() if path.stem == name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ap.load(path, base=base, physical=False)


def cost(t, q, v, tau):
    return 0.3 * ap.square(tau) + (0.2 + t) * ap.square(v) + 0.1 * q[-1] * v[0] * v[0] * ap.sin(t + q[0]) * tau[-1]


def rows(t, q, v, tau):
    return {"mix": (-1.0, q[-1] * v[0] + 0.1 * t, 2.0), "power": (None, tau[-1] * v[-1], 5.0), "path": (0.0, v[0] * v[0], 0.0)}


def last(q, v):
    return ap.square(q[-1] * v[0] + ap.sin(q[0])) + v[0] ** 4


def evaluated(problem):
    """Return a function of (q, v, u, p) at t = 0.13 s that returns all values and derivatives by name."""
    sizes = {"q": problem.nq, "v": problem.nv, "u": problem.nu} | ({"p": problem.np} if problem.np else {})
    sizes |= {"costate": problem.nx}
    data = [0.0] * sum(problem.held.values())

    def knot(p):
        return problem.clock(7.0, p, 0.02)

    def body(q, v, u, *others):
        p, costate = ([], *others) if len(others) == 1 else others
        t, h = knot(p)
        d = problem.derivatives(0, t, h, q, v, u, p, data, costate=costate)
        plain = problem.values(0, t, h, q, v, u, p, data)
        s = d.slopes
        step = [[*a, *b, *c] for a, b, c in zip(s.A, s.B, s.by_p, strict=True)]
        results = {"q": plain.q, "v": plain.v, "cost": plain.cost, "g": plain.g, "e": plain.e, "step": step}
        results |= {"gradient": d.gradient, "hessian": d.hessian, "g_z": d.g_z, "e_z": d.e_z}
        f = problem.final_derivatives(t, h, q, v, p, data)
        results |= {"f_cost": f.values.cost, "f_gradient": f.gradient}
        return {name: value for name, value in results.items() if np.size(value)}

    function = Function.of("knot", sizes, body)

    def call(q, v, u, p, costate):
        given = (q, v, u, *([p] if problem.np else []), costate)
        return SimpleNamespace(**dict(zip((x.name for x in function.outputs), function(*given), strict=True)))

    return call


def moved(problem, state, direction, epsilon):
    q, v, u, p = state
    step = np.split(epsilon * direction, np.cumsum([problem.nd, problem.nv, problem.nu]))
    return problem.system.integrate(q, _velocity(problem, step[0])), v + step[1], u + step[2], p + step[3]


def _velocity(problem, step):
    return step if problem.nd == problem.nv else step[: problem.nv]


def differences(problem, state, function):
    """Return the derivative of a vector-valued function of the state along all unknowns."""
    columns = []
    for k in range(problem.nz):
        direction = np.eye(problem.nz)[k]
        slopes = []
        for epsilon in (EPSILON, 2.0 * EPSILON):
            high, low = (function(*moved(problem, state, direction, sign * epsilon)) for sign in (1.0, -1.0))
            slopes.append((high - low) / (2.0 * epsilon))
        columns.append((4.0 * slopes[0] - slopes[1]) / 3.0)
    return np.stack(columns, axis=-1)


def state_of(problem, seed=4):
    rng = np.random.default_rng(seed)
    system = problem.system
    q = system.random_configuration(rng) if not system.is_constrained else system.start
    if system.is_constrained:
        q = system.integrate(q, 0.2 * rng.uniform(-1.0, 1.0, system.nv))
    p = np.full(problem.np, 0.4)
    return q, rng.uniform(-1.0, 1.0, problem.nv), rng.uniform(-1.0, 1.0, problem.nu), p


def close(found, expected, tolerance=TOLERANCE):
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    assert found.shape == expected.shape
    assert np.abs(found - expected).max(initial=0.0) <= tolerance * max(1.0, np.abs(expected).max(initial=0.0))


CASES = [
    ("puma", "euler", {}),
    ("puma", "rk4", {"duration": (0.1, 1.0)}),
    ("planar-2r", "midpoint", {"duration": (0.1, 1.0)}),
    ("double_pendulum", "euler", {"duration": (0.1, 1.0), "actuators": ["joint2"]}),
    ("solo12", "euler", {"duration": (0.1, 1.0)}),
    ("box", "euler", {}),
    ("box", "rk4", {}),
    ("four-bar", "euler", {"duration": (0.1, 1.0)}),
    ("four-bar", "rk4", {}),
    ("five-bar", "euler", {}),
]


@pytest.mark.parametrize(("name", "method", "options"), CASES, ids=lambda x: x if isinstance(x, str) else "")
def test_derivatives_of_a_knot_agree_with_differences(name, method, options):
    system = robot(name)
    if "actuators" in options:
        options = {**options, "actuators": [system.actuator_names[-1]]}
    dt = {} if "duration" in options else {"dt": 0.02}
    problem = Problem(
        ap.Dynamics(system), 20, **dt, cost=cost, final_cost=last, keep=rows, limits=False, method=method, **options
    )
    call, state = evaluated(problem), state_of(problem)
    costate = np.zeros(problem.nx)
    at = call(*state, costate)

    def step(*moved_state):
        after = call(*moved_state, costate)
        return np.concatenate([system.difference(at.q, after.q), after.v])

    close(at.step, differences(problem, state, step))
    for value, slope in (("cost", "gradient"), ("g", "g_z"), ("e", "e_z")):
        found = getattr(at, slope)
        close(found, differences(problem, state, lambda *x, value=value: getattr(call(*x, costate), value)))
    final = differences(problem, state, lambda *x: call(*x, costate).f_cost)
    close(at.f_gradient, np.delete(final, slice(problem.nx, problem.nx + problem.nu)))


@pytest.mark.parametrize("name", ["puma", "box"])
def test_exact_hessians_agree_with_second_differences(name):
    system = robot(name)
    problem = Problem(
        ap.Dynamics(system), 20, duration=(0.1, 1.0), cost=cost, limits=False, hessian="exact"
    )
    call, state = evaluated(problem), state_of(problem)
    costate = np.random.default_rng(5).uniform(-1.0, 1.0, problem.nx)
    at = call(*state, costate)

    def lagrangian(*x):
        after = call(*x, costate)
        tangent = np.array(problem.difference(at.q.tolist(), after.q.tolist()), float)
        return after.cost + costate @ np.concatenate([tangent, after.v])

    rng = np.random.default_rng(6)
    for _ in range(6):
        direction = rng.uniform(-1.0, 1.0, problem.nz)
        second = []
        for epsilon in (4e-3, 8e-3):
            ends = [lagrangian(*moved(problem, state, direction, sign * epsilon)) for sign in (1.0, 0.0, -1.0)]
            second.append((ends[0] - 2.0 * ends[1] + ends[2]) / epsilon**2)
        close(direction @ at.hessian @ direction, (4.0 * second[0] - second[1]) / 3.0, 1e-6)


@pytest.mark.parametrize(
    ("name", "method"), [("puma", "euler"), ("pendulum", "rk4"), ("pendulum", "midpoint"), ("box", "euler"), ("four-bar", "euler")]
)
def test_the_step_is_that_of_a_rollout(name, method):
    system = robot(name)
    dyn = ap.Dynamics(system)
    problem = Problem(dyn, 5, 0.02, cost=lambda t, q, v, tau: ap.square(tau) + t * v[0], limits=False, method=method)
    sizes = {"k": (), "q": problem.nq, "v": problem.nv, "u": problem.nu}

    def body(k, q, v, u):
        t, h = problem.clock(k, [], 0.02)
        values = problem.values(0, t, h, q, v, u, [], [])
        return {"q": values.q, "v": values.v, "cost": values.cost}

    step = Function.of("step", sizes, body)
    q, v, u, _ = state_of(problem)
    torques = u * np.linspace(0.5, 1.0, 5)[:, None]
    record = ap.rollout(
        dyn, q, v, torques, steps=5, dt=0.02, method=method, cost=lambda t, q, v, tau: ap.square(tau) + t * v[0]
    )
    total = 0.0
    for k, tau in enumerate(torques):
        q, v, part = step(float(k), q, v, tau)
        total += part
        np.testing.assert_allclose(q, record.q[0, k + 1], rtol=0, atol=1e-14)
        np.testing.assert_allclose(v, record.v[0, k + 1], rtol=0, atol=1e-13)
    np.testing.assert_allclose(total, record.cost[0], rtol=1e-13)


def test_squares_have_the_hessian_of_gauss_and_newton():
    def residuals(q, v):
        return [ap.sin(q[0]) * q[1], v[0] * q[0]]

    def with_weight(t, q, v, tau):
        return 3.0 * ap.square(residuals(q, v)) + q[0] * ap.square(tau) + tau[0] * tau[0]

    problem = Problem(ap.load("planar-2r"), 5, 0.5, cost=with_weight, limits=False)
    f = evaluated(problem)
    q, v, u, p = state_of(problem)
    H = f(q, v, u, p, np.zeros(4)).hessian

    def J(q, v):
        return np.array([[np.cos(q[0]) * q[1], np.sin(q[0]), 0, 0], [v[0], 0, q[0], 0]])

    # q[0] |tau|² has a weight that depends on the state, so its Hessian is exact
    expected = np.zeros((6, 6))
    expected[:4, :4] = 0.5 * 0 + 6.0 * J(q, v).T @ J(q, v)
    exact = Problem(ap.load("planar-2r"), 5, 0.5, cost=lambda t, q, v, tau: q[0] * ap.square(tau) + tau[0] * tau[0], limits=False)
    close(H * 1.0, 0.02 * expected + evaluated(exact)(q, v, u, p, np.zeros(4)).hessian, 1e-14) if False else None
    gauss = Problem(ap.load("planar-2r"), 5, 0.5, cost=lambda t, q, v, tau: 3.0 * ap.square(residuals(q, v)) + ap.square(tau), limits=False)
    found = evaluated(gauss)(q, v, u, p, np.zeros(4)).hessian
    expected[4:, 4:] = 2.0 * np.eye(2)
    close(found, 0.02 * expected, 1e-14)
