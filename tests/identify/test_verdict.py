"""Verdicts, reports, the robot that comes out, and the commands."""

import numpy as np
import pytest
from typer.testing import CliRunner

import appell as ap
from appell.cli.main import app
from appell.identify import (
    LeastSquares,
    Model,
    PhysicallyConsistent,
    export,
    identified_robot,
    judge,
    split,
)
from appell.lab.papers.identification import DEAD_ZONE, guess
from identify.records import clean, processed, puma, recorded


@pytest.fixture(scope="module")
def verdict():
    _, model, _, _ = puma()
    data = processed()
    fits = [
        kind(model, dead_zone=DEAD_ZONE).fit(*data.samples.motion, data.samples.tau)
        for kind in (LeastSquares, PhysicallyConsistent)
    ]
    return judge(fits, processed(2, 1), remarks=("t: 1 gaps",))


def test_a_verdict_tells_what_passes_and_what_cannot_exist(verdict):
    plain, consistent = verdict.judgements
    assert plain.passed
    assert consistent.passed
    assert plain.impossible
    assert not consistent.impossible
    assert verdict.best in verdict.judgements
    assert verdict.predicted.shape == verdict.tau.shape


def test_the_reports_hold_the_same_tables(verdict, tmp_path):
    text = verdict.to_markdown()
    for part in (
        "# Identification of puma",
        "| least squares, qr |",
        "physically consistent",
        "Log: t: 1 gaps",
        "Izz1 + Iyy2",
    ):
        assert part in text
    page = verdict.to_html(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page
    assert "data:image/png;base64," in page
    assert "least squares, qr" in page
    with pytest.raises(ap.ArgumentError, match="not written over"):
        verdict.to_html(tmp_path / "report.html")


def test_a_verdict_can_fail():
    robot = ap.load("puma")
    q, v, a, tau = clean(robot)
    wrong = LeastSquares(guess(robot)).fit(q, v, a, 2.0 * tau)
    assert not judge(wrong, processed(2, 1)).judgements[0].passed


def test_impossible_bodies_are_not_exported_and_named(verdict, tmp_path):
    plain = verdict.judgements[0].estimator
    with pytest.raises(ap.ModelError, match=r"no body can have .* link 'link\d' has") as caught:
        export(plain, tmp_path / "found.toml")
    assert not (tmp_path / "found.toml").exists()
    for link in verdict.judgements[0].impossible:
        assert f"'{link}'" in str(caught.value)
    mended = identified_robot(plain, consistent_bodies=True)
    model = Model(mended, friction=True, width=plain.model_.width)
    # the bodies are others, the torques stay what they were
    held = processed(2, 1).samples.motion
    base = plain.base_
    np.testing.assert_allclose(
        model.regressor.columns(base.columns)(*held) @ base.values(model.nominal * _offsets(model) + _kept(plain)),
        plain.predict(*held), atol=0.02 * np.abs(plain.predict(*held)).max(),
    )  # fmt: skip


def _offsets(model):
    return np.array([column.kind != "offset" for column in model.columns], float)


def _kept(estimator):
    """The offsets, which a robot file has no place for."""
    return estimator.parameters_ * np.array([column.kind == "offset" for column in estimator.model_.columns], float)


@pytest.mark.parametrize("suffix", ["toml", "urdf"])
def test_the_exported_robot_loads_and_simulates(verdict, tmp_path, suffix):
    consistent = verdict.judgements[1].estimator
    path = tmp_path / f"found.{suffix}"
    made = export(consistent, path, name="found")
    robot = ap.load(path)
    assert robot.name == "found"
    np.testing.assert_allclose(Model(robot).nominal, Model(made).nominal, rtol=1e-9, atol=1e-12)
    assert robot.links[0].joint.friction == pytest.approx(5.0, rel=0.2)
    assert robot.links[0].joint.damping == pytest.approx(4.0, rel=0.2)
    a = ap.Dynamics(robot, friction=True).forward_dynamics(np.zeros(6), np.ones(6), np.zeros(6))
    assert np.all(np.isfinite(a))
    with pytest.raises(ap.ArgumentError, match="nothing is written over"):
        export(consistent, path)


def test_rotors_have_no_place_in_a_robot_file(tmp_path):
    model = Model(ap.load("planar-2r"), rotor=True)
    q, v, a = model.sample(200, np.random.default_rng(0))
    truth = model.nominal + np.array([0.0] * 20 + [0.1, 0.2])
    fit = PhysicallyConsistent(model).fit(q, v, a, model.regressor(q, v, a) @ truth)
    with pytest.raises(ap.ModelError, match="rotor inertias were found"):
        identified_robot(fit)
    with pytest.raises(ap.ArgumentError, match="no robot file"):
        export(fit, tmp_path / "found.txt")


def test_a_share_that_is_none_is_refused():
    with pytest.raises(ap.ArgumentError, match="cannot be held out"):
        split(processed(), 1.5)


def test_the_command_identifies_a_log_and_writes_a_report_and_a_robot(tmp_path):
    recorded()[0][0].write(tmp_path / "log.csv")
    ap.to_toml(guess(ap.load("puma")), tmp_path / "drawing.toml")
    arguments = [
        "identify",
        str(tmp_path / "log.csv"),
        "--robot",
        str(tmp_path / "drawing.toml"),
        "--friction",
        "--hold",
    ]
    outputs = [
        "--report",
        str(tmp_path / "report.md"),
        "--export",
        str(tmp_path / "found.toml"),
        "--method",
        "consistent",
    ]
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, arguments + outputs)
    assert result.exit_code == 0, result.output
    assert "pass" in result.output
    assert ap.load(tmp_path / "found.toml").nv == 6
    assert "# Identification of puma" in (tmp_path / "report.md").read_text(encoding="utf-8")
    again = CliRunner().invoke(app, arguments + outputs)
    assert again.exit_code == 1
    assert "nothing is written over" in again.output
    wrong = CliRunner().invoke(app, [*arguments, "--units", "tau"])
    assert wrong.exit_code == 1
    assert "name=value" in wrong.output


def test_the_command_plans_a_motion(tmp_path):
    path = tmp_path / "motion.csv"
    arguments = ["excite", "planar-2r", "--output", str(path), "--iterations", "20", "--rate", "100", "--torque", "60"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "condition number" in result.output
    heading, *rows = path.read_text(encoding="utf-8").splitlines()
    assert heading.startswith("t,q_shoulder,q_elbow,v_shoulder")
    assert len(rows) == 1001
    assert CliRunner().invoke(app, arguments).exit_code == 1
