"""Constrained robots that meet walls, stops and friction: the constraints take their share of every impulse."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson

import appell as ap
from appell.model.constraint import Gear, Point, Prescribed, Rolling
from appell.model.limits import NO_LIMITS
from appell.simulation.contact.contact import Contacts
from appell.simulation.contact.geometry import Geometry
from appell.simulation.contact.time_stepping import TimeStepping
from appell.simulation.flow import FreeMotion
from appell.simulation.inputs import Inputs
from appell_lab.references.plain_closures import constraints
from constrained_cases import CASES, constrained, state, tree

SOLVER = ap.Solver(rtol=1e-11, atol=1e-12)
ACCURATE = {"solver": SOLVER, "progress": False}


def four_bar(actuators=None, limits=None, **how):
    """The four-bar of the reference, with other actuators and other limits of some joints."""
    case = CASES["fourbar-grashof"]
    robot = tree(case["model"]).with_actuators(actuators or {})
    links = (
        replace(link, joint=replace(link.joint, limits=(limits or {}).get(link.name, NO_LIMITS)))
        for link in robot.links
    )
    robot = replace(robot, links=tuple(links))
    home = case["states"][0]["q"]
    return robot.with_loops(*constraints(case["model"]["closures"]), independent=["crank"], home=home, **how)


def at(x, y=0.0, z=0.0):
    return ap.Pose(translation=ap.Vec3(x, y, z))


def plane(point, normal):
    """The plane through a point."""
    return ap.Plane(tuple(normal), float(np.dot(point, normal)))


# ---- impacts


@pytest.mark.parametrize("k", [0, 1])
def test_the_pin_of_a_five_bar_bounces_off_a_wall(k):
    """At the start of the run the pin touches the wall, so that nothing but the impact happens."""
    given, system = state("five-bar", k), constrained("five-bar")
    wanted, dyn = given["impact"], ap.Dynamics(system)
    normal, pin = np.array([*wanted["normal"], 0.0]), dyn.pose("0/a")(given["q"])[:3, 3]
    wall = ap.Contact("0/a", plane(pin, normal), restitution=wanted["restitution"], friction=0.0)
    run = ap.simulate(dyn, given["q"], given["v"], 1e-3, contacts=wall, **ACCURATE)
    (impact,) = run.impacts
    np.testing.assert_allclose(run["w"][1], wanted["v_after"], rtol=0, atol=1e-11)
    np.testing.assert_allclose(impact.impulses, [wanted["wall_impulse"]], rtol=1e-11)
    np.testing.assert_array_equal(impact.v_after, run.v[1])


def test_a_sleigh_bounces_off_a_wall():
    wanted, system = CASES["chaplygin-sleigh"]["impact"], constrained("chaplygin-sleigh")
    x, y = wanted["point"]
    system = system.with_frames([ap.Frame("nose", "body", at(x, y))])
    wall = ap.Contact("nose", plane((x, y, 0.0), (*wanted["wall_normal"], 0.0)), wanted["restitution"], friction=0.0)
    run = ap.simulate(system, [0, 0, wanted["heading"]], wanted["v_before"], 1e-3, contacts=wall, **ACCURATE)
    np.testing.assert_allclose(run["w"][1], wanted["v_after"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.impacts[0].impulses, [wanted["wall_impulse"]], rtol=1e-12)


def test_a_five_bar_bounces_on_the_ground_as_the_closed_form_does():
    """The mechanism of the zoo has its loops in closed form; pin and flight times are the same."""
    tip = ap.Frame("pin", "second_link_left", at(0.4))
    closed = ap.load("five-bar").with_frames([tip])
    joints = ap.Dynamics(closed).joint_motion(closed.start, np.zeros(2), np.zeros(2))[0]
    loops, system = ap.Dynamics(constrained("five-bar")), constrained("five-bar")
    angles = dict(zip(("left1", "right1", "left2", "right2"), joints, strict=True))
    q0 = ap.kinematics.assemble(loops, [angles[name] for name in system.coordinate_names])
    pin = loops.pose("0/a")(q0)[:3, 3]
    np.testing.assert_allclose(pin[:2], closed.start, atol=1e-9)
    ground = ap.Plane((0.0, 1.0, 0.0), pin[1] - 0.05)
    theirs = ap.simulate(
        ap.Dynamics(closed), closed.start, until=0.3, contacts=ap.Contact("pin", ground, 0.5, friction=0.0), **ACCURATE
    )
    ours = ap.simulate(loops, q0, until=0.3, contacts=ap.Contact("0/a", ground, 0.5, friction=0.0), **ACCURATE)
    times = [[event.time for event in run.impacts] for run in (ours, theirs)]
    np.testing.assert_allclose(*times, rtol=0, atol=1e-8)
    np.testing.assert_allclose(loops.pose("0/a")(ours.q[-1])[:2, 3], theirs.q[-1], rtol=0, atol=1e-7)


def wheel():
    """A wheel of 0.3 m that rolls along x on the ground, upright, on a carriage without mass."""
    made = ap.Builder("wheel", root=None)
    made.link("carriage", ap.Prismatic((1, 0, 0)), joint_name="carriage", xyz=(0, 0, 0.3), mass=0)
    made.link(
        "wheel", ap.Revolute((0, 1, 0)), parent="carriage", joint_name="wheel", mass=2.0, inertia=(0.05, 0.09, 0.05)
    )
    return made.build().with_loops(Rolling("wheel", 0.3), independent=["carriage"])


def test_a_wheel_that_meets_a_step_bounces_back_rolling():
    """The rim meets an edge 0.1 m high where the hub is 0.3 m from it; rolling stays, so the speed turns round by e."""
    robot, edge = wheel(), 2.0
    step = ap.Contact(
        "wheel", ap.Cylinder(0.3, (edge, 0.0, 0.1), (0, 1, 0), inside=False), restitution=0.4, friction=0.0
    )
    run = ap.simulate(robot, [0.0, 0.0], [1.5], 2.0, contacts=step, **ACCURATE)
    (impact,) = run.impacts
    away = np.sqrt(0.3**2 - 0.2**2)
    assert abs(impact.time - (edge - away) / 1.5) <= 1e-11
    np.testing.assert_allclose(run["w"][-1], [-0.6, -2.0], rtol=1e-11)
    inertia = 2.0 + 0.09 / 0.3**2  # of rolling, seen from the hub, on which the wall acts with the cosine away / 0.3
    np.testing.assert_allclose(impact.impulses, [inertia * 1.5 * 1.4 / (away / 0.3)], rtol=1e-10)


def test_a_wall_along_which_constraints_lead_a_point_does_not_stop_it():
    """The hub glides along a ceiling that it touches all the time, and that no motion of the wheel could meet."""
    ceiling = ap.Contact("wheel", ap.Plane((0, 0, -1), -0.3), restitution=0.0, friction=0.0)
    run = ap.simulate(wheel(), [0.0, 0.0], [1.0], 0.5, contacts=ceiling, **ACCURATE)
    assert run.finished
    np.testing.assert_allclose(run.v[:, 0], 1.0, rtol=1e-12)


# ---- rest


def leg():
    """A hip that slides upright on two thighs, with two shins that meet in a foot; springs hold the thighs apart."""
    made = ap.Builder("leg", root=None)
    matter = {"mass": 3.0, "inertia": (0.01, 0.01, 0.01)}
    made.link("hip", ap.Prismatic((0, 0, 1)), joint_name="hip", xyz=(0, 0, 0.7), **matter)
    bar = {"mass": 0.3, "com": (0, 0, -0.15), "inertia": (0.002, 0.002, 1e-4)}
    drive = ap.Actuator(stiffness=400.0, friction=ap.Friction(viscous=4.0))
    for side, sign in (("front", 1.0), ("back", -1.0)):
        thigh, shin = f"{side}_thigh", f"{side}_shin"
        turn, back = (0, -0.6 * sign, 0), (0, 1.2 * sign, 0)
        made.link(thigh, ap.Revolute((0, 1, 0)), parent="hip", joint_name=thigh, rpy=turn, actuator=drive, **bar)
        made.link(shin, ap.Revolute((0, 1, 0)), parent=thigh, joint_name=shin, xyz=(0, 0, -0.3), rpy=back, **bar)
        made.frame(f"{side}_foot", on=shin, xyz=(0, 0, -0.3))
    return made.build().with_loops(Point("front_foot", "back_foot"))


def test_a_leg_with_a_loop_lands_and_stands_with_its_weight_on_the_ground():
    robot = leg()
    dyn = ap.Dynamics(robot, friction=True)
    ground = ap.Contact("front_foot", ap.Plane((0, 0, 1), 0.0), restitution=0.0, friction=0.8)
    run = ap.simulate(dyn, until=4.0, contacts=ground, progress=False)
    assert run.finished
    assert [event.kind for event in run.events][:2] == ["impact", "rest"]
    assert np.abs(dyn.gap(run.q)).max() <= 1e-12
    landed = run.t >= max(event.time for event in run.events)  # its springs lift it once or twice
    assert np.abs(dyn.pose("front_foot")(run.q[landed])[:, 2, 3]).max() <= 1e-7
    assert np.abs(run["w"][-1]).max() <= 1e-3
    J = ap.Dynamics(robot.tree).jacobian("front_foot", "LOCAL_WORLD_ALIGNED")(run.q[-1])[2]
    weight = (3.0 + 4 * 0.3) * 9.81
    left = ap.Dynamics(robot.tree, friction=True).bias(run.q[-1], np.zeros(5)) - J * weight
    N = dyn.basis(run.q[-1])
    assert np.abs(N.T @ left).max() <= 1e-2 * weight  # standing, the ground carries the weight


def test_energy_of_a_leg_is_lost_at_impacts_and_in_its_dampers_only():
    """Through a landing with bounces: what the dampers take is their power, integrated over the record."""
    robot = leg()
    dyn = ap.Dynamics(robot, friction=True)
    ground = ap.Contact("front_foot", ap.Plane((0, 0, 1), 0.0), restitution=0.6, friction=0.0)
    run = ap.simulate(dyn, until=0.6, contacts=ground, **(ACCURATE | {"solver": replace(SOLVER, max_step=2e-3)}))
    assert run.impacts
    edges = [0.0, *(event.time for event in run.events), 0.6]
    for start, end in pairwise(edges):
        inside = (run.t > start) & (run.t < end)
        if inside.sum() < 50 or any(event.kind != "impact" for event in run.events if event.time <= start):
            continue
        t, w, energy = run.t[inside], run["w"][inside], run.energy[inside]
        power = 4.0 * (w[:, 1] ** 2 + w[:, 3] ** 2)
        lost = np.sum(0.5 * (power[1:] + power[:-1]) * np.diff(t))
        assert abs(energy[0] - energy[-1] - lost) <= 1e-3 * abs(energy[0] - energy[-1]) + 1e-6


# ---- stops and friction


def test_a_rocker_bounces_off_its_stop():
    q0 = CASES["fourbar-grashof"]["states"][0]["q"]
    free = ap.simulate(four_bar(), q0, [3.0], 1.0, **ACCURATE)
    top = float(free.q[:, 2].max()) - 0.05
    robot = four_bar(limits={"rocker": ap.Limits(lower=None, upper=top)})
    run = ap.simulate(robot, q0, [3.0], 0.6, stops=0.5, **ACCURATE)
    impact = run.impacts[0]
    k = int(np.searchsorted(run.t, impact.time))
    np.testing.assert_allclose(run["w"][k + 1], -0.5 * run["w"][k], rtol=1e-9)  # one freedom: all turns round
    assert impact.points == ("rocker",)
    assert run.q[:, 2].max() <= top + 1e-7


@pytest.mark.parametrize(("joint", "F"), [("coupler", 2.0), ("rocker", 8.0)])
def test_friction_of_a_passive_joint_dissipates_energy_and_finally_sticks(joint, F):
    """E + ∫ F |w| dt is constant while it moves; then nothing moves, and gravity is below what friction can hold."""
    robot = four_bar({joint: ap.Actuator(friction=ap.Friction(coulomb=F))}, actuated=["crank"])
    run = ap.simulate(robot, until=3.0, **(ACCURATE | {"solver": replace(SOLVER, max_step=1e-3)}))
    assert run.finished
    w = run["w"][:, robot.tree.velocity_names.index(joint)]
    lost = np.concatenate([[0.0], np.cumsum(0.5 * F * np.abs(w[1:] + w[:-1]) * np.diff(run.t))])
    np.testing.assert_allclose(run.energy + lost, run.energy[0], atol=1e-4 * np.ptp(run.energy))
    np.testing.assert_array_equal(run["w"][-1], 0.0)
    assert run.events[-1].kind == "stick"
    dyn = ap.Dynamics(robot)
    (pull,), (turned,) = dyn.gravity(run.q[-1]), dyn.basis(run.q[-1])[robot.tree.velocity_names.index(joint)]
    assert abs(pull) <= F * abs(turned)


# ---- motions that are prescribed


def test_a_driven_crank_leads_the_other_one_and_its_power_is_accounted_for():
    """Of a five-bar one crank is driven as a function of time; dE/dt = -b·λ, b = -ṡ of the drive's row."""
    case = CASES["five-bar"]
    drive = Prescribed(Gear({"left1": 1.0}), name="motor")
    q0 = np.array(case["states"][0]["q"])
    robot = tree(case["model"]).with_loops(*constraints(case["model"]["closures"]), drive, home=q0 - [q0[0], 0, 0, 0])
    start = ap.kinematics.assemble(robot, q0, prescribed=[q0[0], 0.0, 0.0])

    def motor(t):
        return q0[0] + 0.2 * np.sin(3 * t), 0.6 * np.cos(3 * t), -1.8 * np.sin(3 * t)

    dyn = ap.Dynamics(robot)
    run = ap.simulate(
        dyn, start, [0.0], 1.0, prescribed={"motor": motor}, **(ACCURATE | {"solver": replace(SOLVER, max_step=1e-3)})
    )
    s, ds, dds = motor(run.t)
    np.testing.assert_allclose(run["q_left1"], s, rtol=0, atol=1e-12)
    np.testing.assert_allclose(run["w_left1"], ds, rtol=0, atol=1e-11)
    given = np.stack([s, ds, dds], axis=1)
    force = dyn.constraint_multipliers(run.q, run["w"], np.zeros(4), given)[:, -1]
    work = cumulative_simpson(force * ds, x=run.t, initial=0.0)
    np.testing.assert_allclose(run.energy - run.energy[0], work, atol=1e-7 * np.ptp(run.energy))  # of the quadrature


def test_a_path_of_one_coordinate_drives_a_row_as_well():
    case = CASES["five-bar"]
    q0 = np.array(case["states"][0]["q"])
    drive = Prescribed(Gear({"left1": 1.0}, offset=q0[0]), name="motor")
    robot = tree(case["model"]).with_loops(*constraints(case["model"]["closures"]), drive, home=q0)
    path = ap.motion.Spline([0.0, 1.0], [[0.0], [0.3]])
    run = ap.simulate(robot, until=1.0, prescribed={"motor": path}, progress=False)
    np.testing.assert_allclose(run["q_left1"][-1], q0[0] + 0.3, rtol=0, atol=1e-12)


def test_a_linkage_whose_motion_is_fully_prescribed_follows_its_loops():
    """No velocity is left free; every configuration is the assembly with the crank where the motor has it."""
    case = CASES["fourbar-grashof"]
    q0 = np.array(case["states"][0]["q"])
    drive = Prescribed(Gear({"crank": 1.0}, offset=q0[0]), name="motor")
    robot = tree(case["model"]).with_loops(*constraints(case["model"]["closures"]), drive, home=q0)
    assert robot.nv == 0
    run = ap.simulate(robot, until=2.0, prescribed={"motor": lambda t: (3.0 * t, 3.0, 0.0)}, progress=False)
    free = constrained("fourbar-grashof")
    for k in range(0, len(run), 20):
        np.testing.assert_allclose(ap.kinematics.assemble(free, run.q[k], hold="crank"), run.q[k], rtol=0, atol=1e-11)
        np.testing.assert_allclose(ap.Dynamics(free).tree_velocity(run.q[k], [3.0]), run["w"][k], rtol=0, atol=1e-10)
    np.testing.assert_allclose(run(1.7)[0][0], q0[0] + 5.1, atol=1e-7)


# ---- time stepping, and outside forces


def test_time_stepping_keeps_loops_closed_and_creates_no_energy():
    """Steps without events, through bounces of the pin on the ground."""
    dyn = ap.Dynamics(constrained("five-bar"))
    flow = FreeMotion(dyn, Inputs(dyn, None, None, False, 0.0))
    q = dyn.system.start
    ground = ap.Contact(
        "0/a", ap.Plane((0, 1, 0), float(dyn.pose("0/a")(q)[1, 3]) - 0.03), restitution=0.5, friction=0.0
    )
    geometry = Geometry(flow.states, Contacts(flow.states.moving, ground), flow.drives)
    stepping = TimeStepping(flow, geometry, 1e-10)
    y = flow.states.start(0.0, q, np.zeros(2), False)
    energies = []
    for k in range(400):
        step = stepping.take(3e-4 * k, y, 3e-4)
        assert step.solved
        y = step.y
        assert np.abs(dyn.gap(y[:4])).max() <= 1e-12
        assert np.abs(dyn.row_rates(y[:4], y[4:])).max() <= 1e-11
        assert geometry.at(y).distance()[0] >= -1e-9
        energies.append(sum(flow.states.moving.energy(y[:4], y[4:])))
    assert np.diff(energies).max() <= 1e-12 * abs(energies[0])
    assert energies[-1] < energies[0] - 1e-3


def test_weights_on_frames_are_gravity():
    """Without gravity, with the weight of every link at its centre of mass: the same motion."""
    case = CASES["fourbar-grashof"]
    model, q0 = case["model"], case["states"][0]["q"]
    robot = tree(model)
    marks = [ap.Frame(f"{link.name} com", link.name, at(*link.body.com)) for link in robot.links]
    rows = constraints(model["closures"])
    heavy = robot.with_loops(*rows, home=q0)
    light = robot.with_frames(marks).with_gravity((0, 0, 0)).with_loops(*rows, home=q0)
    dyn = ap.Dynamics(light, wrenches=[mark.name for mark in marks], reference="LOCAL_WORLD_ALIGNED")
    weights = {
        mark.name: [*(link.body.mass * x for x in robot.gravity), 0.0, 0.0, 0.0]
        for mark, link in zip(marks, robot.links, strict=True)
    }
    runs = [
        ap.simulate(ap.Dynamics(heavy), until=0.5, **ACCURATE),
        ap.simulate(dyn, until=0.5, wrenches=weights, **ACCURATE),
    ]
    np.testing.assert_allclose(runs[0].q[-1], runs[1].q[-1], rtol=0, atol=1e-9)
