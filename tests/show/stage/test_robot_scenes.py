"""Actors: poses of bodies and parts, compared with the equations and with Pinocchio."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import appell as ap
from appell.algebra.mesh import Mesh
from appell.model.visual import Visual
from appell.show.scene.poses import rotations
from appell.show.scene.scene import LAYERS, WORLD, Actor, ScenePart
from appell.show.stage.appearance import Appearance
from appell.show.stage.scenes import robot_scene
from appell_lab.references.oracle import Oracle
from constrained_cases import constrained
from free_bodies import box, free_body
from systems import systems

SYSTEMS = systems(trees=3)


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def robot_actor(robot, q=None, **options) -> Actor:
    return Appearance(robot, **options).actor(q)


def in_world(actor: Actor, part: ScenePart, points) -> np.ndarray:
    """Return points of a part in the world."""
    pose, local = np.array(part.pose, float), np.atleast_2d(np.asarray(points, float))
    on_body = local @ rotations(pose).T + pose[:3]
    if part.body == WORLD:
        return on_body
    return on_body @ rotations(actor.poses[part.body]).T + actor.poses[part.body][:3]


def of(actor: Actor, layer: str) -> list[ScenePart]:
    return [part for part in actor.parts if part.layer == layer]


@pytest.mark.parametrize("name", SYSTEMS)
def test_bodies_have_the_poses_of_the_equations(name, rng):
    system = SYSTEMS[name]
    dyn, q = ap.Dynamics(system), system.random_configuration(rng)
    actor = robot_actor(dyn, q)
    assert actor.bodies == system.body_names
    for body, pose in zip(actor.bodies, actor.poses, strict=True):
        T = np.array(dyn.equations.pose(system.frame(body), q.tolist()).matrix)  # interpreted, not compiled
        np.testing.assert_allclose(pose[:3], T[:3, 3], atol=1e-12)
        np.testing.assert_allclose(rotations(pose), T[:3, :3], atol=1e-12)
    T = dyn.pose(actor.bodies[-1])(q)
    np.testing.assert_allclose(actor.poses[-1][:3], T[:3, 3], atol=1e-12)
    for part in actor.parts:
        assert -1 <= part.body < len(actor.bodies)
        assert part.layer in LAYERS
        assert np.isfinite(part.mesh.vertices).all()
    assert {part.layer for part in actor.parts} >= {"links", "frames", "inertia"}


@pytest.mark.parametrize("name", ["puma", "panda", "tree10", *(n for n in SYSTEMS if n.startswith("random"))])
def test_bodies_have_the_poses_of_pinocchio(name, rng):
    system = SYSTEMS[name]
    judge = Oracle(system)
    q = system.random_configuration(rng)
    appearance = Appearance(system)
    for body, pose in zip(appearance.shape.names, appearance.poses(q), strict=True):
        T = judge.pose(body, q)
        np.testing.assert_allclose(pose[:3], T[:3, 3], atol=1e-10)
        np.testing.assert_allclose(rotations(pose), T[:3, :3], atol=1e-10)


@pytest.mark.parametrize("name", ["puma", "panda", "stanford", "planar-2r"])
def test_rods_connect_joints_and_drums_are_along_the_axes(name, rng):
    """The joints are at the positions of Pinocchio, and the axes are the columns of its Jacobians."""
    dyn = ap.Dynamics(ap.load(name))
    q, judge = dyn.system.random_configuration(rng), Oracle(dyn.system)
    actor = robot_actor(dyn, q)
    links = of(actor, "links")
    origins = np.array([judge.pose(link, q)[:3, 3] for link in dyn.system.link_names])
    covered = np.concatenate([in_world(actor, part, part.mesh.vertices) for part in links])
    radius = Appearance(dyn).proportions.radius
    for origin in origins:
        assert np.linalg.norm(covered - origin, axis=1).min() < 4.0 * radius
    for k, link in enumerate(dyn.system.links):
        (drum,) = [part for part in links if part.name == link.joint.name and part.body == k]
        ends = in_world(actor, drum, [[0, 0, -1], [0, 0, 0], [0, 0, 1]])
        np.testing.assert_allclose(ends[1], origins[k], atol=1e-12)
        J = judge.jacobian(link.name, q, "LOCAL_WORLD_ALIGNED")
        axis = J[3:, k] if np.any(J[3:, k]) and link.joint.motion.unit == "rad" else J[:3, k]
        np.testing.assert_allclose(np.cross(ends[2] - ends[1], axis), 0.0, atol=1e-10)


def test_mass_balls_have_the_centre_of_mass_of_the_robot(rng):
    """Volumes are proportional to masses: the mean of the balls, weighted by volume, is the centre of mass."""
    robot = ap.load("tree10")
    q = robot.random_configuration(rng)
    actor = robot_actor(robot, q)
    balls = of(actor, "centers")
    centers = np.array([in_world(actor, ball, [0, 0, 0])[0] for ball in balls])
    volumes = np.array([np.ptp(ball.mesh.vertices[:, 2]) ** 3 for ball in balls])
    np.testing.assert_allclose(volumes @ centers / volumes.sum(), Oracle(robot).center_of_mass(q), atol=0.02)


def test_ellipsoids_have_the_moments_of_their_bodies():
    """A solid ellipsoid with half axes a, b, c has moments m (b² + c²) / 5, ...; computed from the drawn mesh."""
    robot = ap.load("puma")
    actor = robot_actor(robot)
    for part in of(actor, "inertia"):
        body = robot.link(part.name).body
        half = part.mesh.vertices.max(axis=0)
        R = rotations(np.array(part.pose))
        second = body.mass / 5.0 * R @ np.diag(half**2) @ R.T
        exact = np.array([list(row) for row in body.inertia.rows])
        np.testing.assert_allclose(np.trace(second) * np.eye(3) - second, exact, atol=2e-3 * np.abs(exact).max())
        np.testing.assert_allclose(part.pose[:3], [*body.com], atol=1e-12)
        assert part.color[3] < 1.0


def test_a_free_body_is_drawn_as_the_box_with_its_moments(rng):
    robot = free_body([], mass=2.0, inertia=(0.1, 0.2, 0.25))
    actor = robot_actor(robot, robot.random_configuration(rng))
    (block,) = of(actor, "links")
    x, y, z = np.ptp(block.mesh.vertices, axis=0)
    R = rotations(np.array(block.pose))
    moments = 2.0 / 12.0 * np.diag([y * y + z * z, x * x + z * z, x * x + y * y])
    np.testing.assert_allclose(R @ moments @ R.T, np.diag([0.1, 0.2, 0.25]), rtol=1e-5)


def test_a_free_body_with_corner_frames_is_drawn_as_their_box():
    blocks = [part for part in of(robot_actor(box()), "links") if len(part.mesh.vertices) == 8]
    assert len(blocks) == 1
    np.testing.assert_allclose(np.ptp(blocks[0].mesh.vertices, axis=0), [0.4, 0.6, 0.2])


def test_branches_have_their_own_colours_unless_one_is_given():
    robot = ap.load("tree10")
    joints = {link.joint.name for link in robot.links}
    rods = [part for part in of(robot_actor(robot), "links") if part.name not in joints and part.body != WORLD]
    assert len({part.color for part in rods}) == 6  # two legs, the trunk, two arms, the head
    red = (0.8, 0.1, 0.1, 1.0)
    painted = [part for part in of(robot_actor(robot, color=red), "links") if part.name not in joints]
    assert {part.color for part in painted if part.body != WORLD} == {red}


def test_only_requested_layers_are_included():
    assert {part.layer for part in robot_actor(ap.load("puma"), layers=["links", "centers"]).parts} == {
        "links",
        "centers",
    }


def test_many_equal_links_share_their_meshes():
    builder = ap.Builder("chain")
    for k in range(100):
        builder.link(
            f"l{k}",
            ap.Revolute((0, 1, 0)),
            parent=f"l{k - 1}" if k else None,
            xyz=(1.0 if k else 0.0, 0, 0),
            mass=1.0,
            com=(0.5, 0, 0),
            inertia=(0.01, 0.1, 0.1),
        )
    parts = robot_actor(builder.build()).parts
    assert len(parts) > 700
    assert len({id(part.mesh) for part in parts}) < 60


# ---- loops


@pytest.mark.parametrize("name", ["whipple-bicycle", "differential-drive"])
def test_wheels_touch_the_ground_where_they_roll(name):
    system = ap.load(name)
    actor = robot_actor(system)
    for wheel in [item for item in system.constraints if isinstance(item, ap.Rolling)]:
        rims = [part for part in of(actor, "loops") if part.name == wheel.name]
        lowest = min(in_world(actor, part, part.mesh.vertices)[:, 2].min() for part in rims)
        assert abs(lowest) < 0.01 * wheel.radius


def test_a_rod_of_constant_length_is_a_strut_of_that_length(rng):
    system = constrained("rod-leg")
    (rod,) = [item for item in system.constraints if isinstance(item, ap.Distance)]
    lengths = []
    for q in (system.start, system.random_configuration(rng)):
        actor = robot_actor(system, q)
        (strut,) = [strut for strut in actor.struts if strut.layer == "loops"]
        assert strut.name == rod.name
        ends = []
        for body, end in zip(strut.bodies, strut.ends, strict=True):
            pose = actor.poses[body] if body != WORLD else np.array([0, 0, 0, 0, 0, 0, 1.0])
            ends.append(rotations(pose) @ end + pose[:3])
        lengths.append(np.linalg.norm(np.subtract(*ends)))
    assert lengths[0] > 0.01
    assert lengths[1] == pytest.approx(lengths[0], abs=1e-8)


def test_slides_of_a_platform_connect_the_ends_of_its_legs():
    system = ap.load("stewart-gough")
    actor = robot_actor(system)
    assert len(actor.struts) == 6
    knobs = [part for part in of(actor, "links") if part.mesh.smooth and len(part.mesh.vertices) > 100]
    centers = np.array([in_world(actor, part, [0, 0, 0])[0] for part in knobs])
    at = {part.name: part.base @ part.pose(system.home) for part in system.parts}
    for pin in system.pins:
        position = np.array([*pin.ends(at)[0]])
        assert np.linalg.norm(centers - position, axis=1).min() < 1e-9  # a joint at every pin


# ---- visuals


def seen(robot, *visuals: Visual):
    return replace(robot, visuals=visuals)


def test_primitive_shapes_are_placed_as_described():
    robot = ap.load("planar-2r")
    link = robot.link_names[0]
    pose = ap.Pose(translation=ap.Vec3(0.1, 0.2, 0.3))
    shapes = [
        Visual(link, "box", (0.1, 0.2, 0.3), pose, (1.0, 0.0, 0.0, 0.5), name="case"),
        Visual(link, "sphere", (0.2,)),
        Visual(None, "cylinder", (0.1, 0.5)),
        Visual(link, "capsule", (0.1, 0.5)),
        Visual(link, "ellipsoid", (0.1, 0.2, 0.3)),
    ]
    parts = of(robot_actor(seen(robot, *shapes)), "links")
    assert [part.body for part in parts] == [0, 0, WORLD, 0, 0]
    sizes = [(0.1, 0.2, 0.3), (0.4, 0.4, 0.4), (0.2, 0.2, 0.5), (0.2, 0.2, 0.7), (0.2, 0.4, 0.6)]
    for part, size in zip(parts, sizes, strict=True):
        np.testing.assert_allclose(np.ptp(part.mesh.vertices, axis=0), size, rtol=1e-9)
    assert parts[0].color == (1.0, 0.0, 0.0, 0.5)
    assert parts[0].name == "case"
    np.testing.assert_allclose(parts[0].pose, (0.1, 0.2, 0.3, 0, 0, 0, 1))


def test_links_without_visuals_are_drawn_from_the_geometry_if_they_are_the_majority():
    robot = ap.load("puma")
    ball = Visual("link1", "sphere", (0.1,))
    few, most = of(robot_actor(seen(robot, ball)), "links"), [replace(ball, body=link) for link in robot.link_names[:4]]
    assert {part.body for part in few} == set(range(6))
    assert len([part for part in few if part.body == 0]) == 1
    assert {part.body for part in of(robot_actor(seen(robot, *most)), "links")} == set(range(4))


def test_a_missing_mesh_is_noted_and_replaced_by_a_box(tmp_path):
    robot = ap.load("puma")
    broken = tmp_path / "broken.stl"
    broken.write_text("solid of nothing", encoding="utf-8")
    gone = Visual("link2", "mesh", (1, 1, 1), file="meshes/upper_arm.stl")
    scene = robot_scene(seen(robot, gone, Visual("link3", "mesh", (1, 1, 1), file=str(broken))))
    (note,) = scene.notes
    assert "meshes/upper_arm.stl" in note.replace("\\", "/")
    assert "broken.stl" in note
    parts = [part for part in of(scene.actors[0], "links") if part.body in (1, 2)]
    assert [part.name for part in parts] == ["link2", "link3"]
    body = robot.link("link2").body
    np.testing.assert_allclose(parts[0].pose[:3], [*body.com], atol=1e-12)
    assert len(parts[0].mesh.vertices) == 8


def test_a_mesh_file_is_scaled_and_stored_once(tmp_path):
    path = tmp_path / "piece.obj"
    path.write_text(
        "v 0 0 0\nv 1000 0 0\nv 0 2000 0\nv 0 0 3000\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n", encoding="utf-8"
    )
    robot = ap.load("puma")
    visuals = [Visual(link, "mesh", (1e-3, 1e-3, 1e-3), file=str(path)) for link in robot.link_names]
    parts = of(robot_actor(seen(robot, *visuals)), "links")
    assert len(parts) == 6
    assert len({id(part.mesh) for part in parts}) == 1
    np.testing.assert_allclose(np.ptp(parts[0].mesh.vertices, axis=0), [1.0, 2.0, 3.0])


def test_meshes_in_memory_and_shapes_without_thickness_are_drawn():
    robot = ap.load("puma")
    corner = Mesh(np.vstack([np.zeros(3), np.eye(3)]), np.array([(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)]))
    visuals = [
        Visual("link1", "mesh", (1, 1, 1), triangles=corner),
        Visual("link2", "mesh", (1, 1, -2), triangles=corner),
    ]
    upright, mirrored, sheet = of(robot_actor(seen(robot, *visuals, Visual("link3", "box", (0.1, 0.2, 0.0)))), "links")
    for part, sign in ((upright, 1.0), (mirrored, -2.0)):
        a, b, c = np.moveaxis(part.mesh.vertices[part.mesh.faces], 1, 0)
        assert np.einsum("ni,ni->n", a, np.cross(b, c)).sum() / 6.0 == pytest.approx(abs(sign) / 6.0)  # points outwards
        assert part.mesh.vertices[:, 2][np.argmax(np.abs(part.mesh.vertices[:, 2]))] == pytest.approx(sign)
    assert 0.0 < np.ptp(sheet.mesh.vertices[:, 2]) < 1e-3


# ---- scenes and bad input


def test_up_is_opposite_to_gravity_and_a_planar_robot_is_flat():
    scene = robot_scene(ap.load("tree10"))
    assert scene.up == (0.0, 1.0, 0.0)
    np.testing.assert_allclose(np.abs(scene.flat), (0, 0, 1), atol=1e-12)
    assert robot_scene(ap.load("puma")).flat is None
    assert robot_scene(ap.load("whipple-bicycle")).flat is None  # it starts in a plane and may lean


def test_invalid_arguments_of_a_scene_are_named():
    puma, delta = ap.load("puma"), ap.load("delta")
    with pytest.raises(ap.ArgumentError, match="cannot draw 'nothing'"):
        robot_actor("nothing")
    with pytest.raises(ap.ArgumentError, match="has no layer 'bones'"):
        robot_actor(puma, layers=["bones"])
    with pytest.raises(ap.ArgumentError, match="q has shape"):
        robot_actor(puma, [0.0, 1.0])
    with pytest.raises(ap.ArgumentError, match="6 finite numbers"):
        robot_actor(puma, [np.nan] * 6)
    with pytest.raises(ap.ArgumentError, match="one configuration"):
        robot_actor(puma, np.zeros((2, 6)))
    with pytest.raises(ap.AppellError, match="cannot reach"):
        robot_actor(delta, delta.start + 9.0)
    with pytest.raises(ap.ArgumentError, match="wall 0 is 5"):
        robot_scene(puma, walls=[5])
