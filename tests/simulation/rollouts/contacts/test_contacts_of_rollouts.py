"""Contacts as `rollout` takes them: the same steps, in single precision, and with derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.errors import ArgumentError
from appell.simulation import Rollout
from appell.simulation.rollouts.contacts.impulses import Impulses
from contact_scans import run_scan, with_impulses
from free_bodies import damped_leg

FLOOR = ap.Plane((0, 0, 1))


def puck(**drive):
    """A mass that slides along x and z."""
    builder = ap.Builder("puck", root=None)
    builder.link(
        "x",
        ap.Prismatic((1, 0, 0)),
        mass=0.5,
        inertia=(0.1,) * 3,
        limits=ap.Limits(-2, 0.6),
        actuator=ap.Actuator(**drive),
    )
    builder.link("z", ap.Prismatic((0, 0, 1)), parent="x", mass=1.0, inertia=(0.1,) * 3)
    return builder.build()


def test_a_rollout_takes_the_steps_of_the_tested_scan():
    dyn = ap.Dynamics(puck(friction=ap.Friction(coulomb=0.8, viscous=0.1)), friction=True)
    floor, wall = ap.Contact(["z"], FLOOR, 0.5, 0.3), ap.Contact(["z"], ap.Plane((1, 0, 0), -1.0), 0.2, friction=0.0)
    records = ap.rollout(
        dyn, [0, 0.5], [2.0, 0], [0.1, 0.0], 900, 1e-3, method="moreau", contacts=[floor, wall], stops=0.4
    )
    scan = with_impulses(dyn, Impulses(dyn, [floor, wall], 0.4))
    q, v, f, stops, dry = run_scan(scan, [0, 0.5], [2.0, 0], 1e-3, 900, [0.1, 0.0])
    np.testing.assert_allclose(records.q[0, 1:], q, atol=1e-12)
    np.testing.assert_allclose(records.v[0, 1:], v, atol=1e-12)
    np.testing.assert_allclose(records["impulse"][0, 1:], f[..., 0], atol=1e-12)
    assert (f[:, 0, 0] > 0).any()
    assert (stops[:, 0] < 0).any()  # it came to the upper stop
    assert (dry != 0).any()
    assert records.names("impulse") == ("z_1", "z_2")


@pytest.mark.parametrize("method", ["moreau", "euler"])
def test_single_precision_comes_to_the_same_rest(method):
    dyn, dt = ap.Dynamics(puck()), 1e-3 if method == "moreau" else 2e-4
    options = {"method": method, "contacts": ap.Contact(["z"], FLOOR, 0.0, 0.3), "steps": round(1.0 / dt), "dt": dt}
    double = ap.rollout(dyn, [0, 0.2], [1.0, 0], **options)
    single = ap.rollout(dyn, [0, 0.2], [1.0, 0], output=ap.simulation.Output(dtype="float32"), **options)
    assert single.q.dtype == np.float32
    np.testing.assert_allclose(single.q[0, -1], double.q[0, -1], atol=1e-4)  # 5000 sums of 6e-8


@pytest.mark.parametrize(("method", "dt"), [("moreau", 1e-3), ("euler", 2e-4)])
def test_gradients_go_through_bounces_and_friction(method, dt):
    plan = Rollout(
        ap.Dynamics(puck()),
        method=method,
        contacts=ap.Contact(["z"], FLOOR, 0.5, 0.3),
        contact_model=ap.simulation.ImpulseContacts(sweeps=4) if method == "moreau" else None,
        final_cost=lambda q, v: q[1] * q[1] + 0.3 * v[1] + q[0] + v[0],
    )
    steps, start, h = round(0.5 / dt), (np.array([0.0, 0.5]), np.array([2.0, -0.2])), 1e-6
    gradient = plan.gradient(*start, None, steps, dt)
    moved = np.concatenate(start) + h * np.vstack([np.eye(4), -np.eye(4)])
    costs = plan(moved[:, :2], moved[:, 2:], None, steps, dt, output=ap.simulation.Output(every=steps)).cost
    np.testing.assert_allclose(
        np.hstack([gradient.q0[0], gradient.v0[0]]), (costs[:4] - costs[4:]) / (2 * h), rtol=1e-6, atol=1e-6
    )


def test_walls_of_a_rollout_are_checked_as_those_of_simulate():
    with pytest.raises(ArgumentError, match="no point 'y'"):
        ap.rollout(puck(), method="moreau", contacts=ap.Contact(["y"], FLOOR))
    with pytest.raises(ArgumentError, match="no joint with limits 'z_joint'"):
        ap.rollout(puck(), method="moreau", stops={"z_joint": 0.5})
    with pytest.raises(ArgumentError, match="contacts contains"):
        ap.rollout(puck(), contacts=[FLOOR])


@pytest.mark.parametrize("damped_by", ["law", "friction"])
def test_a_damped_leg_comes_to_rest_in_the_pose_of_simulate(damped_by):
    robot, law, q0 = damped_leg(damped_by)
    floor = ap.Contact(["foot"], FLOOR, 0.0, 0.9)
    exact = ap.simulate(robot, q0, until=1.0, torque=law, contacts=floor)
    rough = ap.rollout(robot, q0, steps=500, dt=2e-3, method="moreau", law=law, contacts=floor)
    np.testing.assert_allclose(rough.q[0, -1], exact.q[-1], atol=2e-3)  # it was 0.17 or 0.06 rad off
