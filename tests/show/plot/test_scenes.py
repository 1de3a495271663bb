"""Drawings: positions of lines, joints and ellipsoids, viewpoints, and walls."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.describe.zoo.mechanisms import MECHANISMS
from appell.show.plot.drawing import Picture
from appell.show.plot.style import new_figure
from appell.show.scene.camera import grid_step, parallel_camera, upwards
from appell.show.stage.shape import Shape
from appell.show.stage.walls import extent, wall_lines
from constrained_cases import constrained
from free_bodies import box, free_body


@pytest.fixture
def rng():
    return np.random.default_rng(7)


DIRECTIONS = [(0, 0, -9.81), (0, -9.81, 0), (9.81, 0, 0), (1.0, -2.0, 3.0)]


def shown(scene, gravity, **options):
    return Picture(new_figure(5, 5).add_subplot(), scene, gravity, **options)


def test_the_tree_robot_is_drawn_as_ten_rods():
    robot = ap.load("tree10")
    segments = Shape(ap.Dynamics(robot)).at(robot.start).segments
    ends = {tuple(sorted(map(tuple, np.round(s, 9)))) for s in segments}
    assert len(ends) == 10
    np.testing.assert_allclose(np.linalg.norm(segments[:, 1] - segments[:, 0], axis=-1), 1.0)


@pytest.mark.parametrize("name", ["puma", "panda", "stanford", "planar-2r"])
def test_the_lines_of_an_arm_form_one_chain_through_its_joints(name, rng):
    """Every line starts at the base or where another one ends, for any q and along slides."""
    dyn = ap.Dynamics(ap.load(name))
    scene = Shape(dyn).at(dyn.system.random_configuration(rng))
    origins = {link: dyn.pose(link)(dyn.system.start)[:3, 3] for link in dyn.system.body_names}
    assert len(scene.joints) == len(origins)
    known = np.concatenate([scene.anchors, scene.joints, np.zeros((1, 3)), scene.segments[:, 1]])
    for start, _ in scene.segments:
        assert np.abs(known - start).max(axis=-1).min() < 1e-12


@pytest.mark.parametrize("name", ["five-bar", "three-rrr", "delta", "agile-wrist"])
def test_lines_of_a_leg_meet(name):
    dyn = ap.Dynamics(MECHANISMS[name]())
    shape = Shape(dyn)
    scene = shape.at(dyn.system.start + 0.05)
    owners = [segment.bodies[0] for segment in shape.segments]
    parts = [part.name for part in dyn.system.parts]
    lines = [scene.segments[[k for k, owner in enumerate(owners) if owner == part]] for part in parts]
    for first, second in zip(lines[0:-1:2], lines[1::2], strict=False):
        assert np.abs(first[-1, 1] - second[0, 0]).max() < 1e-14  # the elbow


def test_shapes_of_a_batch_equal_those_of_each_configuration(rng):
    dyn = ap.Dynamics(ap.load("stanford"))
    q = np.array([dyn.system.random_configuration(rng) for _ in range(5)])
    together = Shape(dyn).at(q)
    for k, each in enumerate(q):
        alone = Shape(dyn).at(each)
        for name in ("segments", "joints", "centers", "axes"):
            np.testing.assert_allclose(getattr(together, name)[k], getattr(alone, name), atol=1e-15)


def test_an_ellipsoid_has_the_moments_of_its_body(rng):
    """A solid ellipsoid with half axes a, b, c has I = m (b² + c²) / 5, ..., for any orientation."""
    robot = free_body([], mass=2.0, inertia=(0.1, 0.2, 0.25))
    q = robot.random_configuration(rng)
    scene = Shape(ap.Dynamics(robot)).at(q)
    second = 2.0 / 5.0 * scene.axes[0] @ scene.axes[0].T
    R = ap.Dynamics(robot).pose("body")(q)[:3, :3]
    np.testing.assert_allclose(np.trace(second) * np.eye(3) - second, R @ np.diag([0.1, 0.2, 0.25]) @ R.T, atol=1e-12)
    np.testing.assert_allclose(scene.centers[0], q[:3], atol=1e-15)


def test_bodies_without_lines_are_drawn_as_ellipsoids():
    """A free body, three joints at one point, and a mechanism without outlines."""
    builder = ap.Builder("ball joint")
    for name, axis in zip("xyz", np.eye(3), strict=True):
        builder.link(name, ap.Revolute(axis), mass=1.0, com=(0, 0, 0), inertia=(0.1, 0.1, 0.1))
    cart = ap.Mechanism(
        "cart",
        ("x",),
        [ap.MovingBody("cart", lambda q: ap.Pose(translation=ap.Vec3(q[0], 0.0, 0.0)), free_body([]).links[0].body)],
        [ap.LegJoint("drive", lambda q: q[0], unit="m")],
        home=(0.0,),
    )
    for system in (builder.build(), cart, free_body([])):
        scene = Shape(ap.Dynamics(system)).at(system.start)
        picture = shown(scene, system.gravity)
        assert len(picture.bodies.get_paths()) == len(system.bodies)
        drawn = np.concatenate([path.vertices for path in picture.bodies.get_paths()])
        assert np.ptp(drawn, axis=0).min() > 0.1
        ap.draw(system)
    assert not Shape(ap.Dynamics(ap.load("puma"))).at(np.zeros(6)).bare.any()


@pytest.mark.parametrize("gravity", DIRECTIONS)
@pytest.mark.parametrize("view", [None, (30.0, 40.0)])
def test_up_in_the_picture_is_opposite_to_gravity(gravity, view, rng):
    """Two points above each other have the same horizontal position, and the higher one is higher."""
    camera = parallel_camera(rng.normal(size=(20, 3)), gravity, view)
    low = rng.normal(size=3)
    high = low - 0.3 * np.array(gravity) / np.linalg.norm(gravity)
    (x0, y0, _), (x1, y1, _) = camera.project(np.array([low, high]))
    assert abs(x1 - x0) < 1e-12
    assert y1 - y0 > 0.2
    np.testing.assert_allclose(camera.axes @ camera.axes.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(camera.axes) == pytest.approx(1.0)  # not mirrored


def test_without_gravity_z_is_up():
    np.testing.assert_array_equal(upwards((0, 0, 0)), [0, 0, 1])


@pytest.mark.parametrize("gravity", DIRECTIONS)
def test_a_planar_scene_is_shown_face_on_and_upright(gravity, rng):
    up = upwards(gravity)
    across = np.cross(up, rng.normal(size=3))
    across /= np.linalg.norm(across)
    flat = rng.normal(size=(30, 1)) * up + rng.normal(size=(30, 1)) * across + 3.0
    camera = parallel_camera(flat, gravity)
    assert camera.flat
    np.testing.assert_allclose(camera.axes[1], up, atol=1e-9)
    seen = camera.project(flat)
    np.testing.assert_allclose(seen[:, 2], seen[0, 2], atol=1e-9)  # no foreshortening
    level = parallel_camera(
        rng.normal(size=(30, 1)) * across + rng.normal(size=(30, 1)) * np.cross(up, across), gravity
    )
    np.testing.assert_allclose(level.axes[2], up, atol=1e-9)  # from above


def test_scales_are_equal_and_all_points_are_inside():
    robot = ap.load("puma")
    scene = Shape(ap.Dynamics(robot)).at(robot.start)
    picture = shown(scene, robot.gravity)
    axes = picture.axes
    assert axes.get_aspect() == 1.0
    seen = picture.camera.project(scene.points(scene.bare))
    for low, high, values in ((*axes.get_xlim(), seen[:, 0]), (*axes.get_ylim(), seen[:, 1])):
        assert low < values.min()
        assert values.max() < high


@pytest.mark.parametrize(
    "wall",
    [
        ap.Plane((0.0, 0.3, 1.0), -0.2),
        ap.Sphere(0.8),
        ap.Cylinder(0.7, axis=(1.0, 0.0, 0.2)),
        ap.Circle(0.6),
        ap.Implicit(lambda x, y, z: z + 0.2 + 0.1 * ap.sin(4.0 * x)),
    ],
    ids=lambda wall: type(wall).__name__,
)
def test_the_lines_of_a_wall_lie_on_it(wall):
    robot = box()
    points = Shape(ap.Dynamics(robot)).at(robot.start).key_points
    camera = parallel_camera(points, robot.gravity)
    lines = wall_lines(wall, points, camera, grid_step(extent(points)))
    assert len(lines) > 4
    for x in np.concatenate(lines)[::7].tolist():
        assert abs(wall.gap(*x)) < 2e-3  # walls about a metre wide, 90 cells per slice


def test_a_distant_wall_is_omitted():
    points = np.random.default_rng(0).normal(size=(10, 3))
    assert wall_lines(ap.Plane(offset=-1e4), points, parallel_camera(points, (0, 0, -1)), 0.5) == []


def test_grid_spacings_are_round():
    assert [grid_step(size) for size in (0.8, 1.0, 4.0, 4.1, 7.9)] == pytest.approx([0.1, 0.2, 0.5, 1.0, 1.0])


@pytest.mark.parametrize("name", [*ap.zoo_names()])
def test_every_system_of_the_zoo_can_be_drawn(name, tmp_path):
    ap.draw(ap.load(name), path=tmp_path / "robot.png")
    assert (tmp_path / "robot.png").stat().st_size > 5000


def test_a_description_without_inertia_is_drawn_with_its_joints_and_slides():
    text = """<robot name="bare"><link name="base"/><link name="arm"/><link name="slider"/>
    <joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><origin xyz="0 0 0.3"/>
    <axis xyz="0 1 0"/></joint><joint name="slide" type="prismatic"><parent link="arm"/><child link="slider"/>
    <origin xyz="0.4 0 0"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
    scene = Shape(ap.Dynamics(ap.load_text(text, "urdf"))).at([np.pi / 2, 0.2])
    foot, elbow, hand = [0, 0, 0.3], [0, 0, -0.1], [0.2, 0, -0.1]
    np.testing.assert_allclose(scene.joints, [foot, hand], atol=1e-12)
    np.testing.assert_allclose(scene.segments, [[[0, 0, 0], foot], [foot, elbow], [elbow, hand]], atol=1e-12)
    np.testing.assert_allclose(scene.anchors, [foot])


def test_invalid_arguments_are_named():
    puma = ap.load("puma")
    for arguments, words in (
        (("puma",), "cannot draw 'puma'"),
        ((puma, [1.0, 2.0]), r"q has shape \(2,\)"),
        ((puma, np.full(6, np.nan)), "6 finite numbers"),
        ((puma, np.zeros((3, 6))), "one configuration"),
    ):
        with pytest.raises(ap.ArgumentError, match=words):
            ap.draw(*arguments)
    with pytest.raises(ap.ArgumentError, match=r"azimuth, elevation"):
        ap.draw(puma, view="above")


@pytest.mark.parametrize(("name", "kind"), [("rod-leg", ap.Distance), ("differential-drive", ap.Rolling)])
def test_a_rod_or_wheel_with_a_prescribed_motion_is_drawn_like_one_without(name, kind):
    system = ap.load(name) if kind is ap.Rolling else constrained(name)
    driven = [ap.Prescribed(item) if isinstance(item, kind) else item for item in system.constraints]
    prescribed = system.tree.with_loops(*driven, home=system.home)
    expected, shape = Shape(ap.Dynamics(system)), Shape(ap.Dynamics(prescribed))
    assert [segment.bodies for segment in shape.segments] == [segment.bodies for segment in expected.segments]
    np.testing.assert_array_equal(shape.at(system.home).segments, expected.at(system.home).segments)
