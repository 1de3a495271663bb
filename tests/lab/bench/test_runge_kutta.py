"""Runge-Kutta steps: the timed rollouts agree with CasADi's C, MuJoCo and SciPy."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from appell.errors import AppellError
from appell_lab.bench import runge_kutta
from appell_lab.bench.figure import Figure
from appell_lab.bench.peers.builds import BuildFolder, compiler
from appell_lab.bench.peers.comparison import largest_difference
from appell_lab.bench.peers.peer import PeerUnavailableError
from appell_lab.bench.peers.rollout_peers import STEP, CasadiRollouts, MujocoRollouts
from appell_lab.bench.runge_kutta import STEPS, measure, measure_threads, motions
from appell_lab.bench.subject import find

PUMA = find("puma")
SCAN = runge_kutta.runge_kutta(PUMA.dynamics)
GIVEN = motions(PUMA, 9)
OURS = SCAN(GIVEN.q, GIVEN.v, STEP * np.arange(STEPS), GIVEN.torque, every=GIVEN.every)


def test_a_motion_under_constant_torque_agrees_with_scipy():
    """Each interval of `STEP` seconds has its own torque; DOP853 at 1e-12 is exact compared with fourth-order steps."""
    dyn, state = PUMA.dynamics, np.concatenate([GIVEN.q[0], GIVEN.v[0]])
    for k in range(10):
        force = GIVEN.torque[0, k]

        def rate(t, y, force=force):
            return np.concatenate([y[6:], dyn.forward_dynamics(y[:6], y[6:], force)])

        state = solve_ivp(rate, (0, STEP), state, "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    state_of_scan = np.concatenate([OURS[0][0, 0], OURS[1][0, 0]])
    np.testing.assert_allclose(state_of_scan, state, rtol=0, atol=1e-10)  # (hω)⁵/120 with ω = 15 rad/s, ten times


@pytest.mark.parametrize("build", ["forward dynamics in C", "the whole step"])
def test_casadi_gives_the_same_motion(build, tmp_path, program):
    program("gcc")
    prepared = CasadiRollouts(BuildFolder(tmp_path), build).motions(PUMA, GIVEN)
    prepared.run()
    assert largest_difference(OURS, prepared.results()) < 1e-11


def test_casadi_requires_a_compiler(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    compiler.cache_clear()
    with pytest.raises(PeerUnavailableError, match="gcc is not installed"):
        CasadiRollouts(BuildFolder(tmp_path), "the whole step").motions(PUMA, GIVEN)


def test_mujoco_gives_the_same_motion():
    prepared = MujocoRollouts().motions(PUMA, GIVEN)
    prepared.run()
    assert largest_difference(OURS, prepared.results()) < 1e-11


def test_a_missing_peer_is_a_named_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(PeerUnavailableError, match="mujoco is not installed"):
        MujocoRollouts().motions(PUMA, GIVEN)


def test_joints_with_several_coordinates_are_not_supported():
    floating = find("puma", base="floating")
    with pytest.raises(PeerUnavailableError, match="a joint with several coordinates"):
        MujocoRollouts().motions(floating, GIVEN)


def test_available_peers_have_figures_and_others_a_reason(monkeypatch):
    monkeypatch.setattr(runge_kutta, "BUILDS", {})
    figures = {figure.name: figure for figure in measure(16, 1, lambda: None)}
    assert list(figures) == ["step", "forward_dynamics", "mujoco"]
    assert figures["mujoco"].value * figures["step"].value == pytest.approx(
        figures["step"].details["mujoco.rollout_seconds"]
    )
    assert figures["forward_dynamics"].met in (True, False)
    monkeypatch.setitem(sys.modules, "mujoco", None)
    figures = {figure.name: figure for figure in measure(16, 1, lambda: None)}
    assert "mujoco is not installed" in figures["step"].details["no_mujoco.rollout"]
    (threads,) = measure_threads(16, 1, lambda: None)
    assert threads.details["one_thread_seconds"] > 0


def test_a_peer_with_another_motion_is_not_timed(monkeypatch):
    monkeypatch.setattr(runge_kutta, "BUILDS", {})
    monkeypatch.setattr(runge_kutta, "largest_difference", lambda ours, theirs: 1e-3)
    with pytest.raises(
        AppellError, match=r"motions of mujoco\.rollout differ from those of appell by 1\.0e-03; they are not timed"
    ):
        measure(4, 1, lambda: None)


def test_the_aim_of_a_ratio_of_times_is_a_maximum():
    figure = Figure("rollouts", "puma", "forward_dynamics", "step", 4.2, "times", 4.5)
    assert (figure.met, figure.value_text, figure.aim_text) == (True, "4.20 times", "≤ 4.50 times")
