"""Campaigns of seeded faults, and bit-exact replay of logs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from appell.errors import ArgumentError, DescriptionError
from appell.hardware.cabinet.simulated import KINDS, Faults, Injection
from appell.hardware.loop import control_loop
from appell.hardware.loop.journal import Journal
from appell.hardware.loop.replay import first_difference, replay
from appell.hardware.loop.servo import Servo
from appell.hardware.loop.summary import last_motion
from appell.hardware.loop.supervisor import Fault, State, Supervisor
from appell.motion import Record, measured
from appell.motion.titles import parse
from appell_lab.campaigns.control import run_campaign, standard_setting
from control_motion import START


def check(findings, least_of_each_kind: int) -> None:
    broken = {finding.seed: finding.broken for finding in findings if finding.broken}
    assert not broken
    kinds = Counter(fault.kind for finding in findings for fault in finding.injections)
    assert all(kinds[kind] >= least_of_each_kind for kind in KINDS)
    assert max(finding.stopping_time for finding in findings) > 0.1  # some were stopped in full motion
    assert max(finding.path_distance for finding in findings) > 0.02
    ends = Counter(finding.state for finding in findings)
    assert ends[State.FAULT] > 0.5 * len(findings)  # most schedules do stop the arm


def test_all_properties_hold_for_forty_schedules_of_faults():
    """A fixed sample; `appell campaign` runs any number of schedules."""
    check(list(run_campaign(standard_setting(), range(5000, 5040))), 1)


def _ignores_temperature(monkeypatch):
    """Make the loop ignore over-temperature."""
    relevant = control_loop.RELEVANT_ALARMS | {State.RUNNING: (~Fault.TEMPERATURE).value}
    monkeypatch.setattr(control_loop, "RELEVANT_ALARMS", relevant)


def _logs_wrong_torques(monkeypatch):
    """Make the loop log other torques than it writes."""
    write = Journal.write

    def wrong(self, head, state, reference, memory, command):
        write(self, head, state, reference, memory, SimpleNamespace(tau=command.tau + 1.0))

    monkeypatch.setattr(Journal, "write", wrong)


def _discards_faults(monkeypatch):
    """Make the loop discard its latched faults."""
    latch = Supervisor.latch

    def forget(self, faults, explain=None):
        self.word = 0
        latch(self, faults, explain)

    monkeypatch.setattr(Supervisor, "latch", forget)


def _stops_too_early(monkeypatch):
    """Make the loop stop at the first lost reading."""
    monkeypatch.setattr(Supervisor, "reading", lambda self, good, missing: 0 if good else Fault.STALE.value)


@pytest.mark.parametrize(
    ("bad", "broken"),
    [
        (_ignores_temperature, "stopped"),
        (_logs_wrong_torques, "written"),
        (_discards_faults, "latched"),
        (_stops_too_early, "ridden out"),
    ],
    ids=["ignores temperature", "logs wrong torques", "discards faults", "stops too early"],
)
def test_the_campaign_detects_a_faulty_loop(monkeypatch, bad, broken):
    """The checks use the arm and the converters, not the loop, whose replay would agree with most of these errors."""
    bad(monkeypatch)
    assert any(broken in finding.broken for finding in run_campaign(standard_setting(), range(5000, 5030)))


@pytest.fixture
def logged(moving, tmp_path):
    """Return the log of a run with over-temperature, after which the fault is cleared and the loop armed again."""
    faults = Faults([Injection("over-temperature", 0.5, duration=0.2)])
    loop = moving(log=tmp_path / "run.log", q=START - 0.4, seed=4, faults=faults)
    loop.run(900)
    loop.clear("somebody")
    loop.run(40)
    loop.arm()
    loop.disarm()
    loop.run(30)
    loop.close()
    return Record.read(tmp_path / "run.log")


def test_a_replay_is_bit_identical_to_the_run(logged, servo):
    again = replay(logged, servo)
    assert len(again) == len(logged) == 995
    assert first_difference(logged, again) is None


def test_a_replay_detects_a_changed_input(logged, servo):
    data = logged.data.copy()
    column = logged.columns.index("qm_joint3")
    data[400, column] += 1e-3
    tampered = replace(logged, data=data)
    row, name = first_difference(tampered, replay(tampered, servo))
    assert row == 400
    assert parse(name)[0] in ("q", "v", "tau", "integral")


def test_a_log_of_another_servo_is_not_replayed(logged, servo):
    other = Servo(servo.design, servo.info, servo.guard, observer=250.0)
    with pytest.raises(ArgumentError, match="written by another servo"):
        replay(logged, other)


def test_the_log_has_one_row_per_tick_with_the_columns_for_identification(logged, servo):
    assert logged["q"].shape == logged["v"].shape == logged["tau"].shape == logged["qm"].shape == (995, 6)
    np.testing.assert_array_equal(np.diff(logged["tick"]), 1.0)
    steps = logged["tau"] / servo.info.resolution  # the converters round torques
    np.testing.assert_allclose(steps, np.round(steps), rtol=0, atol=1e-9)
    assert np.isfinite(logged.data).all()


def test_the_record_of_a_log_has_the_joint_names_and_events_for_every_change(logged, servo):
    assert logged.names("qm") == logged.names("q") == servo.info.actuators
    events = [(event.kind, event.note) for event in logged.events]
    assert ("fault", "a motor is too hot") in events
    assert [note for kind, note in events if kind == "state"][:2] == ["RUNNING", "SAFE_STOP"]


def test_the_last_motion_of_a_log_is_a_measurement(logged, servo):
    joints = servo.info.actuators
    motion = measured(logged.part(last_motion(logged)), joints, joints)
    assert motion.quantities == ("t", "q", "v", "tau")
    assert motion.about["law"] == servo.design.law.name
    with pytest.raises(DescriptionError, match="times the integral of v_joint"):  # the log contains a new calibration
        measured(logged, joints, joints)
