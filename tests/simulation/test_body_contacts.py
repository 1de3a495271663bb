"""Contacts of shapes: manifolds, stacks, momentum, random drops, materials and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import appell as ap
from appell.simulation.contact.contact import Contacts
from appell.simulation.contact.geometry import Geometry
from appell.simulation.contact.time_stepping import TimeStepping
from appell.simulation.flow import FreeMotion
from appell.simulation.inputs import Inputs, Sampled
from appell_lab.campaigns import body_drops
from contact_scenes import IDENTITY, free_bodies, world_velocities

FLOOR = ap.Collision(None, "plane", name="floor")


def stack(count: int, shift: float = 0.0, turn: float = 0.0, gap: float = 0.0) -> ap.Robot:
    build = ap.Builder("stack", root=None).collision(None, "plane", name="floor")
    for k in range(count):
        at = (shift * k, 0, 0.2 * (k + 0.5) + gap * (k + 1))
        build.free_body(f"box{k}", "box", (0.2, 0.2, 0.2), mass=1.0, xyz=at, rpy=(0, 0, turn * k))
    return build.build()


@pytest.mark.parametrize(("shift", "turn"), [(0.0, 0.0), (0.02, 0.0), (0.01, 0.2)])
def test_five_stacked_boxes_stay_at_rest(shift, turn):
    record = ap.simulate(stack(5, shift, turn), until=10.0, contacts="all")
    assert record.finished
    assert [event.kind for event in record.events] == ["rest"]
    assert np.abs(record.q[-1] - record.q[0]).max() < 1e-12
    assert not record.v[-1].any()


def test_boxes_that_fall_on_each_other_form_a_stack():
    record = ap.simulate(stack(3, 0.01, 0.2, gap=0.005), until=1.0, contacts="all")
    assert record.finished
    np.testing.assert_allclose(np.add(record.q[-1][2::7], [0.105, 0.31, 0.515]), [0.1, 0.3, 0.5], atol=1e-7)
    assert not record.v[-1].any()
    assert np.diff(record.energy).max() < 1e-9


def test_a_box_that_slides_over_an_edge_keeps_its_manifold():
    """A corner that leaves a face is replaced by the crossings of edges, without an impact."""
    robot = free_bodies(("table", "box", (1, 0.6, 0.2), 10.0), ("box", "box", (0.2, 0.2, 0.1), 1.0)).build()
    robot = robot.with_collisions(FLOOR)
    turned = [0, 0, np.sin(0.2), np.cos(0.2)]
    q0 = [0, 0, 0.1, *IDENTITY, 0.3, 0, 0.25, *turned]
    v0 = [0] * 6 + [2.0 * np.cos(0.4), -2.0 * np.sin(0.4), 0, 0, 0, 0.5]
    record = ap.simulate(robot, q0, v0, until=0.095, contacts=ap.BodyContact("all", friction=0.2))
    kinds = [(event.kind, event.points) for event in record.events[1:]]
    assert kinds[:2] == [
        ("rest", ("table edge +z +x - box edge -y -z",)),
        ("release", ("table face +z - box corner +x -y -z",)),
    ]
    assert not record.impacts
    assert abs(record.q[-1][9] - 0.25) < 1e-8  # it is still level


def test_the_momentum_of_two_links_balances_the_impulse():
    """M (v+ - v-) is the gradient of the distance times the impulse, from functions that know no impacts."""
    build = ap.Builder("arms", root=None)
    for name, x in (("left", -0.4), ("right", 0.4)):
        upper = ap.shapes.rod(1.0, 0.5, "z", (0, 0, -0.25))
        build.link(f"{name} arm", ap.Revolute(axis=(0, 1, 0)), xyz=(x, 0, 0), body=upper)
        build.link(name, ap.Revolute(axis=(0, 1, 0)), parent=f"{name} arm", xyz=(0, 0, -0.5),
                   body=ap.shapes.rod(0.7, 0.4, "z", (0, 0, -0.2)))  # fmt: skip
        build.collision(name, "capsule", (0.04, 0.4), xyz=(0, 0, -0.2))
    dyn = ap.Dynamics(build.build())
    contacts = ap.BodyContact([("left", "right")], restitution=0.7, friction=0.0)
    record = ap.simulate(dyn, [0.5, 0.1, -0.5, -0.2], [-3.0, 0.2, 2.0, 0.3], until=1.0, contacts=contacts)
    assert len(record.impacts) > 0
    for event in record.impacts:
        q = record(event.time)[0]
        (J,) = dyn.distance("left", "right", witnesses=False)(q)[1:]
        change = dyn.mass_matrix(q) @ (event.v_after - event.v_before)
        np.testing.assert_allclose(change, J * event.impulses[0], atol=1e-9)
        assert abs(J @ event.v_after + 0.7 * J @ event.v_before) < 1e-9


def test_the_momentum_of_free_bodies_is_preserved():
    robot = free_bodies(("box", "box", (0.3, 0.2, 0.1), 1.0), ("rod", "capsule", (0.05, 0.4), 0.6), gravity=0.0).build()
    q0 = [0, 0, 0, *IDENTITY, -0.6, 0.05, 0.02, np.sin(0.7), 0, 0, np.cos(0.7)]
    v0 = [0, 0, 0, 0.3, 0.1, 0.5, 2.0, 0, 0, 0.0, 2.0, 1.0]
    dyn = ap.Dynamics(robot)
    record = ap.simulate(dyn, q0, v0, until=0.5, contacts=ap.BodyContact(restitution=0.5, friction=0.4))
    assert record.impacts

    def momentum(q, v):
        parts = [np.zeros(3), np.zeros(3)]
        for k, (mass, link) in enumerate(zip((1.0, 0.6), robot.links, strict=True)):
            w = world_velocities(q[7 * k : 7 * k + 7], v[6 * k : 6 * k + 6])
            R = dyn.pose(link.name, q)[:3, :3]
            inertia = R @ np.diag(link.body.moments) @ R.T
            parts[0] = parts[0] + mass * w[:3]
            parts[1] = parts[1] + inertia @ w[3:] + np.cross(q[7 * k : 7 * k + 3], mass * w[:3])
        return np.concatenate(parts)

    first, last = momentum(record.q[0], record.v[0]), momentum(record.q[-1], record.v[-1])
    np.testing.assert_allclose(last, first, atol=1e-8)


@pytest.mark.parametrize("index", [2, 9, 10])
def test_random_drops_lose_energy_and_do_not_overlap(index):
    summary = body_drops.run_scene(index, starts=2)
    assert summary["finished"] == summary["drops"]
    assert summary["overlapping"] == summary["rising"] == 0
    assert summary["impacts"] > 0


def test_a_capsule_lies_on_a_narrow_box_with_its_axis_across_the_edges():
    build = ap.Builder("beam", root=None).collision(None, "plane", name="floor")
    build.free_body("support", "box", (0.2, 0.2, 0.2), mass=5.0, xyz=(0, 0, 0.1))
    build.free_body("beam", "capsule", (0.03, 0.6), mass=1.0, xyz=(0.02, 0, 0.23), rpy=(0, np.pi / 2, 0))
    record = ap.simulate(build.build(), until=0.5, contacts="all")
    assert np.abs(record.v[-1]).max() < 1e-9
    touching = {name for name in record.events[0].points if "beam" in name}
    assert touching == {"support edge +z +x - beam axis", "support edge +z -x - beam axis"}


def test_an_arc_rolls_in_a_circle_with_the_period_of_its_curvature():
    radius, half, wall = 1.0, 0.7, 2.5
    x = radius * np.sin(half) / half
    inertia, d = radius**2 - x**2, wall - radius
    build = ap.Builder("arc", root=None, gravity=(0, -9.81, 0))
    build.link("arc", ap.Planar(), mass=1.0, com=(x, 0, 0), inertia=(0.5 * inertia, 0.5 * inertia, inertia))
    build.collision("arc", "arc", (radius - 0.01, 2 * half, 0.01))
    contacts = ap.BodyContact([("arc", ap.Circle(wall))], friction=5.0)
    ratio = d / radius
    frequency = np.sqrt(9.81 * (d + x * ratio**2) / ((d - x * ratio) ** 2 + inertia * ratio**2))
    angle = 1e-3  # of the centre about that of the wall; the error of small oscillations is of second order
    q0 = [d * np.sin(angle), -d * np.cos(angle), -np.pi / 2 - ratio * angle]
    record = ap.simulate(build.build(), q0, until=2 * np.pi / frequency, contacts=contacts)
    quarter = record(0.5 * np.pi / frequency)[0]
    assert abs(quarter[0]) < 1e-5 * d * angle + 1e-8
    np.testing.assert_allclose(record.q[-1], q0, atol=1e-8)


def test_the_last_material_of_a_pair_applies():
    robot = free_bodies(("ball", "sphere", (0.1,), 1.0)).build().with_collisions(FLOOR)
    contacts = [ap.BodyContact("all"), ap.BodyContact([("floor", "ball")], restitution=0.5, friction=0.0)]
    record = ap.simulate(robot, [0, 0, 0.3, *IDENTITY], until=0.25, contacts=contacts)
    assert record.impacts[0].restitutions == [0.5]
    assert record.about["contacts"][1] == {"pairs": [["floor", "ball"]], "restitution": 0.5, "friction": 0.0}


def test_points_and_shapes_touch_in_one_run():
    build = ap.Builder("ball", root=None)
    build.free_body("ball", "sphere", (0.1,), mass=1.0, xyz=(0, 0, 0.5)).frame("center", on="ball")
    contacts = [
        ap.BodyContact([("ball", ap.Plane())], restitution=0.5),
        ap.Contact("center", ap.Plane(offset=0.2), 0.3),
    ]
    record = ap.simulate(build.build(), until=0.3, contacts=contacts)
    assert record.impacts[0].points == ("center",)  # 0.1 m before the ball reaches the floor
    assert len(record.walls) == 2


def test_shapes_exist_during_a_time_span():
    robot = free_bodies(("ball", "sphere", (0.1,), 1.0)).build()
    contacts = ap.BodyContact([("ball", ap.Plane())], during=(0.0, 0.4))
    record = ap.simulate(robot, [0, 0, 0.3, *IDENTITY], until=0.6, contacts=contacts)
    assert record.events[-1].kind == "release"
    assert record.events[-1].time == 0.4
    assert record.q[-1][2] < 0.0


def test_a_start_in_penetration_names_pair_and_depth():
    robot = free_bodies(("low", "box", (0.2,) * 3, 1.0), ("up", "box", (0.2,) * 3, 1.0)).build()
    with pytest.raises(ap.ArgumentError, match=r"'low' and 'up' \(0.02 m\)"):
        ap.simulate(robot, [0, 0, 0, *IDENTITY, 0, 0, 0.18, *IDENTITY], contacts="all")


@pytest.mark.parametrize(
    ("contacts", "message"),
    [
        (lambda: ap.BodyContact([("ball", "cup")]), "'ball' and 'cup' cannot touch|cup"),
        (lambda: ap.BodyContact([("ball", "nothing")]), "nothing"),
        (lambda: ap.BodyContact([("ball", "roll"), ("roll", "rest")]), "'roll' and 'rest' cannot touch in simulate"),
        (lambda: ap.BodyContact([("ball", ap.Implicit(lambda x, y, z: z))]), "cannot touch shapes"),
        (lambda: ap.BodyContact([("ball",)]), "a pair of a body contact is"),
        (lambda: ap.BodyContact([]), "no pairs"),
        (lambda: ap.BodyContact(restitution=2.0), "restitution 2.0"),
        (lambda: ap.BodyContact(friction=-1.0), "friction -1"),
        (lambda: "some", "contacts contains 'some'"),
        (lambda: [3], "contacts contains 3"),
    ],
)
def test_bad_contacts_are_named(contacts, message):
    build = ap.Builder("scene", root=None)
    build.free_body("ball", "sphere", (0.1,), mass=1.0)
    build.free_body("roll", "cylinder", (0.1, 0.2), mass=1.0, xyz=(1, 0, 0))
    build.free_body("rest", "box", (0.1, 0.2, 0.1), mass=1.0, xyz=(2, 0, 0))
    robot = build.build().with_collisions(ap.Collision(None, "ellipsoid", (0.1, 0.2, 0.3), name="cup"))
    with pytest.raises(ap.ArgumentError, match=message):
        ap.simulate(robot, contacts=contacts())


def test_impact_orders_are_checked():
    with pytest.raises(ap.ArgumentError, match="impact order"):
        ap.simulate(ap.load("pendulum"), impact_order="first")


def test_free_bodies_have_the_inertia_of_their_shapes():
    robot = ap.Builder("rod", root=None).free_body("rod", "capsule", (0.05, 0.4), mass=1.0).build()
    np.testing.assert_allclose(robot.links[0].body.moments[1], 0.0188928571428571, rtol=1e-12)  # as in the reference
    with pytest.raises(ap.ArgumentError, match="mesh"):
        ap.Builder("scene", root=None).free_body("thing", "mesh", (1, 1, 1), mass=1.0)
    with pytest.raises(ap.ArgumentError, match="size of a box"):
        ap.Builder("scene", root=None).free_body("thing", "box", (1, 1), mass=1.0)


def test_shapes_that_appear_inside_each_other_end_the_run():
    robot = free_bodies(("ball", "sphere", (0.1,), 1.0)).build()
    contacts = ap.BodyContact([("ball", ap.Plane(offset=0.5))], during=(0.1, 1.0))
    record = ap.simulate(robot, [0, 0, 0.3, *IDENTITY], until=0.6, contacts=contacts)
    assert record.status == "INSIDE"
    assert "'ball' and 'plane' (0.349 m)" in record.message


def test_a_link_of_a_four_bar_bounces_off_a_wall_without_loss():
    """An elastic impact of a robot with a loop keeps its energy and reverses the normal velocity of the shape."""
    bar = ap.load("four-bar")
    coupler = bar.tree.links[1].name
    robot = bar.with_collisions(ap.Collision(coupler, "sphere", (0.02,), name="knob"))
    dyn = ap.Dynamics(robot)
    free = ap.simulate(dyn, until=0.3)
    start, middle = (dyn.pose(coupler, free(t)[0])[:3, 3] for t in (0.0, 0.15))
    normal = (start - middle) / np.linalg.norm(start - middle)
    wall = ap.Plane(normal, float(normal @ middle) - 0.02)
    contacts = ap.BodyContact([("knob", wall)], restitution=1.0, friction=0.0)
    record = ap.simulate(dyn, until=0.3, contacts=contacts, solver=ap.Solver(rtol=1e-11, atol=1e-12))
    assert record.impacts
    np.testing.assert_allclose(record.energy, record.energy[0], atol=1e-8)
    event = record.impacts[0]
    jacobian = normal @ dyn.jacobian(coupler, "LOCAL_WORLD_ALIGNED")(record(event.time)[0])[:3]
    np.testing.assert_allclose(jacobian @ event.v_after, -jacobian @ event.v_before, atol=1e-8)


def test_moving_a_corner_onto_the_floor_pushes_no_other_corner_into_it():
    robot, contacts, _ = body_drops.scene(19)
    rng = np.random.default_rng([body_drops.SEED, 19, 1])
    q, v = [body_drops.start(robot, rng) for _ in range(6)][-1]
    record = ap.simulate(robot, q, v, until=0.8, contacts=contacts)
    assert np.diff(record.energy).max() <= 1e-9 * abs(record.energy[0])
    distances = ap.Dynamics(robot).distances(witnesses=False, gradient=False)
    assert distances(record.q).min() > -1e-8


def test_a_drop_with_crossing_edges_gains_no_energy():
    """Normal speeds of resting contacts that are moved onto their walls are removed there: it gained 1.6e-8."""
    robot, contacts, _ = body_drops.scene(5)
    rng = np.random.default_rng([body_drops.SEED, 5, 1])
    starts = [body_drops.start(robot, rng) for _ in range(6)]
    record = ap.simulate(robot, *starts[5], until=0.32, contacts=contacts)
    assert np.diff(record.energy).max() < 1e-9 * record.energy[0]


@pytest.mark.parametrize(
    ("scene", "number", "until"),
    [(7, 49, 0.36), (11, 33, 0.45), (11, 45, 0.38)],
    ids=["beside a face that was near", "capsule", "ball that rolls over an edge"],
)
def test_a_ball_does_not_sink_into_the_face_beside_an_edge(scene, number, until):
    """A face that takes over from an edge was left out: overlaps of 6e-6 to 1.4e-3 m in the campaign of drops."""
    robot, contacts, _ = body_drops.scene(scene)
    rng = np.random.default_rng([body_drops.SEED, scene, 1])
    *_, (q, v) = (body_drops.start(robot, rng) for _ in range(number + 1))
    record = ap.simulate(robot, q, v, until=until, contacts=contacts)
    distances = ap.Dynamics(robot).distances(witnesses=False, gradient=False)
    assert distances(record(np.linspace(0.0, until, 400))[0]).min() > -body_drops.TOLERANCE_M
    assert distances(record.q).min() > -body_drops.TOLERANCE_M


def test_time_stepping_moves_a_tilted_box_out_of_the_floor():
    """Corners of the lower and of the upper face took turns; 5e-7 m remained after the iterations."""
    robot = free_bodies(("box", "box", (0.1, 0.05, 0.15), 1.0)).build().with_collisions(FLOOR)
    flow = FreeMotion(ap.Dynamics(robot), Inputs(ap.Dynamics(robot), None, None, False, 0.0, None))
    contacts = Contacts(flow.states.moving, "all", None)
    q = np.array([0.0, 0.0, 0.025 - 3e-5, *Rotation.from_euler("x", np.pi / 2 + 1.2e-4).as_quat()])
    geometry = Geometry(flow.states, contacts, flow.drives).at(np.concatenate([q, np.zeros(6)]))
    assert geometry.distance().min() < -1e-5
    moved = TimeStepping(flow, geometry, 1e-10)._corrected(q)
    assert geometry.at(np.concatenate([moved, np.zeros(6)])).distance().min() > -1e-9


def test_a_held_gripper_closes_on_a_turned_box_by_exact_events():
    """Forces of least norm closed corners of the box that had been released: the phase started again and again."""
    build = ap.Builder("gripper", root=None)
    build.link("hand", ap.Prismatic(axis=(0, 0, 1)), xyz=(0, 0, 0.2), mass=1.0, inertia=(0.01,) * 3)
    for side, name in ((1, "left"), (-1, "right")):
        at = (0, 0.04 * side, -0.175)
        build.link(name, ap.Prismatic(axis=(0, -side, 0)), parent="hand", xyz=at, mass=0.1, inertia=(1e-4,) * 3)
        build.collision(name, "box", (0.02, 0.01, 0.03))
    build.free_body("box", "box", (0.05, 0.05, 0.05), mass=0.2, xyz=(0, 0, 0.025))
    robot = build.build()
    q = np.array(robot.start, float)
    q[3:5], q[8:10] = (1.1e-3, -9.2e-4), (np.sin(0.025), np.cos(0.025))

    def law(t, q, v):
        fingers = [1000.0 * (0.02 - q[k]) - 20.0 * v[k] for k in (1, 2)]
        return [1.2 * 9.81 - 2000.0 * q[0] - 80.0 * v[0], *fingers, *[0.0] * 6]

    contacts = ap.BodyContact([("left", "box"), ("right", "box"), ("box", ap.Plane())], friction=0.6)
    record = ap.simulate(robot, q, until=0.03, torque=Sampled(law, 2e-3), contacts=contacts)
    assert record.finished
    assert "time stepping" not in [event.kind for event in record.events]
    assert record.events[-1].kind == "stick"


def test_a_sliding_contact_leaves_when_its_force_is_a_rounding_error():
    """Between redundant contacts at rest it stayed, pulled by 1.5 N, and its friction drove the bodies: 1.7e-8."""
    robot, contacts, _ = body_drops.scene(23)
    rng = np.random.default_rng([body_drops.SEED, 23, 1])
    *_, (q, v) = (body_drops.start(robot, rng) for _ in range(9))
    record = ap.simulate(robot, q, v, until=0.76, contacts=contacts)
    assert np.diff(record.energy).max() < 1e-10 * record.energy[0]
