"""Conversion of states between MuJoCo and appell, compared with integration and forces of MuJoCo."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import appell as ap
from appell.errors import ArgumentError, ModelError
from mjcf_texts import SUPPORTED, link, mjcf

TEXT = mjcf(
    '<body name="base"><freejoint/><geom size=".1" pos=".1 .2 .3"/>'
    + link('<joint name="s" type="ball"/>', link('<joint name="j" axis="1 0 1"/>', name="c"), name="b")
    + "</body>"
)


@pytest.fixture(scope="module")
def pair():
    return ap.load_text(TEXT, "mjcf"), mujoco.MjModel.from_xml_string(TEXT)


@pytest.fixture
def rng():
    return np.random.default_rng(20)


def random_states(robot, rng, *batch):
    q = np.array([robot.random_configuration(rng) for _ in range(int(np.prod(batch, dtype=int)))]).reshape(
        *batch, robot.nq
    )
    return q, *(rng.normal(size=(*batch, robot.nv)) for _ in range(3))


def test_conversion_and_back_gives_the_same_values(pair, rng):
    states = ap.MujocoStates(pair[0])
    q, v, a, tau = random_states(pair[0], rng, 2, 3)
    np.testing.assert_allclose(states.q(states.qpos(q)), q, rtol=0)
    np.testing.assert_allclose(states.v(q, states.qvel(q, v)), v, atol=1e-14)
    np.testing.assert_allclose(states.a(q, v, states.qacc(q, v, a)), a, atol=1e-13)
    np.testing.assert_allclose(states.tau(q, states.qfrc(q, tau)), tau, atol=1e-14)


def test_a_small_step_is_the_same_in_both(pair, rng):
    """mj_integratePos along qvel and robot.integrate along v reach the same configuration, to second order."""
    robot, model = pair
    states, h = ap.MujocoStates(robot), 1e-6
    q, v, *_ = random_states(robot, rng)
    qpos = states.qpos(q)
    mujoco.mj_integratePos(model, qpos, states.qvel(q, v), h)
    np.testing.assert_allclose(states.q(qpos), robot.integrate(q, h * v), atol=20 * h**2)


def test_power_is_the_same_in_both(pair, rng):
    states = ap.MujocoStates(pair[0])
    q, v, _, tau = random_states(pair[0], rng, 5)
    power = (states.qvel(q, v) * states.qfrc(q, tau)).sum(-1)
    np.testing.assert_allclose(power, (v * tau).sum(-1), rtol=1e-12)
    np.testing.assert_allclose(states.matrix(q) @ states.qvel(q, v)[..., None], v[..., None], atol=1e-14)


def test_accelerations_agree_with_mujoco(pair, rng):
    """The converted qacc of mj_forward equals the result of our forward dynamics."""
    robot, model = pair
    states, data = ap.MujocoStates(robot), mujoco.MjData(model)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    q, v, _, tau = random_states(robot, rng)
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = states.qpos(q), states.qvel(q, v), states.qfrc(q, tau)
    mujoco.mj_forward(model, data)
    ours = ap.Dynamics(robot, rotors=True).equations.acceleration(q.tolist(), v.tolist(), tau.tolist(), {})
    np.testing.assert_allclose(states.a(q, v, data.qacc), ours, rtol=1e-10)


@pytest.mark.warns("massless")
def test_wrong_sizes_and_systems_are_named_errors(pair):
    states = ap.MujocoStates(pair[0])
    with pytest.raises(ArgumentError, match=r"qpos has shape \(3,\)"):
        states.q([1, 2, 3])
    with pytest.raises(ModelError, match="not a tree of links"):
        ap.MujocoStates(ap.load("delta"))
    with pytest.raises(ModelError, match=r"MuJoCo has no mimic or planar joints, but robot .* has: root_joint"):
        ap.MujocoStates(ap.load("pendulum", base="planar"))


def test_hinges_and_slides_have_the_same_coordinates(rng):
    robot = ap.load_text(SUPPORTED["joints off the origin"], "mjcf")
    q = robot.random_configuration(rng)
    np.testing.assert_array_equal(ap.MujocoStates(robot).qpos(q), q)
