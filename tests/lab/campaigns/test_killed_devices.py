"""kill -9 of robots and loops: a small sample of the campaign, and proof that its checks can fail."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest

from appell.motion.journal import JournalWriter
from appell_lab.campaigns.killed_devices import HEARTBEAT_S, check, make_rig, run_case

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")


@pytest.mark.parametrize(
    ("protocol", "victim", "moment"),
    [("rtde", "loop", 0.2), ("moteus", "loop", 0.25), ("moteus", "device", 0.2), ("rtde", "both", 0.1)],
)
def test_a_killed_process_leaves_a_safe_robot_and_readable_logs(protocol, victim, moment, tmp_path):
    finding = run_case(protocol, victim, moment, tmp_path)
    assert not finding.broken, finding


def test_a_robot_that_stays_enabled_and_a_log_that_lacks_rows_are_found(tmp_path):
    rig = replace(make_rig("moteus", tmp_path), safe_state="zero torque")
    for name, columns in (
        ("robot.log", ("t", "beat", "enabled", "tau_a", "v_a")),
        ("loop.log", ("t", "state", "fault")),
    ):
        writer = JournalWriter(tmp_path / name, columns, {"robot": "r"})
        for k in range(300):
            writer.row[:] = (2e-3 * k, min(2e-3 * k, 0.1), 1.0, 0.5, 0.0) if name == "robot.log" else (2e-3 * k, 2, 0)
            writer.commit()
        writer.close()
    files = tmp_path / "robot.log", tmp_path / "loop.log"
    finding = check(rig, "loop", 0.1, *files, 301, -9)
    assert finding.broken == ("readable", "safe", "state")
    assert finding.time_to_safe > HEARTBEAT_S
    assert check(rig, "device", 0.1, *files, 300, 0).broken == ("stopped",)
    assert np.isnan(check(rig, "both", 0.1, *files, 300, -9).time_to_safe)
