"""The complete workflow on the command line: plan a motion, run it, identify, and run with the identified model."""

import numpy as np
import pytest
from typer.testing import CliRunner

import appell as ap
from appell.cli.main import app
from appell.hardware.loop.summary import last_motion, summarize
from appell_lab.campaigns.control_robots import robot_files
from appell_lab.campaigns.identification_chain import run_chain
from appell_lab.campaigns.planned_motions import run_plan


def command(*arguments):
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(x) for x in arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_a_planned_motion_of_a_mechanism_is_run_identified_and_run_again_with_the_identified_model(tmp_path):
    name = "five-bar"
    drive = ap.Actuator(friction=ap.Friction(viscous=0.5, coulomb=0.3, width=0.02))
    real = ap.load(name).with_actuators(lambda *_: drive)
    ap.to_toml(real, tmp_path / "real.toml")
    plan, log, model = tmp_path / "plan.csv", tmp_path / "run.log", tmp_path / "identified.toml"
    picture = ("--plot", tmp_path / "run.png", "--force")
    command("excite", name, "--output", plan, "--friction", "--starts", 1, "--iterations", 20)
    command("control", "run", tmp_path / "real.toml", "--model", name, "--reference", plan, "--log", log, *picture)
    output = command("identify", log, "--robot", name, "--friction", "--hold", "--export", model)
    assert "pass" in output
    assert all(actuator in output for actuator in real.actuator_names)
    identified = ap.load(model)
    assert identified.body_names == real.body_names
    for actuator in identified.actuators:
        assert actuator.friction.viscous == pytest.approx(0.5, rel=0.1)
        assert actuator.friction.coulomb == pytest.approx(0.3, rel=0.1)
    again = tmp_path / "again.log"
    command("control", "run", tmp_path / "real.toml", "--model", model, "--reference", plan, "--log", again, *picture)
    runs = [record.part(last_motion(record)) for record in map(ap.Record.read, (log, again))]
    errors = [float(np.sqrt(np.mean((run["q"] - run["qd"]) ** 2))) for run in runs]
    assert errors[1] < 0.5 * errors[0]  # with the identified model, less is left to feedback


def test_the_chain_on_a_urdf_of_others_gives_its_parameters_within_5_percent(tmp_path):
    """`python -m appell_lab.campaigns.identification_chain` runs five robots."""
    chain = run_chain(robot_files(["TwoDofs"])[0], tmp_path)
    assert chain.body_error < 0.05
    assert chain.friction_error < 0.05
    assert chain.following[1] < 0.5 * chain.following[0]
    assert chain.same_in_python  # the command line and Python write the same log


def test_the_fastest_motion_of_a_robot_without_limits_is_followed_by_its_control_loop(tmp_path):
    """`python -m appell_lab.campaigns.planned_motions` runs more robots."""
    finding = run_plan(robot_files(["double_pendulum"])[0], "fastest", tmp_path)
    assert finding.finished, finding.sentence
    errors = summarize(ap.Record.read(tmp_path / "run.log")).largest_error
    assert errors.max() < 5e-3  # 0.02 without a reserve of torque, and a fault with a record of 201 samples


def test_a_motion_planned_for_the_puma_can_be_run_on_its_cabinet(tmp_path):
    """The zoo's PUMA has no ranges, because motions of the papers exceed them; a plan keeps those of the cabinet."""
    plan = tmp_path / "plan.csv"
    options = ("--cabinet", "--friction", "--starts", 1, "--iterations", 5, "--duration", 6)
    command("excite", "puma", "--output", plan, *options)
    wiring = ap.hardware.wiring_of(ap.load("puma"))
    q = ap.Record.read(plan).q
    assert (q > wiring.column("lower")).all()
    assert (q < wiring.column("upper")).all()
    assert np.ptp(q, axis=0).min() > 0.1
    output = command(
        "control", "run", "puma", "--reference", plan, "--log", tmp_path / "run.log", "--plot", tmp_path / "a.png"
    )
    assert "no fault" in output
