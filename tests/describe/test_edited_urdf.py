"""A URDF written with `like=` is the original file with only its numbers changed."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import appell as ap
from appell.model.body import Body

ARM = """<?xml version='1.0'?>
<!-- a comment before -->
<robot name="arm">
  <material name="grey"><color rgba="1 1 1 1"/></material>
  <link name="base"/>
  <link name="upper"> <!-- first -->
    <visual><geometry><mesh filename="package://a/b.stl"/></geometry></visual>
    <inertial>
      <mass   value = '2.5' />
      <origin rpy="0.1 0.2 0.3" xyz="0 0 0.2"/>
      <inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0" izz="0.025"/>
    </inertial>
    <collision><geometry><box size="1 1 1"/></geometry></collision>
  </link>
  <joint type="revolute" name="shoulder">
    <parent link="base"/><child link="upper"/>
    <limit effort="9" velocity="2" lower="-1" upper="1"/>
    <dynamics damping="0.1"/>
    <axis xyz="0 1 0"/>
  </joint>
  <link name="lower"><inertial><mass value="1"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/>
  </inertial></link>
  <joint type="continuous" name="elbow"><parent link="upper"/><child link="lower"/><origin xyz="0 0 0.4"/></joint>
  <link name="tool"><inertial><origin xyz="0.1 0 0"/><mass value="0.5"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.002" iyz="0" izz="0.002"/></inertial></link>
  <joint name="flange" type="fixed"><parent link="lower"/><child link="tool"/>
    <origin xyz="0 0.1 0.3" rpy="0 0.5 0"/></joint>
  <transmission name="t" type="SimpleTransmission"><joint name="elbow"/>
    <actuator name="m"><mechanicalReduction>50</mechanicalReduction><motorInertia>1e-4</motorInertia></actuator>
  </transmission>
  <gazebo reference="upper"><kp>1.0</kp></gazebo>
</robot>
"""
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")


def with_other_bodies(robot, rng):
    """The robot with other, physically plausible bodies."""
    bodies = {}
    for name, body in robot.bodies.items():
        if body is not None:
            mass, size = rng.uniform(0.8, 1.2, 2)
            bodies[name] = Body(mass * body.mass, size * body.com, (mass * size * size) * body.inertia)
    return robot.with_bodies(bodies)


def with_other_actuators(robot):
    def changed(_, actuator):
        friction = replace(actuator.friction, viscous=0.7, coulomb=0.3, width=0.01)
        return replace(actuator, friction=friction, rotor_inertia=3e-4)

    return robot.with_actuators(changed)


@pytest.fixture
def arm(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM, encoding="utf-8")
    return path


@pytest.mark.filterwarnings("ignore:.*URDF cannot express:appell.errors.ModelWarning")
def test_only_numbers_change_and_the_dynamics_equal_those_of_the_robot(arm, tmp_path):
    rng = np.random.default_rng(0)
    robot = with_other_actuators(with_other_bodies(ap.load(arm), rng))
    ap.to_urdf(robot, tmp_path / "edited.urdf", like=arm)
    text = (tmp_path / "edited.urdf").read_text(encoding="utf-8")
    added = [' friction="0.3"', '<dynamics damping="0.7" friction="0.3"/>', '<origin xyz="', "<appell "]
    assert all(part in text for part in added)
    # without the added tags and without numbers, the text is that of the original file
    new = r'\n *<(appell [^>]*|dynamics damping="0.7" friction="0.3"|origin xyz="[^"]*" rpy="0 0 0")/>'
    without = re.sub(new, "", text.replace('"0.7" friction="0.3"/>\n    <axis', '"0.7"/>\n    <axis'))
    bare = (re.sub(r"\s*</joint>", "</joint>", t.replace("'", '"')) for t in (without, ARM))
    kept, original = (NUMBER.sub("#", t) for t in bare)
    assert kept == original
    again = ap.load(tmp_path / "edited.urdf")
    assert again.actuators == robot.actuators
    q, v, a = rng.normal(size=(3, 50, 2))
    ours, theirs = (ap.Dynamics(r, friction=True, rotors=True).inverse_dynamics(q, v, a) for r in (again, robot))
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    model = pin.buildModelFromXML(text)  # an independent implementation of lumping and rotating inertias
    data = model.createData()
    states = np.column_stack([q[:, 0], np.cos(q[:, 1]), np.sin(q[:, 1])])
    expected = np.array([pin.rnea(model, data, *sample) for sample in zip(states, v, a, strict=True)])
    np.testing.assert_allclose(ap.Dynamics(robot).inverse_dynamics(q, v, a), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.filterwarnings("ignore:.*URDF cannot express:appell.errors.ModelWarning")
def test_an_unchanged_robot_gives_the_same_bytes(arm):
    assert ap.to_urdf(ap.load(arm), like=arm) == ARM


@pytest.mark.filterwarnings("ignore:.*URDF cannot express:appell.errors.ModelWarning")
def test_bodies_on_fixed_joints_stay_physically_consistent(arm):
    """The new total mass is smaller than the original mass of the tool alone."""
    robot = ap.load(arm)
    light = robot.with_bodies({"lower": Body(0.3, robot.bodies["lower"].com, 0.2 * robot.bodies["lower"].inertia)})
    text = ap.to_urdf(light, like=arm)
    masses = [float(x) for x in re.findall(r"<mass\s+value\s*=\s*[\"']([^\"']*)", text)]
    assert masses[0] == 2.5
    assert min(masses) > 0.0
    assert sum(masses[1:]) == pytest.approx(0.3, abs=1e-12)


def test_a_link_without_an_inertial_gets_one(tmp_path):
    path = tmp_path / "bare.urdf"
    path.write_text(
        '<robot name="bare">\n  <link name="base"/>\n  <link name="arm"/>\n  <joint name="j" type="continuous">\n'
        '    <parent link="base"/>\n    <child link="arm"/>\n  </joint>\n</robot>\n',
        encoding="utf-8",
    )
    body = ap.load("pendulum").bodies
    robot = ap.load(path).with_bodies({"arm": next(iter(body.values()))})
    text = ap.to_urdf(robot, like=path)
    assert '  <link name="arm">\n    <inertial>\n      <origin' in text
    (tmp_path / "edited.urdf").write_text(text, encoding="utf-8")
    assert ap.load(tmp_path / "edited.urdf").bodies == robot.bodies


def test_another_robot_is_an_error(arm):
    with pytest.raises(ap.ModelError, match=r"differs from .*arm.urdf in more than its bodies"):
        ap.to_urdf(ap.load("planar-2r"), like=arm)


FOLDER = Path(pin.__file__).parents[4] / "share" / "example-robot-data" / "robots"


@pytest.mark.parametrize(
    "name",
    [
        "panda_description/urdf/panda.urdf",
        "ur_description/urdf/ur5_robot.urdf",
        "talos_data/robots/talos_reduced.urdf",
    ],
)
@pytest.mark.filterwarnings("ignore::appell.errors.ModelWarning")
def test_published_files_keep_all_their_lines(name, tmp_path):
    """Only lines of bodies are added, removed or changed."""
    path = FOLDER / name
    robot = with_other_bodies(ap.load(path), np.random.default_rng(1))
    text, original = ap.to_urdf(robot, like=path), path.read_text(encoding="utf-8")
    numbers = re.compile("<(origin|mass|inertia) ")
    kept, read = ([line for line in t.splitlines() if not numbers.search(line)] for t in (text, original))
    assert kept == read
    assert text.count("<mass") == original.count("<mass")
    (tmp_path / "edited.urdf").write_text(text, encoding="utf-8")
    again = ap.load(tmp_path / "edited.urdf")
    for one, two in zip(again.bodies.values(), robot.bodies.values(), strict=True):
        np.testing.assert_allclose(one.parameters, two.parameters, rtol=1e-9, atol=1e-12 * two.mass)
