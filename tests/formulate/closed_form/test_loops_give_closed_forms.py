"""General loops on a tree give what the closed forms of the zoo's mechanisms give.

The tree is that of the judge in Pinocchio, read from its model: its first joints are the coordinates of the mechanism,
so both have the same q, v and a, and the legs follow. Nothing of a closed form enters but the pose of the legs, which
the judge's Newton steps make their own.
"""

from __future__ import annotations

import numpy as np
import pytest

from answers import answer
from appell.describe.pinocchio.read import from_pinocchio
from appell.describe.zoo.mechanisms import MECHANISMS
from appell.dynamics import Dynamics
from appell.model.constraint import Point
from formulate.closed_form.judges import JUDGES
from formulate.closed_form.test_against_closed_loops import states
from robots import random_body

CLOSE = 1e-10
COUNT = 20


class Pair:
    """A mechanism in closed form, the same as a tree with loops, and states of both."""

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


def test_torques(pair):
    ours = [answer(pair.open.inverse_dynamics, *state) for state in pair.samples(pair.v, pair.a)]
    close(ours, pair.closed.inverse_dynamics(pair.q, pair.v, pair.a))


def test_accelerations(pair):
    ours = [answer(pair.open.forward_dynamics, *state) for state in pair.samples(pair.v, pair.tau)]
    close(ours, pair.closed.forward_dynamics(pair.q, pair.v, pair.tau))


def test_inertia_bias_and_energy(pair):
    close([answer(pair.open.mass_matrix, y) for y in pair.y], pair.closed.mass_matrix(pair.q))
    close([answer(pair.open.bias, *state) for state in pair.samples(pair.v)], pair.closed.bias(pair.q, pair.v))
    ours = [answer(pair.open.energy, *state) for state in pair.samples(pair.v)]
    close(ours, np.stack(pair.closed.energy(pair.q, pair.v), axis=-1))


def test_actuators_move_as_in_closed_form(pair):
    ours = [answer(pair.open.actuator_jacobian, y) for y in pair.y]
    close(ours, pair.closed.actuator_jacobian(pair.q))


def test_forces_in_the_loops(pair):
    """Kᵀλ = rnea - Sᵀτ at the motion that torques bring about: the judge's own terms, in Pinocchio."""
    import pinocchio as pin

    loops, model = pair.judge.loops, pair.judge.loops.model
    driven = [loops.index(name) for name in loops.actuators]
    for y, v, tau in pair.samples(pair.v, pair.tau):
        a = answer(pair.open.forward_dynamics, y, v, tau)
        rate, gain = loops.motion(y, v, a)
        wanted = pin.rnea(model, model.createData(), y, rate, gain)
        size = np.abs(wanted).max()
        wanted[driven] -= tau
        K = answer(pair.open.row_rates.jacobian("w"), y, rate)
        ours = K.T @ answer(pair.open.constraint_forces, y, v, tau)
        np.testing.assert_allclose(ours, wanted, rtol=0, atol=CLOSE * size)
