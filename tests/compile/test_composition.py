"""Functions called with traced scalars become part of the function that is traced."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell import _NAMES
from appell.compile.scan import Scan
from appell.compile.tape.traced_array import FUNCTIONS
from appell.errors import ArgumentError, TraceError
from appell.simulation import Rollout
from robots import example_urdfs


@pytest.fixture(scope="module")
def arm():
    """Return the dynamics of a UR5."""
    return ap.Dynamics(ap.load(next(path for path in example_urdfs() if path.stem == "ur5_robot")))


@pytest.fixture(scope="module")
def flying():
    """Return the dynamics of a flying base with an arm."""
    return ap.Dynamics(
        ap.load(next(path for path in example_urdfs() if path.stem == "borinot_flying_arm_2"), base="floating")
    )


Q, V, A = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 6))


def of(body, **shapes):
    """Return a function of a body."""
    return ap.Function.of("f", shapes, body)


def test_functions_of_motion_frames_and_derivatives_compose(arm):
    by_q = arm.inverse_dynamics.jacobian("q")
    pose, jacobian = arm.pose("tool0"), arm.jacobian("tool0")

    def body(q, v, a):
        energies = arm.energy(q, v)
        return {
            "tau": arm.inverse_dynamics(q, v, a),
            "a": arm.forward_dynamics(q, v, tau=arm.bias(q, v)),
            "M": arm.mass_matrix(q),
            "by_q": by_q(q, v, a),
            "tool": pose(q)[:3, 3],
            "speed": jacobian(q) @ v,
            "energy": energies.T + energies.U,
        }

    composed = of(body, q=6, v=6, a=6)(Q, V, A)
    expected = [
        arm.inverse_dynamics(Q, V, A),
        arm.forward_dynamics(Q, V, arm.bias(Q, V)),
        arm.mass_matrix(Q),
        by_q(Q, V, A),
        pose(Q)[:3, 3],
        jacobian(Q) @ V,
        sum(arm.energy(Q, V)),
    ]
    for value, reference in zip(composed, expected, strict=True):
        np.testing.assert_allclose(value, reference, rtol=1e-12, atol=1e-12)


def test_composing_compiles_nothing(arm):
    gravity = ap.Dynamics(arm.system).gravity
    of(lambda q: {"g": gravity(q), "h": gravity(list(q))}, q=6)
    assert not {"ufunc", "_loops"} & set(vars(gravity))


def test_a_function_composes_before_and_after_its_first_call(arm):
    gravity = ap.Dynamics(arm.system).gravity
    before = of(lambda q: {"g": gravity(q)}, q=6)
    for run in (gravity(Q), gravity(np.stack([Q, Q]))[0], gravity(Q.astype(np.float32))):
        np.testing.assert_allclose(run, before(Q), rtol=1e-5)
    for call in (gravity, lambda q: gravity(q=q), lambda q: gravity([*q]), lambda q: gravity(tuple(q))):
        assert of(lambda q, call=call: {"g": call(q)}, q=6).tape.digest == before.tape.digest


def test_several_results_of_a_composed_call_are_a_named_tuple(arm):
    pair = of(lambda x: {"sum": x[0] + x[1], "product": x[0] * x[1]}, x=2)
    assert of(lambda x: {"y": pair(x).sum - pair(x).product}, x=2)([3.0, 4.0]) == -5.0


def test_batch_axes_of_traced_arguments_broadcast(arm):
    composed = of(lambda q, v: {"h": arm.bias(q, v)}, q=(4, 6), v=6)
    q = np.random.default_rng(1).normal(size=(4, 6))
    np.testing.assert_allclose(composed(q, V), arm.bias(q, V), rtol=1e-13)


def test_numbers_among_the_arguments_are_constants(arm):
    composed = of(lambda q: {"h": arm.bias(q, np.zeros(6))}, q=6)
    assert composed.tape.digest == of(lambda q: {"h": arm.bias(q, [0.0] * 6)}, q=6).tape.digest
    np.testing.assert_allclose(composed(Q), arm.gravity(Q), rtol=1e-13)
    constant = of(lambda q: {"g": arm.gravity(0.0 * q)}, q=6)  # an array of traced scalars that holds numbers only
    np.testing.assert_allclose(constant(Q), arm.gravity(np.zeros(6)), rtol=1e-13, atol=1e-13)


def test_a_function_with_loops_composes_unrolled():
    builder = ap.Builder("chain", root=None)
    for k in range(12):
        builder.link(f"l{k}", ap.Revolute((0, 1, 0)), mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
    dyn = ap.Dynamics(builder.build(), looped=True)
    assert "inverse_dynamics" in dyn.looped
    q = np.linspace(0.0, 1.0, 12)
    composed = of(lambda q: {"tau": dyn.inverse_dynamics(q, q, q)}, q=12)
    np.testing.assert_allclose(composed(q), dyn.inverse_dynamics(q, q, q), rtol=1e-11)


def test_functions_of_constraints_compose():
    bar = ap.Dynamics(ap.load("four-bar"))
    composed = of(lambda q: {"gap": bar.gap(q), "N": bar.basis(q)}, q=bar.system.nq)
    q = bar.system.start
    np.testing.assert_allclose(composed(q).gap, bar.gap(q), atol=1e-12)
    assert composed.jacobian("q").outputs[0].shape[-1] == bar.system.nv  # along the motions that the loop allows


def test_functions_compose_in_constraints(arm):
    jacobian, rate = arm.jacobian("tool0", "LOCAL_WORLD_ALIGNED"), arm.jacobian_rate("tool0", "LOCAL_WORLD_ALIGNED")
    level = arm.system.with_loops(ap.Velocities(lambda q: (jacobian(q)[2:3], [0.0]), name="level"))  # constant height
    dyn = ap.Dynamics(level)
    w, a = dyn.tree_velocity(Q, V[:5]), dyn.tree_acceleration(Q, V[:5], A[:5])
    np.testing.assert_allclose(jacobian(Q)[2] @ w, 0.0, atol=1e-12)
    np.testing.assert_allclose(jacobian(Q)[2] @ a + rate(Q, w)[2] @ w, 0.0, atol=1e-12)


def test_derivatives_of_a_composed_function_are_along_velocities(flying):
    system = flying.system
    frame = system.frame_names[-1]

    def height(q):
        return {"z": flying.pose(frame, q)[2, 3] + flying.center_of_mass(q)[2]}

    f = of(height, q=system.nq)
    q = system.random_configuration(np.random.default_rng(2))
    slope, step = f.jacobian("q")(q), 1e-6
    moved = [[f(system.integrate(q, sign * step * e)) for sign in (1, -1)] for e in np.eye(system.nv)]
    np.testing.assert_allclose(slope, np.subtract(*np.transpose(moved)) / (2 * step), atol=1e-8)
    assert "q" not in of(lambda q: {"z": q[2] * q[2]}, q=system.nq).tangents
    assert not Scan.of("s", {"q": system.nq}, {}, {"t": ()}, lambda q, t: {"q": q * height(q)["z"]}).step.tangents


def test_a_composed_function_is_exported_everywhere(arm):
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    casadi, _ = pytest.importorskip("casadi"), pytest.importorskip("sympy")
    jax.config.update("jax_enable_x64", True)
    pose = arm.pose("tool0")
    f = of(lambda q, goal: {"miss": np.sum((pose(q)[:3, 3] - goal) ** 2)}, q=6, goal=3)
    goal = np.array([0.1, 0.2, 0.3])
    expected = ((pose(Q)[:3, 3] - goal) ** 2).sum()
    exported = [
        f(Q, goal),
        f.to_jax()(Q, goal),
        f.to_torch()(torch.from_numpy(Q), torch.from_numpy(goal)).numpy(),
        float(f.to_casadi()(casadi.DM(Q), casadi.DM(goal))),
    ]
    np.testing.assert_allclose(exported, expected, rtol=1e-12)
    assert set(f.to_sympy().results) == {"miss"}
    assert all("miss" in text for text in (f.to_c().header, f.to_json()))


def test_functions_compose_in_rollouts_environments_simulations_and_sweeps(arm, tmp_path):
    pytest.importorskip("gymnasium")
    pytest.importorskip("zarr")
    pose, goal = arm.pose("tool0"), np.array([0.3, 0.3, 0.4])

    def law(t, q, v):
        return arm.gravity(q) - 2.0 * v

    def reward(t, q, v, tau):
        return -np.sum((pose(q)[:3, 3] - goal) ** 2) - 1e-3 * v @ v

    plan = Rollout(
        arm, law=law, cost=lambda t, q, v, tau: -reward(t, q, v, tau), final_cost=lambda q, v: np.sum(arm.energy(q, v))
    )
    records = plan(Q, steps=20, dt=1e-3)
    costs = [-reward(0.0, q, v, None) for q, v in zip(records.q[0, :-1], records.v[0, :-1], strict=True)]
    expected = 1e-3 * sum(costs) + sum(arm.energy(records.q[0, -1], records.v[0, -1]))
    np.testing.assert_allclose(records.cost[0], expected, rtol=1e-12)

    simulated = ap.simulate(arm, Q, until=0.02, torque=law, stop=lambda t, q, v: pose(q)[2, 3] + 10.0)
    np.testing.assert_allclose(simulated.q[-1], records.q[0, -1], atol=1e-9)

    env = ap.gym_env(
        arm,
        reward,
        members=2,
        observation=lambda q, v: pose(q)[:3, 3],
        terminated=lambda q, v: arm.energy(q, v).T - 1e9,
    )
    observations, _ = env.reset(seed=0)
    assert observations.shape == (2, 3)
    assert np.isfinite(env.step(np.zeros((2, 6)))[1]).all()

    f = of(lambda q: {"reward": reward(0.0, q, 0.0 * q, None)}, q=6)
    results = ap.sweep(lambda x: {"r": f(x * Q)}, {"x": [0.5, 1.0]}, out=tmp_path / "sweep.zarr")
    np.testing.assert_allclose(results["r"], [reward(0.0, x * Q, 0.0 * Q, None) for x in (0.5, 1.0)])


# ---- arrays of traced scalars

M, S = np.arange(1.0, 10.0).reshape(3, 3), np.array([0.3, -0.4, 0.5])
EXPRESSIONS = {
    "index": lambda x, m: x[0] + x[-1] + m[1, -1] + m[0][2],
    "slices": lambda x, m: x[1:] * m[:2, 0] - m[-1, ::2],
    "matrix": lambda x, m: m @ x + x @ m + m.T @ x,
    "product": lambda x, m: m @ m[:, :2],
    "sums": lambda x, m: x.sum() + np.sum(m) + m.sum(axis=0) + sum(x) + np.mean(m),
    "dot": lambda x, m: np.dot(m, x) * np.dot(x, x) + np.outer(x, x)[0] + np.einsum("ij,j->i", m, x),
    "broadcast": lambda x, m: m * x + x[:, None] - 2.0 + np.ones(3) / (2.0 + x),
    "join": lambda x, m: np.concatenate([x, m[0], [1.0]]),
    "stack": lambda x, m: np.stack([x, m[1]]) @ x,
    "reshape": lambda x, m: m.reshape(9)[3:] + m.ravel()[:6],
    "functions": lambda x, m: np.sin(x) + np.cos(m[0]) * np.sqrt(m[1]) + np.exp(x) + np.tanh(x) + np.log(m[2]),
    "own functions": lambda x, m: ap.sin(x) + ap.tanh(m) * ap.maximum(x, 0.1) + ap.abs(x) + ap.atan2(x, m[0]),
    "numbers": lambda x, m: np.float64(2.0) * x[0] + np.array([1.0, 2.0]) * x[1] + x[2] * np.array([1, 2]),
    "select": lambda x, m: ap.select(x, m[0], x) + ap.select(x[1], x, m[1]),
    "limits": lambda x, m: np.clip(x, -0.2, 0.2) + np.maximum(x, 0.0) + np.minimum(m[0], x) + abs(x) + np.abs(x),
    "extremes": lambda x, m: np.max(m) - np.min(m, axis=0) + np.max(x) + np.linalg.norm(x) + np.sign(x),
    "powers": lambda x, m: x**2 + m[0] ** 3 + (-x) + x / m[1],
    "loops": lambda x, m: np.array([a * b for a, b in zip(x, m[0], strict=True)]) + sum(row[0] for row in m),
    "cross": lambda x, m: np.cross(x, m[0]) + np.diag(m) + np.trace(m),
}


def test_functions_of_scalars_are_functions_of_numpy_too():
    names = {"abs": "absolute", "atan2": "arctan2"}
    public = [name for name in _NAMES["appell.algebra.elementwise"].split() if name not in ("erf", "power", "select")]
    assert {names.get(name, name) for name in public} <= set(FUNCTIONS)


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_arrays_of_traced_scalars_compute_what_arrays_of_numbers_compute(expression):
    traced = of(lambda x, m: {"y": expression(x, m)}, x=3, m=(3, 3))
    assert traced.outputs[0].shape == np.shape(expression(S, M))
    for value, reference in zip(np.ravel(traced(S, M)), np.ravel(expression(S, M)), strict=True):
        assert value == pytest.approx(reference, rel=1e-14, abs=1e-14)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda x, m: x if x[0] > 0 else -x, "value of a traced scalar is needed"),
        (lambda x, m: np.where(x > 0, x, 0.0), "value of a traced scalar is needed"),
        (lambda x, m: max(x), "value of a traced scalar is needed"),
        (lambda x, m: np.zeros(3).__setitem__(0, x[0]), "np.array"),
        (lambda x, m: np.zeros(3).__iadd__(x), "written to an array of float64 numbers"),
        (lambda x, m: np.isnan(x), "numpy.isnan cannot be applied to traced scalars"),
        (lambda x, m: np.linalg.inv(m), "numpy.inv cannot be applied to traced scalars"),
        (lambda x, m: x * np.array([1.0, np.nan, 1.0]), "number nan"),
    ],
)
def test_arrays_of_traced_scalars_refuse_what_needs_their_values(body, message):
    with pytest.raises(TraceError, match=message):
        of(lambda x, m: {"y": body(x, m)}, x=3, m=(3, 3))


# ---- bad input


def test_wrong_calls_with_traced_scalars_are_named(arm):
    other = ap.Dynamics(ap.load("panda"))
    cases = {
        r"argument q \(argument q of 'f'\) has shape \(7,\)": lambda q: arm.gravity(q),
        r"gravity of robot 'ur5': argument q \(result g of gravity of robot 'panda'\)": lambda q: arm.gravity(
            other.gravity(q)
        ),
        r"argument v has shape \(6,\)": lambda q: other.bias(q, np.zeros(6)),
        "missing argument v": lambda q: other.bias(q),
        "got 2 arguments": lambda q: other.gravity(q, q),
        "has no argument 'out'.*\n.*has no options": lambda q: other.gravity(q, out=np.zeros(7)),
        "argument v holds <U1 values": lambda q: other.bias(q, ["a"] * 7),
        "argument q is nested unevenly": lambda q: other.gravity([q, [q]]),
        r"do not broadcast: q \(2,\), v \(3,\)": lambda q: other.bias([q] * 2, [q] * 3),
    }
    for message, body in cases.items():
        with pytest.raises(ArgumentError, match=message):
            of(lambda q, body=body: {"y": body(q)}, q=7)


def test_traced_scalars_of_two_traces_and_constants_that_are_not_finite_are_named(arm):
    def outer(q):
        inner = ap.Function.of("g", {"v": 6}, lambda v: {"h": arm.bias(q, v)})
        return {"y": inner(q)}

    with pytest.raises(TraceError, match=r"bias of robot 'ur5': arguments q and v hold .* different traces"):
        of(outer, q=6)
    with pytest.raises(TraceError, match="argument v holds the constant nan"):
        of(lambda q: {"y": arm.bias(q, [np.nan] * 6)}, q=6)


def test_one_argument_for_systems_with_different_coordinates_is_named():
    free = ap.Dynamics(ap.load("box"))
    tangent = ap.trace("tangent", [ap.Array("q", (7,))], lambda q: {"N": [[x] for x in q]})
    scaled = ap.Function.of("scaled", {"q": 7}, lambda q: {"y": q[0]}, tangents={"q": tangent})
    with pytest.raises(TraceError, match="argument q of 'f' is passed to functions of systems"):
        of(lambda q: {"y": free.center_of_mass(q)[2] + scaled(q)}, q=7)
