"""Whole shapes in rollouts against closed forms, exact events and conservation laws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import appell as ap
from appell.errors import ArgumentError, StepWarning
from appell.simulation import ImpulseContacts, Output, Rollout
from robots import example_urdfs

G, SLOPE_RAD, DURATION_S = 9.81, 0.4, 0.5
NORMAL = (-np.sin(SLOPE_RAD), 0.0, np.cos(SLOPE_RAD))
DOWNHILL = np.array([-np.cos(SLOPE_RAD), 0.0, -np.sin(SLOPE_RAD)])
TILT = Rotation.from_euler("y", -SLOPE_RAD)
ACROSS = Rotation.from_euler("x", np.pi / 2)  # the axis of a shape along y

SLIDING = np.sin(SLOPE_RAD) - 0.2 * np.cos(SLOPE_RAD)

# shape, size, moments of inertia of 1 kg, height of the centre, orientation on the slope, friction, acceleration / g
BODIES = {
    "box that slides": (
        "box",
        (0.2,) * 3,
        (0.04 / 6,) * 3,
        0.1,
        None,
        0.2,
        np.sin(SLOPE_RAD) - 0.2 * np.cos(SLOPE_RAD),
    ),
    "box that sticks": ("box", (0.2,) * 3, (0.04 / 6,) * 3, 0.1, None, 0.6, 0.0),
    "ball": ("sphere", (0.1,), (0.004,) * 3, 0.1, None, 0.6, np.sin(SLOPE_RAD) / 1.4),
    "capsule": ("capsule", (0.1, 0.3), (0.02, 0.02, 0.005), 0.1, ACROSS, 0.6, np.sin(SLOPE_RAD) / 1.5),
    "cylinder": ("cylinder", (0.1, 0.3), (0.01, 0.01, 0.005), 0.1, ACROSS, 0.6, np.sin(SLOPE_RAD) / 1.5),
    "standing cylinder": ("cylinder", (0.1, 0.1), (0.01, 0.01, 0.005), 0.05, None, 0.6, 0.0),
}


def scene(**shapes) -> ap.Robot:
    """Return free bodies of 1 kg, each with one shape: name=(shape, size, moments of inertia)."""
    builder = ap.Builder("scene", root=None)
    for name, (shape, size, inertia) in shapes.items():
        builder.link(name, ap.Floating(), mass=1.0, inertia=inertia)
        builder.collision(name, shape, size)
    return builder.build()


def on_slope(name: str, wall: str, method: str, dt: float) -> tuple[float, float, float]:
    """Return the way down the slope, its exact value, and the change of height of a body that starts at rest."""
    shape, size, inertia, height, turn, friction, acceleration = BODIES[name]
    robot = scene(body=(shape, size, inertia))
    partner = ap.Plane(NORMAL)
    if wall == "box":  # whose upper face is the plane
        lower = ap.Pose(ap.Pose.from_matrix(_matrix(TILT)).rotation, ap.Vec3(*(-0.5 * np.array(NORMAL))))
        robot = robot.with_collisions(ap.Collision(None, "box", (9.0, 9.0, 1.0), lower, "ground"))
        partner = "ground"
    contacts = ap.BodyContact([("body", partner)], restitution=0.0, friction=friction)
    quaternion = (TILT if turn is None else TILT * turn).as_quat()
    q0 = np.array([*(height * np.array(NORMAL)), *quaternion])
    end = ap.rollout(robot, q0, steps=round(DURATION_S / dt), dt=dt, method=method, contacts=contacts).q[0, -1]
    moved = end[:3] - q0[:3]
    return moved @ DOWNHILL, 0.5 * G * acceleration * DURATION_S**2, moved @ np.array(NORMAL)


def _matrix(rotation: Rotation) -> np.ndarray:
    matrix = np.eye(4)
    matrix[:3, :3] = rotation.as_matrix()
    return matrix


@pytest.mark.parametrize("name", BODIES)
def test_bodies_on_a_slope_move_as_in_closed_form(name):
    way, exact, height = on_slope(name, "plane", "moreau", 2e-3)
    assert abs(way - exact) < 1e-4  # 1e-4 of 0.3 m: a ball that rolls is driven by impulses at the middle of a step
    assert abs(height) < 3e-5


@pytest.mark.parametrize("name", ["box that slides", "ball", "capsule"])
def test_the_face_of_a_box_is_a_plane(name):
    way, exact, height = on_slope(name, "box", "moreau", 2e-3)
    assert abs(way - exact) < 1e-4
    assert abs(height) < 3e-5


@pytest.mark.parametrize("name", ["box that slides", "capsule", "cylinder"])
def test_springs_carry_bodies_on_a_slope(name):
    way, exact, height = on_slope(name, "plane", "rk4", 2e-4)
    assert abs(way - exact) < 2e-3
    assert -1e-3 < height < 0.0  # `depth` of the contact model is 1 mm for one point


@pytest.mark.parametrize("restitution", [0.0, 0.7])
def test_balls_that_collide_exchange_momentum(restitution):
    ball = ("sphere", (0.1,), (0.004,) * 3)
    robot = scene(a=ball, b=ball).with_gravity((0, 0, 0))
    contact = ap.BodyContact([("a", "b")], restitution, friction=0.0)
    q0, v0 = np.zeros(14), np.zeros(12)
    q0[[6, 13]], q0[7], v0[0] = 1.0, 0.3, 1.0
    v = ap.rollout(robot, q0, v0, steps=300, dt=1e-3, method="moreau", contacts=contact).v[0, -1]
    np.testing.assert_allclose(v[[0, 6]], [0.5 * (1 - restitution), 0.5 * (1 + restitution)], atol=1e-12)
    np.testing.assert_allclose(np.delete(v, [0, 6]), 0.0, atol=1e-12)


def test_shapes_that_fall_on_each_other_never_gain_energy_and_do_not_sink_in():
    shapes = {
        "box": ("box", (0.2, 0.3, 0.1), (0.01, 0.005, 0.013)),
        "capsule": ("capsule", (0.06, 0.2), (0.01, 0.01, 0.003)),
        "ball": ("sphere", (0.08,), (0.003,) * 3),
        "cylinder": ("cylinder", (0.1, 0.1), (0.005, 0.005, 0.005)),
    }
    robot, rng, members = scene(**shapes), np.random.default_rng(0), 64
    pairs = [("box", "capsule"), ("box", "ball"), ("capsule", "ball"), ("ball", "cylinder")]
    contacts = ap.BodyContact([*pairs, *((name, ap.Plane()) for name in shapes)], restitution=0.3, friction=0.5)
    q0 = np.zeros((members, 28))
    for k in range(4):
        q0[:, 7 * k : 7 * k + 2] = 0.05 * rng.normal(size=(members, 2))
        q0[:, 7 * k + 2] = 0.3 + 0.45 * k
        q0[:, 7 * k + 3 : 7 * k + 7] = Rotation.random(members, random_state=rng).as_quat()
    q0[:, 21:23] += 0.2  # the cylinder and the box, or the capsule, have no contact points
    q0[:, 23] -= 1.3
    records = ap.rollout(
        robot, q0, steps=400, dt=2e-3, method="moreau", contacts=contacts, output=Output(every=10, energy=True)
    )
    assert records.finished.all()
    assert np.diff(records["energy"]).max() < 1e-9
    distances = ap.Dynamics(robot).distances(pairs, witnesses=False, gradient=False)(records.q)
    assert np.asarray(distances).min() > -2e-3
    assert records.q[:, -1, 2::7].min() > 0.04  # nothing fell through the floor


def test_a_stack_of_boxes_stands():
    cube = ("box", (0.2,) * 3, (0.04 / 6,) * 3)
    robot = scene(lower=cube, upper=cube)
    contacts = ap.BodyContact([("lower", ap.Plane()), ("lower", "upper")], friction=0.5)
    q0 = np.array([0, 0, 0.1, 0, 0, 0, 1, 0.02, 0.01, 0.3, 0, 0, np.sin(0.2), np.cos(0.2)])
    model = ImpulseContacts(sweeps=60)
    records = ap.rollout(robot, q0, steps=1000, dt=2e-3, method="moreau", contacts=contacts, contact_model=model)
    np.testing.assert_allclose(records.q[0, -1], q0, atol=1e-4)
    weight = records["impulse"][0, -1].reshape(2, 4).sum(axis=1) / 2e-3
    np.testing.assert_allclose(weight, [2 * G, G], rtol=1e-3)


def gripper() -> tuple[ap.Robot, ap.BodyContact, object]:
    """Return two fingers on a lift above a box, their contacts, and a law that closes them and lifts the box."""
    builder = ap.Builder("gripper", root=None)
    builder.link("hand", ap.Prismatic((0, 0, 1)), mass=1.0, inertia=(0.01,) * 3)
    for name, side in (("left", 1.0), ("right", -1.0)):
        joint = ap.Prismatic((0, -side, 0))
        builder.link(name, joint, parent="hand", xyz=(0, 0.04 * side, 0.025), mass=0.1, inertia=(1e-4,) * 3)
        builder.collision(name, "box", (0.02, 0.01, 0.03))
    builder.link("box", ap.Floating(), mass=0.2, inertia=(8e-5,) * 3)
    builder.collision("box", "box", (0.05,) * 3)
    contacts = ap.BodyContact([("left", "box"), ("right", "box"), ("box", ap.Plane())], friction=0.6)

    def law(t, q, v):
        part = ap.minimum(ap.maximum((t - 0.1) / 0.2, 0.0), 1.0)
        goals = (0.05 * part * part * (3.0 - 2.0 * part), 0.02, 0.02)
        gains = ((2000.0, 80.0, 1.2 * G), (1000.0, 20.0, 0.0), (1000.0, 20.0, 0.0))
        rows = zip(gains, goals, q[:3], v[:3], strict=True)
        return [kp * (goal - x) - kd * rate + force for (kp, kd, force), goal, x, rate in rows] + [0.0] * 6

    return builder.build(), contacts, law


def test_a_gripper_lifts_a_box_as_in_simulate():
    robot, contacts, law = gripper()
    q0 = np.array([0, 0, 0, 0.002, 0.001, 0.025, 0, 0, np.sin(0.03), np.cos(0.03)])
    exact = ap.simulate(robot, q0, until=0.35, torque=law, contacts=contacts)
    rough = ap.rollout(robot, q0, steps=350, dt=1e-3, method="moreau", law=law, contacts=contacts).q[0, -1]
    assert exact.q[-1, 5] > 0.07  # it was 0.025
    np.testing.assert_allclose(rough[:6], exact.q[-1, :6], atol=3e-4)
    np.testing.assert_allclose(rough[6:], exact.q[-1, 6:], atol=5e-3)


def test_a_batch_equals_its_members_bit_for_bit():
    robot, contacts, law = gripper()
    plan = Rollout(robot, method="moreau", law=law, contacts=contacts)
    q0 = np.tile([0, 0, 0, 0, 0, 0.025, 0, 0, 0, 1.0], (11, 1))
    q0[:, 3] = np.linspace(-0.004, 0.004, 11)
    together = plan(q0, steps=60, dt=2e-3).q
    np.testing.assert_array_equal(together[7:8], plan(q0[7:8], steps=60, dt=2e-3).q)
    np.testing.assert_array_equal(together[:3], plan(q0[:3], steps=60, dt=2e-3).q)


def test_the_feet_of_a_quadruped_are_spheres():
    robot = ap.load(next(path for path in example_urdfs() if path.name == "a1.urdf"), base="floating")
    feet = [shape.name for shape in robot.collisions if shape.shape == "sphere"]
    assert len(feet) == 4
    stance = np.array([0.05, 0.8, -1.5] * 4)
    q0 = np.array([*robot.start[:7], *stance])
    floor = ap.BodyContact([(foot, ap.Plane()) for foot in feet], friction=0.6)
    dyn = ap.Dynamics(robot)
    heights = [dyn.pose(shape.link)(q0)[2, 3] - shape.size[0] for shape in robot.collisions if shape.name in feet]
    q0[2] += 0.005 - min(heights)

    def law(t, q, v):
        return [0.0] * 6 + [60.0 * (s - x) - 2.0 * w for s, x, w in zip(stance.tolist(), q[7:], v[6:], strict=True)]

    exact = ap.simulate(dyn, q0, until=0.1, torque=law, contacts=floor)
    rough = ap.rollout(dyn, q0, steps=100, dt=1e-3, method="moreau", law=law, contacts=floor)
    np.testing.assert_allclose(rough.q[0, -1], exact.q[-1], atol=2e-3)


def test_a_contact_of_shapes_exists_at_its_times_only():
    robot = scene(ball=BODIES["ball"][:3])
    floor = ap.BodyContact([("ball", ap.Plane())], friction=0.0, during=(0.0, 0.1))
    q = ap.rollout(robot, [0, 0, 0.1, 0, 0, 0, 1], steps=200, dt=1e-3, method="moreau", contacts=floor).q[0, :, 2]
    np.testing.assert_allclose(q[100], 0.1, atol=1e-9)
    np.testing.assert_allclose(q[-1], 0.1 - 0.5 * G * 0.1**2, atol=1e-4)


def test_single_precision_comes_to_the_same_rest():
    robot, contacts, law = gripper()
    q0 = [0, 0, 0, 0.002, 0.001, 0.025, 0, 0, 0, 1.0]
    options = {"steps": 100, "dt": 2e-3, "method": "moreau", "law": law, "contacts": contacts}
    double = ap.rollout(robot, q0, **options).q[0, -1]
    single = ap.rollout(robot, q0, output=Output(dtype="float32"), **options).q[0, -1]
    np.testing.assert_allclose(single, double, atol=2e-4)


def test_gradients_through_springs_of_shapes_are_those_of_differences():
    robot = scene(ball=BODIES["ball"][:3])
    contacts = ap.BodyContact([("ball", ap.Plane())], friction=0.4)
    plan = Rollout(robot, contacts=contacts, final_cost=lambda q, v: q[0] + q[2])
    q0, v0, torque, change = (
        np.array([0, 0, 0.0995, 0, 0, 0, 1.0]),
        np.array([0.01, 0, 0, 0, 0.1, 0]),
        np.zeros((20, 6)),
        1e-5,
    )
    costs = plan(q0, v0 + change * np.vstack([np.eye(6), -np.eye(6)]), torque[None], 20, 1e-4, check=False).cost
    differences = (costs[:6] - costs[6:]) / (2.0 * change)
    np.testing.assert_allclose(plan.gradient(q0, v0, torque, 20, 1e-4).v0[0], differences, atol=1e-9)
    assert abs(differences[4]) > 1e-6  # the ball rolls: friction couples spin and motion


def test_springs_that_are_too_stiff_for_the_step_are_announced():
    robot = scene(box=BODIES["box that sticks"][:3])
    floor = ap.BodyContact([("box", ap.Plane())])
    with pytest.warns(StepWarning, match="contacts oscillate with"):
        ap.rollout(robot, [0, 0, 0.5, 0, 0, 0, 1], steps=2, dt=0.05, contacts=floor)


@pytest.mark.parametrize(
    ("shape", "partner", "message"),
    [
        (
            ("sphere", (0.1,)),
            ap.Sphere(2.0),
            "'body' and 'sphere' cannot touch in rollouts: .* sphere and hollow sphere",
        ),
        (("arc", (0.2, 1.0, 0.01)), ap.Plane(), "'body' and 'plane' cannot touch in rollouts: .* for arc and plane"),
    ],
)
def test_shapes_without_contact_points_are_named(shape, partner, message):
    with pytest.raises(ArgumentError, match=message):
        ap.rollout(scene(body=(*shape, (0.004,) * 3)), contacts=ap.BodyContact([("body", partner)]))


def test_shapes_of_unknown_names_and_mechanisms_are_named():
    with pytest.raises(ArgumentError, match=r"no collision shape or link 'ball'\. It has: body"):
        ap.rollout(scene(body=BODIES["ball"][:3]), contacts=ap.BodyContact([("ball", ap.Plane())]))
    with pytest.raises(ArgumentError, match="mechanism in closed form and has no collision shapes"):
        ap.rollout(ap.load("delta"), contacts=ap.BodyContact())
