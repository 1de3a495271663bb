"""Constraints on flexible links: accelerations and forces compared with multipliers of the unconstrained tree."""

import numpy as np
import pytest

import appell as ap
from flexible_robots import random_beam


def branches(beam_of_base):
    """A base with two branches; the base and the first link of one branch are beams."""
    rng = np.random.default_rng(3)
    arm = ap.Builder("branches")
    tip = {"node": "tip"} if beam_of_base else {"xyz": (0.3, 0.1, 0.0)}
    base = {"body": random_beam(rng)} if beam_of_base else {"mass": 2.0, "inertia": (0.1, 0.1, 0.1)}
    arm.link("trunk", ap.Revolute((0, 0, 1)), **base)
    arm.link("left", ap.Revolute((0, 1, 1)), parent="trunk", **tip, body=random_beam(rng))
    arm.link("hand", ap.Spherical(), parent="left", node="tip", rpy=(0.1, 0.4, 0.2), mass=0.5, inertia=(1e-2,) * 3)
    arm.link("right", ap.Spherical(), parent="trunk", mass=0.7, inertia=(2e-2,) * 3)
    arm.link("finger", ap.Prismatic((1, 0, 0)), parent="right", mass=0.2, inertia=(1e-2,) * 3)
    arm.frame("palm", on="hand", xyz=(0.05, 0.02, 0.0))
    arm.frame("elbow", on="left", node="tip", xyz=(0.0, 0.03, 0.0), rpy=(0.3, 0.1, 0.0))
    arm.frame("nail", on="finger", xyz=(0.1, 0.0, 0.1), rpy=(0.0, 0.2, 0.5))
    arm.frame("end", on="trunk", **({"node": "tip"} if beam_of_base else {}))
    return arm.build()


LOOPS = {
    "through two nodes": (ap.Point("palm", "nail"),),
    "a node and a link": (ap.Universal("elbow", "nail"),),
    "a node of the base": (ap.Distance("nail", "end"),),
    "a blade on a node": (ap.Skate("elbow"), ap.OnPlane("palm", "world")),
}


@pytest.mark.parametrize("loops", LOOPS)
@pytest.mark.parametrize("beam_of_base", [True, False])
def test_accelerations_are_those_of_multipliers_on_the_tree(loops, beam_of_base):
    """M a + h = B τ + Kᵀ λ and d(K v)/dt = 0, with M and h of the tree and rates of K v by differences along q̈."""
    tree = branches(beam_of_base)
    robot = tree.with_loops(*LOOPS[loops])
    rng, free, dyn = np.random.default_rng(5), ap.Dynamics(tree), ap.Dynamics(robot)
    q = robot.random_configuration(rng)
    v, tau = rng.normal(size=robot.nv), rng.normal(size=robot.nu)
    w = dyn.tree_velocity(q, v)
    K = np.asarray(dyn.row_jacobian(q))
    np.testing.assert_allclose(K @ w, 0.0, atol=1e-10)
    other, h = rng.normal(size=tree.nv), 1e-5
    ahead, behind = (np.asarray(dyn.gap(tree.integrate(q, x * other))) for x in (h, -h))
    has_gap = [holonomic for constraint in robot.constraints for holonomic in constraint.holonomic]
    np.testing.assert_allclose((ahead - behind) / (2.0 * h), (K @ other)[has_gap], atol=1e-7)
    a, forces = dyn.forward_dynamics(q, v, tau), np.zeros(tree.nv)
    w_dot = np.asarray(dyn.tree_acceleration(q, v, a))
    forces[list(tree.actuated)] = tau
    residual = free.mass_matrix(q) @ w_dot + free.bias(q, w) - forces
    multipliers = np.linalg.lstsq(K.T, residual, rcond=None)[0]
    np.testing.assert_allclose(K.T @ multipliers, residual, atol=1e-8 * np.abs(forces).max())

    def row_rates(t):  # along a motion with velocity w and acceleration w_dot
        return np.asarray(dyn.row_jacobian(tree.integrate(q, t * w + 0.5 * t * t * w_dot))) @ (w + t * w_dot)

    h = 1e-4
    rate = (8.0 * (row_rates(h) - row_rates(-h)) - (row_rates(2 * h) - row_rates(-2 * h))) / (12.0 * h)
    np.testing.assert_allclose(rate, 0.0, atol=1e-6 * np.abs(w_dot).max())


def test_gaps_are_distances_between_frames():
    tree = branches(beam_of_base=True)
    robot = tree.with_loops(*LOOPS["through two nodes"])
    dyn, q = ap.Dynamics(robot), tree.random_configuration(1)
    apart = (dyn.pose("palm", q) - dyn.pose("nail", q))[:3, 3]
    np.testing.assert_allclose(np.linalg.norm(dyn.gap(q)), np.linalg.norm(apart), rtol=1e-12)
