"""Runs of robots with flexible links: energy, checks of the model's range, rollouts, contacts and pictures."""

from dataclasses import replace

import numpy as np
import pytest

import appell as ap
from appell.model.visual import Visual
from appell.show.stage.scenes import robot_scene
from appell.show.stage.shape import Shape
from flexible_robots import one_beam

SOFT = {"EI": 20.0, "mass_per_length": 0.5}


def swinging(beam, **given):
    return one_beam(beam, axis=(0, 1, 0), gravity=(0, 0, -9.81), **given)


def test_an_undamped_beam_conserves_its_energy():
    record = ap.simulate(swinging(ap.shapes.beam(0.8, bending=(0, 2), **SOFT)), until=0.5)
    energy = record["energy"]
    assert np.abs(energy - energy[0]).max() < 1e-6 * np.abs(record.q).max() * 9.81
    assert not record.events


def test_structural_damping_takes_energy():
    robot = swinging(ap.shapes.beam(0.8, bending=(0, 2), damping=1e-3, **SOFT))
    record = ap.simulate(robot, q0=[0.0, 0.03, 0.0], until=0.5)
    assert record["energy"][-1] < record["energy"][0] - 0.5 * 0.5 * 20.0 * 0.03**2


def test_a_pendulum_with_stiff_links_moves_like_the_rigid_one():
    """The error falls with 1 / stiffness."""
    errors = []
    for EI in (1e3, 1e4):
        robot = swinging(ap.shapes.beam(0.8, EI=EI, mass_per_length=0.5, bending=(0, 1), damping=1e-4))
        flexible = ap.simulate(robot, until=0.3, t_eval=[0.3])
        rigid = ap.simulate(robot.rigid, until=0.3, t_eval=[0.3])
        errors.append(abs(flexible.q[-1, 0] - rigid.q[-1, 0]))
    assert errors[1] < 0.15 * errors[0] < 1e-2


def test_a_rollout_agrees_with_a_simulation():
    robot = swinging(ap.shapes.beam(0.8, bending=(0, 2), damping=1e-4, **SOFT))
    records = ap.rollout(robot, q0=[[0.1, 0.0, 0.0], [0.2, 0.01, 0.0]], steps=1000, dt=2e-4, method="rk4")
    for k in range(2):
        exact = ap.simulate(robot, q0=records.q[k, 0], until=0.2, t_eval=[0.2])
        np.testing.assert_allclose(records.q[k, -1], exact.q[-1], atol=1e-7)


def test_a_rollout_refuses_a_mode_that_is_too_fast_for_its_step():
    robot = swinging(ap.shapes.beam(0.8, bending=(0, 2), **SOFT))
    with pytest.raises(ap.ArgumentError, match=r"dt is 0.1 s, but mode 'z2' of link 'beam'") as caught:
        ap.rollout(robot, q0=[[0.1, 0.0, 0.0]], steps=10, dt=0.1)
    assert "at most 0.00" in str(caught.value)


def test_large_deflections_are_reported_once():
    robot = swinging(ap.shapes.beam(0.8, bending=(0, 1), **SOFT))
    with pytest.warns(ap.ModelWarning, match="beyond linear theory"):
        record = ap.simulate(robot, q0=[0.0, 0.12], until=0.2)
    assert [event.kind for event in record.events] == ["large deflection"]


def test_a_mode_that_bounds_the_step_is_named():
    robot = swinging(ap.shapes.beam(0.8, EI=2e3, mass_per_length=0.5, bending=(0, 3), damping=5e-3))
    with pytest.warns(ap.StepWarning, match="mode 'beam.z3' of robot 'beam'.*Radau"):
        ap.simulate(robot, until=0.2)


def test_a_spring_that_bounds_the_step_is_named_with_its_stable_step():
    """At the stated step -λ h is the limit of DOP853; the implicit method takes longer steps to the same state."""
    motor = ap.Actuator(gear=50.0, rotor_inertia=1e-4)
    arm = ap.load("planar-2r").with_actuators(lambda name, _: motor)
    arm = arm.with_elastic_joints({"elbow": ap.Elasticity(2e3, damping=3e3)})
    with pytest.warns(ap.StepWarning, match=r"the spring of joint 'elbow' \(stiffness 2000\).*largest stable step"):
        explicit = ap.simulate(arm, q0=arm.with_relaxed_springs([0.3, 0.4]), until=0.4)
    implicit = ap.simulate(arm, q0=explicit.q[0], until=0.4, solver="Radau")
    assert len(implicit.t) < 0.2 * len(explicit.t)
    np.testing.assert_allclose(implicit.q[-1], explicit.q[-1], atol=1e-6)


def test_pictures_multiply_deflections_and_nothing_else():
    robot = swinging(ap.shapes.beam(0.8, bending=(0, 1), **SOFT))
    dyn, q = ap.Dynamics(robot), [0.3, 0.01]
    lines = [
        Shape(dyn, bending).at(configuration).segments for bending, configuration in ((5.0, q), (1.0, [0.3, 0.05]))
    ]
    np.testing.assert_array_equal(*lines)
    with pytest.raises(ap.ArgumentError, match="bending, a factor of deflections, is -1"):
        Shape(dyn, -1.0)
    with pytest.raises(ap.ArgumentError, match="bending is 2, but robot 'puma' has no flexible link"):
        Shape(ap.Dynamics(ap.load("puma")), 2.0)


def test_spin_without_stiffening_is_reported():
    beam = ap.shapes.beam(1.0, bending=(1, 0), stiffening=False, **SOFT)
    with pytest.warns(ap.ModelWarning, match="no geometric stiffening and rotates with 5 rad/s"):
        ap.simulate(one_beam(beam), v0=[5.0, 0.0], until=0.01)


def test_contact_on_a_flexible_tip_is_reported_and_simulated():
    robot = swinging(ap.shapes.beam(0.8, bending=(0, 1), damping=1e-3, **SOFT))
    floor = ap.Contact("tip", ap.Plane(offset=-0.1), restitution=0.0, friction=0.0)
    with pytest.warns(ap.ModelWarning, match="depends on the number of modes"):
        record = ap.simulate(robot, until=0.3, contacts=floor)
    assert record.events
    tip = ap.Dynamics(robot).pose("tip", record.q)[:, 2, 3]
    assert tip.min() > -0.1 - 1e-6


def test_bent_links_are_drawn(tmp_path):
    robot = swinging(ap.shapes.beam(0.8, bending=(0, 1), **SOFT))
    dyn = ap.Dynamics(robot)
    shape = Shape(dyn)
    _, x = shape.body_poses([0.1, 0.05])
    stations = x[[shape.index[f"beam:{k}"] for k in range(16)]]
    np.testing.assert_allclose(stations[-1], dyn.pose("tip", [0.1, 0.05])[:3, 3], atol=1e-15)
    assert (np.diff(stations[:, 2], n=2) > 0.0).all()  # bent upwards
    ap.draw(robot, [0.0, 0.05], tmp_path / "beam.png")
    path = ap.to_html(robot, tmp_path / "beam.html", [0.0, 0.05])
    assert path.stat().st_size > 10_000


def test_a_flexible_link_with_a_visual_is_drawn_bent():
    """A visual does not bend, and would hide the deflection."""
    robot = swinging(ap.shapes.beam(0.8, bending=(0, 1), **SOFT))
    shown = replace(robot, visuals=(Visual("beam", "box", (0.8, 0.1, 0.1)), Visual(None, "box", (0.2, 0.2, 0.2))))
    actors = robot_scene(shown, [0.0, 0.05]).actors[0], robot_scene(robot, [0.0, 0.05]).actors[0]
    assert [part.name for part in actors[0].parts if part.layer == "links"] == ["world"]
    assert len(actors[0].struts) == len(actors[1].struts) == 15
