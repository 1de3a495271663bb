"""`appell reproduce control`: the computations behind the figures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import appell as ap
from appell.control.gains import critical
from appell.hardware.loop.summary import last_motion
from appell_lab.papers import control
from appell_lab.papers.cabinet_run import DISPLACEMENT, cabinet_run, ramp
from appell_lab.papers.control_laws import PRINTED

REFERENCE = Path(__file__).parents[2] / "references" / "puma_straight_lines.json"


def test_the_torques_of_figure_4_are_those_of_an_independent_computation():
    puma = ap.load("puma")
    rows = json.loads(REFERENCE.read_text())["002"]["tool_0"]["rows"]
    line, flip = control.straight_line(puma), np.array([1, 1, 1, 1, -1, 1])  # our wrist is flipped: q5 changes sign
    for row in rows:
        q, v, a = line(row["t"])
        np.testing.assert_allclose(v * flip, row["qd"], atol=1e-9)
        np.testing.assert_allclose(ap.Dynamics(puma).inverse_dynamics(q, v, a) * flip, row["tau"], atol=1e-8)


def test_printed_damping_causes_a_lag_of_speed_over_stiffness():
    """ë + K_d ė + K_p e = -K_d q̇_d: along a ramp of constant speed e = -K_d q̇_d / K_p, which is a tenth of the speed
    for all poles at -20/s; friction and encoder counts cause half a milliradian."""
    puma, gains = ap.load("puma"), critical(20.0, 1e-3)
    log = cabinet_run(puma, "tracking", ramp, printed=PRINTED["tracking"])
    error = (log["q"] - log["qd"])[last_motion(log)]
    lag = 0.6 * np.abs(DISPLACEMENT) / np.abs(DISPLACEMENT).max() * gains.kd / gains.kp
    np.testing.assert_allclose(np.abs(error).max(axis=0), lag, atol=5e-4)
