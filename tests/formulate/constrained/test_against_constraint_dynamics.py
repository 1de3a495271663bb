"""Accelerations and forces against Pinocchio's `constraintDynamics`: robots of the benchmarks and a leg of Cassie."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from answers import answer
from appell.dynamics import Dynamics
from appell_lab.bench.constrained import ConstraintPeer
from appell_lab.bench.loop_robots import LOOP_ROBOTS, LoopRobot
from appell_lab.references.oracle import Oracle
from appell_lab.references.plain_closures import framed
from cassie import cassie_leg

CLOSE = 1e-10  # of the largest entry
SAMPLES = 5


def cassie() -> LoopRobot:
    """The leg with its foot crank rotated, because its plantar rod is in a singular position in the printed pose."""
    robot, closures = cassie_leg()
    robot = framed(robot, closures)
    bent = dict(
        zip(("left-tarsus-crank-joint", "left-crank-rod-joint", "left-foot-op"), (-1.2, 1.2, -1.2), strict=True)
    )
    home = robot.start
    for name, angle in bent.items():
        home[robot.span(robot.joint(name))[0]] = angle
    oracle = Oracle(robot)
    points = tuple((f"{k}/a", f"{k}/b") for k in range(len(closures)))
    return LoopRobot("cassie-leg", oracle.model, lambda rng, count: np.tile(oracle.q(home), (count, 1)), points)


@pytest.fixture(params=[*LOOP_ROBOTS, "cassie-leg"], scope="module")
def case(request):
    held = (LOOP_ROBOTS | {"cassie-leg": cassie})[request.param]()
    dyn, rng = Dynamics(held.system), np.random.default_rng(5)
    near = request.param == "cassie-leg"  # the others have configurations in closed form
    q = [held.system.random_configuration(rng) for _ in range(SAMPLES)] if near else held.configurations(rng, SAMPLES)
    v, force = rng.normal(size=(SAMPLES, dyn.system.nv)), rng.normal(size=(SAMPLES, held.tree.nv))
    w = [answer(dyn.tree_velocity, *state) for state in zip(q, v, strict=True)]
    return dyn, ConstraintPeer(held), list(zip(q, v, w, force, strict=True))


def close(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=CLOSE * np.abs(theirs).max())


def test_loops_are_closed_at_the_samples(case):
    dyn, _, states = case
    assert max(np.abs(answer(dyn.gap, q)).max() for q, *_ in states) < 1e-12


def test_accelerations(case):
    dyn, peer, states = case
    for q, v, w, force in states:
        theirs = peer.acceleration(q, w, force)
        close(answer(dyn.constrained_acceleration, q, w, force), theirs)
        a = answer(dyn.forward_dynamics, q, v, force)
        close(answer(dyn.tree_acceleration, q, v, a), theirs)


def test_forces_of_the_constraints_along_the_velocities(case):
    dyn, peer, states = case
    for q, v, w, force in states:
        a = peer.acceleration(q, w, force)
        needed = pin.rnea(peer.model, peer.model.createData(), q, w, a) - force
        K = answer(dyn.row_rates.jacobian("w"), q, w)
        close(K.T @ answer(dyn.constraint_forces, q, v, force), needed)


def test_forces_at_the_frames(case):
    """Pinocchio's forces are on the first frame, in its axes. Forces of redundant constraints are not compared."""
    dyn, peer, states = case
    shared = {name.rpartition(".")[0] for name in dyn.system.idle_rows}
    for q, v, w, force in states:
        peer.acceleration(q, w, force)
        for constraint, term in zip(dyn.system.constraints, peer.terms, strict=True):
            if constraint.name in shared:
                continue
            pushed, turned = np.split(answer(dyn.constraint_wrench(constraint.name), q, v, force), 2)
            R = dyn.pose(constraint.a)(q)[:3, :3]
            close(R.T @ pushed, term.contact_force.linear)
            if constraint.kind == "weld":
                close(R.T @ turned, term.contact_force.angular)
