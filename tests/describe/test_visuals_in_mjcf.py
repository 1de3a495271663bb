"""Visual shapes of MJCF have the poses of MuJoCo, and are those that it displays."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import appell as ap
from appell.errors import ModelWarning
from link_poses import visual_poses

# a tetrahedron that MuJoCo moves to its centre of mass; joints off the origin; fixed bodies, also on the world
ARM = """<mujoco><asset><mesh name="t" vertex="0 0 0  1 0 0  0 1 0  0 0 1" scale="0.2 0.3 0.4"/>
<material name="blue" rgba="0 0 1 1"/></asset>
<worldbody>
  <geom type="plane" size="5 5 0.1"/><geom name="stone" type="box" size="0.1 0.2 0.3" pos="2 0 0.3" euler="0 0 30"/>
  <body name="post" pos="0 0 0.5" euler="10 20 30"><geom type="cylinder" size="0.05 0.5" rgba="1 0 0 0.5"/>
    <body name="upper" pos="0.1 0 0.5"><joint name="a" axis="0 1 0" pos="0.02 0.03 0.04" ref="20"/>
      <geom type="capsule" fromto="0 0 0  0.4 0.1 0" size="0.03" material="blue"/>
      <geom type="sphere" size="0.2" group="3"/>
      <geom type="sphere" size="0.2" rgba="1 1 1 0"/>
      <body name="lower" pos="0.4 0.1 0" quat="0.5 0.5 -0.5 0.5">
        <joint name="b" axis="1 0 1"/><joint name="c" type="slide"/>
        <geom type="mesh" mesh="t" pos="0.1 0 0" euler="5 6 7"/>
        <geom type="ellipsoid" size="0.1 0.2 0.3" pos="0 0 0.2"/>
        <body name="hand" pos="0 0 0.3" euler="90 0 0"><geom type="mesh" mesh="t"/></body>
      </body></body></body>
  <body name="ball" pos="0 1 1"><freejoint/><geom type="sphere" size="0.1" pos="0.1 0 0"/></body>
</worldbody></mujoco>"""


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def test_every_geom_has_the_pose_of_mujoco(rng):
    robot, model = ap.load(ARM), mujoco.MjModel.from_xml_string(ARM)
    data, q = mujoco.MjData(model), robot.random_configuration(rng, within_limits=False)
    data.qpos[:] = ap.MujocoStates(robot).qpos(q)
    mujoco.mj_kinematics(model, data)
    visible = [k for k in range(model.ngeom) if model.geom_group[k] <= 2 and model.geom_rgba[k][3] > 0][
        1:
    ]  # without the plane
    assert len(visible) == len(robot.visuals) == 7
    for k, pose in zip(visible, visual_poses(robot, q), strict=True):
        np.testing.assert_allclose(pose[:3, 3], data.geom_xpos[k], atol=1e-12)
        np.testing.assert_allclose(pose[:3, :3].ravel(), data.geom_xmat[k], atol=1e-12)


def test_sizes_colours_and_names_are_read():
    robot = ap.load(ARM)
    summary = [(visual.shape, visual.color, visual.name) for visual in robot.visuals]
    assert summary == [
        ("box", None, "stone"),
        ("cylinder", (1.0, 0.0, 0.0, 0.5), "post"),
        ("capsule", (0.0, 0.0, 1.0, 1.0), "upper"),
        ("mesh", None, "lower"),
        ("ellipsoid", None, "lower"),
        ("mesh", None, "hand"),
        ("sphere", None, "ball"),
    ]
    stone, post, bar, mesh, egg, _, ball = (visual.size for visual in robot.visuals)
    assert (stone, post, egg, ball) == ((0.2, 0.4, 0.6), (0.05, 1.0), (0.1, 0.2, 0.3), (0.1,))
    assert bar == pytest.approx((0.03, np.hypot(0.4, 0.1)))
    assert mesh == (1.0, 1.0, 1.0)
    assert robot.visuals[0].body is None
    assert robot.visuals[1].body is None


def test_meshes_are_those_of_the_compiler_with_outward_normals():
    robot = ap.load(ARM)
    first, second = (visual for visual in robot.visuals if visual.shape == "mesh")
    assert first.triangles is second.triangles
    vertices, faces = first.triangles.vertices, first.triangles.faces
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    assert np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6 == pytest.approx(0.2 * 0.3 * 0.4 / 6, rel=1e-5)
    sides = sorted(np.linalg.norm(vertices[i] - vertices[j]) for i in range(4) for j in range(i))
    expected = sorted([0.2, 0.3, 0.4, np.hypot(0.2, 0.3), np.hypot(0.2, 0.4), 0.5])
    np.testing.assert_allclose(sides, expected, rtol=1e-5)


def test_collision_geoms_are_used_if_there_are_no_others():
    text = """<mujoco><worldbody><body><joint/><geom type="box" size="1 1 1" group="3"/></body></worldbody></mujoco>"""
    assert [visual.shape for visual in ap.load(text).visuals] == ["box"]
    assert [visual.shape for visual in ap.from_mujoco(mujoco.MjModel.from_xml_string(text)).visuals] == ["box"]


def test_shapes_without_a_file_are_written_as_geoms_and_do_not_affect_motion(rng):
    robot = ap.load(ARM)
    with pytest.warns(ModelWarning, match="2 of 7 shapes are not written to MJCF: meshes"):
        text = ap.to_mjcf(robot)
    again = ap.load(text)
    kept = [visual for visual in robot.visuals if visual.shape != "mesh"]
    sizes = [sorted(visual.size for visual in visuals) for visuals in (again.visuals, kept)]
    np.testing.assert_allclose(*map(np.concatenate, sizes), rtol=1e-12)
    q = robot.random_configuration(rng)
    ours = [pose for visual, pose in zip(robot.visuals, visual_poses(robot, q), strict=True) if visual in kept]
    theirs = visual_poses(again, q)
    for pose in ours:
        assert min(np.abs(pose - other).max() for other in theirs) < 1e-12
    bare = mujoco.MjModel.from_xml_string(ap.to_mjcf(ap.Robot(robot.name, robot.links, robot.frames)))
    np.testing.assert_allclose(mujoco.MjModel.from_xml_string(text).body_mass, bare.body_mass)


def test_shapes_that_cannot_be_written_are_listed_in_a_warning():
    robot = ap.load(ARM)
    with pytest.warns(ModelWarning, match="2 of 7 shapes are not written to TOML: meshes"):
        assert len(ap.load(ap.to_toml(robot)).visuals) == 5
    with pytest.warns(ModelWarning, match="3 of 7 shapes are not written to URDF: ellipsoids and meshes"):
        assert len(ap.load(ap.to_urdf(robot)).visuals) == 4
