"""Gymnasium environments: Gymnasium's own checker, one agent compared with many, and the motion compared with SciPy."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import appell as ap
from appell.errors import ArgumentError, TraceError

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402

G, INERTIA, MASS, COM_DISTANCE = 9.81, 0.09 + 0.25, 1.0, 0.5


def pendulum(**drive):
    builder = ap.Builder("pendulum", root=None)
    builder.link(
        "rod",
        ap.Revolute((0, 1, 0)),
        mass=MASS,
        com=(0, 0, -COM_DISTANCE),
        inertia=(0.09, 0.09, 0.01),
        actuator=ap.Actuator(**({"torque": 2.0} | drive)),
    )
    return builder.build()


def cart_pole(cart=10.0):
    builder = ap.Builder("cart-pole", root=None)
    drive = ap.Actuator(torque=cart) if cart else ap.Actuator()
    builder.link("cart", ap.Prismatic((1, 0, 0)), mass=1.0, inertia=(0.1, 0.1, 0.1), actuator=drive)
    builder.link("pole", ap.Continuous((0, 1, 0)), parent="cart", mass=0.1, com=(0, 0, 0.5), inertia=(1e-3, 1e-3, 1e-4))
    return builder.build()


def upright(t, q, v, tau):
    return -0.5 * ap.cos(q[0]) - 0.01 * v[0] * v[0] - 0.001 * tau[0] * tau[0]


def balanced(t, q, v, tau):
    return ap.cos(q[1]) - 0.01 * q[0] * q[0]


def fallen(q, v):
    return q[1] * q[1] - 0.04


@pytest.mark.parametrize(
    "make",
    [
        lambda: ap.gym_env(pendulum(), upright),
        lambda: ap.gym_env(cart_pole(), balanced, terminated=fallen, observation=lambda q, v: [*q, ap.sin(q[1]), *v]),
    ],
)
def test_environments_pass_the_checker_of_gymnasium(make):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*(infinity|spec|instance of|normalized)", category=UserWarning)
        warnings.filterwarnings("error", category=DeprecationWarning)
        check_env(make(), skip_render_check=True)


def test_a_step_is_the_motion_of_the_system_with_the_action_held():
    env = ap.gym_env(pendulum(), upright, dt=5e-3, substeps=8)
    env.reset(seed=3)
    (q,), (v,) = env.state
    for action in (1.5, -2.0, 0.3):
        rate = lambda t, x: [x[1], (action - MASS * G * COM_DISTANCE * np.sin(x[0])) / INERTIA]  # noqa: B023, E731
        q, v = solve_ivp(rate, (0, 0.04), [q, v], rtol=1e-12, atol=1e-13).y[:, -1]
        observation, reward, *_ = env.step(np.array([action], np.float32))
        np.testing.assert_allclose(np.ravel(env.state), [q, v], atol=2e-7)  # single precision, steps of order 4
        np.testing.assert_allclose(observation, [q, v], atol=1e-6)
        torque = float(np.float32(action))
        assert reward == pytest.approx(-0.5 * np.cos(q) - 0.01 * v**2 - 0.001 * torque**2, abs=1e-6)


def test_one_of_many_agents_equals_the_single_agent_with_its_seed():
    options = {"terminated": fallen, "horizon": 30}
    many = ap.gym_env(cart_pole(), balanced, members=5, **options)
    rng = np.random.default_rng(0)
    actions = rng.uniform(-10, 10, (20, 5, 1)).astype(np.float32)
    first, _ = many.reset(seed=7)
    steps = [many.step(action) for action in actions]
    for k in (0, 4):
        one = ap.gym_env(cart_pole(), balanced, **options)
        observation, _ = one.reset(seed=7 + k)
        np.testing.assert_array_equal(observation, first[k])
        for action, step in zip(actions[:, k], steps, strict=True):
            observation, reward, terminated, truncated, _ = one.step(action)
            np.testing.assert_array_equal(observation, step[0][k])
            assert (reward, terminated, truncated) == tuple(column[k] for column in step[1:4])
            if terminated:
                break


def test_the_same_seeds_repeat_episodes_and_a_reset_without_seed_does_not():
    env = ap.gym_env(cart_pole(), balanced, members=3)
    starts = [env.reset(seed=11)[0], env.reset(seed=[11, 12, 13])[0], env.reset()[0]]
    np.testing.assert_array_equal(starts[0], starts[1])
    assert (starts[2] != starts[0]).any()
    with pytest.raises(gymnasium.error.Error, match="2 seeds"):
        env.reset(seed=[1, 2])


def test_the_step_after_the_end_of_an_episode_starts_the_next_one():
    env = ap.gym_env(cart_pole(), balanced, members=2, terminated=fallen, horizon=4)
    assert env.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    env.reset(seed=0)
    no_force, push = np.zeros((2, 1), np.float32), np.array([[0.0], [10.0]], np.float32)
    for number in range(1, 5):
        observation, rewards, terminated, truncated, _ = env.step(no_force)
        assert not terminated.any()
        assert (truncated == (number == 4)).all()
    observation, rewards, terminated, truncated, _ = env.step(push)
    assert not (terminated | truncated).any()
    assert (rewards == 0.0).all()
    assert np.abs(observation).max() <= 0.05  # an initial state: the action is ignored
    ended = np.zeros(2, bool)
    for _ in range(3):
        ended |= env.step(push)[2]
    assert not ended[0]


def test_only_the_agent_that_terminated_starts_again():
    env = ap.gym_env(cart_pole(), balanced, members=2, terminated=fallen, horizon=1000)
    env.reset(seed=0)
    push = np.array([[0.0], [10.0]], np.float32)
    for _ in range(100):
        _, rewards, terminated, _, _ = env.step(push)
        if terminated[1]:
            break
    assert terminated.tolist() == [False, True]
    assert rewards[1] != 0.0
    observation, rewards, terminated, _, _ = env.step(push)
    assert np.abs(observation[1]).max() <= 0.05
    assert rewards[1] == 0.0
    assert rewards[0] != 0.0
    assert not terminated.any()


def test_actions_are_torques_within_the_limits_of_the_actuators():
    env = ap.gym_env(cart_pole(), balanced)  # the joint of the pole has no motor and no torque limit
    assert env.action_space == gymnasium.spaces.Box(-10.0, 10.0, (1,), np.float32)
    wide = ap.gym_env(cart_pole(None), balanced, actuators=["cart_joint"], action_limits=(-3.0, 5.0))
    assert wide.action_space == gymnasium.spaces.Box(-3.0, 5.0, (1,), np.float32)
    states = []
    for action in (10.0, 1e6):
        env.reset(seed=1)
        env.step([action])
        states.append(np.concatenate(env.state))
    np.testing.assert_array_equal(*states)


def test_a_law_computes_torques_from_actions():
    def servo(q, v, action):
        return [50.0 * (action[0] - q[0]) - 10.0 * v[0]]

    env = ap.gym_env(pendulum(), upright, law=servo, action_limits=(-1.0, 1.0))
    env.reset(seed=0)
    for _ in range(200):
        env.step([0.4])
    q, v = env.state
    assert 50.0 * (np.float32(0.4) - q[0]) == pytest.approx(MASS * G * COM_DISTANCE * np.sin(q[0]), abs=1e-6)
    assert abs(v[0]) < 1e-6


def test_every_episode_can_have_another_robot():
    robot = pendulum().with_free("rod")
    nominal = np.array(pendulum().bodies["rod"].parameters)

    def reset(rng):
        return [0.5], [0.0], nominal * rng.uniform(0.5, 2.0)

    with pytest.raises(ArgumentError, match="free bodies, but reset does not provide their parameters"):
        ap.gym_env(robot, upright)
    env = ap.gym_env(robot, upright, members=4, reset=reset)
    env.reset(seed=0)
    torques = np.full((4, 1), 1.0, np.float32)
    observations = env.step(torques)[0]
    assert len(np.unique(observations[:, 0])) == 4
    for k in range(4):
        parameters = np.random.Generator(np.random.PCG64(k)).uniform(0.5, 2.0) * nominal
        alone = ap.rollout(robot, [0.5], [0.0], [1.0], 10, 2e-3, parameters=parameters)
        np.testing.assert_allclose(observations[k], [alone.q[0, -1, 0], alone.v[0, -1, 0]], rtol=1e-6)


@pytest.mark.parametrize(
    ("floor", "height"),
    [(ap.Contact(["foot"], ap.Plane(), 0.0, friction=0.0), 0.0), (ap.BodyContact([("foot", ap.Plane())]), 0.1)],
    ids=["point", "shape"],
)
def test_environments_support_contacts(floor, height):
    builder = ap.Builder("hopper", root=None)
    builder.link("foot", ap.Prismatic((0, 0, 1)), mass=1.0, inertia=(0.1,) * 3, actuator=ap.Actuator(torque=20.0))
    builder.collision("foot", "sphere", (0.1,))
    env = ap.gym_env(
        builder.build(), lambda t, q, v, tau: q[0], contacts=floor, method="moreau", reset=lambda _: ([1.0], [0.0])
    )
    env.reset(seed=0)
    for _ in range(50):
        observation, *_ = env.step([0.0])
    np.testing.assert_allclose(observation, [height, 0.0], atol=1e-7)  # observations are float32


def test_a_member_that_diverges_ends_in_its_last_finite_state():
    env = ap.gym_env(
        cart_pole(),
        lambda t, q, v, tau: 1.0,
        members=2,
        law=lambda q, v, u: [u[0] * 1e12 * q[0], 0.0],
        action_limits=(0, 1),
    )
    env.reset(seed=0)
    for _ in range(60):
        observation, rewards, terminated, _, info = env.step([[0.0], [1.0]])
        assert np.isfinite(observation[0]).all()
        if terminated[1]:
            break
    assert terminated.tolist() == [False, True]
    assert rewards.tolist() == [1.0, 0.0]
    assert info["diverged"].tolist() == [False, True]
    assert np.abs(env.step([[0.0], [1.0]])[0][1]).max() <= 0.05


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dt": 0.0}, "length of a step"),
        ({"substeps": 0}, "substeps is 0"),
        ({"horizon": 2.5}, "horizon is 2.5"),
        ({"members": 0}, "members is 0"),
        ({"actuators": ["pole"]}, "no actuator 'pole'"),
        ({"actuators": ["pole_joint"]}, "no torque limit: pole_joint"),
        ({"action_limits": (1.0, -1.0)}, "action_limits are"),
        ({"action_limits": (-np.inf, np.inf)}, "action_limits are"),
        ({"law": lambda q, v, u: [u[0], 0.0]}, "no limits for its actions"),
        ({"law": lambda q, v, u: u, "actuators": ["cart_joint"]}, "actuators and a law"),
        ({"observation": 3}, "observation is 3"),
        ({"reset": lambda rng: [0.0, 0.0]}, "reset returned"),
        ({"reset": lambda rng: ([0.0, np.nan], [0.0, 0.0])}, "not finite"),
        ({"method": "leapfrog"}, "no method 'leapfrog'"),
    ],
)
def test_invalid_arguments_are_named(options, message):
    with pytest.raises(ArgumentError, match=message):
        ap.gym_env(cart_pole(), balanced, **options).reset(seed=0)


@pytest.mark.parametrize("reward", [lambda q, v, tau: 0.0, lambda q, v, tau, scale=1.0: 0.0, lambda t: 0.0])
def test_a_reward_without_the_time_is_rejected(reward):
    with pytest.raises(ArgumentError, match=r"reward '.*' has the parameters \(.*\n.*\(t, q, v, tau\).*(.|\n)*Add t"):
        ap.gym_env(cart_pole(), reward)


@pytest.mark.parametrize("members", [None, 2])
def test_a_reward_can_depend_on_the_time_since_the_reset(members):
    env = ap.gym_env(pendulum(), lambda t, q, v, tau: t, members=members, dt=1e-2, substeps=4, horizon=3)
    action = np.zeros(env.action_space.shape)
    for _ in range(2):
        env.reset(seed=0)
        rewards = [np.max(env.step(action)[1]) for _ in range(3)]
        np.testing.assert_allclose(rewards, [0.04, 0.08, 0.12], atol=1e-12)


def test_a_robot_without_torque_limits_is_rejected():
    with pytest.raises(ArgumentError, match="no actuator of robot 'cart-pole' has a torque limit"):
        ap.gym_env(cart_pole(None), balanced)


def test_a_reward_with_a_branch_on_a_traced_scalar_is_rejected_with_its_line():
    def steep(t, q, v, tau):
        return 1.0 if q[1] > 0.0 else 0.0

    with pytest.raises(TraceError, match=r"reward 'steep' cannot be traced.*if q"):
        ap.gym_env(cart_pole(), steep)


@pytest.mark.parametrize("action", [[np.nan], [1.0, 2.0], "left"])
def test_an_action_of_the_wrong_size_or_that_is_not_finite_is_rejected(action):
    env = ap.gym_env(cart_pole(), balanced)
    env.reset(seed=0)
    with pytest.raises(ArgumentError, match="an action"):
        env.step(action)


def test_a_step_before_the_first_reset_is_rejected():
    for env in (ap.gym_env(cart_pole(), balanced), ap.gym_env(cart_pole(), balanced, members=2)):
        with pytest.raises(gymnasium.error.ResetNeeded):
            env.step(env.action_space.sample())


def test_the_error_without_gymnasium_names_the_package_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "appell.learning.environments", raising=False)
    with pytest.raises(ArgumentError, match=r"pip install 'appell\[gym\]'"):
        ap.gym_env(cart_pole(), balanced)


def test_distances_of_collision_shapes_are_observations_rewards_and_ends_of_episodes():
    ball = ap.Collision("lower", "sphere", (0.1,), name="ball", pose=[0.5, 0.0, 0.0])
    post = ap.Collision(None, "sphere", (0.2,), name="post", pose=[1.0, -1.0, 0.0])
    robot = ap.load("planar-2r").with_collisions(ball, post)
    distance = ap.Dynamics(robot).distance("ball", "post", witnesses=False, gradient=False)
    env = ap.gym_env(
        robot, lambda t, q, v, tau: ap.minimum(distance(q), 0.1), members=4, dt=1e-2, horizon=200,
        actuators=["shoulder", "elbow"], action_limits=(-1.0, 1.0),
        observation=lambda q, v: [*q, *v, distance(q)], terminated=lambda q, v: 0.02 - distance(q),
    )  # fmt: skip
    observations, _ = env.reset(seed=1)
    ended = np.zeros(4, bool)
    for _ in range(150):
        observations, rewards, terminated, _, _ = env.step(np.zeros((4, 2)))
        assert np.allclose(
            observations[~terminated, 4], distance(observations[~terminated, :2].astype(float)), atol=1e-5
        )
        assert rewards.max() <= 0.1
        ended |= terminated
    assert ended.any()


def test_a_rollout_has_the_cost_of_a_distance():
    ball = ap.Collision("lower", "sphere", (0.1,), name="ball", pose=[0.5, 0.0, 0.0])
    post = ap.Collision(None, "sphere", (0.2,), name="post", pose=[1.0, -1.0, 0.0])
    robot = ap.load("planar-2r").with_collisions(ball, post)
    distance = ap.Dynamics(robot).distance("ball", "post", witnesses=False, gradient=False)
    runs = ap.rollout(
        robot, np.array([[0.5, 0.2], [0.1, -0.3]]), steps=50, dt=1e-3, cost=lambda t, q, v, tau: distance(q)
    )
    assert np.allclose(runs.cost, 1e-3 * distance(runs.q)[:, :-1].sum(axis=1), rtol=0.05)
