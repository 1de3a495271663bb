"""Inputs of a rollout: torques of every shape, wrenches, payloads, friction, prescribed motions."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest

import appell as ap
from appell.simulation import Rollout

STEPS, DT = 20, 1e-3


@pytest.fixture(scope="module")
def arm() -> Rollout:
    return Rollout(ap.Dynamics(ap.load("planar-2r")))


def alone(plan: Rollout, torque: np.ndarray, q0=None) -> np.ndarray:
    """The end under torques (steps, nu), step by step through forward dynamics and NumPy: RK4 as textbooks have it."""
    dyn = plan.dyn
    x = np.concatenate([dyn.system.start if q0 is None else q0, np.zeros(2)])
    for tau in torque:

        def slope(x, tau=tau):
            return np.concatenate([x[2:], dyn.forward_dynamics(x[:2], x[2:], tau)])

        a = slope(x)
        b = slope(x + 0.5 * DT * a)
        c = slope(x + 0.5 * DT * b)
        d = slope(x + DT * c)
        x = x + DT / 6.0 * (a + 2.0 * b + 2.0 * c + d)
    return x[:2]


@pytest.mark.parametrize("shape", [(2,), (STEPS, 2), (3, 2), (3, STEPS, 2), (3, 1, 2), (1, STEPS, 2)], ids=str)
def test_torques_may_be_constant_or_over_time_for_all_or_each(arm, shape):
    torque = 5.0 * np.random.default_rng(0).normal(size=shape)
    records = arm(None, None, torque, STEPS, DT)
    full = torque[:, None] if shape == (3, 2) else torque
    members = np.broadcast_to(full, (max(3 * (full.ndim == 3), 1), STEPS, 2)) if shape != (1, STEPS, 2) else torque
    assert len(records) == len(members)
    for k, member_torque in enumerate(members):
        assert np.abs(records.q[k, -1] - alone(arm, member_torque)).max() < 1e-13
        assert np.array_equal(records.tau[k, 1:], member_torque)


def test_two_axes_are_steps_if_their_length_fits_both(arm):
    torque = np.random.default_rng(0).normal(size=(STEPS, 2))
    starts = np.tile(arm.dyn.system.start, (STEPS, 1))
    assert np.array_equal(arm(starts, None, torque, STEPS, DT).tau[4, 1:], torque)
    assert np.array_equal(arm(starts, None, torque[:, None], STEPS, DT).tau[4, 1:], np.tile(torque[4], (STEPS, 1)))


def test_the_start_is_the_first_row_and_rows_are_every_n_steps(arm):
    q0 = np.array([[0.3, 0.4], [0.5, -0.2]])
    all_rows, some = (
        arm(q0, 0.1 * q0, None, 12, DT),
        arm(q0, 0.1 * q0, None, 12, DT, output=ap.simulation.Output(every=4)),
    )
    assert np.array_equal(all_rows.q[:, 0], q0)
    assert np.array_equal(some.q, all_rows.q[:, ::4])
    assert np.allclose(some.t, [0.0, 0.004, 0.008, 0.012])
    assert arm(q0, None, None, 12, DT, start=2.0).t[0] == 2.0


def test_each_member_may_have_its_payload():
    names = {"link6": ap.load("puma").link("link6").body}
    bodies = [replace(names["link6"], mass=names["link6"].mass + extra) for extra in (0.0, 1.5, 3.0)]
    free = Rollout(ap.Dynamics(ap.load("puma").with_free("link6")))
    records = free(None, None, None, 50, DT, parameters=[body.parameters for body in bodies])
    for k, body in enumerate(bodies):
        separate = ap.rollout(ap.Dynamics(ap.load("puma").with_bodies({"link6": body})), steps=50, dt=DT)
        assert np.abs(records.q[k, -1] - separate.q[0, -1]).max() < 1e-13


def test_wrenches_push_and_may_change_over_time():
    dyn = ap.Dynamics(ap.load("puma"), wrenches=["link6"], reference="LOCAL_WORLD_ALIGNED")
    push = np.zeros((2, STEPS, 6))
    push[1, 10:, 2] = 20.0
    records = ap.rollout(dyn, steps=STEPS, dt=DT, wrenches={"link6": push})
    still = {"link6": np.zeros(6)}
    first = ap.simulate(dyn, until=10 * DT, wrenches=still, solver=ap.Solver(rtol=1e-12, atol=1e-13))
    later = {"link6": [0.0, 0.0, 20.0, 0.0, 0.0, 0.0]}
    end = ap.simulate(
        dyn, first.q[-1], first.v[-1], until=10 * DT, wrenches=later, solver=ap.Solver(rtol=1e-12, atol=1e-13)
    )
    assert np.abs(records.q[1, -1] - end.q[-1]).max() < 1e-11
    assert np.array_equal(records.q[0, :11], records.q[1, :11])


def test_friction_and_rotors_act_if_the_dynamics_include_them():
    def drive(name, actuator):
        return ap.Actuator(rotor_inertia=2e-4, gear=60.0, friction=ap.Friction(viscous=0.8, coulomb=1.0, width=0.05))

    robot = ap.load("planar-2r").with_actuators(drive)
    v0 = [1.0, -2.0]
    ends = {}
    for friction in (False, True):
        dyn = ap.Dynamics(robot, friction=friction, rotors=True)
        exact = ap.simulate(dyn, None, v0, until=0.2, solver=ap.Solver(rtol=1e-11, atol=1e-12))
        ends[friction] = ap.rollout(dyn, None, v0, steps=400, dt=5e-4).q[0, -1]
        assert np.abs(ends[friction] - exact.q[-1]).max() < 1e-8
    assert np.abs(ends[True] - ends[False]).max() > 1e-2


@pytest.mark.parametrize(("method", "order"), [("rk4", 4), ("euler", 1), ("midpoint", 2)])
def test_motions_of_constraints_are_followed_with_the_order_of_the_method(method, order):
    tree = ap.load("planar-2r").with_gravity((0.0, -9.81, 0.0))
    first = tree.velocity_names[0]
    dyn = ap.Dynamics(tree.with_loops(ap.Prescribed(ap.Gear({first: 1.0}, name="motor"))))

    def motor(t):
        return 0.5 * np.sin(3.0 * t), 1.5 * np.cos(3.0 * t), -4.5 * np.sin(3.0 * t)

    q0 = [0.0, 0.4]
    exact = ap.simulate(
        dyn, q0, [0.3], until=0.4, prescribed={"motor": motor}, solver=ap.Solver(rtol=1e-11, atol=1e-12)
    )
    plan, errors = Rollout(dyn, method=method), []
    for steps in (20, 40):
        records = plan(q0, [0.3], None, steps, 0.4 / steps, prescribed={"motor": motor})
        assert np.abs(records.q[0, :, 0] - [motor(t)[0] for t in records.t]).max() < 1e-14
        errors.append(np.abs(np.append(records.q[0, -1] - exact.q[-1], records.v[0, -1] - exact.v[-1])).max())
    assert abs(np.log2(errors[0] / errors[1]) - order) < 0.35


def test_contacts_are_springs_or_impulses_and_both_stop_a_fall():
    """A body of 1 kg dropped on a floor of no bounce stays there: to a millimetre by springs, to less by impulses."""
    floor = ap.Contact("all", ap.Plane((0.0, 0.0, 1.0)), 0.0, friction=0.0)
    robot = ap.Robot(
        "drop", (ap.Link("ball", None, ap.Joint("lift", ap.Prismatic((0, 0, 1))), ap.Body(1.0, (0, 0, 0), (1, 1, 1))),)
    )
    deep = {}
    for method in ("rk4", "euler", "midpoint", "moreau"):
        unsolved = pytest.warns(ap.StepWarning, match="midpoint") if method == "midpoint" else nullcontext()
        with unsolved:
            records = ap.rollout(robot, [0.2], contacts=floor, steps=2000, dt=1e-3, method=method)
        deep[method] = records.q[0, -1, 0]
        assert abs(records.v[0, -1, 0]) < 1e-6
    assert deep["rk4"] == pytest.approx(-1e-3, rel=1e-6)  # where the spring carries the weight
    assert deep["midpoint"] == pytest.approx(-1e-3, rel=1e-6)
    assert deep["euler"] == pytest.approx(-1e-3, rel=1e-6)
    assert abs(deep["moreau"]) < 1e-9


def test_stops_hold_a_joint_in_its_limits():
    """A pendulum that falls from its side onto a stop a little below."""
    robot = ap.load("pendulum")
    [link] = robot.links
    robot = replace(robot, links=(replace(link, joint=replace(link.joint, limits=ap.Limits(-0.2, 2.0))),))
    assert ap.rollout(robot, [1.5], steps=2000, dt=1e-3).q.min() < -1.0
    for method, depth in (("rk4", 0.05), ("moreau", 1e-9)):
        q = ap.rollout(robot, [1.5], stops=0.0, steps=2000, dt=1e-3, method=method).q[0, :, 0]
        assert -0.2 - depth < q.min() < -0.2 + 1e-3


def test_dry_friction_holds_an_arm_by_impulses_and_lets_it_creep_by_springs():
    robot = ap.load("planar-2r").with_gravity((0.0, -9.81, 0.0))
    weight = np.abs(ap.Dynamics(robot).gravity(robot.start)).max()
    stiff = robot.with_actuators(lambda name, actuator: ap.Actuator(friction=ap.Friction(coulomb=2.0 * weight)))
    every_sweep = ap.simulation.ImpulseContacts(tolerance=0.0)
    held = ap.rollout(stiff, steps=500, dt=1e-3, method="moreau", contact_model=every_sweep)
    assert np.abs(held.q[0, -1] - robot.start).max() < 1e-12
    nearly = ap.rollout(stiff, steps=500, dt=1e-3, method="moreau")  # sweeps end early
    assert np.abs(nearly.q[0, -1] - robot.start).max() < 1e-8
    creeping = ap.rollout(stiff, steps=500, dt=1e-3)
    assert 0.0 < np.abs(creeping.q[0, -1] - robot.start).max() < 0.05
