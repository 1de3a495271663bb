"""Between formats: what comes out is the robot that went in, and nothing is written over unasked."""

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
from appell_lab.judges.mujoco_terms import full_matrix
from mjcf_texts import HONOURED

pytestmark = pytest.mark.filterwarnings("ignore::appell.errors.ModelWarning")


def terms(robot, rng):
    equations = ap.Dynamics(robot, rotors=True, friction=True).equations
    q, v, a = (rng.uniform(-1, 1, robot.nv).tolist() for _ in range(3))
    return np.concatenate([equations.forces(q, v, a, {}), np.ravel(equations.mass_matrix(q))])


@pytest.mark.parametrize("name", ["puma", "panda"])
def test_round_trips_keep_the_dynamics(name, tmp_path):
    """toml -> mjcf -> urdf -> mjcf -> toml -> urdf -> toml, rotors and friction with them."""
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
    (source := tmp_path / "a.xml").write_text(HONOURED[name])
    for target in (tmp_path / "b.urdf", tmp_path / "c.toml"):
        convert(source, target)
        found, wanted = (terms(ap.load(path), np.random.default_rng(1)) for path in (target, source))
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())


@pytest.mark.parametrize("name", ["joints off the origin", "inertia from shapes", "frames and replicas"])
def test_pinocchio_reads_of_the_urdf_what_mujoco_reads_of_the_mjcf(name, tmp_path):
    """Two programs that share nothing with each other, each with its own format: the same inertia matrix and forces."""
    (tmp_path / "a.xml").write_text(HONOURED[name])
    robot = convert(tmp_path / "a.xml", tmp_path / "b.urdf")
    theirs, ours = pin.buildModelFromUrdf(str(tmp_path / "b.urdf")), mujoco.MjModel.from_xml_string(HONOURED[name])
    at = [theirs.joints[theirs.getJointId(joint)].idx_v for joint in robot.joint_names]
    q, v, a = np.random.default_rng(2).uniform(-1, 1, (3, robot.nv))
    turned = np.empty((3, robot.nv))
    turned[:, at] = q, v, a
    data, scratch = mujoco.MjData(ours), theirs.createData()
    ours.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    data.qpos[:], data.qvel[:], data.qacc[:] = q, v, a
    mujoco.mj_inverse(ours, data)
    theirs.gravity.linear = np.array([*robot.gravity])
    np.testing.assert_allclose(pin.rnea(theirs, scratch, *turned)[at], data.qfrc_inverse, atol=1e-12)
    M = pin.crba(theirs, scratch, turned[0])[np.ix_(at, at)]
    np.testing.assert_allclose(np.triu(M) + np.triu(M, 1).T, full_matrix(ours, data), atol=1e-12)


def test_loops_go_between_toml_and_mjcf(tmp_path):
    convert("four-bar", tmp_path / "a.xml")
    convert(tmp_path / "a.xml", tmp_path / "b.toml")
    assert ap.load(tmp_path / "b.toml").rank == ap.load("four-bar").rank == 2
    with pytest.raises(ModelError, match="no tree of links, which is all that URDF describes"):
        convert(tmp_path / "a.xml", tmp_path / "c.urdf")
    assert not (tmp_path / "c.urdf").exists()


def test_a_file_that_is_there_is_left_alone(tmp_path):
    (path := tmp_path / "a.toml").write_text("mine")
    with pytest.raises(ArgumentError, match=r"(?s)already exists.*overwrite=True"):
        convert("puma", path)
    assert path.read_text() == "mine"
    convert("puma", path, overwrite=True)
    assert ap.load(path).name == "puma"


@pytest.mark.parametrize(
    ("target", "problem"),
    [("a.sdf", "no writer for files '.sdf'"), ("a", "no writer for files 'without a suffix'"), (".", "no writer")],
)
def test_a_target_that_cannot_be_written_is_named(target, problem, tmp_path):
    with pytest.raises(ArgumentError, match=problem):
        convert("puma", tmp_path / target)


def test_a_directory_is_no_target(tmp_path):
    (tmp_path / "a.urdf").mkdir()
    with pytest.raises(ArgumentError, match="is a folder"):
        convert("puma", tmp_path / "a.urdf", overwrite=True)


def test_mjcf_is_written_without_mujoco_and_refused_where_it_must_be_read(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    convert("puma", tmp_path / "a.xml")
    with pytest.raises(DescriptionError, match="mujoco is not installed"):
        convert(tmp_path / "a.xml", tmp_path / "b.toml")
