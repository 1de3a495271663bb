"""Verdicts, reports, exported systems, and the commands excite and identify."""

import warnings

import numpy as np
import pytest
from typer.testing import CliRunner

import appell as ap
from appell.cli.main import app
from appell.identify import (
    LeastSquares,
    MotionBounds,
    PhysicallyConsistent,
    excite,
    export,
    identified_system,
    judge,
    negative_parameters,
    select_parameters,
    split,
)
from appell_lab.papers.identification import DEAD_ZONE, FRICTION_WIDTH, guess
from identify.records import clean, motion, processed, puma, recorded


@pytest.fixture(scope="module")
def verdict():
    _, model, _, _ = puma()
    fits = [kind(model, dead_zone=DEAD_ZONE).fit_record(processed()) for kind in (LeastSquares, PhysicallyConsistent)]
    return judge(fits, processed(2, 1, smooth=True), remarks=("t: 1 gaps",))


def test_a_verdict_states_what_passes_and_what_is_impossible(verdict):
    plain, consistent = verdict.judgements
    assert plain.passed
    assert consistent.passed
    assert plain.impossible
    assert not plain.can_exist
    assert consistent.can_exist
    assert verdict.best is consistent
    assert verdict.predicted.shape == verdict.tau.shape


def test_the_reports_contain_the_same_tables(verdict, tmp_path):
    text = verdict.to_markdown()
    for part in (
        "# Identification of puma",
        "| least squares, qr |",
        "physically consistent",
        "Record: t: 1 gaps",
        "Izz1 + Iyy2",
    ):
        assert part in text
    page = verdict.to_html(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page
    assert "data:image/png;base64," in page
    assert "least squares, qr" in page
    with pytest.raises(ap.ArgumentError, match="already exists"):
        verdict.to_html(tmp_path / "report.html")


def test_a_verdict_can_fail():
    robot = ap.load("puma")
    q, v, a, tau = clean(robot)
    wrong = LeastSquares(guess(robot)).fit(q, v, a, 2.0 * tau)
    assert not judge(wrong, processed(2, 1, smooth=True)).judgements[0].passed


def test_samples_of_a_sticking_joint_are_ignored_and_a_joint_that_never_moves_fails():
    parameter_set = select_parameters(ap.load("planar-2r"), friction=True)
    q, v, a = parameter_set.sample(600, np.random.default_rng(0))
    truth = parameter_set.nominal + np.array([0.0] * 20 + [3.0, 1.0, 0.0] * 2)
    tau = parameter_set.regressor(q, v, a) @ truth
    fit = LeastSquares(parameter_set, dead_zone=0.2).fit(q, v, a, tau)
    stuck = np.where(np.abs(v) < 0.2, tau + 5.0, tau)
    errors = fit.errors(q, v, a, stuck)
    assert errors["relative"].max() < 1e-9
    np.testing.assert_allclose(errors["counted"], (np.abs(v) >= 0.2).mean(axis=0))
    assert LeastSquares(parameter_set).fit(q, v, a, tau).errors(q, v, a, stuck)["relative"].min() > 0.02
    assert np.isinf(fit.errors(q, 0.1 * v / np.abs(v).max(), a, tau)["relative"]).all()


def test_impossible_bodies_are_named_and_not_exported(verdict, tmp_path):
    plain = verdict.judgements[0].estimator
    with pytest.raises(ap.ModelError, match=r"physically impossible: .*body 'link\d' has") as caught:
        export(plain, tmp_path / "found.toml")
    assert not (tmp_path / "found.toml").exists()
    for body in verdict.judgements[0].impossible:
        assert f"'{body}'" in str(caught.value)
    consistent = identified_system(plain, consistent_bodies=True)
    # other bodies, the same torques
    held = motion(processed(2, 1))
    tau = ap.Dynamics(consistent, friction=True, rotors=True).inverse_dynamics(*held)
    np.testing.assert_allclose(tau, plain.predict(*held), atol=0.02 * np.abs(tau).max())


@pytest.mark.parametrize("suffix", ["toml", "urdf"])
@pytest.mark.filterwarnings("ignore:.*URDF cannot express:appell.errors.ModelWarning")
def test_the_exported_robot_predicts_what_the_fit_predicts(verdict, tmp_path, suffix):
    consistent = verdict.judgements[1].estimator
    path = tmp_path / f"found.{suffix}"
    made = export(consistent, path, name="found")
    robot = ap.load(path)
    assert robot.name == "found"
    assert robot.actuators == made.actuators
    real = puma()[0]
    deviation = dict(zip(consistent.base_.names, consistent.std_, strict=True))
    for k, (actuator, true) in enumerate(zip(robot.actuators, real.actuators, strict=True), start=1):
        assert actuator.friction.coulomb == pytest.approx(true.friction.coulomb, rel=0.2)
        assert actuator.friction.viscous == pytest.approx(true.friction.viscous, rel=0.2)
        assert actuator.offset == pytest.approx(true.offset, abs=4.0 * deviation[f"fo{k}"])
        assert actuator.gear == true.gear
    held = motion(processed(2, 1))
    tau = ap.Dynamics(robot, friction=True, rotors=True).inverse_dynamics(*held)
    np.testing.assert_allclose(tau, consistent.predict(*held), rtol=1e-9, atol=1e-9 * np.abs(tau).max())
    with pytest.raises(ap.ArgumentError, match="already exists"):
        export(consistent, path)
    assert export(consistent, path, overwrite=True, name="again").name == ap.load(path).name == "again"


def test_an_unsupported_file_format_is_rejected(verdict, tmp_path):
    with pytest.raises(ap.ArgumentError, match="ending is not supported"):
        export(verdict.judgements[1].estimator, tmp_path / "found.txt")


def with_drives(system, **levels):
    """Return a fit of a system whose drives have these parameters, and its samples."""
    parameter_set = select_parameters(system, friction=True, rotor=True)
    truth = parameter_set.nominal.copy()
    for k, parameter in enumerate(parameter_set.parameters):
        truth[k] = levels.get(parameter.name, truth[k])
    q, v, a = parameter_set.sample(400, np.random.default_rng(0))
    return LeastSquares(parameter_set, prior=truth).fit(q, v, a, parameter_set.regressor(q, v, a) @ truth), (q, v, a)


def test_rotors_friction_and_offsets_are_exported_as_actuators(tmp_path):
    geared = ap.Actuator(gear=-50.0, friction=ap.Friction(coulomb=0.1, static=0.2, stribeck=0.3))
    arm = ap.load("planar-2r").with_actuators({"elbow": geared})
    fit, held = with_drives(arm, Ia2=0.25, fc1=1.0, fc2=2.0, fs2=3.0, fv2=0.5, fo2=-0.4)
    export(fit, tmp_path / "found.toml")
    elbow = ap.load(tmp_path / "found.toml").actuators[1]
    assert elbow.rotor_inertia == pytest.approx(0.25 / 2500.0, rel=1e-9)
    law = elbow.friction
    levels = [law.coulomb, law.static, law.viscous, elbow.offset]
    np.testing.assert_allclose(levels, [2.0, 3.0, 0.5, -0.4], rtol=1e-9)
    assert law.stribeck == 0.3
    tau = ap.Dynamics(ap.load(tmp_path / "found.toml"), friction=True, rotors=True).inverse_dynamics(*held)
    np.testing.assert_allclose(tau, fit.predict(*held), rtol=1e-9, atol=1e-9)


def test_a_negative_friction_is_reported_and_rejected_or_set_to_zero_on_request(tmp_path):
    fit, (q, v, a) = with_drives(ap.load("planar-2r"), fv1=-0.3, fc2=0.7)
    record = ap.Record.of(
        np.arange(400.0), {"q": q, "v": v, "a": a, "tau": fit.predict(q, v, a)}, ("shoulder", "elbow")
    )
    judgement = judge(fit, record).judgements[0]
    assert [(p.name, p.owner) for p in judgement.negative] == [("fv1", "shoulder")]
    assert not judgement.can_exist
    text = judge(fit, record).to_markdown()
    assert "viscous of actuator 'shoulder' is negative (-0.3)" in text
    assert "no: fv1" in text
    with pytest.raises(
        ap.ModelError, match=r"actuator parameters of robot 'planar-2r' are negative: viscous of 'shoulder' -0\.3"
    ):
        export(fit, tmp_path / "found.toml")
    assert not (tmp_path / "found.toml").exists()
    with pytest.warns(ap.ModelWarning, match=r"set to zero: viscous of 'shoulder' -0\.3"):
        system = export(fit, tmp_path / "found.toml", negative="zero")
    assert system.actuators[0].friction.viscous == 0.0
    assert system.actuators[1].friction.coulomb == pytest.approx(0.7)
    with pytest.raises(ap.ArgumentError, match="negative is 'clip'"):
        identified_system(fit, negative="clip")


def test_static_friction_below_coulomb_friction_is_rejected_and_a_consistent_fit_avoids_it():
    sticky = ap.Actuator(friction=ap.Friction(coulomb=0.1, static=0.2))
    fit, (q, v, a) = with_drives(ap.load("planar-2r").with_actuators({"elbow": sticky}), fc2=2.0, fs2=1.0)
    with pytest.raises(ap.ModelError, match=r"'elbow' .* static friction 1 below its Coulomb friction 2"):
        identified_system(fit)
    bound = PhysicallyConsistent(fit.parameter_set_).fit(q, v, a, fit.predict(q, v, a))
    law = identified_system(bound).actuators[1].friction
    assert law.static >= law.coulomb > 0.0


def test_parameters_that_were_not_estimated_keep_their_described_values_with_a_warning():
    robot = ap.load("puma")
    fit = LeastSquares(robot).fit(*clean(robot))
    with pytest.warns(ap.ModelWarning, match="not estimated, kept as described: rotor, coulomb, viscous of 'joint1'"):
        system = identified_system(fit, consistent_bodies=True)
    assert system.actuators == robot.actuators
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        identified_system(LeastSquares(ap.load("panda")).fit(*clean(ap.load("panda"))))


@pytest.mark.parametrize("name", ["five-bar", "three-rrr"])
def test_a_mechanism_is_identified_with_friction_and_rotors_and_reads_back_from_its_file(name, tmp_path):
    rng = np.random.default_rng(5)

    def drive(*_):
        friction = ap.Friction(viscous=rng.uniform(0.1, 0.5), coulomb=rng.uniform(0.2, 1.0), width=0.05)
        return ap.Actuator(gear=30.0, rotor_inertia=1e-5 * rng.uniform(1.0, 3.0), friction=friction, offset=0.1)

    real = ap.load(name).with_actuators(drive)
    parameter_set = select_parameters(guess(real), friction=True, rotor=True, width=0.05)
    q, v, a = parameter_set.sample(800, rng)
    tau = ap.Dynamics(real, friction=True, rotors=True).inverse_dynamics(q, v, a)
    fit = LeastSquares(parameter_set).fit(q, v, a, tau)
    beta = parameter_set.base.values(select_parameters(real, friction=True, rotor=True).nominal)
    np.testing.assert_allclose(fit.base_parameters_, beta, rtol=1e-8, atol=1e-8 * np.abs(beta).max())
    assert not negative_parameters(parameter_set, fit.parameters_)
    assert fit.parameter_set_.system.body_names == real.body_names
    exported = export(fit, tmp_path / "found.toml", consistent_bodies=True)
    loaded = ap.load(tmp_path / "found.toml")
    assert loaded.body_names == exported.body_names == real.body_names
    assert loaded.bodies == exported.bodies
    assert loaded.actuators == exported.actuators
    again = ap.Dynamics(loaded, friction=True, rotors=True).inverse_dynamics(q, v, a)
    np.testing.assert_allclose(again, tau, atol=1e-8 * np.abs(tau).max())


def test_an_invalid_share_to_hold_out_is_rejected():
    with pytest.raises(ap.ArgumentError, match=r"to hold out is 1\.5"):
        split(processed(), 1.5)


def test_the_command_identifies_a_log_and_writes_a_report_and_a_robot(tmp_path):
    recorded().write(tmp_path / "log.csv")
    recorded(2, 1).write(tmp_path / "other.csv")
    ap.to_toml(guess(ap.load("puma")), tmp_path / "drawing.toml")
    arguments = [
        "identify",
        str(tmp_path / "log.csv"),
        "--robot",
        str(tmp_path / "drawing.toml"),
        "--friction",
        "--rotor",
        "--hold",
        "--width",
        str(FRICTION_WIDTH),
        "--dead-zone",
        str(DEAD_ZONE),
        "--judge-on",
        str(tmp_path / "other.csv"),
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
    assert "already exists" in again.output
    wrong = CliRunner().invoke(app, [*arguments, "--units", "tau"])
    assert wrong.exit_code == 1
    assert "name=value" in wrong.output


def test_the_command_plans_a_motion(tmp_path):
    path = tmp_path / "motion.csv"
    arguments = ["excite", "planar-2r", "--output", str(path), "--iterations", "20", "--rate", "100", "--torque", "60"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "condition number" in result.output
    assert "Collisions were not checked because robot 'planar-2r' has no pairs of collision shapes" in result.output
    heading, units, *rows = path.read_text(encoding="utf-8").splitlines()
    assert units.startswith("# units")
    assert heading.startswith("t,q_shoulder,q_elbow,v_shoulder")
    assert len(rows) == 1001
    assert CliRunner().invoke(app, arguments).exit_code == 1
    refused = CliRunner().invoke(app, ["excite", "planar-2r", "--workspace", "tool=1,2,3"])
    assert refused.exit_code == 1
    assert "--workspace tool=1,2,3 is not a box" in refused.output


def test_the_command_plans_a_motion_of_a_mechanism_in_its_coordinates(tmp_path):
    path = tmp_path / "motion.csv"
    arguments = ["excite", "five-bar", "--output", str(path), "--iterations", "10", "--starts", "1", "--speed", "3"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "reach" in result.output
    record = ap.Record.read(path)
    assert record.names("q") == ap.load("five-bar").coordinate_names
    assert len(record) == 10_001


def test_the_command_identifies_a_mechanism_and_rejects_unsuitable_systems(tmp_path):
    system = ap.load("five-bar").with_actuators(
        lambda *_: ap.Actuator(friction=ap.Friction(viscous=0.3, coulomb=0.5, width=0.02))
    )
    parameter_set = select_parameters(system, friction=True)
    bounds = MotionBounds.of(system, speed=3.0)
    record = excite(parameter_set, bounds=bounds, starts=1, iterations=20).path.record(period=2e-3)
    tau = ap.Dynamics(system, friction=True).inverse_dynamics(record.q, record.v, record.a)
    names = {"q": system.coordinate_names, "tau": system.actuator_names}
    ap.Record.of(record.t, {"q": record.q, "tau": tau}, names).write(tmp_path / "log.csv")
    log, exported = str(tmp_path / "log.csv"), str(tmp_path / "found.toml")
    arguments = ["identify", log, "--robot", "five-bar", "--friction", "--export", exported]
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, [*arguments, "--method", "consistent"])
    assert result.exit_code == 0, result.output
    assert "theta_left" in result.output
    assert ap.load(exported).actuators[0].friction.viscous == pytest.approx(0.3, rel=0.05)
    from robots import random_tree

    ap.to_toml(random_tree(0, 3, base="floating"), tmp_path / "floating.toml")
    refused = CliRunner().invoke(app, ["identify", log, "--robot", str(tmp_path / "floating.toml")])
    assert refused.exit_code == 1
    assert "joints with several axes" in refused.output
    other = CliRunner().invoke(app, ["identify", log, "--robot", "delta"])
    assert other.exit_code == 1
    assert "no column 'q_z'" in other.output
