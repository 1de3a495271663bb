"""Springs at joints in motion: closed forms of what swings on them."""

from __future__ import annotations

import numpy as np

import appell as ap

TIGHT = {"solver": ap.Solver(rtol=1e-11, atol=1e-12)}


def test_a_torsion_pendulum_swings_as_its_closed_form():
    """I q̈ = -k (q - q₀) - d q̇, with friction switched on."""
    inertia, k, rest, damping = 0.5, 8.0, 0.3, 0.4
    wheel = ap.Builder("wheel", root=None)
    drive = ap.Actuator(stiffness=k, rest=rest, friction=ap.Friction(viscous=damping))
    wheel.link("wheel", ap.Revolute(), mass=1.0, inertia=(1, 1, inertia), actuator=drive)
    robot = wheel.build()
    run = ap.simulate(ap.Dynamics(robot, friction=True), [1.0], [0.0], until=3.0, **TIGHT)
    decay = damping / (2 * inertia)
    rate = np.sqrt(k / inertia - decay**2)
    t = run.t
    swing = np.exp(-decay * t) * (np.cos(rate * t) + decay / rate * np.sin(rate * t))
    np.testing.assert_allclose(run.q[:, 0], rest + (1.0 - rest) * swing, atol=1e-8)


def test_a_mass_on_a_spring_hangs_and_swings_about_where_gravity_brings_it():
    slider = ap.Builder("slider", root=None)
    spring = ap.Actuator(stiffness=50.0, rest=0.2)
    slider.link("block", ap.Prismatic(), mass=2.0, inertia=(1, 1, 1), actuator=spring)
    robot = slider.build()
    hanging = 0.2 - 2.0 * 9.81 / 50.0
    np.testing.assert_allclose(ap.Dynamics(robot).gravity([hanging]), 0.0, atol=1e-12)
    run = ap.simulate(ap.Dynamics(robot), [hanging + 0.1], [0.0], until=2.0, **TIGHT)
    np.testing.assert_allclose(run.q[:, 0], hanging + 0.1 * np.cos(5.0 * run.t), atol=1e-9)


def test_the_energy_of_a_mechanism_on_springs_is_constant():
    """A five-bar on springs at its motors, let go: what gravity and springs hold is kinetic now and then."""
    bare = ap.load("five-bar")
    angles = dict(zip(bare.actuator_names, ap.Dynamics(bare).actuator_positions(bare.start), strict=True))
    loose = bare.with_actuators(lambda name, _: ap.Actuator(stiffness=20.0, rest=float(angles[name]) + 0.1))
    dyn = ap.Dynamics(loose)
    run = ap.simulate(dyn, loose.start, np.zeros(2), until=0.3, **TIGHT)
    kinetic, potential = dyn.energy(run.q, run.v)
    assert np.ptp(kinetic) > 1e-2
    np.testing.assert_allclose(kinetic + potential, potential[0], atol=1e-8 * np.ptp(kinetic))


def test_a_block_on_a_spring_loses_twice_its_friction_per_half_swing_and_sticks():
    """Half swings about ±F/k take π/ω each and end 2F/k nearer: 95, -75, 55, -35, 15 mm and, after the fifth, 5 mm."""
    block = ap.Builder("block", root=None, gravity=(0, 0, 0))
    drive = ap.Actuator(stiffness=100.0, friction=ap.Friction(coulomb=1.0))
    block.link("block", ap.Prismatic(axis=(1, 0, 0)), mass=1.0, inertia=(1, 1, 1), joint_name="slide", actuator=drive)
    run = ap.simulate(block.build(), [0.095], [0.0], until=3.0, **TIGHT)
    (stop,) = [event for event in run.events if event.kind == "stick"]
    assert stop.points == ("slide",)
    np.testing.assert_allclose(stop.time, 5 * np.pi / 10.0, atol=1e-8)
    np.testing.assert_allclose(run.q[-1], 0.005, atol=1e-9)
    np.testing.assert_array_equal(run.v[-1], 0.0)
