"""Controllers exported to C: torques and state are bit-identical to those of `Controller`."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import appell as ap
from appell.compile.native.machine import host
from appell.errors import ArgumentError
from c_libraries import address, library
from open_laws import arm, posture, two_arms

STEPS = 400


@pytest.mark.skipif(not host().has_fma, reason="this machine has no fused multiply-add")
@pytest.mark.parametrize(
    ("robot", "law", "ki"),
    [("puma", "tracking-integral", 300.0), ("agile-wrist", "tracking", 0.0), ("puma", "pid", 40.0)],
)
def test_a_controller_in_c_is_bit_identical_to_the_controller(robot, law, ki, tmp_path):
    """The reference is random, so that torque limits, rate limits and anti-windup are all active."""
    model, rng = ap.load(robot), np.random.default_rng(1)
    gains = ap.control.Gains(kp=400.0, kd=40.0, ki=ki)
    design = ap.control.Design(model, gains, law=law, torque_limit=30.0, torque_rate=2e4, integral_limit=0.002)
    code = design.to_c("arm_control")
    c, controller = library(code, tmp_path), ap.control.Controller(design)
    n, m = model.nv, model.nu
    state, tau = np.full(n + m, np.nan), np.zeros(m)
    c.arm_control_init(address(state))
    controller.reset()
    home = np.array(model.home) if robot == "agile-wrist" else np.zeros(n)
    met = set()
    for _ in range(STEPS):
        q, v = home + rng.uniform(-0.1, 0.1, n), rng.uniform(-1.0, 1.0, n)
        reference = np.array([home + rng.uniform(-0.2, 0.2, n), rng.uniform(-1.0, 1.0, n), rng.uniform(-5.0, 5.0, n)])
        c.arm_control_step(address(state), address(q), address(v), address(reference), address(tau))
        expected = controller(q, v, reference)
        assert np.array_equal(tau, expected)
        assert np.array_equal(state, [*controller.integral, *expected])
        met |= {"torque limit"} if (abs(tau) == 30.0).any() else set()
        met |= {"integral limit"} if (abs(controller.integral) == 0.002).any() else set()
    assert "torque limit" in met or robot == "agile-wrist"
    assert "integral limit" in met or robot == "agile-wrist"


@pytest.mark.skipif(not host().has_fma, reason="this machine has no fused multiply-add")
@pytest.mark.parametrize(
    ("name", "law"),
    [
        ("planar-2r", "operational-space"),
        ("planar-2r", "impedance"),
        ("ur5", "hybrid-force"),
        ("planar-2r", "passivity"),
        ("planar-2r", "adaptive"),
        ("two arms", "two-arms"),
    ],
)
def test_a_law_of_the_whole_state_with_a_contact_observer_in_c_has_the_same_bits(name, law, tmp_path):
    model = {"two arms": two_arms, "ur5": lambda: arm("ur5"), "planar-2r": lambda: ap.load("planar-2r")}[name]()
    home, n, rng = np.array(posture("ur5") if name == "ur5" else model.start), model.nv, np.random.default_rng(2)
    observer = ap.control.ContactObserver(threshold=10.0)
    design = ap.control.Design(model, ap.control.critical(20.0, 1e-3), law, torque_limit=60.0, observer=observer)
    c, controller = library(design.to_c("arm_control"), tmp_path, "-O0"), ap.control.Controller(design)
    state, tau, contact = np.full(design.memory.size, np.nan), np.zeros(model.nu), np.zeros(1)
    c.arm_control_init(address(state))
    assert np.array_equal(state, design.memory.start)
    for k in range(50):
        q, v = home + rng.uniform(-0.05, 0.05, len(home)), rng.uniform(-0.5, 0.5, n)
        target = home[:n] + rng.uniform(-0.05, 0.05, n), rng.uniform(-0.5, 0.5, n), rng.uniform(-5.0, 5.0, n)
        reference = np.array(target)
        sensors = {each: rng.uniform(-20.0, 20.0, size) for each, size in design.sensors.items()}
        expected = controller(q, v, reference, time=0.001 * k, **sensors)
        further = [address(x) for x in (*sensors.values(), *controller.parameters.values(), tau, contact)]
        measured = [address(x) for x in (state, q, v, reference)]
        c.arm_control_step(*measured, ctypes.c_double(0.001 * k), *further)
        assert np.array_equal(tau, expected)
        assert np.array_equal(state, np.concatenate([*controller.memory.values(), expected]))
        assert contact[0] == controller.contact


def test_the_code_is_named_after_the_model_and_states_the_law():
    gains = ap.control.Gains(kp=400.0, kd=40.0)
    code = ap.control.Design(ap.load("puma"), gains).to_c(dtype=np.float32)
    assert code.name == "puma_control"
    assert "law 'tracking'" in code.header
    assert "float integral[6];\n    float before[6];\n} puma_control_state;" in code.header
    with pytest.raises(ArgumentError, match="not an identifier of C"):
        ap.control.Design(ap.load("puma"), gains).to_c("my law")
