"""SDF models with loops: which joints become constraints, and dynamics compared with those in maximal coordinates."""

from __future__ import annotations

import re
import warnings
from functools import cache
from importlib.metadata import files

import numpy as np
import pinocchio as pin
import pytest
from typer.testing import CliRunner

import appell as ap
from appell.cli.main import app
from appell.describe.load import load_text
from appell.errors import DescriptionError, ModelWarning
from conversion_chains import chain
from maximal_coordinates import Model


def cassie_file(name: str):
    (path,) = (file.locate() for file in files("example-robot-data") or () if file.name == f"{name}.sdf")
    return path


def poses_of(robot, model: Model, q) -> dict:
    """Poses of all links of a model in the world."""
    poses = {"world": pin.SE3.Identity()}
    equations = ap.Dynamics(robot).equations
    for name in model.links:
        pose = equations.pose(robot.frame(name), [float(x) for x in q])
        poses[name] = pin.SE3(np.array([[*row] for row in pose.rotation.rows]), np.array([*pose.translation]))
    return poses


def check_against_maximal_coordinates(robot, model: Model, fixed: tuple[str, ...], rng) -> None:
    """All joints of the file are closed, and accelerations at rest with random forces agree."""
    q = robot.random_configuration(rng, within_limits=False)
    poses = poses_of(robot, model, q)
    assert max(np.abs(model.gap(joint, poses)).max() for joint in model.joints) < 1e-9  # assembled to 1e-10
    tau = [float(rng.uniform(-1.0, 1.0)) if name in model.joints else 0.0 for name in robot.actuator_names]
    equations, q = ap.Dynamics(robot).equations, [float(x) for x in q]
    a = equations.acceleration(q, [0.0] * robot.nv, tau, {})
    expected = model.accelerations(poses, dict(zip(robot.actuator_names, tau, strict=True)), fixed)
    # at rest, accelerations are the same function of dv/dt as velocities are of v
    actual = {link: equations.velocity(robot.frame(link), "LOCAL_WORLD_ALIGNED", q, a) for link in model.links}
    scale = max(np.abs(values).max() for values in expected.values())
    for link in model.links:
        np.testing.assert_allclose(actual[link], expected[link], atol=1e-8 * scale, err_msg=link)


@cache
def cassie():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "ignored or adjusted.*multiples of π/2", ModelWarning)
        return ap.load(cassie_file("cassie_v2"))


def test_cassie_moves_as_in_maximal_coordinates():
    robot = cassie()
    assert robot.nv == 12
    assert {c.kind for c in robot.constraints} == {"hinge", "point"}
    assert robot.tree.joint("left-knee-shin-joint").actuator.stiffness == 1500.0
    assert robot.tree.joint("left-pitch-rod-joint").actuator.friction.viscous == 0.01  # not the joint that was cut
    model = Model(cassie_file("cassie_v2").read_text(), rounded=True)
    check_against_maximal_coordinates(robot, model, ("pelvis",), np.random.default_rng(5))


@pytest.mark.filterwarnings("ignore:ignored or adjusted.*multiples of π/2:appell.errors.ModelWarning")
@pytest.mark.filterwarnings("ignore:robot 'cassie'.*principal moments:appell.errors.ModelWarning")
@pytest.mark.parametrize(("name", "nv"), [("cassie", 10), ("cassie_simple", 11)])
def test_cassie_with_gearboxes_or_tilted_rods_is_read(name, nv):
    robot = ap.load(cassie_file(name), physical=name != "cassie")
    assert robot.nv == nv
    assert np.abs(ap.Dynamics(robot).equations.gap([float(x) for x in robot.start])).max() < 1e-12


def test_cassie_keeps_its_dynamics_in_toml_and_is_refused_by_mjcf():
    worst, end = chain(cassie(), ("toml", "mjcf"))
    assert worst < 1e-12
    assert end.startswith("mjcf: hinge 'right-achilles-spring-joint' of constrained robot 'cassie' cannot be written")


def test_the_command_line_reads_models_with_loops(tmp_path):
    small = tmp_path / "ring.sdf"
    small.write_text(ring("revolute", "ball", "ball", "revolute"), encoding="utf-8")
    for command in (("info", small), ("simulate", cassie_file("cassie_v2"), "--until", "0.001")):
        result = CliRunner().invoke(app, [*map(str, command), "--json"])
        assert result.exit_code == 0, result.output


# ---- small loops: a base, and bars of 0.3 m joined in a ring

POSES = {"base": "0 0 0 0 0 0", "a": "0 0 0 0.1 0.2 0.3", "b": "0.3 0 0.1 0 0.3 0", "c": "0.4 0.1 0.4 0 0 0.2"}
FORWARD = (("base", "a"), ("a", "b"), ("b", "c"), ("base", "c"))
BACKWARD = (("base", "a"), ("a", "b"), ("c", "b"), ("c", "base"))
SPRING = "<dynamics><spring_stiffness>3</spring_stiffness><spring_reference>0</spring_reference></dynamics>"
DAMPING = "<dynamics><damping>0.1</damping></dynamics>"


def ring(*kinds: str, ends=FORWARD, dynamics=None, more: str = "") -> str:
    """A model of four links and joints j0 ... j3; `dynamics` are tags of axes by number of the joint."""
    links = "\n".join(
        f'<link name="{name}"><pose>{pose}</pose><inertial><pose>0.1 0 0.05 0 0 0</pose><mass>2</mass>'
        "<inertia><ixx>0.1</ixx><ixy>0</ixy><iyy>0.12</iyy><izz>0.08</izz></inertia></inertial></link>"
        for name, pose in POSES.items()
    )
    joints = "\n".join(
        f'<joint name="j{k}" type="{kind}"><pose>0.02 0.01 0 0.3 0 {k / 10}</pose><parent>{parent}</parent>'
        f"<child>{child}</child><axis><xyz>0 {k / 5} 1</xyz>{(dynamics or {}).get(k, '')}</axis>"
        + ("<axis2><xyz>1 0 0</xyz></axis2>" if kind == "universal" else "")
        + "</joint>"
        for k, (kind, (parent, child)) in enumerate(zip(kinds, ends, strict=True))
    )
    return f'<sdf version="1.7"><model name="ring">\n{links}\n{joints}\n{more}</model></sdf>'


# types of the four joints, options, and the joint that closes the loop with its constraint
RINGS = {
    "a ball": (("revolute", "ball", "ball", "revolute"), {}, ("j2", "point")),
    "a hinge": (("ball", "ball", "revolute", "ball"), {"dynamics": dict.fromkeys((0, 1, 3), DAMPING)}, ("j2", "hinge")),
    "a slider": (
        ("ball", "prismatic", "revolute", "ball"),
        {"dynamics": {0: DAMPING, 2: SPRING, 3: DAMPING}},
        ("j1", "slider"),
    ),
    "a universal joint": (
        ("universal", "revolute", "revolute", "ball"),
        {"dynamics": {3: DAMPING}},
        ("j0", "universal"),
    ),
    "reversed joints": (
        ("revolute", "ball", "revolute", "prismatic"),
        {"ends": BACKWARD, "dynamics": {0: SPRING, 2: SPRING}},
        ("j1", "point"),
    ),
    "fixed joints": (("ball", "fixed", "ball", "revolute"), {}, ("j2", "point")),
}


@pytest.mark.parametrize("name", RINGS)
def test_rings_move_as_in_maximal_coordinates(name):
    kinds, options, closing = RINGS[name]
    text = ring(*kinds, **options)
    robot = load_text(text, "sdf")
    assert [(constraint.name, constraint.kind) for constraint in robot.constraints] == [closing]
    check_against_maximal_coordinates(robot, Model(text), ("base",), np.random.default_rng(1))


GEARBOX = """<joint name="box" type="gearbox"><parent>a</parent><child>b</child>
<gearbox_reference_body>base</gearbox_reference_body><gearbox_ratio>0.25</gearbox_ratio>
<axis><xyz expressed_in="j0">0 0 {}</xyz></axis><axis2><xyz expressed_in="j1">0 0.2 1</xyz></axis2></joint>"""


@pytest.mark.parametrize("sign", [1, -1])
def test_a_gearbox_couples_two_joints_on_its_reference_body(sign):
    """θ₂ = -ratio θ₁ about the axes of the gearbox; the axis of j0 is opposite to that of the gearbox for sign -1."""
    ends = (("base", "a"), ("base", "b"), ("b", "c"))
    robot = load_text(ring("revolute", "revolute", "fixed", ends=ends, more=GEARBOX.format(sign)), "sdf")
    assert robot.constraints[0].ratios == {"j1": 1.0, "j0": 0.25 * sign}
    assert robot.nv == 1


def test_a_gearbox_between_other_joints_is_rejected():
    text = ring("revolute", "revolute", "fixed", ends=(("base", "a"), ("a", "b"), ("b", "c")), more=GEARBOX.format(1))
    with pytest.raises(DescriptionError, match="relates link 'b' to 'base', which no revolute joint connects"):
        load_text(text, "sdf")


def test_limits_of_a_joint_that_closes_a_loop_are_named_in_a_warning():
    limit = "<limit><lower>-1</lower><upper>1</upper></limit>"
    text = ring(
        "revolute", "revolute", "revolute", "revolute", dynamics={k: DAMPING if k < 3 else limit for k in range(4)}
    )
    with pytest.warns(ModelWarning, match="the limits of joint 'j3', which closes a loop"):
        load_text(text, "sdf")


def test_a_loop_whose_joints_all_have_springs_is_rejected():
    text = ring("revolute", "ball", "ball", "revolute", dynamics=dict.fromkeys(range(4), DAMPING))
    with pytest.raises(DescriptionError, match="joint 'j3' closes a loop and has a spring, damping, friction"):
        load_text(text, "sdf")


def test_rounded_right_angles_keep_a_plane_loop_movable():
    """With 1.5708 instead of π/2, the axes of the bars deviate by 4e-6, and the rows would lock the loop."""
    poses = {"base": "0 0 0 0 0 0", "a": "0 0 0 1.5708 0 0", "b": "0.3 0 0.1 -1.571 0 0", "c": "0.4 0 0.4 1.57 0 3.142"}
    text = ring("revolute", "revolute", "revolute", "ball")
    for name, pose in POSES.items():
        text = text.replace(f"<pose>{pose}</pose>", f"<pose>{poses[name]}</pose>", 1)
    text = re.sub(r"<pose>0.02 0.01 0 0.3 0 0.[0-9]</pose>", "", text)
    text = re.sub(r"<xyz>0 0.[0-9] 1</xyz>", "<xyz>0 0 1</xyz>", text)
    with pytest.warns(ModelWarning, match="3 poses with angles that are multiples of π/2"):
        robot = load_text(text, "sdf")
    assert (robot.nv, robot.idle_rows) == (1, ("j3.z",))
