"""Kinematic calibration: parameters, identifiable combinations, plans, estimates, intervals, files and bad input."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

import appell as ap
from appell import identify
from appell.describe.robot_packages import example
from appell.errors import ArgumentError, DescriptionError, ModelError, ModelWarning
from appell_lab.campaigns import calibration as campaign
from robots import random_chain, random_tree

TOOL = (0.05, 0.03, 0.1)
UPSIDE_DOWN = ap.Pose(Rotation.from_rotvec([np.pi - 1e-4, 0.0, 0.0]).as_matrix(), [1.0, -2.0, 0.5])
NOISE = 5e-5

CHAIN = """<?xml version='1.0'?>
<!-- comments stay -->
<robot name="arm">
  <link name="root"/> <link name="stand"/>
  <joint name="mount" type="fixed"><parent link="root"/><child link="stand"/>
    <origin xyz="0 0.1 0.3" rpy="0.1 0 0"/></joint>
  <link name="upper"><visual><geometry><mesh filename="package://a/b.stl"/></geometry></visual></link>
  <joint name="shoulder" type="revolute"><parent link="stand"/><child link="upper"/>
    <limit effort="9" velocity="2" lower="-2" upper="2"/><axis xyz="0 0.6 0.8"/></joint>
  <link name="plate"/>
  <joint name="spacer" type="fixed"><parent link="upper"/><child link="plate"/>
    <origin xyz="0.2 0 0.1" rpy="0 0.7 0"/></joint>
  <link name="lower"/>
  <joint name="elbow" type="revolute"><parent link="plate"/><child link="lower"/> <!-- elbow -->
    <origin rpy="0 1.5707963267948966 0.2"   xyz="0.3 0 0"/>
    <limit effort="9" velocity="2" lower="-2" upper="2"/></joint>
  <link name="wrist"/>
  <joint name="follower" type="revolute"><parent link="lower"/><child link="wrist"/><origin xyz="0 0.2 0"/>
    <axis xyz="0 1 0"/><mimic joint="elbow" multiplier="-0.5" offset="0.1"/>
    <limit effort="9" velocity="2" lower="-3" upper="3"/></joint>
  <link name="tool"/>
  <joint name="flange" type="fixed"><parent link="wrist"/><child link="tool"/><origin xyz="0.1 0 0.1"/></joint>
  <transmission name="t"><type>SimpleTransmission</type><joint name="elbow"/>
    <actuator name="m"><mechanicalReduction>50</mechanicalReduction></actuator></transmission>
  <gazebo reference="upper"><plugin name="p" filename="p.so"/></gazebo>
</robot>
"""


@lru_cache
def arm(name: str = "ur5_robot"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return ap.load(example(name))


@lru_cache
def geometry(measure: str = "position", **options):
    return identify.geometric_parameters(arm(), "tool0", measure=measure, **options)


def true_parameters(geometry, rng, base=UPSIDE_DOWN, size=2e-3):
    """Parameters with random errors of everything but gears, in a measuring system in any pose."""
    theta = size * rng.normal(size=len(geometry.names))
    theta[[parameter.kind == "gear" for parameter in geometry.parameters]] = 0.0
    theta[geometry.span("tool")][:3] += TOOL
    theta[geometry.span("base")] = identify.geometric_parameters(geometry.robot, geometry.frame, base=base).nominal[:6]
    return theta


def measured(geometry, q, theta, rng=None, noise=0.0):
    """Measurements of the poses of the target, with noise."""
    T = np.asarray(geometry.pose(q, theta))
    points = T[:, :3, 3] + (noise * rng.normal(size=(len(q), 3)) if noise else 0.0)
    if geometry.measure == "position":
        return points
    if geometry.measure == "distance":
        return np.linalg.norm(points, axis=1)
    if geometry.measure == "plane":
        return points[:, 2]
    return np.column_stack([points, Rotation.from_matrix(T[:, :3, :3]).as_quat()])


# ---- the model


@pytest.mark.parametrize("robot", [random_tree(3, 5, kinds=("revolute", "mimic", "prismatic", "spherical"))], ids=str)
def test_the_pose_with_parameters_is_that_of_the_robot_with_these_placements(robot):
    frame, rng = robot.link_names[-1], np.random.default_rng(0)
    geometry = identify.geometric_parameters(robot, frame)
    q = geometry.sample(5, rng)
    described = ap.Dynamics(robot).pose(frame)(q)
    np.testing.assert_allclose(geometry.pose(q, 0.0 * geometry.nominal), described, rtol=0, atol=1e-14)
    theta = 0.3 * rng.normal(size=len(geometry.names))
    values = dict(zip(geometry.names, theta, strict=True))

    def moved(joint):
        six = [values.get(f"{joint.name}.{kind}", 0.0) for kind in ("x", "y", "z", "rx", "ry", "rz")]
        return replace(joint, placement=joint.placement @ placed(six))

    def placed(six):
        return ap.Pose(Rotation.from_rotvec(six[3:]).as_matrix(), six[:3])

    changed = replace(robot, links=tuple(replace(link, joint=moved(link.joint)) for link in robot.links))
    readings = q.copy()
    for link in robot.moving:
        if f"{link.joint.name}.gear" in values:
            k = robot.span(link.joint)[0].start
            readings[:, k] = (1.0 + values[f"{link.joint.name}.gear"]) * q[:, k] + values[f"{link.joint.name}.offset"]
    base, tool = (np.array(placed(theta[geometry.span(name)]).matrix) for name in ("base", "tool"))
    expected = base @ ap.Dynamics(changed).pose(frame)(readings) @ tool
    np.testing.assert_allclose(geometry.pose(q, theta), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("size", [0.0, 1e-3, 0.5])  # at zero, in the series, and beyond it
def test_the_derivatives_by_parameters_and_coordinates_are_the_limits_of_differences(size):
    model, rng, step = geometry(), np.random.default_rng(1), 1e-6
    q, theta = model.sample(1, rng)[0], size * rng.normal(size=len(model.names))
    J, dq = model.pose.jacobian("parameters")(q, theta), model.pose.jacobian("q")(q, theta)
    for k in range(0, len(theta), 3):
        unit = step * np.eye(len(theta))[k]
        difference = (model.pose(q, theta + unit) - model.pose(q, theta - unit)) / (2 * step)
        np.testing.assert_allclose(J[..., k], difference, rtol=0, atol=1e-9)
    for k in range(model.robot.nq):
        unit = step * np.eye(model.robot.nq)[k]
        difference = (model.pose(q + unit, theta) - model.pose(q - unit, theta)) / (2 * step)
        np.testing.assert_allclose(dq[..., k], difference, rtol=0, atol=1e-9)


@pytest.mark.parametrize("robot", [random_chain(2, 4), "ur5_robot"], ids=str)
def test_the_number_of_identifiable_parameters_is_that_of_the_literature(robot):
    """Everett et al. 1987: 4 per revolute and 2 per prismatic joint, and 6; 3 fewer if only positions are measured."""
    robot, frame = (arm(robot), "tool0") if isinstance(robot, str) else (robot, robot.link_names[-1])
    kinds = [link.joint.motion.name for link in robot.links]
    expected = 6 + sum(2 if kind == "prismatic" else 4 for kind in kinds)
    for measure, fewer in (("pose", 0), ("position", 3)):
        if measure == "position" and kinds[-1] == "prismatic":
            continue  # the target does not rotate about the last axis
        model = identify.geometric_parameters(robot, frame, measure=measure, tool=TOOL)
        assert len(model.combinations().columns) == expected - fewer


def test_a_distance_and_a_plane_show_fewer_parameters_and_a_plane_not_the_scale():
    counts = {measure: len(geometry(measure, tool=TOOL).combinations().columns) for measure in ("distance", "plane")}
    assert counts == {
        "distance": 24,
        "plane": 23,
    }  # 27 without the rotation about the point; without 3 in the plane, scale


def test_dependent_parameters_are_named_with_their_replacements():
    combinations = geometry(tool=TOOL).combinations()
    dependent = combinations.dependent()
    assert dependent["shoulder_pan_joint.z"] == ("base.z",)  # both along the vertical axis
    assert dependent["elbow_joint.y"] == ("shoulder_lift_joint.y",)  # parallel axes
    assert set(combinations.without_effect) == {"tool.rx", "tool.ry", "tool.rz"}
    assert "elbow_joint.y is equivalent to a combination of shoulder_lift_joint.y" in geometry(tool=TOOL).describe()


# ---- estimation


@pytest.mark.parametrize("measure", ["position", "pose", "distance", "plane"])
def test_measurements_without_noise_are_reproduced_exactly(measure):
    model, rng = geometry(measure), np.random.default_rng(2)
    base = UPSIDE_DOWN if measure in ("position", "pose") else ap.Pose(translation=[1.5, 0.7, -0.2])
    theta = true_parameters(model, rng, base)
    if measure == "plane":
        theta[model.span("base")] = model.generic(np.where(np.arange(len(theta)) < 6, 0.0, theta))[:6]
    q, other = model.configurations(50, theta, rng), model.configurations(20, theta, rng)
    fit = identify.calibrate(model, q, measured(model, q, theta))
    assert np.abs(fit.described).max() > 1e-3
    assert np.abs(fit.residuals).max() < 1e-10
    predicted = measured(model, other, fit.parameters)
    expected = measured(model, other, theta)
    if measure == "pose":
        predicted[:, 3:] *= np.sign(predicted[:, 6:]) * np.sign(expected[:, 6:])
    np.testing.assert_allclose(predicted, expected, rtol=0, atol=1e-8)


def test_a_small_arm_with_parallel_axes_is_estimated_near_the_truth():
    """A wrong choice among dependent parameters gave joint offsets of 0.25 rad, and a fit that did not converge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        robot = ap.load(example("so100"))
    model, rng = identify.geometric_parameters(robot, "gripper"), np.random.default_rng(4)
    theta, q = true_parameters(model, rng, size=3e-3), model.sample(60, rng)
    fit = identify.calibrate(model, q, measured(model, q, theta))
    assert np.abs(fit.residuals).max() < 1e-10
    joints = slice(6, -6)
    assert np.abs(fit.parameters[joints]).max() < 10.0 * np.abs(theta[joints]).max()


def test_targets_at_two_heights_above_a_plane_show_the_scale_of_the_robot():
    model, rng = geometry("plane"), np.random.default_rng(2)
    theta = true_parameters(model, rng)
    theta[:6] = model.generic(np.where(np.arange(len(theta)) < 6, 0.0, theta))[:6]
    raised = theta - 0.2 * np.eye(len(theta))[2]  # the plane z = 0 of `raised` is 0.2 m above that of θ
    q = np.concatenate([model.configurations(40, x, rng) for x in (theta, raised)])
    fit = identify.calibrate(model, q, np.repeat([0.0, 0.2], 40))
    assert len(fit.columns) == 24
    assert np.abs(fit.residuals).max() < 1e-10
    one = model.configurations(50, theta, rng)
    assert len(identify.calibrate(model, one).columns) == 23


def test_gear_ratios_are_estimated_and_written_to_the_transmission(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(CHAIN, encoding="utf-8")
    robot, rng = ap.load(path), np.random.default_rng(3)
    model = identify.geometric_parameters(robot, gears=True, measure="pose")
    theta = true_parameters(model, rng)
    gears = [k for k, name in enumerate(model.names) if name.endswith(".gear")]
    theta[gears] = 0.01, -0.02  # shoulder, which has no transmission, and elbow
    q = model.sample(40, rng)
    fit = identify.calibrate(model, q, measured(model, q, theta))
    np.testing.assert_allclose(fit.parameters[gears], theta[gears], atol=1e-9)
    fit.export(tmp_path / "calibrated.urdf")
    read = ap.load(tmp_path / "calibrated.urdf")
    ratios = [read.joint(name).actuator.gear for name in ("shoulder", "elbow")]
    np.testing.assert_allclose(ratios, [1.0 / 1.01, 50.0 / 0.98], rtol=1e-9)
    scaled = q * (1.0 + theta[gears])
    base, tool = (np.array(campaign_pose(fit.parameters[model.span(name)])) for name in ("base", "tool"))
    np.testing.assert_allclose(base @ ap.Dynamics(read).pose("tool")(scaled) @ tool, model.pose(q, theta), atol=1e-8)


def campaign_pose(six):
    return ap.Pose(Rotation.from_rotvec(six[3:]).as_matrix(), six[:3]).matrix


def test_only_origins_of_the_file_change_and_pinocchio_reads_the_calibrated_robot(tmp_path):
    path, written = tmp_path / "arm.urdf", tmp_path / "calibrated.urdf"
    path.write_text(CHAIN, encoding="utf-8")
    robot, rng = ap.load(path), np.random.default_rng(4)
    model = identify.geometric_parameters(robot, measure="pose", known=["base", "tool"])
    theta = np.where([p.owner in ("base", "tool") or p.kind == "gear" for p in model.parameters], 0.0, 1.0)
    theta = 5e-3 * theta * rng.normal(size=len(theta))
    q = model.sample(40, rng)
    robot_read = identify.calibrate(model, q, measured(model, q, theta)).export(written)
    text = written.read_text(encoding="utf-8")
    origins = re.compile(r"<origin[^>]*>|\s+")
    assert origins.sub("", text) == origins.sub("", CHAIN)
    assert text.count("<origin") == CHAIN.count("<origin") + 1  # the shoulder had none
    assert '<child link="plate"/>\n    <origin xyz="0.2 0 0.1" rpy="0 0.7 0"/>' in text  # a fixed joint
    other = model.sample(10, rng)
    expected = np.asarray(model.pose(other, theta))
    for read in (robot_read, ap.load(written)):
        np.testing.assert_allclose(ap.Dynamics(read).pose("tool")(other), expected, rtol=0, atol=1e-9)
    theirs = pin.buildModelFromUrdf(str(written))
    data = theirs.createData()
    for row, pose in zip(other, expected, strict=True):
        pin.framesForwardKinematics(theirs, data, np.array([row[0], row[1], -0.5 * row[1] + 0.1])[: theirs.nq])
        np.testing.assert_allclose(data.oMf[theirs.getFrameId("tool")].homogeneous, pose, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("name", "seeds"), [("ur5_robot", 6), ("panda", 3)])
def test_a_sample_of_the_campaign_is_accurate_and_its_intervals_contain_the_truth(name, seeds):
    outcomes = [campaign.calibrated(name, seed) for seed in range(seeds)]
    assert max(outcome.error for outcome in outcomes) < 1e-4 < min(outcome.described for outcome in outcomes)
    assert max(outcome.exact for outcome in outcomes) < 1e-9
    covered = np.concatenate([outcome.covered for outcome in outcomes])
    assert 0.85 < covered.mean() <= 1.0  # about 100 intervals of 95 %, correlated within a seed
    sigma = np.mean([outcome.fit.sigma[0] for outcome in outcomes])
    assert sigma == pytest.approx(campaign.NOISE_M, rel=0.15)  # 90 degrees of freedom per seed: 4 % for 3 seeds


def test_an_independent_gauss_newton_solver_on_pinocchio_gives_the_same_predictions():
    rng, described, poses = np.random.default_rng(1), campaign.Arm.described("ur5_robot"), campaign.plan("ur5_robot")
    points = described.with_errors(rng).positions(poses.q) + NOISE * rng.normal(size=(len(poses.q), 3))
    theirs = campaign.gauss_newton(described, poses.q, points)
    other = geometry().sample(20, rng)
    ours = identify.calibrate(geometry(), poses.q, points).predict(other)[:, :3, 3]
    np.testing.assert_allclose(ours, theirs.positions(other), rtol=0, atol=1e-10)


def test_given_deviations_weight_positions_and_orientations_and_scale_the_intervals():
    model, rng = geometry("pose"), np.random.default_rng(5)
    theta, q = true_parameters(model, rng), model.sample(40, rng)
    T = np.asarray(model.pose(q, theta))
    T[:, :3, 3] += 1e-4 * rng.normal(size=(40, 3))
    T[:, :3, :3] = T[:, :3, :3] @ Rotation.from_rotvec(1e-3 * rng.normal(size=(40, 3))).as_matrix()
    estimated = identify.calibrate(model, q, T)
    np.testing.assert_allclose(estimated.sigma, [1e-4, 1e-3], rtol=0.25)
    one, two = (identify.calibrate(model, q, T, sigma=(k * 1e-4, k * 1e-3)) for k in (1.0, 2.0))
    np.testing.assert_allclose(two.std, 2.0 * one.std, rtol=1e-4)
    np.testing.assert_allclose(one.parameters, two.parameters, atol=1e-9)


def test_the_error_at_left_out_poses_is_that_of_fits_without_them():
    model, rng = geometry(), np.random.default_rng(6)
    theta, q = true_parameters(model, rng), model.sample(30, rng)
    points = measured(model, q, theta, rng, NOISE)
    fit = identify.calibrate(model, q, points)
    rest = np.arange(30) != 7
    without = identify.calibrate(model, q[rest], points[rest])
    np.testing.assert_allclose(fit.validation[7], without.predict(q[7])[:3, 3] - points[7], rtol=0.02, atol=1e-7)


def test_outliers_are_listed_and_have_little_influence_on_a_robust_fit():
    model, rng = geometry(), np.random.default_rng(7)
    theta, q = true_parameters(model, rng), model.sample(60, rng)
    points = measured(model, q, theta, rng, NOISE)
    points[[11, 40]] += [0.01, -0.01, 0.02]
    other = model.sample(50, rng)
    errors = {}
    for robust in (False, True):
        fit = identify.calibrate(model, q, points, robust=robust)
        difference = fit.predict(other)[:, :3, 3] - measured(model, other, theta)
        errors[robust] = np.sqrt(np.mean(np.sum(difference**2, axis=1)))
        assert any("11, 40" in remark for remark in fit.remarks)
    assert errors[True] < 1e-4 < 1e-3 < errors[False]


# ---- plans


def test_planned_poses_are_within_limits_and_better_than_random_ones():
    plan = identify.plan_poses(geometry(tool=TOOL), 20, candidates=300, margin=0.1, box=[[-1, -1, 0], [1, 1, 1]])
    lower, upper = np.array(plan.geometry.robot.ranges).T
    assert np.all((plan.q > lower + 0.09 * (upper - lower)) & (plan.q < upper - 0.09 * (upper - lower)))
    points = plan.geometry.pose(plan.q, plan.geometry.nominal)[:, :3, 3]
    assert points[:, 2].min() >= 0.0
    assert plan.index > 1.05 * plan.random_index
    assert len(np.unique(plan.q, axis=0)) == 20


def test_planned_targets_are_on_the_plane():
    base = ap.Pose(translation=[0.0, 0.0, -0.3])  # the plane is 0.3 m above the root
    model = identify.geometric_parameters(arm(), "tool0", measure="plane", base=base, known=["base"])
    plan = identify.plan_poses(model, 30, candidates=100)
    np.testing.assert_allclose(ap.Dynamics(arm()).pose("tool0")(plan.q)[:, 2, 3], 0.3, atol=1e-11)


def test_a_plane_out_of_reach_is_an_error():
    model = identify.geometric_parameters(arm(), "tool0", measure="plane", base=(0.0, 0.0, 5.0), known=["base"])
    with pytest.raises(ModelError, match="reaches the plane at 0 of"):
        identify.plan_poses(model, 30, candidates=100)


# ---- files


def write(path: Path, model, q, columns: dict[str, np.ndarray]) -> None:
    names = [f"q_{name}" for name in model.robot.coordinate_names]
    table = np.column_stack([q, *columns.values()])
    lines = [",".join([*names, *columns]), *(",".join(map(repr, row)) for row in table.tolist())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_a_file_in_degrees_and_mm_without_time_is_read_in_si_units(tmp_path):
    model, rng = geometry("pose"), np.random.default_rng(8)
    q, theta = model.sample(4, rng), true_parameters(model, rng)
    values = measured(model, q, theta)
    titles = ("x", "y", "z", "qx", "qy", "qz", "qw")
    columns = dict(zip(titles, (values * ([1e3] * 3 + [1.0] * 4)).T, strict=True))
    write(tmp_path / "poses.csv", model, np.degrees(q), columns)
    read_q, read = identify.read_poses(tmp_path / "poses.csv", model, {"q": "deg", "position": "mm"})
    np.testing.assert_allclose(read_q, q, atol=1e-14)
    np.testing.assert_allclose(read, values, atol=1e-14)


def test_missing_columns_and_the_columns_of_the_file_are_listed(tmp_path):
    model = geometry("distance")
    write(tmp_path / "poses.csv", model, np.zeros((3, 6)), {"cable": np.ones(3)})
    with pytest.raises(DescriptionError, match=r"columns are missing: distance\.[\s\S]*cable"):
        identify.read_poses(tmp_path / "poses.csv", model)
    _, distances = identify.read_poses(tmp_path / "poses.csv", model, columns={"distance": "cable"})
    assert distances.tolist() == [1.0] * 3


# ---- bad input


@lru_cache
def example_measurements():
    model, rng = geometry(), np.random.default_rng(9)
    q = model.sample(40, rng)
    return q, measured(model, q, true_parameters(model, rng), rng, NOISE)


def wrong(change):
    q, points = (x.copy() for x in example_measurements())
    return change(q, points)


def with_nan(q, points):
    points[[3, 4], 1] = np.nan
    return q, points


def shuffled(q, points):
    return q, np.roll(points, 1, axis=0)


BAD = {
    "too few poses": (lambda q, p: (q[:6], p[:6]), r"6 poses determine 18 of 27 .*Undetermined .*wrist_3_joint\.rx"),
    "one pose": (lambda q, p: (q[:1], p[:1]), r"1 poses determine 3 of 2\d"),
    "as many rows as parameters": (lambda q, p: (q[:9], p[:9]), "9 poses determine 27 of 27 .*but not the noise"),
    "the same pose again": (lambda q, p: (q[[0] * 40], p[[0] * 40]), "40 poses determine 3 of"),
    "mm": (lambda q, p: (q, 1e3 * p), "the measurements seem to be in mm"),
    "degrees": (lambda q, p: (np.degrees(q), p), r"q_shoulder_pan_joint is between .*outside its limits[\s\S]*deg"),
    "NaN": (with_nan, "rows 3-4 of the measurements contain NaN"),
    "rows in another order": (shuffled, r"the measurements contradict robot 'ur5': .* mm rms"),
    "a wrong shape": (lambda q, p: (q, p[:, :2]), r"have shape \(40, 2\)"),
    "a wrong number of joints": (lambda q, p: (q[:, :5], p), r"q has shape \(40, 5\)"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_measurements_are_named(case):
    change, message = BAD[case]
    with pytest.raises(ArgumentError, match=message):
        identify.calibrate(geometry(), *wrong(change))


def test_distances_in_mm_are_recognised():
    q, points = example_measurements()
    with pytest.raises(ArgumentError, match="seem to be in mm"):
        identify.calibrate(geometry("distance"), q, 1e3 * np.linalg.norm(points, axis=1))


def test_bad_options_are_named():
    q, points = example_measurements()
    with pytest.raises(ModelError, match=r"has no frame 'tol0'. Did you mean 'tool0'"):
        identify.geometric_parameters(arm(), "tol0")
    with pytest.raises(ArgumentError, match=r"has no measure 'angle'.*position, pose, distance, plane"):
        identify.geometric_parameters(arm(), "tool0", measure="angle")
    with pytest.raises(ArgumentError, match=r"no geometric parameter 'elbow'. Did you mean 'elbow_joint'"):
        identify.geometric_parameters(arm(), "tool0", known=["elbow"])
    with pytest.raises(ModelError, match="cannot be calibrated"):
        identify.geometric_parameters(ap.load("four-bar"))
    with pytest.raises(ArgumentError, match="sigma is -1"):
        identify.calibrate(geometry(), q, points, sigma=-1.0)
    with pytest.raises(ArgumentError, match="number of poses is 5"):
        identify.plan_poses(geometry(), 5)
    with pytest.raises(ArgumentError, match="length 0"):
        identify.calibrate(geometry("pose"), q, np.column_stack([points, np.zeros((40, 4))]))


def test_empty_plans_and_measurements_are_named_errors():
    robot = ap.load("puma")
    with pytest.raises(ArgumentError, match="the number of poses is 0"):
        identify.plan_poses(robot, 0)
    with pytest.raises(ArgumentError, match="no parameter of robot 'puma' is to be estimated"):
        identify.plan_poses(robot, 20, known=["base", "tool", *robot.joint_names])
    with pytest.raises(ArgumentError, match=r"the box has shape \(2,\)"):
        identify.plan_poses(robot, 20, box=(0.0, 1.0), candidates=50)
    with pytest.raises(ArgumentError, match="there are no poses"):
        identify.calibrate(robot, np.zeros((0, 6)), np.zeros((0, 3)))


def test_the_plot_shows_the_errors_before_and_after():
    outcome = campaign.calibrated("ur5_robot", 0)
    described, calibrated, left_out = outcome.fit.plot().axes[0].get_lines()
    np.testing.assert_allclose(described.get_ydata(), 1e3 * np.linalg.norm(outcome.fit.described, axis=1))
    np.testing.assert_allclose(calibrated.get_ydata(), 1e3 * np.linalg.norm(outcome.fit.residuals, axis=1))
    assert np.median(left_out.get_ydata()) < 0.02 * np.median(described.get_ydata())
