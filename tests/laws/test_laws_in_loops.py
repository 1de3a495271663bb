"""The laws of motion for inverse and forward dynamics as loops over links, on trees with friction and rotors.

The references are straight code: the differentiated Gibbs function, the energy along the motion, the inertia matrix.
"""

from __future__ import annotations

import numpy as np
import pytest

from answers import answer
from appell.dynamics import Dynamics
from appell.model.robot import Robot
from systems import driven, motion_of, systems

TREES = {name: system for name, system in systems(trees=4).items() if isinstance(system, Robot)}
ALL_TERMS = {"friction": True, "rotors": True, "looped": True}


@pytest.fixture(params=TREES, scope="module")
def robot(request):
    return TREES[request.param]


@pytest.fixture(params=["bare", "driven"], scope="module")
def dyn(request, robot):
    return Dynamics(robot, looped=True) if request.param == "bare" else Dynamics(driven(robot), **ALL_TERMS)


@pytest.fixture
def motion(robot):
    return motion_of(robot, np.random.default_rng(12))


def close(ours, theirs, rtol=1e-12):
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=rtol * np.max(np.abs(theirs)))


def test_forces_are_the_gradient_of_the_gibbs_function(dyn, motion):
    close(dyn.inverse_dynamics(*motion), answer(dyn.gibbs_function.gradient("a"), *motion))


def test_forward_dynamics_undoes_inverse_dynamics(dyn, motion):
    q, v, a = motion
    close(dyn.forward_dynamics(q, v, dyn.inverse_dynamics(q, v, a)), a, 1e-9)


def test_forces_grow_with_acceleration_by_the_inertia_matrix(dyn, motion):
    q, v, a = motion
    units = np.eye(len(a))
    M = (dyn.inverse_dynamics(q, v, units) - dyn.bias(q, v)).T
    scale = np.abs(dyn.inverse_dynamics(q, v, units)).max()  # what cancels in the difference
    np.testing.assert_allclose(M, answer(dyn.mass_matrix, q), rtol=0, atol=1e-12 * scale)


def test_power_is_the_rate_of_energy_plus_the_loss_by_friction(dyn, motion):
    q, v, a = motion
    by_q, by_v = (answer(dyn.energy.jacobian(name), q, v) for name in ("q", "v"))  # of T and of U
    change = sum(by_q) @ v + sum(by_v) @ a
    lost = answer(dyn.friction, q, v) @ v
    tau = dyn.inverse_dynamics(q, v, a)
    close(tau @ v, change + lost + _offsets(dyn) @ v, 1e-11)


def _offsets(dyn):
    """Return the constant forces of actuators, which are neither energy nor friction."""
    nv = dyn.system.nv
    if not dyn.choice.friction:
        return np.zeros(nv)
    return np.array(dyn.equations.actuation.at_joints([drive.actuator.offset for drive in dyn.equations.drives]), float)
