"""Visual shapes by the builder and in TOML: reading, writing, and invalid shapes."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.describe.write import to_toml
from appell.errors import DescriptionError, ModelWarning
from link_poses import visual_poses

UNIT = (1.0, 1.0, 1.0)


def arm() -> ap.Builder:
    arm = ap.Builder("arm")
    arm.link("upper", ap.Revolute(), mass=2.0, com=(0.5, 0, 0), inertia=UNIT)
    arm.link("lower", ap.Revolute(), parent="upper", xyz=(1, 0, 0), mass=1.0, inertia=UNIT)
    arm.fixed("hand", parent="lower", xyz=(1, 0, 0), rpy=(0, 0, np.pi / 2))
    return arm.frame("tip", on="hand", xyz=(0, 0, 0.1))


def with_visuals() -> ap.Robot:
    builder = arm().visual("upper", "box", (1, 0.1, 0.1), xyz=(0.5, 0, 0), color=(0.2, 0.4, 0.8))
    builder.visual("hand", "cylinder", (0.1, 0.3), xyz=(0.2, 0, 0), rpy=(0.1, 0.2, 0.3), name="thumb")
    builder.visual("tip", "sphere", (0.05,), color=(1, 0, 0, 0.5))
    builder.visual("base", "capsule", (0.05, 1.0), xyz=(0, 0, -0.5))
    builder.visual("lower", "mesh", file="package://nowhere/lower.stl")
    return builder.visual(None, "ellipsoid", (1, 2, 3)).build()


def test_shapes_are_attached_to_the_moving_link_that_carries_them():
    robot = with_visuals()
    assert [visual.body for visual in robot.visuals] == ["upper", "lower", "lower", None, "lower", None]
    positions = [tuple(np.round(pose[:3, 3], 12)) for pose in visual_poses(robot, np.zeros(2))]
    assert positions == [(0.5, 0, 0), (2, 0.2, 0), (2, 0, 0.1), (0, 0, -0.5), (1, 0, 0), (0, 0, 0)]
    assert robot.visuals[0].color == (0.2, 0.4, 0.8, 1.0)
    assert robot.visuals[1].name == "thumb"
    assert robot.visuals[4].size == UNIT


def test_shapes_survive_a_round_trip():
    robot = with_visuals()
    text = to_toml(robot)
    again = ap.load(text)
    assert text.count("[[link.visual]]") == 4
    assert sorted(map(repr, again.visuals)) == sorted(map(repr, robot.visuals))
    assert to_toml(again) == text
    assert again == robot


TEXT = """name = "arm"
[[link]]
name = "upper"
joint = "revolute"
mass = 1
inertia = [1, 1, 1]
[[link.visual]]
shape = "box"
size = [1, 0.1, 0.1]
xyz = [0.5, 0, 0]
rpy = [0, "pi/2", 0]
color = [1, 0, 0]
[[link]]
name = "lower"
joint = "revolute"
parent = "upper"
xyz = [1, 0, 0]
mass = 1
inertia = [1, 1, 1]
[[link.visual]]
{visual}
[[visual]]
on = "lower"
shape = "sphere"
size = [0.3]
[[visual]]
shape = "sphere"
size = [0.7]
"""


def test_shapes_in_a_link_on_a_link_and_on_the_world(tmp_path):
    (tmp_path / "tip.stl").write_bytes(b"")
    (tmp_path / "arm.toml").write_text(TEXT.format(visual='shape = "mesh"\nfile = "tip.stl"'))
    robot = ap.load(tmp_path / "arm.toml")
    assert [(visual.body, visual.shape) for visual in robot.visuals] == [
        ("upper", "box"),
        ("lower", "mesh"),
        ("lower", "sphere"),
        (None, "sphere"),
    ]
    assert robot.visuals[1].file == str(tmp_path / "tip.stl")
    assert robot.visuals[0].pose.rotation[0, 2] == 1.0


INVALID = {
    "no shape": "size = [1, 1, 1]",
    "an unknown shape": 'shape = "cone"\nsize = [1, 2]',
    "a wrong size": 'shape = "box"\nsize = [1, 2]',
    "a string for a size": 'shape = "sphere"\nsize = ["big"]',
    "an unknown key": 'shape = "sphere"\nsize = [1]\ncolour = [1, 0, 0]',
    "a colour of two numbers": 'shape = "sphere"\nsize = [1]\ncolor = [1, 0]',
    "a colour above 1": 'shape = "sphere"\nsize = [1]\ncolor = [255, 0, 0]',
    "a number for a colour": 'shape = "sphere"\nsize = [1]\ncolor = 1',
    "a mesh without a file": 'shape = "mesh"',
    "an invalid position": 'shape = "sphere"\nsize = [1]\nxyz = [1]',
}


@pytest.mark.parametrize("visual", INVALID.values(), ids=INVALID)
def test_an_invalid_shape_is_skipped_with_a_warning_and_its_line(visual):
    with pytest.warns(
        ModelWarning, match=r"ignored or adjusted: a visual of link 'lower' \(.*line (2\d|19)\): ."
    ) as caught:
        robot = ap.load(TEXT.format(visual=visual))
    assert len(caught) == 1
    assert len(robot.visuals) == 3


BAD = {
    "an unknown shape": (("upper", "cone", (1, 2)), {}, "no shape 'cone'"),
    "a wrong size": (("upper", "box", (1, 2)), {}, "the size of a visual of link 'upper' has 2 numbers"),
    "no size": (("upper", "box"), {}, "the size of a visual of link 'upper' is None"),
    "a negative size": (("upper", "sphere", (-1,)), {}, r"the size of a sphere is \(-1.0,\)"),
    "an infinite size": (("upper", "sphere", (np.inf,)), {}, "the size of a visual of link 'upper' is inf"),
    "a colour": (("upper", "sphere", (1,)), {"color": (2, 0, 0)}, "the color of a sphere is"),
    "a colour by name": (("upper", "sphere", (1,)), {"color": "red"}, "the color of a visual of link 'upper'"),
    "no file": (("upper", "mesh"), {}, "neither a file nor triangles"),
    "an unknown link": (("uper", "sphere", (1,)), {}, "a shape is attached to 'uper'.*Did you mean 'upper'"),
}


@pytest.mark.parametrize(("given", "options", "sentence"), BAD.values(), ids=BAD)
def test_the_builder_rejects_invalid_shapes(given, options, sentence):
    with pytest.raises(DescriptionError, match=sentence):
        arm().visual(*given, **options).build()
