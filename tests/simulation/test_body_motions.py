"""Reference motions of bodies in contact: impacts, rolling, sliding, tipping and rest of shapes."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from contact_scenes import (
    FINE_SOLVER,
    IDENTITY,
    ball_inertia,
    free_bodies,
    planar_body,
    planar_scene,
    reference,
    reference_names,
    world_velocities,
)

FLOOR = ap.Plane((0, 1, 0))  # of motions in the x-y plane
CLOSED_FORM = 1e-10
EVENT_TIME_S = 1e-8
INTEGRATED = 1e-7
LAWS = {  # law -> its name in the reference
    "newton-path": "newton",
    "poisson": "poisson",
    "energetic": "energetic",
    "newton": "newton, velocity after (appell today)",
}


@pytest.mark.parametrize("name", reference_names("ball on ball"))
def test_a_ball_strikes_another_ball(name):
    motion = reference(name)
    (one, two), (hit,) = motion["bodies"], motion["events"]
    robot = free_bodies(*((n, "sphere", (b["r"],), b["m"]) for n, b in (("one", one), ("two", two))), gravity=0.0)
    q0 = [x for body in (one, two) for x in (*body["x"], *IDENTITY)]
    v0 = [x for body in (one, two) for x in (*body["v"], *body.get("omega", (0, 0, 0)))]
    contacts = ap.BodyContact(restitution=motion["e"], friction=motion["mu"])
    record = ap.simulate(robot.build(), q0, v0, until=0.5, contacts=contacts, solver=FINE_SOLVER)
    (event,) = record.events
    assert event.points == ("one center - two center",)
    assert abs(event.time - hit["t"]) < EVENT_TIME_S
    for k, (v, omega) in enumerate((("v1", "w1"), ("v2", "w2"))):
        after = world_velocities(record.q[-1][7 * k :], record.v[-1][6 * k : 6 * k + 6])
        np.testing.assert_allclose(after[:3], hit[v], atol=CLOSED_FORM)
        np.testing.assert_allclose(after[3:], hit.get(omega, [0, 0, 0]), atol=CLOSED_FORM)


@pytest.mark.parametrize("name", reference_names("Newton's cradle"))
def test_balls_in_a_row_are_hit_together_or_in_turn(name):
    motion = reference(name)
    v0 = [float(x) for x in name.split("v0=[")[1].split("]")[0].split(",")]
    build = ap.Builder("cradle", root=None, gravity=(0, 0, 0))
    for k in range(len(v0)):
        build.link(f"ball{k}", ap.Prismatic(axis=(1, 0, 0)), xyz=(0.1 * k, 0, 0), mass=1.0, inertia=ball_inertia(1, 1))
        build.collision(f"ball{k}", "sphere", (0.05,))
    contacts = ap.BodyContact(restitution=motion["e"], friction=0.0)
    for order, law, result in (
        ("together", "newton", "newton together"),
        ("together", "poisson", "poisson together"),
        ("in_turn", "energetic", "one after the other"),
    ):
        record = ap.simulate(build.build(), v0=v0, until=0.01, contacts=contacts, impact_law=law, impact_order=order)
        np.testing.assert_allclose(record.v[-1], motion["results"][result]["v"], atol=CLOSED_FORM)
        assert record.about["impact_order"] == order


def test_a_rod_falls_on_a_disc():
    motion = reference("rod (segment)")
    build = planar_scene("rod", 1.0, 1 / 12)
    build.collision("rod", "capsule", (0.01, 1.0), rpy=(0, np.pi / 2, 0))
    robot = build.build().with_collisions(ap.Collision(None, "sphere", (motion["R"] - 0.01,), name="disc"))
    contacts = ap.BodyContact([("rod", "disc")], restitution=motion["e"], friction=0.0)
    record = ap.simulate(robot, motion["q0"], motion["v0"], until=0.52, contacts=contacts, solver=FINE_SOLVER)
    assert len(record.impacts) == len(motion["events"])
    for event, hit in zip(record.impacts, motion["events"], strict=True):
        assert abs(event.time - hit["t"]) < EVENT_TIME_S
        np.testing.assert_allclose(event.v_after, hit["v_after"], atol=CLOSED_FORM)
        np.testing.assert_allclose(event.impulses, hit["impulse"], atol=CLOSED_FORM)


def test_a_disc_rolls_in_a_circle():
    motion = reference("disc rolls inside")
    radius, angle = motion["R"] - motion["r"], motion["theta0"]
    build = planar_scene("disc", 1.0, 0.5 * motion["r"] ** 2)
    build.collision("disc", "sphere", (motion["r"],))
    contacts = ap.BodyContact([("disc", ap.Circle(motion["R"]))], friction=1.0)
    q0 = [radius * np.sin(angle), -radius * np.cos(angle), 0.0]
    record = ap.simulate(build.build(), q0, until=motion["period"], contacts=contacts, solver=ap.Solver(rtol=1e-10))
    assert [event.kind for event in record.events] == ["rest"]
    lowest = motion["events"][0]
    q, v = record(lowest["t"])
    np.testing.assert_allclose([q[0], v[0]], [0.0, radius * lowest["theta_dot"]], atol=INTEGRATED)
    np.testing.assert_allclose(record.q[-1][:2], q0[:2], atol=INTEGRATED)


def on_incline(motion: dict, width: float, height: float) -> tuple[ap.Robot, np.ndarray, ap.Plane]:
    """Return a box or cylinder in the x-y plane on an incline towards +x, its start and the incline."""
    normal = np.array([np.sin(motion["alpha"]), np.cos(motion["alpha"]), 0.0])
    is_box = "width" in motion
    inertia = (width**2 + height**2) / 12 if is_box else 0.5 * (0.5 * height) ** 2
    build = planar_scene("body", 1.0, inertia)
    build.collision("body", "box" if is_box else "cylinder", (width, height, 0.1) if is_box else (0.5 * height, 0.3))
    start = np.array([*(0.5 * height * normal[:2]), -motion["alpha"]])
    return build.build(), start, ap.Plane(normal)


@pytest.mark.parametrize("name", ["box slides", "cylinder down"])
def test_a_body_slides_down_an_incline(name):
    motion = reference(name)
    width, height = motion.get("width", 0.0), motion.get("height", 2 * motion.get("r", 0.0))
    robot, q0, incline = on_incline(motion, width, height)
    contacts = ap.BodyContact([("body", incline)], friction=motion["mu"])
    record = ap.simulate(robot, q0, until=1.0, contacts=contacts, solver=ap.Solver(rtol=1e-11, atol=1e-12))
    down = np.array([np.cos(motion["alpha"]), -np.sin(motion["alpha"])])
    after = motion["state_at_1s"]
    np.testing.assert_allclose((record.q[-1] - q0)[:2] @ down, after["s"], atol=INTEGRATED)
    np.testing.assert_allclose(record.v[-1][:2] @ down, after["v"], atol=INTEGRATED)
    np.testing.assert_allclose(-record.v[-1][2], after.get("omega", 0.0), atol=INTEGRATED)


def test_a_box_tips_on_an_incline_until_its_edge_slips():
    motion = reference("box tips")
    robot, q0, incline = on_incline(motion, motion["width"], motion["height"])
    contacts = ap.BodyContact([("body", incline)], friction=motion["mu"])
    record = ap.simulate(robot, q0, until=0.5, contacts=contacts, solver=ap.Solver(rtol=1e-11, atol=1e-12))
    q, v = record(0.4)
    expected = motion["state_at_0_4"]
    np.testing.assert_allclose([q0[2] - q[2], -v[2]], [expected["theta"], expected["omega"]], atol=INTEGRATED)
    (slip,) = (event for event in record.events if event.kind == "slip")
    assert abs(slip.time - motion["events"][0]["t"]) < EVENT_TIME_S


@pytest.mark.parametrize("name", reference_names("capsule dropped"))
def test_a_capsule_is_dropped_obliquely(name):
    motion = reference(name)
    build = planar_scene("rod", motion["m"], motion["inertia"])
    build.collision("rod", "capsule", (motion["r"], 2 * motion["half_length"]), rpy=(0, np.pi / 2, 0))
    contacts = ap.BodyContact([("rod", FLOOR)], restitution=motion["e"], friction=motion["mu"])
    until = motion["events"][-1]["t"] + 1e-3
    record = ap.simulate(
        build.build(), motion["q0"], motion["v0"], until, contacts=contacts, impact_law="newton", solver=FINE_SOLVER
    )
    for event, hit in zip(record.impacts, motion["events"], strict=True):
        assert event.points == (f"rod end {hit['end']}z - plane face",)
        assert abs(event.time - hit["t"]) < EVENT_TIME_S
        np.testing.assert_allclose(event.v_after, hit["v_after"], atol=CLOSED_FORM)
        np.testing.assert_allclose(event.impulses, hit["Pn"], atol=CLOSED_FORM)


@pytest.mark.parametrize("name", reference_names("rod hits a floor"))
def test_the_tip_of_a_rod_hits_a_floor_by_each_law(name):
    motion, radius = reference(name), 0.02
    x, y = motion["contact_from_com"]
    build = planar_scene("rod", 1.0, 1 / 12, gravity=0.0)
    build.collision("rod", "sphere", (radius,), xyz=(x, y + radius, 0))
    contacts = ap.BodyContact([("rod", FLOOR)], restitution=motion["e"], friction=motion["mu"])
    for law, result in LAWS.items():
        record = ap.simulate(build.build(), [0, -y, 0], motion["v0"], 1e-3, contacts=contacts, impact_law=law)
        np.testing.assert_allclose(record.impacts[0].v_after, motion["laws"][result]["v"], atol=CLOSED_FORM)


@pytest.mark.parametrize("name", reference_names("rod: one end rests"))
def test_one_end_of_a_rod_rests_and_the_other_hits(name):
    motion, radius = reference(name), 0.02
    build = planar_scene("rod", 1.0, 1 / 12, gravity=0.0)
    for end, x in (("left", -0.5), ("right", 0.5)):
        build.collision("rod", "sphere", (radius,), xyz=(x, radius, 0), name=end)
    contacts = ap.BodyContact([("rod", FLOOR)], restitution=float(name.split("e=")[1]), friction=0.0)
    for order, result in (("together", "together_newton"), ("in_turn", "one_after_other")):
        record = ap.simulate(build.build(), [0, 0, 0], [0, -0.5, -1], 1e-3, contacts=contacts, impact_order=order)
        _, y, omega = record.impacts[0].v_after
        np.testing.assert_allclose([y - 0.5 * omega, y + 0.5 * omega], motion[result]["v"], atol=CLOSED_FORM)


def test_a_ball_bounces_to_rest():
    motion = reference("ball bounces")
    contacts = ap.BodyContact([("ball", ap.Plane())], restitution=motion["e"])
    robot = free_bodies(("ball", "sphere", (0.1,), 1.0)).build()
    record = ap.simulate(robot, [0, 0, 0.6, *IDENTITY], until=1.5, contacts=contacts)
    for event, hit in zip(record.impacts, motion["events"], strict=False):
        assert abs(event.time - hit["t"]) < EVENT_TIME_S
        np.testing.assert_allclose(event.v_after[2], hit["v_after"], atol=CLOSED_FORM)
    assert abs(record.events[-1].time - motion["rest_at"]) < EVENT_TIME_S


def test_a_block_rocks_from_one_edge_to_the_other():
    motion = reference("rocking block")
    w, h, angle = motion["width"], motion["height"], -motion["theta0"]
    build = planar_scene("block", 1.0, (w * w + h * h) / 12)
    build.collision("block", "box", (w, h, 0.1))
    c, s = np.cos(angle), np.sin(angle)
    q0 = [-(c * w + s * h) / 2, -(s * w - c * h) / 2, angle]
    contacts = ap.BodyContact([("block", FLOOR)], friction=2.0)
    record = ap.simulate(build.build(), q0, until=0.6, contacts=contacts, solver=ap.Solver(rtol=1e-11, atol=1e-12))
    (hit,), event = motion["events"], record.impacts[0]
    assert abs(event.time - hit["t"]) < EVENT_TIME_S
    np.testing.assert_allclose([event.v_before[2], event.v_after[2]], [-hit["omega_before"], -hit["omega_after"]],
                               atol=CLOSED_FORM)  # fmt: skip
    angles = record(np.linspace(event.time, 0.6, 4001))[0][:, 2]
    np.testing.assert_allclose(np.abs(angles).max(), motion["next_peak"], atol=INTEGRATED)


def test_a_ball_rolls_down_a_ball_and_leaves_it():
    motion = reference("small ball rolls")
    R, r, angle = motion["R"], motion["r"], motion["theta0"]
    build = planar_scene("small", 1.0, 0.4 * r * r)
    build.collision("small", "sphere", (r,))
    robot = build.build().with_collisions(ap.Collision(None, "sphere", (R,), name="big"))
    q0 = [(R + r) * np.sin(angle), (R + r) * np.cos(angle), 0.0]
    times = []
    for mu in (1e4, 2e4):
        contacts = ap.BodyContact([("small", "big")], friction=mu)
        record = ap.simulate(robot, q0, until=0.9, contacts=contacts, solver=ap.Solver(rtol=1e-11, atol=1e-12))
        (release,) = (event for event in record.events if event.kind == "release")
        times.append(release.time)
    limit = 2 * times[1] - times[0]  # the reference rolls until it leaves; slip starts earlier by a time ~ 1/mu
    assert abs(limit - motion["events"][0]["t"]) < EVENT_TIME_S


def test_a_spinning_ball_hits_a_floor():
    motion = reference("spinning ball")
    build = planar_scene("ball", 1.0, 0.4 * motion["r"] ** 2, gravity=0.0)
    build.collision("ball", "sphere", (motion["r"],))
    contacts = ap.BodyContact([("ball", FLOOR)], restitution=motion["e"], friction=motion["mu"])
    record = ap.simulate(build.build(), [0, motion["r"], 0], [*motion["v0"], motion["omega0"]], 1e-3, contacts=contacts)
    np.testing.assert_allclose(record.v[-1], [*motion["v"], motion["omega"]], atol=CLOSED_FORM)


@pytest.mark.parametrize(("shape", "size"), [("sphere", (0.1,)), ("capsule", (0.1, 0.3))])
def test_three_cylinders_stand_in_a_pyramid_if_friction_suffices(shape, size):
    motion, r = reference("three cylinders"), 0.1
    build = ap.Builder("pyramid", root=None, gravity=(0, -9.81, 0))
    for k in range(3):
        planar_body(build, f"body{k}", 1.0, 0.5 * r * r)
        build.collision(f"body{k}", shape, size)
    q0 = np.array([-r, r, 0, r, r, 0, 0, r + np.sqrt(3) * r, 0])
    pairs = [(f"body{k}", FLOOR) for k in range(2)] + [("body0", "body2"), ("body1", "body2")]
    for factor, stands in ((1.01, True), (0.99, False)):
        contacts = ap.BodyContact(pairs, friction=factor * motion["mu_needed_between"])
        record = ap.simulate(build.build(), q0, until=0.2, contacts=contacts)
        assert (np.abs(record.q[-1] - q0).max() < 1e-12) == stands


def test_forces_between_two_shifted_boxes():
    """The normal forces of the corners, from the force balance of the phase at rest."""
    from appell.simulation.contact.contact import Contacts
    from appell.simulation.contact.geometry import Geometry
    from appell.simulation.events.phase_changes import ForceBalance
    from appell.simulation.flow import FreeMotion
    from appell.simulation.inputs import Inputs

    motion = reference("two boxes")
    robot = free_bodies(("low", "box", (0.2,) * 3, 1.0), ("up", "box", (0.2,) * 3, 1.0)).build()
    q = np.array([0, 0, 0.1, *IDENTITY, 0.05, 0, 0.3, *IDENTITY])
    dyn = ap.Dynamics(robot)
    flow = FreeMotion(dyn, Inputs(dyn, None, None, False, 0.0, None))
    y = np.concatenate([q, np.zeros(12)])
    contacts = Contacts(dyn, ap.BodyContact([("up", "low"), ("low", ap.Plane())], friction=0.5))
    geometry = Geometry(flow.states, contacts, flow.drives).at(y)
    closed = geometry.distinct(np.flatnonzero(geometry.distance() < 1e-9))
    balance = ForceBalance(geometry, closed, np.zeros(0, int), flow(0.0, y, np.zeros(0))[14:], 1e-5)
    forces, _ = balance.solve(0.0)
    floor = np.array(["plane" in contacts.names[k] for k in closed])
    points = contacts.shapes.motion(geometry.bodies.state, geometry.bodies.J, closed - contacts.fixed).point
    for part, x, expected in (
        (~floor, (-0.05, 0.1), (motion["upper_interface"]["corners_planar"][k] for k in ("N_left", "N_right"))),
        (floor, (-0.1, 0.1), (motion["floor"][k] for k in ("N_left", "N_right"))),
    ):
        sums = [forces[part & (np.abs(points[:, 0] - at) < 1e-9)].sum() for at in x]
        np.testing.assert_allclose(sums, list(expected), rtol=1e-9)
