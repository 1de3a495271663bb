"""MJCF: every supported feature, compared with the dynamics and kinematics of MuJoCo."""

from __future__ import annotations

from contextlib import nullcontext

import mujoco
import numpy as np
import pytest

import appell as ap
from appell.describe.load import load, load_text
from appell.errors import DescriptionError, ModelWarning
from appell_lab.references.mujoco_terms import differences, gaps
from appell_lab.references.random_mjcf import random_mjcf
from mjcf_texts import BODY, SUPPORTED, link, mjcf

TOLERANCE = 1e-12  # terms of a few bodies, each a sum of some hundred products of doubles


@pytest.fixture
def rng():
    return np.random.default_rng(20)


def read(text: str, **options):
    return load_text(text, "mjcf", **options)


@pytest.mark.parametrize("name", SUPPORTED)
def test_dynamics_agree_with_mujoco(name, rng):
    model = mujoco.MjModel.from_xml_string(SUPPORTED[name])
    expected = pytest.warns(ModelWarning, match=r"the compensation leaves 0\.5") if "half" in name else nullcontext()
    with expected:
        errors = differences(model, read(SUPPORTED[name]), rng, compiled=False)
    assert max(errors.values()) < TOLERANCE, errors


@pytest.mark.filterwarnings("ignore::appell.errors.ModelWarning")
@pytest.mark.parametrize("seed", range(30))
def test_random_models_agree_with_mujoco(seed, rng):
    text = random_mjcf(seed, loops=seed % 3 == 0)
    robot, model = read(text), mujoco.MjModel.from_xml_string(text)
    errors = differences(model, robot, rng, compiled=seed < 4)
    if robot.tree is not robot:
        errors |= gaps(model, robot, rng)
    assert max(errors.values()) < TOLERANCE, errors


def test_compiled_functions_agree_with_mujoco(rng):
    text = SUPPORTED["joints off the origin"]
    assert max(differences(mujoco.MjModel.from_xml_string(text), read(text), rng).values()) < TOLERANCE


def test_forward_dynamics_include_the_armature_of_a_ball_joint(rng):
    """The rotor inertia of a ball joint is the same about every axis: M a + h = tau in every function."""
    text = SUPPORTED["a ball with armature"]
    robot, model = read(text), mujoco.MjModel.from_xml_string(text)
    dyn, data, states = ap.Dynamics(robot, rotors=True, friction=True), mujoco.MjData(model), ap.MujocoStates(robot)
    q, v, tau = robot.random_configuration(rng), rng.normal(size=4), rng.normal(size=4)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = states.qpos(q), v, tau
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(
        dyn.equations.acceleration(q.tolist(), v.tolist(), tau.tolist(), {}), data.qacc, rtol=1e-11
    )


@pytest.mark.parametrize("name", ["joints off the origin", "a free body with an arm", "bodies that cannot move"])
def test_bodies_and_sites_are_frames_with_the_poses_of_mujoco(name, rng):
    robot, model = read(SUPPORTED[name]), mujoco.MjModel.from_xml_string(SUPPORTED[name])
    data, equations = mujoco.MjData(model), ap.Dynamics(robot).equations
    q = robot.random_configuration(rng, within_limits=False)
    data.qpos[:] = ap.MujocoStates(robot).qpos(q)
    mujoco.mj_kinematics(model, data)
    poses = {model.body(k).name: (data.xpos[k], data.xmat[k]) for k in range(1, model.nbody)}
    poses |= {model.site(k).name: (data.site_xpos[k], data.site_xmat[k]) for k in range(model.nsite)}
    for frame, (position, rotation) in poses.items():
        pose = equations.pose(robot.frame(frame), q.tolist())
        np.testing.assert_allclose([*pose.translation], position, atol=1e-14)
        np.testing.assert_allclose([x for row in pose.rotation.rows for x in row], rotation, atol=1e-14)


def test_actuators_limits_and_home_are_read():
    text = mjcf(
        link('<joint name="j" range="-1 2" armature=".3" damping=".4" frictionloss=".5" ref=".1"/>')
        + link('<joint name="k" actuatorfrcrange="-3 3"/>', name="b")
        + '<body name="c"><freejoint/><geom size=".1"/></body>',
        '<actuator><motor joint="j" gear="-4" ctrlrange="-2 2"/><motor joint="k" forcerange="-9 9"/></actuator>'
        '<keyframe><key qpos="0 0 0 0 0 1 0 0 0"/><key name="home" qpos=".5 .6 1 2 3 .6 .8 0 0"/></keyframe>',
    )
    robot = read(text)
    actuator = robot.joint("j").actuator
    assert (actuator.rotor_inertia, actuator.gear, actuator.friction.viscous, actuator.friction.coulomb) == (
        0.3,
        1.0,
        0.4,
        0.5,
    )
    assert (actuator.torque, robot.joint("k").actuator.torque) == (8.0, 3.0)
    assert (robot.joint("j").limits.lower, robot.joint("j").limits.upper) == (-1.0, 2.0)
    assert robot.home == (0.5, 0.6, 1.0, 2.0, 3.0, 0.8, 0.0, 0.0, 0.6)


def test_servo_gains_limits_of_balls_and_asymmetric_ranges_are_listed_in_a_warning():
    text = mjcf(
        link() + link('<joint type="ball" range="0 1"/>', name="b"),
        '<actuator><position name="servo" joint="j" kp="5" forcerange="-1 3"/></actuator>',
        compiler='angle="radian" autolimits="true"',
    )
    with pytest.warns(ModelWarning) as caught:
        assert read(text).joint("j").actuator.torque == 3.0
    (message,) = [str(warning.message) for warning in caught]
    for part in (
        "the gains of 1 servo: servo",
        "the asymmetric range -1 to 3 of actuator 'servo', read as ±3",
        "the limits of ball joint 'joint1'",
    ):
        assert part in message


def test_contacts_sensors_cameras_and_lights_are_ignored_without_a_warning(recwarn):
    text = mjcf(
        link() + '<geom type="plane" size="1 1 1"/><camera name="c"/><light name="l"/>',
        '<sensor><jointpos joint="j"/></sensor><contact><exclude body1="arm" body2="world"/></contact>',
    )
    assert read(text).nv == 1
    assert not [warning for warning in recwarn if issubclass(warning.category, ModelWarning)]


LOOPS = {
    "connect": '<connect body1="arm" body2="b" anchor=".1 .2 .3"/>',
    "connect to the world": '<connect body1="b" anchor=".1 .2 .3"/>',
    "weld": '<weld body1="arm" body2="b" anchor=".3 .1 0"/>',
    "weld at a pose": '<weld body1="b" body2="arm" relpose=".1 .2 0 .9 .1 .2 .1" anchor=".1 0 0"/>',
    "sites": '<connect site1="p" site2="r"/>',
    "welded sites": '<weld site1="p" site2="r"/>',
    "weld without torque": '<weld body1="b" body2="arm" relpose=".1 .2 0 1 .1 0 0" anchor=".1 0 0" torquescale="0"/>',
    "sites welded without torque": '<weld site1="p" site2="r" torquescale="0"/>',
    "weld to the world without torque": '<weld body1="arm" torquescale="0"/>',
    "soft weld": '<weld body1="arm" body2="b" torquescale="0.01"/>',
    "two joints": '<joint joint1="x" joint2="y" polycoef=".1 .5 0 0 0"/>',
    "two fixed tendons": '<tendon tendon1="t" tendon2="u" polycoef=".1 .7 0 0 0"/>',
    "a fixed tendon that is locked": '<tendon tendon1="t" polycoef=".1 0 0 0 0"/>',
    "a joint that is locked": '<joint joint1="x" polycoef=".2 0 0 0 0"/>',
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_are_closed_in_the_same_configurations_as_in_mujoco(name, rng):
    """The constraint violations of MuJoCo vanish where ours do, and its rows allow our velocities."""
    free = f'<body name="arm"><freejoint name="f"/>{BODY}<site name="p" pos=".1 .3 0" euler=".1 .2 0"/></body>'
    other = link(
        '<joint name="x" axis="1 1 0" ref=".3" pos="0 .1 0"/><joint name="y" axis="0 1 1"/>',
        '<site name="r" pos=".2 0 0" euler="0 .4 .1"/>',
        name="b",
    )
    tendons = (
        '<tendon><fixed name="t"><joint joint="x" coef="2"/><joint joint="y" coef="-1"/></fixed>'
        '<fixed name="u"><joint joint="y" coef=".5"/></fixed></tendon>'
    )
    text = mjcf(free + other, f"{tendons}<equality>{LOOPS[name]}</equality>")
    robot, model = read(text), mujoco.MjModel.from_xml_string(text)
    assert isinstance(robot, type(ap.load("four-bar")))
    assert max(gaps(model, robot, rng).values()) < 1e-10
    rows = {"sites": 3, "welded sites": 6, "weld at a pose": 6, "soft weld": 6}
    rows |= {"connect": 3, "connect to the world": 2, "weld": 6}
    assert robot.rank == rows.get(name, 3 if name.endswith("without torque") else 1)


def test_an_inactive_constraint_is_listed_in_a_warning():
    text = mjcf(link(), '<equality><connect name="grip" body1="arm" anchor="1 0 0" active="false"/></equality>')
    with pytest.warns(ModelWarning, match="connect constraint 'grip', which is inactive at the start"):
        assert isinstance(read(text), ap.Robot)


def test_a_file_a_text_and_a_model_give_the_same_robot(tmp_path):
    text = SUPPORTED["joints off the origin"]
    (path := tmp_path / "arm.xml").write_text(text)
    assert load(path) == load(text) == read(text) == ap.from_mujoco(mujoco.MjModel.from_xml_string(text))
    assert ap.from_mujoco(mujoco.MjModel.from_xml_string(text), name="other").name == "other"


def test_included_files_are_read(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "arm.xml").write_text(f"<mujoco>{link()}</mujoco>")
    path = tmp_path / "scene.xml"
    path.write_text('<mujoco><worldbody><include file="parts/arm.xml"/></worldbody></mujoco>')
    assert load(path).joint_names == ("j",)


def test_parts_left_out_on_request_are_listed_in_a_warning():
    text = mjcf(link('<joint name="j" axis="1 0 0"/>'), option='density="1.2"')
    with pytest.warns(ModelWarning, match="density 1.2"):
        assert read(text, without=["fluid"]).nv == 1
    with pytest.raises(DescriptionError, match=r"without= has no kind 'water'.*fluid"):
        read(text, without=["water"])
    with pytest.raises(DescriptionError, match="without= does not apply to the format 'urdf'"):
        load('<robot name="r"/>', without=["fluid"])


def test_the_outermost_tag_decides_the_format_of_an_xml_file(tmp_path):
    path = tmp_path / "robot.xml"
    for text in (SUPPORTED["springs"], ap.to_urdf(ap.load("planar-2r")), "<!-- b --><sdf/>", "<!-- a --><robot/>"):
        path.write_text(text)
        if "/>" in text[-12:]:
            with pytest.raises(DescriptionError, match=r"models that are not static|has no attribute name|no links"):
                load(path)
        else:
            assert load(path).nv >= 1


def test_warnings_of_mujoco_become_warnings_instead_of_a_log_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = mjcf(link(), compiler='angle="radian" settotalmass="2"')
    with pytest.warns(ModelWarning, match="MuJoCo warns: compiler attribute 'settotalmass' is deprecated"):
        assert read(text).link("arm").body.mass == pytest.approx(2.0)
    assert not list(tmp_path.iterdir())
