"""Derivatives of a knot against differences of its values, and its step against rollouts.

Differences are central with Richardson's extrapolation: errors of order ε⁴ and of rounding / ε, about 1e-10
for ε = 3e-4.
"""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import appell as ap
from answers import interpreted
from appell.compile.function import Function
from appell.optimal.contact_steps import Phases
from appell.optimal.problem import Problem
from robots import example_urdfs

EPSILON, TOLERANCE = 3e-4, 1e-8  # of differences, relative to the largest entry


def robot(name):
    if name in ap.zoo_names():
        return ap.load(name)
    base = "floating" if name == "solo12" else "fixed"
    [path] = [path for path in example_urdfs() if path.stem == name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = ap.load(path, base=base, physical=False)
    # two legs of a quadruped are enough for every kind of term
    return loaded.locked([x for x in loaded.joint_names if x[:2] in ("FR", "HL")]) if name == "solo12" else loaded


def cost(t, q, v, tau):
    return 0.3 * ap.square(tau) + (0.2 + t) * ap.square(v) + 0.1 * q[-1] * v[0] * v[0] * ap.sin(t + q[0]) * tau[-1]


def rows(t, q, v, tau):
    return {
        "mix": (-1.0, q[-1] * v[0] + 0.1 * t, 2.0),
        "power": (None, tau[-1] * v[-1], 5.0),
        "path": (0.0, v[0] * v[0], 0.0),
    }


def last(q, v):
    return ap.square(q[-1] * v[0] + ap.sin(q[0])) + v[0] ** 4


def evaluated(problem, driven=(), kind=0):
    """Return functions of (q, v, u, p) at knot 7: values by name, and with a costate also derivatives."""
    sizes = {"q": problem.nq, "v": problem.nv, "u": problem.nu} | ({"p": problem.np} if problem.np else {})
    data = list(driven)

    def values(q, v, u, p=()):
        t, h = problem.clock(7.0, p, 0.02)
        knot = problem.values(kind, t, h, q, v, u, p, data)
        end = problem.final_values(t, h, q, v, p, data)
        return {"q": knot.q, "v": knot.v, "cost": knot.cost, "g": knot.g, "e": knot.e, "final": end.cost}

    def derivatives(q, v, u, *others):
        p, costate = ([], *others) if len(others) == 1 else others
        t, h = problem.clock(7.0, p, 0.02)
        d = problem.derivatives(kind, t, h, q, v, u, p, data, costate=costate)
        s = d.slopes
        step = [[*a, *b, *c] for a, b, c in zip(s.A, s.B, s.by_p, strict=True)]
        end = problem.final_derivatives(t, h, q, v, p, data).gradient
        results = {"step": step, "cost": d.gradient, "hessian": d.hessian, "g": d.g_z, "e": d.e_z, "final": end}
        return {name: value for name, value in results.items() if np.size(value)}

    return [
        by_name(Function.of("values", sizes, lambda *x: {k: y for k, y in values(*x).items() if np.size(y)})),
        by_name(Function.of("derivatives", sizes | {"costate": problem.nx}, derivatives)),
    ]


def by_name(function):
    """Return a function that returns the results as attributes, and ignores arguments of size zero."""

    def call(*given):
        results = interpreted(function, *(x for x in given if np.size(x)))
        return SimpleNamespace(**dict(zip((x.name for x in function.outputs), results, strict=True)))

    return call


def moved(problem, state, direction, epsilon):
    q, v, u, p = state
    step = np.split(epsilon * direction, np.cumsum([problem.nd, problem.nv, problem.nu]))
    end = np.array(problem.integrate(q.tolist(), step[0].tolist()), float)  # the moves of the solver
    return end, v + step[1], u + step[2], p + step[3]


def differences(problem, state, function, directions):
    """Return the derivatives of the results of a function of the state along directions, by name, one per column."""
    columns = []
    for direction in directions.T:
        slopes = []
        for epsilon in (EPSILON, 2.0 * EPSILON):
            high, low = (vars(function(*moved(problem, state, direction, sign * epsilon))) for sign in (1.0, -1.0))
            slopes.append({name: (high[name] - low[name]) / (2.0 * epsilon) for name in high})
        columns.append({name: (4.0 * slopes[0][name] - slopes[1][name]) / 3.0 for name in slopes[0]})
    return {name: np.stack([column[name] for column in columns], axis=-1) for name in columns[0]}


def state_of(problem, seed=4):
    rng = np.random.default_rng(seed)
    system = problem.system
    q = system.random_configuration(rng) if not system.is_constrained else system.start
    if system.is_constrained:
        q = system.integrate(q, 0.2 * rng.uniform(-1.0, 1.0, system.nv))
    p = np.full(problem.np, 0.4)
    return q, rng.uniform(-1.0, 1.0, problem.nv), rng.uniform(-1.0, 1.0, problem.nu), p


def close(computed, expected, tolerance=TOLERANCE):
    computed, expected = np.asarray(computed, float), np.asarray(expected, float)
    assert computed.shape == expected.shape
    assert np.abs(computed - expected).max(initial=0.0) <= tolerance * max(1.0, np.abs(expected).max(initial=0.0))


CASES = {
    "arm": ("puma", {}),
    "arm by rk4, duration unknown": ("planar-2r", {"method": "rk4", "duration": (0.1, 1.0)}),
    "arm by midpoint, duration unknown": ("planar-2r", {"method": "midpoint", "duration": (0.1, 1.0)}),
    "one of two actuators": ("double_pendulum", {"duration": (0.1, 1.0), "actuators": [-1]}),
    "quadruped in flight": ("solo12", {"duration": (0.1, 1.0)}),
    "free body by rk4": ("box", {"method": "rk4"}),
    "loop": ("four-bar", {"duration": (0.1, 1.0)}),
    "loop by rk4": ("four-bar", {"method": "rk4"}),
    "rolling wheels on a free frame": ("whipple-bicycle", {}),
    "mechanism in closed form": ("five-bar", {}),
}


@pytest.mark.parametrize("case", CASES)
def test_derivatives_of_a_knot_agree_with_differences(case):
    name, options = CASES[case]
    system = robot(name)
    if "actuators" in options:
        options = {**options, "actuators": [system.actuator_names[k] for k in options["actuators"]]}
    dt = {} if "duration" in options else {"dt": 0.02}
    problem = Problem(ap.Dynamics(system), 20, **dt, cost=cost, final_cost=last, keep=rows, limits=False, **options)
    check(problem, *evaluated(problem), state_of(problem))


def check(problem, values, derivatives, state):
    """Compare all first derivatives along random directions of all unknowns."""
    at, slopes = values(*state), derivatives(*state, np.zeros(problem.nx))
    directions = np.random.default_rng(2).uniform(-1.0, 1.0, (problem.nz, 2)) / np.sqrt(problem.nz)

    def moving(*x):
        after = values(*x)
        after.step = np.concatenate([problem.system.difference(at.q, after.q), after.v])
        return after

    expected = differences(problem, state, moving, directions)
    for name in {*vars(slopes)} - {"hessian", "final"}:
        close(getattr(slopes, name) @ directions, expected[name])
    inputs = slice(problem.nx, problem.nx + problem.nu)
    close(slopes.final @ np.delete(directions, inputs, axis=0), expected["final"])


FEET = ("FL_FOOT", "HR_FOOT")


@pytest.mark.parametrize("kind", [0, 1], ids=["flow", "impact"])
def test_derivatives_on_contacts_agree_with_differences(kind):
    system = robot("planar-2r") if kind else robot("solo12")
    feet = {"tip": ap.Touch("tool")} if kind else {foot: ap.Touch(foot) for foot in FEET}
    phases = [(10, []), (10, ["tip"])] if kind else [(10, FEET), (10, FEET[:1])]

    def with_force(t, q, v, tau, *, force):
        return cost(t, q, v, tau) + 1e-3 * ap.square(force) + 0.1 * force[0][2] * v[0]

    problem = Problem(
        ap.Dynamics(system), 20, 0.02, cost=with_force, limits=False, contacts=feet, phases=phases, cone=0.7
    )
    assert problem.kinds == ([0] * 10 + [1] + [0] * 9 if kind else [0] * 20)
    state = state_of(problem)
    driven = problem.data_values(q0=state[0])[1][0]
    check(problem, *evaluated(problem, driven[-1], kind), state)


@pytest.mark.parametrize("cone", [None, 0.7])
def test_points_with_friction_stand_on_horizontal_ground_unless_footholds_are_given(cone):
    dyn = ap.Dynamics(ap.load("puma"))
    q0 = np.array([[0.3, -0.5, 0.4, 0.2, 0.1, 0.6]])
    phases = Phases(dyn, {"tip": ap.Touch("tool")}, None, 4, (100.0, 20.0), cone)
    pose = phases.values(q0, None, True)[0, 0, -12:].reshape(3, 4)
    expected = dyn.pose("tool")(q0[0])[:3]
    close(pose[:, 3], expected[:, 3])
    close(pose[:, :3], expected[:, :3] if cone is None else np.eye(3))
    given = np.concatenate([np.eye(3)[::-1], [[1.0], [2.0], [3.0]]], axis=1)
    close(phases.values(q0, given[None], True)[0, 2, -12:].reshape(3, 4), given)


@pytest.mark.parametrize(
    "name", ["planar-2r", "box"]
)  # the moves of a box do not turn its shift, unlike the exponential
def test_exact_hessians_agree_with_second_differences(name):
    system = robot(name)
    problem = Problem(ap.Dynamics(system), 20, duration=(0.1, 1.0), cost=cost, limits=False, hessian="exact")
    (values, derivatives), state = evaluated(problem), state_of(problem)
    costate = np.random.default_rng(5).uniform(-1.0, 1.0, problem.nx)
    at, hessian = values(*state), derivatives(*state, costate).hessian

    def lagrangian(*x):
        after = values(*x)
        tangent = np.array(problem.difference(at.q.tolist(), after.q.tolist()), float)
        return after.cost + costate @ np.concatenate([tangent, after.v])

    rng = np.random.default_rng(6)
    for _ in range(6):
        direction = rng.uniform(-1.0, 1.0, problem.nz)
        second = []
        for epsilon in (4e-3, 8e-3):
            ends = [lagrangian(*moved(problem, state, direction, sign * epsilon)) for sign in (1.0, 0.0, -1.0)]
            second.append((ends[0] - 2.0 * ends[1] + ends[2]) / epsilon**2)
        close(direction @ hessian @ direction, (4.0 * second[0] - second[1]) / 3.0, 1e-6)


@pytest.mark.parametrize(
    ("name", "method"),
    [("puma", "euler"), ("pendulum", "rk4"), ("pendulum", "midpoint"), ("box", "euler"), ("four-bar", "euler")],
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
        q, v, part = interpreted(step, float(k), q, v, tau)
        total += part
        np.testing.assert_allclose(q, record.q[0, k + 1], rtol=0, atol=1e-14)
        np.testing.assert_allclose(v, record.v[0, k + 1], rtol=0, atol=1e-13)
    np.testing.assert_allclose(total, record.cost[0], rtol=1e-13)


def test_squares_have_the_hessian_of_gauss_and_newton():
    def residuals(q, v):
        return [ap.sin(q[0]) * q[1], v[0] * q[0]]

    def weighted(t, q, v, tau):
        return 3.0 * ap.square(residuals(q, v)) + ap.square(tau)

    problem = Problem(ap.load("planar-2r"), 5, 0.5, cost=weighted, limits=False)
    q, v, u, p = state_of(problem)
    J = np.array([[np.cos(q[0]) * q[1], np.sin(q[0]), 0, 0], [v[0], 0, q[0], 0]])
    expected = np.zeros((6, 6))
    expected[:4, :4], expected[4:, 4:] = 6.0 * J.T @ J, 2.0 * np.eye(2)
    close(evaluated(problem)[1](q, v, u, p, np.zeros(4)).hessian, 0.02 * expected, 1e-14)


def test_a_square_whose_weight_depends_on_the_state_has_an_exact_hessian():
    problem = Problem(ap.load("planar-2r"), 5, 0.5, cost=lambda t, q, v, tau: q[0] * ap.square(tau), limits=False)
    q, v, u, p = state_of(problem)
    expected = np.zeros((6, 6))
    expected[4:, 4:], expected[0, 4:], expected[4:, 0] = 2.0 * q[0] * np.eye(2), 2.0 * u, 2.0 * u
    close(evaluated(problem)[1](q, v, u, p, np.zeros(4)).hessian, 0.02 * expected, 1e-14)


def test_exact_hessians_contain_the_curvature_of_rows():
    def curved(t, q, v, tau):
        return {"g": (None, q[0] * v[0] * tau[0], 1.0), "e": (0.0, q[1] ** 3 * v[1], 0.0)}

    problem = Problem(
        ap.load("planar-2r"),
        5,
        0.5,
        cost=lambda t, q, v, tau: ap.square(tau),
        keep=curved,
        limits=False,
        hessian="exact",
    )

    def body(q, v, u, w):
        return {"H": problem.derivatives(0, 0.0, 0.5, q, v, u, [], [], weights=([w[0]], [w[1]])).hessian}

    q, v, u, _ = state_of(problem)
    H = interpreted(Function.of("rows", {"q": 2, "v": 2, "u": 2, "w": 2}, body), q, v, u, [0.7, -0.4])
    expected = np.zeros((6, 6))
    expected[4, 4] = expected[5, 5] = 2.0 * 0.5
    for i, j, x in ((0, 2, 0.7 * u[0]), (0, 4, 0.7 * v[0]), (2, 4, 0.7 * q[0]), (1, 3, -0.4 * 3.0 * q[1] ** 2)):
        expected[i, j] = expected[j, i] = x
    expected[1, 1] = -0.4 * 6.0 * q[1] * v[1]
    close(H, expected, 1e-14)


def test_free_parameters_and_arguments_enter_costs_rows_and_dynamics():
    system = ap.load("planar-2r").with_free("lower")

    def aimed(t, q, v, tau, *, goal, weight):
        return weight * ap.square(q - goal) + ap.square(tau) * goal[0]

    problem = Problem(
        ap.Dynamics(system),
        5,
        0.02,
        cost=aimed,
        keep=lambda t, q, v, tau, *, goal: {"near": (None, q[0] - goal[0], 1.0)},
        meet=lambda q, v, *, goal: {"there": q - goal},
        limits=False,
        arguments={"goal": 2, "weight": ()},
        free={"goal": (-1.0, 1.0), "parameters": None},
    )
    assert problem.np == 12
    assert problem.held == {"weight": 1}
    assert [row.name for row in problem.final_equalities] == ["there[0]", "there[1]"]
    assert len(problem.parameter_rows) == 4
    held, driven = problem.data_values({"weight": 3.0})
    assert held.tolist() == [[3.0]]
    assert driven.shape == (1, 5, 0)
    q, v, u, _ = state_of(problem)
    p = np.concatenate([[0.3, -0.2], ap.Dynamics(ap.load("planar-2r")).parameter_values[10:]])
    check(problem, *evaluated(problem, held[0]), (q, v, u, p))


def test_signals_have_one_value_per_knot():
    def tracking(t, q, v, tau, *, goal, weight):
        return weight * ap.square(q - goal) + ap.square(tau)

    problem = Problem(
        ap.load("planar-2r"), 5, 0.02, cost=tracking, limits=False, signals={"goal": 2}, arguments={"weight": ()}
    )
    goals = np.arange(10.0).reshape(5, 2)
    held, driven = problem.data_values({"weight": 3.0}, signals={"goal": goals})
    np.testing.assert_array_equal(driven[0], goals)
    q, v, u, p = state_of(problem)
    values, derivatives = evaluated(problem, [*held[0], *driven[0, 3]])
    assert values(q, v, u, p).cost == pytest.approx(0.02 * (3.0 * ((q - goals[3]) ** 2).sum() + (u**2).sum()))
    np.testing.assert_allclose(derivatives(q, v, u, p, np.zeros(4)).cost[:2], 0.12 * (q - goals[3]), rtol=1e-13)
    with pytest.raises(ap.ArgumentError, match=r"signal 'goal' has shape \(4, 2\)"):
        problem.data_values({"weight": 3.0}, signals={"goal": goals[:4]})
