"""Visual shapes of URDF files have the poses of Pinocchio, their meshes are found, and invalid ones are skipped."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin
import pytest

import appell as ap
from appell.describe.write import to_urdf
from appell.errors import ModelWarning
from link_poses import same_configuration, visual_poses
from robots import example_cases, example_urdfs

SHARE = next((path.parents[4] for path in example_urdfs()), Path())
FLOATING = ("talos_full_v2", "iris_simple", "a1")  # sufficient to test shapes on the root
CASES = [
    pytest.param(path, base, id=name)
    for name, (path, base) in example_cases().items()
    if base == "fixed" or path.stem in FLOATING
]
ELSEWHERE = "file:///usr/Romeo/"  # absolute path in the file romeo_laas_small

# products of at most about thirty matrices with entries of order 1
TOLERANCE = 1e-12

TRIANGLE = (
    "solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid"
)


def loaded(path: Path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return ap.load(path, physical=False, mimic=False, **options)


def pinocchio_names(text: str) -> list[str]:
    """The names of the visuals in Pinocchio, in the order of the file."""
    links = ElementTree.fromstring(text).findall("link")
    return [f"{link.get('name')}_{i}" for link in links for i, _ in enumerate(link.findall("visual"))]


def has_two_colours_with_one_name(text: str) -> bool:
    """Pinocchio uses the first of them everywhere, appell the one in each link."""
    colors: dict[str, set] = {}
    for material in ElementTree.fromstring(text).iter("material"):
        if (color := material.find("color")) is not None:
            colors.setdefault(material.get("name", ""), set()).add(tuple(map(float, color.get("rgba", "").split())))
    return any(len(each) > 1 for each in colors.values())


def assert_same_visuals(robot, model, geometry, text) -> None:
    names, colors_are_unique = pinocchio_names(text), not has_two_colours_with_one_name(text)
    q, data, geometry_data = (
        robot.random_configuration(np.random.default_rng(1)),
        model.createData(),
        geometry.createData(),
    )
    pin.updateGeometryPlacements(model, data, geometry, geometry_data, same_configuration(robot, model, q))
    assert len(robot.visuals) == geometry.ngeoms == len(names)
    for name, visual, pose in zip(names, robot.visuals, visual_poses(robot, q), strict=True):
        k = geometry.getGeometryId(name)
        expected = geometry.geometryObjects[k]
        np.testing.assert_allclose(pose, geometry_data.oMg[k].homogeneous, atol=TOLERANCE)
        if visual.shape == "mesh":
            np.testing.assert_allclose(visual.size, expected.meshScale)
        if colors_are_unique and expected.overrideMaterial and visual.color is not None:
            np.testing.assert_allclose(visual.color, expected.meshColor, atol=1e-6)


@pytest.mark.parametrize(("path", "base"), CASES)
def test_the_shapes_of_every_example_have_the_poses_of_pinocchio_and_all_meshes_are_found(path, base, tmp_path):
    text, file = path.read_text(encoding="utf-8"), tmp_path / "triangle.stl"
    robot = loaded(path, base=base)
    if not pinocchio_names(text):
        return
    file.write_text(TRIANGLE)
    with_one_mesh = re.sub(
        r'filename\s*=\s*"[^"]*"', f'filename="file://{file}"', text
    )  # poses do not depend on the meshes
    root = (pin.JointModelFreeFlyer(),) if base == "floating" else ()
    model = pin.buildModelFromUrdf(str(path), *root)
    geometry = pin.buildGeomFromUrdfString(model, with_one_mesh, pin.GeometryType.VISUAL)
    assert_same_visuals(robot, model, geometry, text)
    missing = [visual.file for visual in robot.visuals if visual.file and not Path(visual.file).is_file()]
    assert [name for name in missing if not name.startswith(ELSEWHERE)] == []


@pytest.mark.parametrize("name", ["panda", "talos_full_v2"])
def test_meshes_are_the_files_that_pinocchio_opens(name):
    path = next(path for path in example_urdfs() if path.stem == name)
    robot, model = loaded(path), pin.buildModelFromUrdf(str(path))
    geometry = pin.buildGeomFromUrdf(model, str(path), pin.GeometryType.VISUAL, package_dirs=[str(SHARE)])
    text = path.read_text(encoding="utf-8")
    assert_same_visuals(robot, model, geometry, text)
    for pinocchio_name, visual in zip(pinocchio_names(text), robot.visuals, strict=True):
        expected = geometry.geometryObjects[geometry.getGeometryId(pinocchio_name)]
        if visual.shape == "mesh":
            assert Path(visual.file).resolve() == Path(expected.meshPath).resolve()


# ---- values given in the test

LINK = """<robot name="r"><material name="sky"><color rgba="0.1 0.2 0.9 1"/></material><link name="base"/>
<joint name="j" type="continuous"><parent link="base"/><child link="arm"/></joint>
<link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
{inside}
</link></robot>"""


def arm(inside: str, **options):
    return ap.load(LINK.format(inside=inside), **options)


def test_all_shapes_have_their_sizes_and_colours():
    robot = arm(
        """<visual name="trunk"><origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/>
        <geometry><box size="1 2 3"/></geometry><material name="sky"/></visual>
        <visual><geometry><sphere radius="0.5"/></geometry>
        <material name="own"><color rgba="1 0 0 0.5"/></material></visual>
        <visual><geometry><cylinder radius="0.1" length="2"/></geometry><material name="own"/></visual>
        <visual><geometry><capsule radius="0.2" length="3"/></geometry></visual>
        <visual><geometry><mesh filename="package://nowhere/a.stl" scale="1 -1 1"/></geometry></visual>"""
    )
    shapes = [(visual.shape, visual.size, visual.color, visual.name) for visual in robot.visuals]
    assert shapes == [
        ("box", (1.0, 2.0, 3.0), (0.1, 0.2, 0.9, 1.0), "trunk"),
        ("sphere", (0.5,), (1.0, 0.0, 0.0, 0.5), "arm"),
        ("cylinder", (0.1, 2.0), (1.0, 0.0, 0.0, 0.5), "arm"),
        ("capsule", (0.2, 3.0), None, "arm"),
        ("mesh", (1.0, -1.0, 1.0), None, "arm"),
    ]
    assert robot.visuals[4].file == "package://nowhere/a.stl"
    assert tuple(robot.visuals[0].pose.translation) == (1.0, 2.0, 3.0)
    assert robot.visuals[0].pose.rotation[1, 0] == 1.0


def test_collision_shapes_are_used_if_there_are_no_visuals():
    robot = arm('<collision><geometry><sphere radius="0.5"/></geometry></collision>')
    assert [visual.shape for visual in robot.visuals] == ["sphere"]
    both = '<visual><geometry><box size="1 1 1"/></geometry></visual>'
    robot = arm(both + '<collision><geometry><sphere radius="0.5"/></geometry></collision>')
    assert [visual.shape for visual in robot.visuals] == ["box"]


INVALID = {
    "no geometry": "<visual/>",
    "an empty geometry": "<visual><geometry/></visual>",
    "an unknown shape": "<visual><geometry><cone/></geometry></visual>",
    "strings for numbers": '<visual><geometry><box size="1 b 3"/></geometry></visual>',
    "too few numbers": '<visual><geometry><box size="1 3"/></geometry></visual>',
    "a negative radius": '<visual><geometry><sphere radius="-1"/></geometry></visual>',
    "a number that is nan": '<visual><geometry><sphere radius="nan"/></geometry></visual>',
    "a mesh without a file": "<visual><geometry><mesh/></geometry></visual>",
    "an invalid origin": '<visual><origin xyz="0 0"/><geometry><sphere radius="1"/></geometry></visual>',
    "two geometries": "<visual><geometry/><geometry/></visual>",
}


@pytest.mark.parametrize("inside", INVALID.values(), ids=INVALID)
def test_an_invalid_visual_is_skipped_with_a_warning_that_names_link_and_line(inside):
    with pytest.warns(ModelWarning, match=r"a <visual> of link 'arm' \(line 4\)") as caught:
        robot = arm(f'{inside}<visual><geometry><sphere radius="2"/></geometry></visual>')
    assert [visual.size for visual in robot.visuals] == [(2.0,)]
    assert len(caught) == 1


def test_invalid_colours_are_ignored():
    visual = (
        '<visual><geometry><sphere radius="1"/></geometry><material name="x"><color rgba="{}"/></material></visual>'
    )
    colors = [arm(visual.format(rgba)).visuals[0].color for rgba in ("1 a 0 1", "1 1", "300 -1 0 1", "0.5 0.5 0.5")]
    assert colors == [None, None, (1.0, 0.0, 0.0, 1.0), (0.5, 0.5, 0.5, 1.0)]


def test_visuals_survive_a_round_trip(tmp_path):
    path = next(path for path in example_urdfs() if path.stem == "talos_full_v2")
    robot = loaded(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        again = ap.load(to_urdf(robot), physical=False)
    key = lambda visual: (visual.body or "", visual.file, visual.shape, visual.size, visual.color)  # noqa: E731
    assert sorted(map(key, again.visuals)) == sorted(map(key, robot.visuals))
    poses = [
        np.array(sorted(np.round(pose, 9).ravel().tolist() for pose in visual_poses(one, robot.start)))
        for one in (robot, again)
    ]
    np.testing.assert_allclose(*poses, atol=1e-8)
