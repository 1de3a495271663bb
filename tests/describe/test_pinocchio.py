"""Robots converted from Pinocchio models, compared with the dynamics of Pinocchio."""

from __future__ import annotations

import warnings

import numpy as np
import pinocchio as pin
import pytest

import appell as ap
from answers import answer
from appell_lab.references.oracle import Oracle, relative_error
from robots import distinct_example_cases, example_cases, random_motion, random_trees, zoo

EXACT = 1e-12
FULLY_COMPARED = ("romeo", "a1", "panda")


def model_of(path, base) -> pin.Model:
    free = (pin.JointModelFreeFlyer(),) if base == "floating" else ()
    return pin.buildModelFromUrdf(str(path), *free)


@pytest.mark.parametrize("case", distinct_example_cases())
def test_the_forces_of_example_robots_agree_with_pinocchio(case):
    path, base = example_cases()[case]
    model = model_of(path, base)
    robot = _read(model)
    q, v, a = random_motion(robot, np.random.default_rng(0))
    oracle = Oracle(robot, model)
    assert robot.nv == model.nv
    np.testing.assert_array_equal(oracle.G, np.eye(model.nv))
    tau = oracle.inverse_dynamics(q, v, a)
    assert relative_error(answer(ap.Dynamics(robot).inverse_dynamics, q, v, a), tau) < EXACT
    if path.stem in FULLY_COMPARED:
        dyn = ap.Dynamics(robot)
        assert relative_error(answer(dyn.mass_matrix, q), oracle.mass_matrix(q)) < EXACT
        assert relative_error(answer(dyn.center_of_mass, q), oracle.center_of_mass(q)) < EXACT
        for frame in robot.frame_names[::7]:
            assert relative_error(answer(dyn.pose(frame), q), oracle.pose(frame, q)) < EXACT


def _read(model: pin.Model) -> ap.Robot:
    """Read a model; some of these robots have bodies that cannot exist."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ap.ModelWarning)
        try:
            return ap.from_pinocchio(model)
        except ap.ModelError:
            return ap.from_pinocchio(model, physical=False)


@pytest.mark.parametrize("robot", [*zoo(), *random_trees(8, 8, first_seed=60, actuators=True)], ids=str)
def test_a_robot_survives_the_conversion_to_pinocchio_and_back(robot):
    """Rotors are the armature; mimic joints have their own coordinates in the model."""
    oracle = Oracle(robot, rotors=True)
    back = ap.from_pinocchio(oracle.model)
    q, (v, a) = robot.random_configuration(1), np.random.default_rng(1).normal(size=(2, robot.nv))
    dyn, order = ap.Dynamics(back, rotors=True), {joint.name: back.span(joint) for joint in _joints(back)}
    full, G = np.zeros(back.nq), np.zeros((back.nv, robot.nv))
    for link in robot.links:
        at_q, at_v = order[link.joint.name]
        full[at_q] = robot.joint_position(link.joint, q)
        G[at_v, robot.span(link.joint)[1]] = link.joint.scale * np.eye(link.joint.motion.nv)
    ours = G.T @ answer(dyn.inverse_dynamics, full, G @ v, G @ a)
    assert relative_error(ours, answer(ap.Dynamics(robot, rotors=True).inverse_dynamics, q, v, a)) < EXACT
    for frame in robot.frames:
        np.testing.assert_allclose(dyn.pose(frame.name, full), ap.Dynamics(robot).pose(frame.name, q), atol=1e-12)


def _joints(robot):
    return [link.joint for link in robot.links]


URDF = """<robot name="r"><link name="a"/>{links}<link name="t"/>
<joint name="j1" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
  <limit lower="-1" upper="2" effort="3" velocity="4"/><dynamics damping="0.5" friction="0.2"/></joint>
<joint name="j2" type="revolute"><parent link="b"/><child link="c"/><axis xyz="0 1 1"/><origin xyz="0.3 0 0"/>
  <limit lower="-1" upper="1" effort="3" velocity="2"/><mimic joint="j1" multiplier="-2" offset="0.1"/></joint>
<joint name="j3" type="continuous"><parent link="c"/><child link="w"/><axis xyz="1 1 1"/><origin xyz="0 0.2 0"/></joint>
<joint name="f" type="fixed"><parent link="c"/><child link="t"/><origin xyz="1 0 0"/></joint></robot>"""
LINK = (
    '<link name="{}"><inertial><origin xyz="0.1 0.2 0.3"/><mass value="2"/>'
    '<inertia ixx="1" iyy="1.1" izz="1.2" ixy="0.1" ixz="0" iyz="0"/></inertial></link>'
)


def test_actuators_limits_names_mimics_and_unbounded_joints_are_read():
    model = pin.buildModelFromXML(URDF.format(links="".join(map(LINK.format, "bcw"))), mimic=True)
    model.rotorInertia[:], model.rotorGearRatio[:], model.armature[0] = 1e-3, 10.0, 0.5
    robot = ap.from_pinocchio(model)
    assert robot.link_names == ("b", "c", "w")
    assert set(robot.frame_names) == {"b", "c", "w", "t", "a"}
    first, second, third = (robot.joint(name) for name in ("j1", "j2", "j3"))
    assert first.limits == ap.Limits(-1.0, 2.0)
    assert first.actuator == ap.Actuator(10.0, 0.005, ap.Friction(0.5, 0.2), torque=3.0, speed=4.0)
    assert third.actuator.reflected_inertia == pytest.approx(0.1)
    assert second.mimic == ap.Mimic("j1", -2.0, 0.1)
    np.testing.assert_allclose(list(second.motion.axis), [0.0, np.sqrt(0.5), np.sqrt(0.5)])
    assert third.motion.name == "continuous"
    assert (robot.nq, robot.nv) == (2, 2)
    q, v, a = [0.3, 0.7], np.array([1.0, 2.0]), np.array([-1.0, 0.5])
    theirs = np.array([q[0], np.cos(q[1]), np.sin(q[1])])
    model.armature[:] = 0.0
    expected = pin.rnea(model, model.createData(), theirs, v, a)
    np.testing.assert_allclose(ap.Dynamics(robot).inverse_dynamics(q, v, a), expected, rtol=1e-12)


def test_all_unsupported_joints_are_named_at_once():
    model = pin.Model()
    body = pin.Inertia.Random()
    for name, joint in (("screw", pin.JointModelHX(0.1)), ("table", pin.JointModelTranslation())):
        model.appendBodyToJoint(model.addJoint(0, joint, pin.SE3.Identity(), name), body, pin.SE3.Identity())
    with pytest.raises(ap.DescriptionError, match=r"'screw' \(HX\), 'table' \(Translation\)"):
        ap.from_pinocchio(model)


def test_an_object_that_is_not_a_model_is_an_error():
    with pytest.raises(ap.DescriptionError, match="a dict is not a Pinocchio model: it has no joints"):
        ap.from_pinocchio({})


def test_load_says_how_to_convert_a_pinocchio_model():
    with pytest.raises(ap.DescriptionError, match=r"a Pinocchio model is not a path or text[\s\S]*ap\.from_pinocchio"):
        ap.load(pin.Model())
