"""References from paths, records and logs, and recordings for identification."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import appell as ap
from appell.cli.main import app
from appell.errors import ArgumentError, DescriptionError, SimulationError
from appell.hardware import PERFECT, Imperfections, Reference, Rig, recorded, recorded_path
from appell.model.actuator import Friction
from appell.model.variations import with_masses
from appell.motion import Ramp, Record, Spline
from control_motion import START

PERIOD = 1e-3


@pytest.fixture(scope="module")
def rig():
    return Rig(ap.load("puma"))


@pytest.fixture(scope="module")
def path():
    step = np.array([0.6, -0.4, -0.4, 0.5, -0.5, 0.6])
    names = ap.load("puma").coordinate_names
    return Spline([0.0, 1.0, 2.0, 3.0], [START + 0.2, START + step, START, START + 0.5 * step], 5, names)


def test_an_approach_is_smooth_and_ends_on_the_path(path):
    reference, ticks = Reference.approached(path, PERIOD, START)
    q, v, _ = np.moveaxis(reference.samples, 1, 0)
    np.testing.assert_allclose(q[0], START, atol=1e-12)
    np.testing.assert_allclose(v[[0, -1]], 0.0, atol=1e-9)
    np.testing.assert_array_equal(reference.samples[ticks], Reference.sampled(path, PERIOD).samples)
    np.testing.assert_allclose(np.diff(q, axis=0) / PERIOD, 0.5 * (v[1:] + v[:-1]), atol=1e-4)


def test_a_path_that_starts_and_ends_in_motion_is_approached_without_a_jump_of_velocity():
    class Swinging:
        names, duration = ("joint",), 1.3

        def __call__(self, t):
            phase = 4.0 * np.asarray(t)[..., None]
            return 0.3 * np.sin(phase), 1.2 * np.cos(phase), -4.8 * np.sin(phase)

    reference, _ = Reference.approached(Swinging(), PERIOD, np.array([-0.5]))
    q, v, a = (x[:, 0] for x in np.moveaxis(reference.samples, 1, 0))
    assert np.abs(np.diff(v)).max() < 1.5 * PERIOD * np.abs(a).max()
    np.testing.assert_allclose(np.diff(q) / PERIOD, 0.5 * (v[1:] + v[:-1]), atol=1e-4)
    np.testing.assert_allclose(v[[0, -1]], 0.0, atol=1e-9)


def test_a_recording_has_the_logged_columns_and_the_commanded_torques(rig, path):
    recording = rig.record(path, seed=1)
    record, truth, names = recording.record, recording.truth, ap.load("puma").coordinate_names
    assert record.quantities == ("t", "q", "v", "qd", "vd", "ad", "tau")
    assert record.names("tau") == truth.names("a") == names
    assert len(record) == len(truth) == len(Reference.sampled(path, PERIOD))
    np.testing.assert_allclose(record.t, PERIOD * np.arange(len(record)), atol=1e-9)
    np.testing.assert_allclose(record["qd"], path(record.t)[0], atol=1e-12)
    assert np.abs(record.q - truth.q).max() < 1e-3
    assert np.abs(truth.q - record["qd"]).max() < 3e-3


def test_the_true_motion_satisfies_the_equations_of_motion(path):
    """Without friction, M a + h of the true motion is the true torque, which is held for a period after each sample."""
    bare = ap.load("puma").with_actuators(
        lambda name, actuator: replace(actuator, friction=Friction(), rotor_inertia=0.0)
    )
    truth = Rig(bare).record(path, imperfections=PERFECT).truth
    middle = [0.5 * (x[1:] + x[:-1]) for x in (truth.q, truth.v)]
    a = np.diff(truth.v, axis=0) / PERIOD
    tau = ap.Dynamics(bare).inverse_dynamics(*middle, a)
    np.testing.assert_allclose(truth.tau[:-1], tau, atol=2e-3 * np.abs(truth.tau).max())


def test_amplifier_noise_acts_on_the_motors_and_is_not_in_the_log(rig, path):
    quiet, noisy = (rig.record(path, 3, Imperfections(0, 0, 0, 0, 0, amplifier_noise=x)) for x in (0.0, 0.01))
    full = rig.wiring.reachable_torque
    difference = (noisy.truth.tau - noisy.record.tau) / full
    np.testing.assert_allclose(difference.std(axis=0), 0.01, rtol=0.05)
    assert np.abs((quiet.truth.tau - quiet.record.tau) / full).max() < 1e-9
    again = rig.record(path, 3, Imperfections(0, 0, 0, 0, 0, amplifier_noise=0.01))
    np.testing.assert_array_equal(again.truth.data, noisy.truth.data)


def test_converters_with_more_bits_have_finer_torques(path):
    steps = {}
    for bits in (8, 16):
        rig = Rig(ap.load("puma"), bits=bits)
        tau = rig.record(path).record.tau[:, 0]
        steps[bits] = np.diff(np.unique(tau)).min()
        np.testing.assert_allclose(steps[bits], 20.0 / 2**bits * 0.9 * 0.22 * 62.6111, rtol=1e-6)
    assert steps[8] > 200 * steps[16]


@pytest.mark.parametrize("name", ["delta", "stanford"])
def test_other_systems_can_be_recorded(name):
    system = ap.load(name)
    start = np.array(Rig(system).wiring.start)
    record = recorded(system, Ramp(start, start + 0.05, 0.2, 1.0, names=system.coordinate_names), seed=2)
    assert record.names("tau") == system.actuator_names
    assert np.abs(record.q - record["qd"]).max() < 2e-3


def test_a_path_that_cannot_be_followed_raises_an_error(rig):
    fast = Ramp(START, START + 0.6, 2.9, 400.0, names=ap.load("puma").coordinate_names)
    with pytest.raises(SimulationError, match="was not completed: joint 'joint"):
        rig.record(fast)


def test_the_path_of_a_log_is_its_reference(rig, path, tmp_path):
    recording = rig.record(path)
    again = recorded_path(recording.record, ap.load("puma").coordinate_names)
    t = np.linspace(0.0, again.duration, 400)
    np.testing.assert_allclose(again(t)[0], path(t)[0], atol=1e-6)  # the measured positions differ by several mrad


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize("suffix", ["csv", "npz"])
def test_a_recorded_path_is_followed_from_the_command_line_on_any_system(run, suffix):
    delta = ap.load("delta")
    begin, end = delta.start + np.array([0.02, 0.0, 0.0]), delta.start + np.array([-0.05, 0.04, 0.06])
    ramp = Ramp(begin, end, 0.2, 1.0, names=delta.coordinate_names)
    ramp.record(period=PERIOD).write(f"ramp.{suffix}")
    result = run("control", "run", "delta", "--reference", f"ramp.{suffix}", "--log", "a.log", "--plot", "a.png")
    assert result.exit_code == 0, result.output
    log = Record.read("a.log")
    np.testing.assert_allclose(log["qd"][log["state"] == 2][-1], ramp(ramp.duration)[0], atol=1e-9)
    again = run("control", "run", "delta", "--reference", "a.log", "--log", "b.log", "--plot", "b.png")
    assert again.exit_code == 0, again.output
    other = Record.read("b.log")
    np.testing.assert_allclose(other["qd"][other["state"] == 2][-1], ramp(ramp.duration)[0], atol=1e-6)


def test_the_controller_can_use_another_description(run):
    ap.to_toml(with_masses(ap.load("panda"), 1.3), "model.toml")
    errors = {}
    for name, options in {"right": (), "wrong": ("--model", "model.toml")}.items():
        result = run(
            "control", "run", "panda", "--law", "tracking", *options, "--log", f"{name}.log", "--plot", f"{name}.png"
        )
        assert result.exit_code == 0, result.output
        log = Record.read(f"{name}.log")
        running = log["state"] == 2
        errors[name] = np.abs(log["q"] - log["qd"])[running].max()
    assert errors["wrong"] > 3 * errors["right"]
    assert run("control", "replay", "wrong.log", "panda", "--law", "tracking", "--model", "model.toml").exit_code == 0
    assert run("control", "replay", "wrong.log", "panda", "--law", "tracking").exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--reference", "nothing.csv"), "cannot be read"),
        (("--reference", "other.csv"), "the record moves 2 coordinates: x, y"),
        (("--reference", "far.csv"), "the reference moves joint 'joint1' to 3.162"),
        (("--model", "planar-2r"), "the model has coordinate names"),
        (("--reference", "other.csv", "--law", "point-to-point"), "reference 'other.csv' cannot be used with law"),
    ],
)
def test_references_that_cannot_be_followed_are_reported_in_one_sentence(run, arguments, words):
    Ramp([0.0, 0.0], [1.0, 1.0], 1.0, 1.0, names=("x", "y")).record(20).write("other.csv")
    names = ap.load("puma").coordinate_names
    Ramp(START, np.r_[9.0, START[1:]], 1.0, 1.0, names=names).record(20).write("far.csv")
    result = run("control", "run", "puma", *arguments)
    assert result.exit_code == 1
    assert words in " ".join(result.output.split())


def test_a_log_without_a_motion_is_rejected_as_a_reference():
    columns = ("t", "state", "fault", "qd_a")
    log = Record(columns, np.column_stack([np.arange(5.0), np.zeros(5), np.zeros(5), np.zeros(5)]))
    with pytest.raises(ArgumentError, match="never in state RUNNING"):
        recorded_path(log, ("a",))
    with pytest.raises(DescriptionError, match="the 2 of the system: a, b"):
        recorded_path(Record(("t", "q_a"), np.zeros((3, 2)) + np.arange(3.0)[:, None]), ("a", "b"))
