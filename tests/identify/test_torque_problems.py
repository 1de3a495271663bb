"""Implausible torques and uneven time steps: wrong signs and units are reported, not fitted."""

import re

import numpy as np
import pytest
from typer.testing import CliRunner

import appell as ap
from appell.cli.main import app
from appell.identify import LeastSquares, process, select_parameters, split, torque_problems
from appell.motion import Record, measured
from appell_lab.campaigns.iiwa import Case, described, urdf

CASE = Case("strong", "middle", 1)


@pytest.fixture(scope="module")
def log():
    return CASE.log()


def changed(log, factor):
    return Record.of(log.t, {"q": log.q, "tau": log.tau * factor}, log.names("q"))


def run(record, folder, *options):
    record.write(folder / "log.csv")
    (folder / "arm.urdf").write_text(urdf(), encoding="utf-8")
    arguments = ["identify", folder / "log.csv", "--robot", folder / "arm.urdf", "--friction", *options]
    return CliRunner(env={"COLUMNS": "300"}).invoke(app, [str(x) for x in arguments])


def test_torques_of_the_right_sign_and_unit_are_accepted(log):
    for excitation in ("strong", "usual", "weak"):
        record = process(Case(excitation, "high", 2).log(), smooth=True)
        assert torque_problems(select_parameters(described(2), friction=True), record) == ()


@pytest.mark.parametrize(
    ("factor", "message"),
    [
        (-1.0, "'joint_1', 'joint_2', .*sign seems to be wrong"),
        (1000.0, "times those that the description predicts, as if in mN m"),
        (1e-3, "as if in kN m"),
        (0.01, "as if on the motor side of a gear"),
        (np.array([1.0, -1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), "torque of 'joint_2' is opposite"),
        (np.array([1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0]), "torque of 'joint_4' is constant"),
    ],
)
def test_wrong_signs_and_units_are_reported(log, factor, message):
    problems = torque_problems(select_parameters(described(1)), process(changed(log, factor), smooth=True))
    assert any(re.search(message, sentence) for sentence in problems), problems


@pytest.mark.parametrize("factor", [-1.0, 0.01])
def test_the_command_fails_with_wrong_torques_and_does_not_export(log, factor, tmp_path):
    export = ("--export", tmp_path / "found.urdf")
    result = run(changed(log, factor), tmp_path, *export)
    assert result.exit_code == 3, result.output
    assert "verdict FAIL" in result.output
    assert "--force-export" in result.output
    assert not (tmp_path / "found.urdf").exists()


def test_torques_in_millinewton_metres_are_detected_with_a_warning_and_identified(log, tmp_path):
    result = run(changed(log, 1000.0), tmp_path)
    assert result.exit_code == 0, result.output
    assert "are read as mNm, because tau_joint_2 reaches" in result.output


def test_a_failed_identification_is_exported_on_request(log, tmp_path):
    result = run(changed(log, 0.01), tmp_path, "--export", tmp_path / "found.toml", "--force-export")
    assert result.exit_code == 3
    assert ap.load(tmp_path / "found.toml").nv == 7


def test_all_zero_torques_fail_without_a_traceback(log, tmp_path):
    result = run(changed(log, 0.0), tmp_path, "--export", tmp_path / "found.toml")
    assert result.exit_code in (1, 3), result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "tau is zero in all samples" in result.output


@pytest.mark.parametrize("how", ["alternating", "random", "two rates"])
def test_uneven_time_steps_are_resampled_with_a_remark(how):
    """With steps that differ by a factor of 1.5 treated as even, parameters were wrong by 14 to 44 %."""
    arm, rng = ap.load("planar-2r"), np.random.default_rng(0)
    steps = {
        "alternating": np.where(np.arange(4000) % 2, 0.002, 0.003),
        "random": rng.uniform(0.002, 0.003, 4000),
        "two rates": np.repeat([0.002, 0.003], 2000),
    }[how]
    t = np.cumsum(steps)
    q = np.column_stack([np.sin(2.0 * t) + 0.4 * np.sin(5.0 * t), np.cos(3.0 * t)])
    v = np.column_stack([2.0 * np.cos(2.0 * t) + 2.0 * np.cos(5.0 * t), -3.0 * np.sin(3.0 * t)])
    a = np.column_stack([-4.0 * np.sin(2.0 * t) - 10.0 * np.sin(5.0 * t), -9.0 * np.cos(3.0 * t)])
    tau = ap.Dynamics(arm).inverse_dynamics(q, v, a)
    names = arm.joint_names
    data = process(measured(Record.of(t, {"q": q, "tau": tau}, names), names, names), band=40.0)
    assert any("t: steps from 2 to 3 ms; resampled" in remark for remark in data.about["remarks"])
    fit = LeastSquares(arm).fit_record(split(data)[0])
    np.testing.assert_allclose(fit.base_parameters_, fit.base_.values(), rtol=2e-3, atol=2e-3)


def test_numbered_columns_are_recognised_and_other_names_need_one_pattern_each(tmp_path):
    arm = ap.load("planar-2r")
    t = np.arange(0.0, 10.0, 0.005)
    q = np.column_stack([np.sin(2.0 * t) + 0.4 * np.sin(5.0 * t), np.cos(3.0 * t)])
    v = np.column_stack([2.0 * np.cos(2.0 * t) + 2.0 * np.cos(5.0 * t), -3.0 * np.sin(3.0 * t)])
    a = np.column_stack([-4.0 * np.sin(2.0 * t) - 10.0 * np.sin(5.0 * t), -9.0 * np.cos(3.0 * t)])
    tau = ap.Dynamics(arm).inverse_dynamics(q, v, a)
    for name, titles, options in (
        ("plain", ("q1", "q2", "tau1", "tau2"), ()),
        ("strange", ("enc0", "enc1", "m0", "m1"), ("--columns", "q=enc{}", "--columns", "tau=m{}")),
    ):
        columns = dict(zip(titles, [*q.T, *tau.T], strict=True))
        Record.of(t, columns).write(tmp_path / f"{name}.csv")
        arguments = ["identify", str(tmp_path / f"{name}.csv"), "--robot", "planar-2r", *options]
        result = CliRunner(env={"COLUMNS": "200"}).invoke(app, arguments)
        assert result.exit_code == 0, result.output
    refused = CliRunner(env={"COLUMNS": "200"}).invoke(app, arguments[:4])
    assert refused.exit_code == 1
    assert "--columns 'q=<name>{}'" in refused.output


def ur10_log():
    """A log of the UR10 of example-robot-data, with friction, noise and encoder steps."""
    robot = ap.load("example-robot-data:ur10_robot")
    rng, n = np.random.default_rng(0), robot.nq
    motion = ap.motion.Fourier(0.1, rng.normal(size=(5, n)) * 0.3, rng.normal(size=(5, n)) * 0.3, robot.start).record(
        period=4e-3
    )
    rubbing = robot.with_actuators(
        {name: {"friction": ap.Friction(viscous=3.0, coulomb=2.0)} for name in robot.joint_names}
    )
    tau = ap.Dynamics(rubbing, friction=True).inverse_dynamics(motion.q, motion.v, motion.a)
    q = motion.q + 1e-4 * rng.normal(size=motion.q.shape)
    return robot, Record.of(motion.t, {"q": q, "tau": tau + 0.3 * rng.normal(size=tau.shape)}, robot.joint_names)


@pytest.mark.parametrize("name", ["iiwa", "ur10"])
def test_positions_in_another_unit_are_named_and_not_called_a_wrong_sign(name, log):
    robot, log = (described(1), log) if name == "iiwa" else ur10_log()
    parameter_set = select_parameters(robot, friction=True)
    cases = {1.0: "", 180.0 / np.pi: "look like degrees; declare", np.pi / 180.0: "read as degrees; remove the unit"}
    for factor, expected in cases.items():
        record = Record.of(log.t, {"q": log.q * factor, "tau": log.tau}, log.names("q"))
        problems = torque_problems(parameter_set, process(record, smooth=True))
        if not expected:
            assert problems == ()
        else:
            (problem,) = problems
            assert expected in problem
            assert "sign" not in problem


def test_positions_in_degrees_beside_velocities_in_radians_are_named_with_their_remedy():
    robot, log = ur10_log()
    v = np.gradient(log.q, log.t, axis=0)
    record = Record.of(log.t, {"q": np.degrees(log.q), "v": v, "tau": log.tau}, robot.joint_names)
    with pytest.warns(
        ap.ModelWarning, match=r"q_wrist_3_joint are read as deg, because q_shoulder_pan_joint changes by"
    ):
        detected = measured(record, robot.coordinate_names, robot.actuator_names)
    right = measured(record, robot.coordinate_names, robot.actuator_names, units={"q": "deg"})
    np.testing.assert_allclose(right.q, log.q)
    np.testing.assert_array_equal(detected.q, right.q)
    radians = Record.of(log.t, {"q": log.q, "v": v, "tau": log.tau}, robot.joint_names)
    with pytest.raises(ap.DescriptionError, match=r"in radians where the other is in degrees(.|\n)*Remove degrees"):
        measured(radians, robot.coordinate_names, robot.actuator_names, units={"q": "deg"})
