"""Visual shapes of SDF, compared with poses computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.errors import ModelWarning
from link_poses import visual_poses

MASS = "<inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"
MODEL = f"""<sdf version="1.9"><model name="m"><pose>0 0 1 0 0 0</pose>
<link name="base">{MASS}<visual name="foot"><pose>0 0 0.1 0 0 0</pose><geometry><box><size>1 2 3</size></box></geometry>
  <material><ambient>1 1 1 1</ambient><diffuse>1 0 0 1</diffuse></material><transparency>0.25</transparency></visual>
  <visual name="ground"><geometry><plane/></geometry></visual></link>
<link name="arm"><pose>1 0 0 0 0 0</pose>{MASS}
  <visual name="rod"><pose>0.5 0 0 0 1.5707963267948966 0</pose>
    <geometry><cylinder><radius>0.1</radius><length>1</length></cylinder></geometry></visual>
  <visual name="far"><pose relative_to="base">0 0 5 0 0 0</pose>
    <geometry><sphere><radius>0.2</radius></sphere></geometry></visual></link>
<joint name="j" type="revolute"><pose>-0.5 0 0 0 0 0</pose><parent>base</parent><child>arm</child>
  <axis><xyz>0 0 1</xyz></axis></joint>
<link name="cap"><pose relative_to="arm">0 0 2 0 0 0</pose>{MASS}
  <visual name="lid"><geometry><capsule><radius>0.1</radius><length>2</length></capsule></geometry></visual>
  <visual name="egg"><geometry><ellipsoid><radii>1 2 3</radii></ellipsoid></geometry></visual>
  <visual name="mesh"><geometry><mesh><uri>model://m/a.dae</uri><scale>1 2 3</scale></mesh></geometry></visual></link>
<joint name="f" type="fixed"><parent>arm</parent><child>cap</child></joint>
{{more}}</model></sdf>"""


def test_all_shapes_have_the_poses_of_the_text():
    robot = ap.load(MODEL.format(more=""))
    visuals = {visual.name: visual for visual in robot.visuals}
    assert {name: (visual.shape, visual.size) for name, visual in visuals.items()} == {
        "foot": ("box", (1.0, 2.0, 3.0)),
        "rod": ("cylinder", (0.1, 1.0)),
        "far": ("sphere", (0.2,)),
        "lid": ("capsule", (0.1, 2.0)),
        "egg": ("ellipsoid", (1.0, 2.0, 3.0)),
        "mesh": ("mesh", (1.0, 2.0, 3.0)),
    }
    assert visuals["foot"].color == (1.0, 0.0, 0.0, 0.75)
    assert visuals["foot"].body is None
    assert visuals["mesh"].file == "model://m/a.dae"
    poses = dict(zip(visuals, visual_poses(robot, np.array([np.pi / 2])), strict=True))
    # the joint is at (0.5, 0, 1): a rotation by 90° about z takes (x, y) to (0.5 - y, x - 0.5)
    expected = {
        "foot": (0.0, 0.0, 1.1),
        "rod": (0.5, 1.0, 1.0),
        "far": (0.5, -0.5, 6.0),
        "lid": (0.5, 0.5, 3.0),
    }
    for name, position in expected.items():
        np.testing.assert_allclose(poses[name][:3, 3], position, atol=1e-14)
    np.testing.assert_allclose(poses["rod"][:3, 2], (0, 1, 0), atol=1e-14)  # its z axis was x


def test_an_invalid_visual_is_skipped_with_a_warning():
    text = MODEL.format(more="").replace("<size>1 2 3</size>", "<size>1 2</size>").replace("capsule", "cone")
    with pytest.warns(
        ModelWarning, match=r"(?s)a <visual> of link 'base' \(line 2\).*<visual> of link 'cap' \(line 13\)"
    ):
        robot = ap.load(text)
    assert [visual.name for visual in robot.visuals] == ["rod", "far", "egg", "mesh"]
