"""Collision shapes in TOML, Python, URDF, SRDF and MJCF; pairs and their reasons; capsules around other shapes."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.algebra.mesh import Mesh
from appell.describe.covers import capsule_volume, mesh_of, smallest_capsule
from appell.errors import ArgumentError, DescriptionError, ModelError, ModelWarning
from robots import example_urdfs

TOML = """
name = "arm"
ignored_pairs = [["hand", "foot", "never touches"]]
[[link]]
name = "upper"
joint = "revolute"
axis = [0, 1, 0]
mass = 1.0
inertia = [0.1, 0.1, 0.1]
[[link.collision]]
shape = "capsule"
size = [0.05, 0.4]
xyz = [0, 0, 0.3]
[[link]]
name = "lower"
parent = "upper"
joint = "revolute"
axis = [0, 1, 0]
xyz = [0, 0, 0.6]
mass = 1.0
inertia = [0.1, 0.1, 0.1]
[[link.collision]]
shape = "box"
size = [0.1, 0.1, 0.4]
[[link]]
name = "hand"
parent = "lower"
joint = "revolute"
xyz = [0, 0, 0.4]
mass = 1.0
inertia = [0.1, 0.1, 0.1]
[[link.collision]]
shape = "sphere"
size = [0.06]
[[link.collision]]
shape = "arc"
size = [0.2, 1.0, 0.02]
[[collision]]
name = "foot"
shape = "cylinder"
size = [0.1, 0.2]
[[collision]]
name = "floor"
shape = "plane"
"""
URDF = """<robot name="r"><link name="base"><collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision></link>
<link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision name="tube"><origin xyz="0 0 0.2"/><geometry><cylinder radius="0.05" length="0.4"/></geometry></collision>
<collision><geometry><sphere radius="0"/></geometry></collision></link>
<link name="tip"><collision><geometry><sphere radius="0.1"/></geometry></collision></link>
<joint name="j" type="continuous"><parent link="base"/><child link="a"/></joint>
<joint name="f" type="fixed"><parent link="a"/><child link="tip"/><origin xyz="0 0 0.5"/></joint></robot>"""


def test_toml_contains_shapes_and_pairs_and_writes_them_back():
    robot = ap.load(TOML)
    assert [shape.name for shape in robot.collisions] == ["upper", "lower", "hand 1", "hand 2", "foot", "floor"]
    again = ap.load(ap.to_toml(robot))
    assert set(again.collisions) == set(robot.collisions)
    assert again.ignored_pairs == robot.ignored_pairs == (ap.IgnoredPair("hand", "foot", "never touches"),)


def test_pairs_leave_out_neighbours_and_ignored_links_and_say_why():
    pairs, ignored = ap.load(TOML).collision_pairs
    assert pairs == (
        *(("upper", "hand 1"), ("upper", "hand 2"), ("lower", "foot"), ("lower", "floor")),
        *(("hand 1", "floor"), ("hand 2", "floor")),
    )
    reasons = {pair[:2]: pair.reason for pair in ignored}
    assert reasons["hand 2", "foot"] == "never touches"
    assert reasons["upper", "lower"] == "neighbours, connected by joint 'lower_joint'"
    assert reasons["hand 1", "hand 2"] == reasons["foot", "floor"] == "fixed to each other"


def test_the_builder_and_locked_joints_keep_shapes_on_their_links():
    arm = ap.Builder("arm").link("rod", ap.Revolute((0, 1, 0)), mass=1.0, inertia=(1, 1, 1))
    arm.link("end", ap.Revolute((0, 1, 0)), parent="rod", xyz=(1, 0, 0), mass=1.0, inertia=(1, 1, 1))
    arm.collision("end", "sphere", (0.1,), xyz=(0.2, 0, 0)).collision(None, "plane", name="floor")
    locked = arm.build().locked({"end_joint": 0.0})
    ball, floor = locked.collisions
    assert (ball.body, ball.link, [*ball.pose.translation]) == ("rod", "end", [1.2, 0.0, 0.0])
    assert floor.body is None


@pytest.mark.warns("the size of collision shape 'a', a sphere, is")
def test_urdf_collisions_stay_with_their_links_and_invalid_ones_are_skipped_with_a_warning():
    robot = ap.load(URDF)
    assert [(s.name, s.body, s.link, s.shape) for s in robot.collisions] == [
        ("base", None, "base", "box"),
        ("tube", "a", "a", "cylinder"),
        ("tip", "a", "tip", "sphere"),
    ]
    again = ap.load(ap.to_urdf(robot))
    assert [(s.body, s.shape, s.size) for s in again.collisions] == [
        (s.body, s.shape, s.size) for s in robot.collisions
    ]


@pytest.mark.warns("the size of collision shape 'a', a sphere, is")
def test_srdf_disables_pairs_with_its_reasons(tmp_path):
    (tmp_path / "r.srdf").write_text(
        '<robot name="r"><disable_collisions link1="a" link2="base" reason="Never"/></robot>'
    )
    robot = ap.with_srdf(ap.load(URDF), tmp_path / "r.srdf")
    assert robot.ignored_pairs == (ap.IgnoredPair("a", "base", "SRDF: Never"),)


def test_mjcf_collisions_are_the_geoms_that_can_collide():
    pytest.importorskip("mujoco")
    robot = ap.load("""<mujoco><worldbody><geom name="floor" type="plane" size="1 1 .1"/>
      <body name="a" pos="0 0 1"><freejoint/><geom name="ball" size="0.1"/>
        <geom name="seen" type="box" size=".1 .2 .3" contype="0" conaffinity="0"/>
        <body name="b" pos="0 0 0.5"><joint type="hinge"/><geom name="rod" type="capsule" size="0.05 0.2"/>
          <body name="c" pos="0 0 0.5"><joint type="hinge"/><geom name="tip" type="ellipsoid" size=".1 .2 .3"/></body>
      </body></body></worldbody><contact><exclude body1="a" body2="c"/></contact></mujoco>""")
    assert [(s.name, s.shape, s.size) for s in robot.collisions] == [
        ("floor", "plane", ()),
        ("ball", "sphere", (0.1,)),
        ("rod", "capsule", (0.05, 0.4)),
        ("tip", "ellipsoid", (0.1, 0.2, 0.3)),
    ]
    assert robot.collision_pairs.pairs == (("floor", "ball"), ("floor", "rod"), ("floor", "tip"))


def test_capsules_contain_what_they_cover_and_state_their_excess():
    rng = np.random.default_rng(0)
    for scale in ([1.0, 0.3, 0.2], [0.4, 0.4, 0.4]):
        points = rng.normal(size=(60, 3)) * scale
        low, high, radius = smallest_capsule(points)
        u = (high - low) / max(np.linalg.norm(high - low), 1e-300)
        t = np.clip((points - low) @ u, 0.0, np.linalg.norm(high - low))
        assert (np.linalg.norm(points - low - t[:, None] * u, axis=1) - radius).max() < 1e-12
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 0.1) for z in (0, 0.1)], float)
    mesh = Mesh(corners, np.array([[0, 1, 2]]))  # open: only its corners count
    shape = ap.Collision("a", "mesh", triangles=mesh)
    (complete,), halves = ap.cover(shape), ap.cover(shape, parts=2)
    volume = capsule_volume((np.zeros(3), np.array([complete.size[1], 0, 0]), complete.size[0]))
    assert volume / 0.01 - 1.0 == pytest.approx(complete.excess)
    assert 0.5 < complete.excess < 0.9
    assert len(halves) == 2
    assert all(half.size[1] < 0.6 for half in halves)
    for kind, size in {"cylinder": (0.1, 0.5), "ellipsoid": (0.1, 0.3, 0.2), "box": (0.1, 0.2, 0.3)}.items():
        (capsule,) = ap.cover(ap.Collision("a", kind, size))
        assert capsule.excess > 0.0
    flat = ap.Collision("a", "mesh", triangles=Mesh(corners * [1, 1, 0], np.array([[0, 1, 2]])))
    assert ap.cover(flat)[0].excess == np.inf


def test_the_cover_of_a_robot_has_capsules_in_place_of_its_meshes_and_ellipsoids():
    robot = ap.load(next(path for path in example_urdfs() if path.name == "bolt.urdf"), base="floating")
    egg, ball = ap.Collision("base_link", "ellipsoid", (0.1, 0.1, 0.2)), ap.Collision("base_link", "sphere", (0.1,))
    robot = robot.with_collisions(egg, ball)
    covered = ap.cover(robot)
    expected = [shape for mesh in robot.collisions if mesh.shape != "sphere" for shape in ap.cover(mesh)]
    assert [shape.shape for shape in covered.collisions] == ["sphere"] + ["capsule"] * len(expected)
    assert [(x.body, x.size) for x in covered.collisions[1:]] == [(x.body, x.size) for x in expected]
    foot = ap.BodyContact([("FL_FOOT", ap.Plane(offset=-5.0))])
    with pytest.raises(ArgumentError, match=r"'FL_FOOT' is of kind 'mesh'(.|\n)*ap\.cover\(robot\)"):
        ap.simulate(robot, until=0.01, contacts=foot)
    assert ap.simulate(covered, until=0.01, contacts=foot).finished
    loop = ap.load("four-bar")
    egg = ap.Collision(loop.tree.links[0].name, "ellipsoid", (1.0, 1.0, 2.0))
    assert [shape.shape for shape in ap.cover(loop.with_collisions(egg)).tree.collisions] == ["capsule"]


def test_named_shapes_can_be_left_out():
    robot = ap.load("planar-2r").with_collisions(
        ap.Collision("upper", "sphere", (0.1,), name="a"), ap.Collision("upper", "sphere", (0.2,), name="b")
    )
    assert [shape.name for shape in robot.with_collisions(without=["a"]).collisions] == ["b"]
    assert robot.with_collisions(without=["upper"]).collisions == ()
    with pytest.raises(ArgumentError, match="no collision shape or link 'c'"):
        robot.with_collisions(without=["c"])


def test_the_pieces_of_an_arc_contain_it():
    arc = ap.Collision("a", "arc", (0.5, 2.0, 0.03))
    angles = np.linspace(-1.0, 1.0, 500)
    points = 0.5 * np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
    inside = np.full(len(points), -np.inf)
    for piece in ap.cover(arc):
        center, axis = np.array([*piece.pose.translation]), np.array([*piece.pose.rotation.T.rows[2]])
        t = np.clip((points - center) @ axis, -0.5 * piece.size[1], 0.5 * piece.size[1])
        gap = np.linalg.norm(points - center - t[:, None] * axis, axis=1)
        inside = np.maximum(inside, piece.size[0] - 0.03 - gap)
    assert inside.min() > -1e-12


@pytest.mark.parametrize(
    ("shape", "size", "problem"),
    [
        ("sphere", (0.0,), "the size of collision shape 'a', a sphere, is"),
        ("capsule", (0.1,), "the size of collision shape 'a', a capsule, is"),
        ("box", (0.1, -0.2, 0.1), "the size of collision shape 'a', a box, is"),
        ("arc", (0.1, 7.0, 0.1), "the angle of collision shape 'a' is 7 rad"),
        ("ball", (0.1,), "no shape 'ball'"),
        ("mesh", (), "is a mesh with neither a file nor triangles"),
    ],
)
def test_shapes_without_a_valid_size_are_refused(shape, size, problem):
    with pytest.raises(ArgumentError, match=problem):
        ap.Collision("a", shape, size)


def test_errors_of_shapes_name_the_file_the_line_and_the_link(tmp_path):
    with pytest.raises(DescriptionError, match="the size of collision shape 'upper', a capsule") as caught:
        ap.load(TOML.replace("size = [0.05, 0.4]", "size = [0.05, 0.0]"))
    assert "line 9" in str(caught.value)
    with pytest.raises(DescriptionError, match="ignored_pairs of the document"):
        ap.load(TOML.replace('["hand", "foot", "never touches"]', '["hand"]'))
    with pytest.raises(ModelError, match="no link 'elbow'"):
        ap.load(TOML).with_collisions(ap.Collision("elbow", "sphere", (0.1,)))
    point = ap.Collision("a", "mesh", triangles=Mesh(np.zeros((3, 3)), np.array([[0, 1, 2]])), name="dot")
    with pytest.raises(DescriptionError, match="'dot' is degenerate: all 1 corners of its mesh coincide"):
        ap.cover(point)
    with pytest.raises(DescriptionError, match="'a' cannot be read: the mesh file does not exist"):
        mesh_of(ap.Collision("a", "mesh", file=str(tmp_path / "none.stl")))


def test_shapes_that_cannot_be_written_are_listed():
    robot = ap.load(TOML)
    with pytest.warns(ModelWarning, match="2 of 6 collision shapes are not written to URDF: arcs and planes"):
        ap.to_urdf(robot)
