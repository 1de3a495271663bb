"""A Pinocchio geometry model gives the same shapes as its URDF."""

from __future__ import annotations

from pathlib import Path

import coal
import numpy as np
import pinocchio as pin
import pytest

import appell as ap
from appell.errors import DescriptionError
from link_poses import visual_poses
from robots import example_urdfs


def test_shapes_of_a_geometry_model_have_the_poses_of_pinocchio():
    path = next(path for path in example_urdfs() if path.stem == "double_pendulum_simple")
    model = pin.buildModelFromUrdf(str(path))
    geometry = pin.buildGeomFromUrdf(model, str(path), pin.GeometryType.VISUAL)
    for name, shape in (("rod", coal.Cylinder(0.1, 0.4)), ("ball", coal.Sphere(0.2))):
        geometry.addGeometryObject(pin.GeometryObject(name, 2, pin.SE3.Random(), shape))
    robot = ap.from_pinocchio(model, geometry=geometry)
    q, data, geometry_data = np.array([0.3, -0.8]), model.createData(), geometry.createData()
    pin.updateGeometryPlacements(model, data, geometry, geometry_data, q)
    assert len(robot.visuals) == geometry.ngeoms == 5
    for ours, theirs in zip(visual_poses(robot, q), geometry_data.oMg, strict=True):
        np.testing.assert_allclose(ours, theirs.homogeneous, atol=1e-13)
    assert [visual.size for visual in robot.visuals[3:]] == [(0.1, 0.4), (0.2,)]
    from_urdf = ap.load(path)
    assert [visual.size for visual in robot.visuals[:3]] == [visual.size for visual in from_urdf.visuals]
    assert ap.from_pinocchio(model).visuals == ()


def test_meshes_are_the_files_of_the_geometry_model():
    path = next(path for path in example_urdfs() if path.stem == "finger_edu")
    model = pin.buildModelFromUrdf(str(path))
    geometry = pin.buildGeomFromUrdf(model, str(path), pin.GeometryType.VISUAL, package_dirs=[str(path.parents[4])])
    robot = ap.from_pinocchio(model, geometry=geometry, physical=False)
    files = sorted(Path(visual.file).resolve() for visual in ap.load(path, physical=False).visuals)
    assert sorted(Path(visual.file).resolve() for visual in robot.visuals) == files


def test_an_object_that_is_not_a_geometry_model_is_an_error():
    model = pin.buildSampleModelManipulator()
    with pytest.raises(DescriptionError, match="a str is not a Pinocchio geometry model"):
        ap.from_pinocchio(model, geometry="meshes")
