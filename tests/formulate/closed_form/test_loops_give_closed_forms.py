"""Trees with loops agree with the closed forms of the mechanisms of the zoo.

The tree is that of the reference in Pinocchio, read from its model: its first joints are the coordinates of the
mechanism, so that both have the same q, v and a. Only the initial pose of the legs comes from the closed form; it is
refined by Newton steps of the reference.
"""

from __future__ import annotations

import numpy as np
import pytest

from answers import answer
from appell.describe.pinocchio.read import from_pinocchio
from appell.describe.zoo.mechanisms import MECHANISMS
from appell.dynamics import Dynamics
from appell.model.constraint import Point
from formulate.closed_form.reference_trees import JUDGES
from formulate.closed_form.test_against_closed_loops import states
from robots import random_body

CLOSE = 1e-10
COUNT = 20


class Pair:
    """A mechanism in closed form, the same mechanism as a tree with loops, and states of both."""

    def __init__(self, name: str):
        rng = np.random.default_rng(2015)
        plain = MECHANISMS[name](gravity=(1.0, -2.0, -9.0))
        system = plain.with_bodies({body: random_body(rng) for body in plain.body_names})
        self.closed, self.judge = Dynamics(system), JUDGES[name](system)
        self.q, self.v, self.a = states(self.closed, rng, COUNT)
        theta = self.closed.actuator_positions(self.q)
        loops, guess = self.judge.loops, self.judge.guess
        self.y = np.array([loops.assemble(x, guess(x, t))[0] for x, t in zip(self.q, theta, strict=True)])
        tree = from_pinocchio(loops.model, name=f"{name}-loops")
        frames = [tuple(loops.model.frames[k].name for k in pair) for pair in loops.closures]
        self.open = Dynamics(
            tree.with_loops(
                *(Point(a, b) for a, b in frames),
                actuated=loops.actuators,
                independent=tree.velocity_names[: system.nv],
                home=self.y[0],
            )
        )
        self.tau = rng.normal(size=(COUNT, system.nu))

    def samples(self, *arrays):
        return zip(self.y, *arrays, strict=True)


@pytest.fixture(params=list(JUDGES), scope="module")
def pair(request):
    return Pair(request.param)


def close(ours, theirs):
    theirs = np.array(theirs)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=CLOSE * np.abs(theirs).max())


def test_torques_agree(pair):
    ours = [answer(pair.open.inverse_dynamics, *state) for state in pair.samples(pair.v, pair.a)]
    close(ours, pair.closed.inverse_dynamics(pair.q, pair.v, pair.a))


def test_accelerations_agree(pair):
    ours = [answer(pair.open.forward_dynamics, *state) for state in pair.samples(pair.v, pair.tau)]
    close(ours, pair.closed.forward_dynamics(pair.q, pair.v, pair.tau))


def test_inertia_matrix_bias_and_energy_agree(pair):
    close([answer(pair.open.mass_matrix, y) for y in pair.y], pair.closed.mass_matrix(pair.q))
    close([answer(pair.open.bias, *state) for state in pair.samples(pair.v)], pair.closed.bias(pair.q, pair.v))
    ours = [answer(pair.open.energy, *state) for state in pair.samples(pair.v)]
    close(ours, np.stack(pair.closed.energy(pair.q, pair.v), axis=-1))


def test_actuator_jacobians_agree(pair):
    ours = [answer(pair.open.actuator_jacobian, y) for y in pair.y]
    close(ours, pair.closed.actuator_jacobian(pair.q))


def test_constraint_forces_agree_with_pinocchio(pair):
    """Kᵀλ = rnea - Sᵀτ at the motion that the torques cause, with rnea from Pinocchio."""
    import pinocchio as pin

    loops, model = pair.judge.loops, pair.judge.loops.model
    driven = [loops.index(name) for name in loops.actuators]
    for y, v, tau in pair.samples(pair.v, pair.tau):
        a = answer(pair.open.forward_dynamics, y, v, tau)
        rate, acceleration = loops.motion(y, v, a)
        expected = pin.rnea(model, model.createData(), y, rate, acceleration)
        size = np.abs(expected).max()
        expected[driven] -= tau
        K = answer(pair.open.row_rates.jacobian("w"), y, rate)
        ours = K.T @ answer(pair.open.constraint_forces, y, v, tau)
        np.testing.assert_allclose(ours, expected, rtol=0, atol=CLOSE * size)
