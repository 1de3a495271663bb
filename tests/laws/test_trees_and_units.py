"""Laws of trees, and the conventions that fix signs."""

from __future__ import annotations

import numpy as np
import pytest

from answers import answer
from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell.describe.assemble import FramePart, Part, assemble
from appell.describe.diagnostics import ErrorCollector
from appell.dynamics import Dynamics
from appell.model.actuator import Actuator, Friction
from appell.model.body import Body
from appell.model.frame import Frame
from appell.model.joints import Revolute
from appell.model.robot import Joint, Link, Robot
from robots import random_body, random_motion, random_pose, random_tree, random_trees, zoo
from systems import driven

TREES = {robot.name: robot for robot in [*zoo(), *random_trees(10, links=10, first_seed=100)]}


def close(ours, theirs, scale, rtol=1e-12):
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=rtol * np.max(np.abs(scale)))


def test_a_body_on_a_fixed_joint_is_lumped_into_its_parent():
    """A second body at another pose of a link: assembled from parts, or lumped by hand."""
    rng = np.random.default_rng(4)
    first, second, pose = random_body(rng), random_body(rng), random_pose(rng)
    parts = [
        Part("arm", None, Revolute((0, 0, 1)), "hinge", body=first),
        Part("tool", "arm", None, "weld", placement=pose, body=second),
    ]
    links, frames, *_ = assemble(parts, [FramePart("tip", "tool", Pose())], ErrorCollector("described"))
    described = Robot("described", links, frames)
    moved = second.moved(pose)
    arms = [(body.mass, np.array(list(body.com))) for body in (first, moved)]
    mass = sum(m for m, _ in arms)
    com = sum(m * c for m, c in arms) / mass
    inertia = sum(
        np.array([list(row) for row in body.inertia.rows])
        + m * ((c - com) @ (c - com) * np.eye(3) - np.outer(c - com, c - com))
        for body, (m, c) in zip((first, moved), arms, strict=True)
    )
    lumped = Body(mass, Vec3.of(com.tolist()), Mat3.of(inertia.tolist()))
    by_hand = Robot("by-hand", (Link("arm", None, Joint("hinge", Revolute((0, 0, 1))), lumped),))
    motion = random_motion(described, rng)
    tau = Dynamics(by_hand).inverse_dynamics(*motion)
    close(Dynamics(described).inverse_dynamics(*motion), tau, tau)
    alone = Robot("alone", (Link("arm", None, Joint("hinge", Revolute((0, 0, 1))), first),))
    assert abs(Dynamics(alone).inverse_dynamics(*motion)[0] - tau[0]) > 1e-2 * abs(tau[0])


@pytest.mark.parametrize("name", TREES)
def test_friction_of_a_joint_acts_on_it_or_on_its_leader(name):
    robot = TREES[name]
    q, v, a = random_motion(robot, np.random.default_rng(11))
    rough = robot.with_actuators(lambda name, _: Actuator(friction=Friction(viscous=0.3, coulomb=0.2)))
    smooth = answer(Dynamics(robot).inverse_dynamics, q, v, a)
    tau = answer(Dynamics(rough, friction=True).inverse_dynamics, q, v, a)
    friction = np.zeros(robot.nv)
    for link in robot.links:
        rate = link.joint.scale * v[robot.span(link.joint)[1]]
        friction[robot.span(link.joint)[1]] += link.joint.scale * (0.3 * rate + 0.2 * np.sign(rate))
    close(tau - smooth, friction, tau)


@pytest.mark.parametrize("name", TREES)
def test_the_reflected_inertia_of_a_rotor_is_proportional_to_the_square_of_its_gear(name):
    robot = driven(TREES[name])
    M = answer(Dynamics(robot, rotors=True).mass_matrix, robot.start)
    extra = np.zeros(robot.nv)
    for link in robot.links:
        actuator = link.joint.actuator
        extra[robot.span(link.joint)[1]] += link.joint.scale**2 * actuator.gear**2 * actuator.rotor_inertia
    close(M - answer(Dynamics(robot).mass_matrix, robot.start), np.diag(extra), M)


def test_gravity_points_down():
    """A horizontal pendulum of 2 kg with its centre at 0.5 m needs +9.81 N m against gravity (0, 0, -9.81)."""
    body = Body(2.0, Vec3(0.5, 0.0, 0.0), Mat3.symmetric(0.1, 0.0, 0.0, 0.1, 0.0, 0.1))
    arm = Robot("arm", (Link("rod", None, Joint("hinge", Revolute(Vec3(0.0, -1.0, 0.0))), body),), (Frame("f", "rod"),))
    assert Dynamics(arm).gravity([0.0])[0] == pytest.approx(9.81, rel=1e-15)


BALLS = Dynamics(random_tree(3, links=3, base="floating"))
LENGTHS = {"d": [5e-323, 1e-308, 1e-170, 0.3, 1.7, 1e155, 1e200, 1e308], "f": [2.8e-44, 1e-38, 1e-21, 1.7, 1e20, 2e38]}


@pytest.mark.parametrize(("code", "length"), [(code, length) for code in "df" for length in LENGTHS[code]])
def test_quaternions_of_any_length_describe_the_same_orientation(code, length):
    """In every function of q. The shortest are even multiples of the smallest number, because q̇ has a factor ½."""
    robot, dyn = BALLS.system, BALLS
    q, v, a = random_motion(robot, np.random.default_rng(0))
    assert robot.quaternions
    for span in robot.quaternions:
        q[span] = np.copysign([0.0, 1.0, 0.0, 1.0], q[span])
    stretched = q.copy()
    for span in robot.quaternions:
        stretched[span] *= length
    tip = robot.frame_names[-1]
    q, stretched, v, a = (x.astype(code) for x in (q, stretched, v, a))
    for function, rest in (
        (dyn.inverse_dynamics, (v, a)),
        (dyn.forward_dynamics, (v, a)),
        (dyn.mass_matrix, ()),
        (dyn.energy, (v,)),
        (dyn.pose(tip), ()),
        (dyn.jacobian(tip), ()),
        (dyn.inverse_dynamics.jacobian("q"), (v, a)),
    ):
        got, want = (np.concatenate([np.ravel(x) for x in function(at, *rest)]) for at in (stretched, q))
        np.testing.assert_allclose(got, want, rtol=0.0, atol=(1e-3 if code == "f" else 1e-12) * np.abs(want).max())


def test_a_quaternion_scaled_by_a_power_of_two_gives_the_same_bits():
    robot = BALLS.system
    q, v, a = random_motion(robot, np.random.default_rng(0))
    stretched = np.repeat(q[None, :], 119, axis=0)
    for span in robot.quaternions:
        stretched[:, span] = np.ldexp(q[span], np.arange(-1000, 1023, 17)[:, None])
    tau = BALLS.inverse_dynamics(stretched, v, a)
    np.testing.assert_array_equal(tau, np.broadcast_to(BALLS.inverse_dynamics(q, v, a), tau.shape))


def test_a_quaternion_of_zeros_gives_nan():
    robot = BALLS.system
    q, v, a = random_motion(robot, np.random.default_rng(0))
    zero = q.copy()
    zero[robot.quaternions[0]] = 0.0
    with np.errstate(all="ignore"):
        tau = BALLS.inverse_dynamics(np.array([q, zero]), v, a)
    assert np.isfinite(tau[0]).all()
    assert np.isnan(tau[1]).any()


def test_dynamics_without_references_are_garbage_collected():
    import gc
    import weakref

    dyn = Dynamics(TREES["puma"])
    dyn.pose("tool")(TREES["puma"].start)
    dyn.inverse_dynamics(*[np.zeros(6)] * 3)
    reference = weakref.ref(dyn)
    del dyn
    gc.collect()
    assert reference() is None
