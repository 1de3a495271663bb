"""Conversion between formats keeps the robot, and overwrites files only on request."""

from __future__ import annotations

import sys
from itertools import pairwise

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import appell as ap
from appell.describe.convert import convert
from appell.errors import ArgumentError, DescriptionError, ModelError
from appell_lab.references.mujoco_terms import full_matrix
from mjcf_texts import SUPPORTED

pytestmark = pytest.mark.filterwarnings("ignore::appell.errors.ModelWarning")


def terms(robot, rng):
    equations = ap.Dynamics(robot, rotors=True, friction=True).equations
    q, v, a = (rng.uniform(-1, 1, robot.nv).tolist() for _ in range(3))
    return np.concatenate([equations.forces(q, v, a, {}), np.ravel(equations.mass_matrix(q))])


@pytest.mark.parametrize("name", ["puma", "panda"])
def test_round_trips_keep_the_dynamics(name, tmp_path):
    """toml -> mjcf -> urdf -> mjcf -> toml -> urdf -> toml, including rotors and friction."""
    paths = [tmp_path / file for file in ("a.toml", "b.xml", "c.urdf", "d.mjcf", "e.toml", "f.urdf", "g.toml")]
    convert(name, paths[0])
    for source, target in pairwise(paths):
        convert(source, target)
    first = terms(ap.load(name), np.random.default_rng(1))
    for path in paths:
        again = terms(ap.load(path), np.random.default_rng(1))
        np.testing.assert_allclose(again, first, rtol=0, atol=1e-12 * np.abs(first).max())


@pytest.mark.parametrize("name", ["joints off the origin", "inertia from shapes", "springs", "bodies that cannot move"])
def test_mjcf_becomes_urdf_and_toml(name, tmp_path):
    (source := tmp_path / "a.xml").write_text(SUPPORTED[name])
    for target in (tmp_path / "b.urdf", tmp_path / "c.toml"):
        convert(source, target)
        converted, original = (terms(ap.load(path), np.random.default_rng(1)) for path in (target, source))
        np.testing.assert_allclose(converted, original, rtol=0, atol=1e-12 * np.abs(original).max())


@pytest.mark.parametrize("name", ["joints off the origin", "inertia from shapes", "frames and replicas"])
def test_pinocchio_and_mujoco_agree_on_the_converted_robot(name, tmp_path):
    """Two independent programs, each with its own format, give the same mass matrix and forces."""
    (tmp_path / "a.xml").write_text(SUPPORTED[name])
    robot = convert(tmp_path / "a.xml", tmp_path / "b.urdf")
    pin_model, mj_model = (
        pin.buildModelFromUrdf(str(tmp_path / "b.urdf")),
        mujoco.MjModel.from_xml_string(SUPPORTED[name]),
    )
    at = [pin_model.joints[pin_model.getJointId(joint)].idx_v for joint in robot.joint_names]
    q, v, a = np.random.default_rng(2).uniform(-1, 1, (3, robot.nv))
    reordered = np.empty((3, robot.nv))
    reordered[:, at] = q, v, a
    data, scratch = mujoco.MjData(mj_model), pin_model.createData()
    mj_model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    data.qpos[:], data.qvel[:], data.qacc[:] = q, v, a
    mujoco.mj_inverse(mj_model, data)
    pin_model.gravity.linear = np.array([*robot.gravity])
    np.testing.assert_allclose(pin.rnea(pin_model, scratch, *reordered)[at], data.qfrc_inverse, atol=1e-12)
    M = pin.crba(pin_model, scratch, reordered[0])[np.ix_(at, at)]
    np.testing.assert_allclose(np.triu(M) + np.triu(M, 1).T, full_matrix(mj_model, data), atol=1e-12)


def test_loops_are_converted_between_toml_and_mjcf(tmp_path):
    convert("four-bar", tmp_path / "a.xml")
    convert(tmp_path / "a.xml", tmp_path / "b.toml")
    assert ap.load(tmp_path / "b.toml").rank == ap.load("four-bar").rank == 2
    with pytest.raises(ModelError, match="cannot be written as URDF, because it is not a tree of links"):
        convert(tmp_path / "a.xml", tmp_path / "c.urdf")
    assert not (tmp_path / "c.urdf").exists()


def test_an_existing_file_is_not_overwritten(tmp_path):
    (path := tmp_path / "a.toml").write_text("mine")
    with pytest.raises(ArgumentError, match=r"(?s)already exists.*overwrite=True"):
        convert("puma", path)
    assert path.read_text() == "mine"
    convert("puma", path, overwrite=True)
    assert ap.load(path).name == "puma"


@pytest.mark.parametrize(
    ("target", "problem"),
    [("a.sdf", "no writer for the suffix '.sdf'"), ("a", "no writer for the suffix ''"), (".", "no writer")],
)
def test_an_unsupported_target_is_a_named_error(target, problem, tmp_path):
    with pytest.raises(ArgumentError, match=problem):
        convert("puma", tmp_path / target)


def test_a_folder_is_not_a_target(tmp_path):
    (tmp_path / "a.urdf").mkdir()
    with pytest.raises(ArgumentError, match="is a folder"):
        convert("puma", tmp_path / "a.urdf", overwrite=True)


def test_mjcf_is_written_but_not_read_without_mujoco(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    convert("puma", tmp_path / "a.xml")
    with pytest.raises(DescriptionError, match="mujoco, which is not installed"):
        convert(tmp_path / "a.xml", tmp_path / "b.toml")
