"""Control laws that users write: what they can compute with, their parameters, and errors that name the cause."""

from __future__ import annotations

import re
import sys
from dataclasses import replace

import numpy as np
import pytest

import appell as ap
from appell.control import Controller, Design, critical
from appell.control.laws import find_law
from appell.errors import ArgumentError, ModelError, TraceError

TARGET = np.array([[0.4, -0.3], [0.0, 0.0], [0.0, 0.0]])


@ap.control.law(memory={"sum": [0.5, 0.0]}, sensors={"load": 1}, parameters={"gain": [3.0, 2.0], "rate": 1.0})
def summing(dyn, state):
    error = state.q - state.q_d
    tau = dyn.gravity(state.q) + state.sensors["load"] - state.parameters["gain"] * error - state.memory["sum"]
    return tau + state.t + state.tau, {"sum": state.memory["sum"] + state.period * state.parameters["rate"] * error}


@pytest.fixture
def arm():
    return ap.load("planar-2r")


def test_a_law_computes_with_state_time_memory_sensors_parameters_and_the_last_torque(arm):
    controller = Controller(Design(arm, law=summing, torque_limit=np.inf))
    q, v, dyn = np.array([0.1, 0.2]), np.zeros(2), ap.Dynamics(arm)
    error, before = q - TARGET[0], 0.0
    total = np.array([0.5, 0.0])
    for k in range(3):
        tau = controller(q, v, TARGET, time=0.1 * k, load=[2.0]).copy()
        gain = controller.parameters["gain"]
        np.testing.assert_allclose(tau, dyn.gravity(q) + 2.0 - gain * error - total + 0.1 * k + before, rtol=1e-14)
        total, before = total + 1e-3 * error, tau
        controller.parameters["gain"][:] = [30.0, 20.0]  # data, not a compiled constant
    np.testing.assert_allclose(controller.memory["sum"], total, rtol=1e-14)
    controller.reset()
    assert controller.memory["sum"].tolist() == [0.5, 0.0]


def test_a_stop_replaces_the_torques_of_a_law_and_keeps_its_memory(arm):
    """The guard brakes the arm by inverse dynamics, whatever the law does."""
    design = Design(arm, law=summing, torque_limit=np.inf)
    q, v = [0.1, 0.2], [0.5, -0.4]
    options = {"sensors": {"load": [2.0]}, "stopping": 1.0}
    step = design.step(q, v, TARGET.tolist(), design.memory.start.tolist(), **options)
    other = Design(arm, critical(10.0), "pd-gravity", torque_limit=np.inf)
    same = other.step(q, v, TARGET.tolist(), other.memory.start.tolist(), stopping=1.0)
    np.testing.assert_allclose(step.tau, same.tau, rtol=1e-12)
    assert step.memory[:2] == [0.5, 0.0]


def test_a_law_of_a_users_module_is_found_by_its_name(tmp_path, monkeypatch):
    law = "@ap.control.law()\ndef hold(dyn, state):\n    return dyn.gravity(state.q)\n"
    text = f"import appell as ap\n\n{law}\nother = 3\n"
    (tmp_path / "my_open_laws.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert find_law("my_open_laws:hold").name == "hold"
    assert Design(ap.load("planar-2r"), law="my_open_laws:hold").law is sys.modules["my_open_laws"].hold
    for name, problem in {
        "my_open_laws:hould": "cannot be imported",
        "no_such_module:law": "cannot be imported: No module named 'no_such_module'",
        "my_open_laws:other": "is a int, not a control law",
        "trakcing": "Did you mean 'tracking'",
    }.items():
        with pytest.raises(ArgumentError, match=re.escape(problem)):
            find_law(name)
    assert "" not in sys.path or sys.path.count("") <= 1


def branching(dyn, state):
    if state.q[0] > 0.0:
        return dyn.gravity(state.q)
    return -state.v


def failing(dyn, state):
    return np.linalg.solve(dyn.mass_matrix(state.q), state.v)


@pytest.mark.parametrize(
    ("function", "options", "problem"),
    [
        (
            branching,
            {},
            r"law 'branching' cannot be traced. Line \d+ of test_user_laws.py, `if state.q\[0\] > 0.0:`: the value",
        ),
        (failing, {}, r"law 'failing' cannot be traced. Line \d+ of test_user_laws.py, `return np.linalg.solve"),
        (lambda dyn, state: state.v[:1], {}, r"returned shape \(1,\)"),
        (lambda dyn, state: None, {}, "returned None"),
        (lambda dyn, state: state.v, {"memory": {"sum": 2}}, "has a memory, but returned only one result"),
        (lambda dyn, state: (state.v, {"sum": [1.0]}), {"memory": {"sum": 2}}, r"memory 'sum' returned shape \(1,\)"),
        (lambda dyn, state: state.sensors["wrench"], {}, "KeyError: 'wrench'"),
    ],
)
def test_a_law_that_cannot_be_traced_is_reported_with_its_line_and_the_reason(arm, function, options, problem):
    law = ap.control.law(**options)(function)
    with pytest.raises(TraceError, match=problem):
        Controller(Design(arm, law=law))


def test_wrong_options_of_laws_are_refused(arm):
    gains = critical(10.0)
    two = lambda dyn, state: (state.v, {"other": state.v})  # noqa: E731 - a law of one line
    cases = {
        "law 'summing' names an array 'q'": lambda: ap.control.law(memory={"q": 2}, name="summing")(branching),
        "Did you mean 'gain'": lambda: Design(arm, law=summing, parameters={"gian": 1.0}),
        "parameter 'gain' of law 'summing' has 3 numbers": lambda: Design(
            arm, law=summing, parameters={"gain": [1] * 3}
        ),
        "parameter 'rate' of law 'summing' is nan": lambda: Design(arm, law=summing, parameters={"rate": np.nan}),
        "has gains instead of parameters": lambda: Design(arm, gains, "tracking", parameters={"kp": 1.0}),
        "no gains are given for law 'tracking'": lambda: Design(arm, law="tracking"),
        "block of memory": lambda: Controller(Design(arm, law=ap.control.law(memory={"sum": 2})(two))),
        "sensor 'load' of law 'summing' is not given": lambda: Controller(Design(arm, law=summing))(
            *[[0, 0]] * 2, TARGET
        ),
        "sensor 'push' of law": lambda: Controller(Design(arm, gains))(*[[0, 0]] * 2, TARGET, push=1.0),
        "is not a law of joints": lambda: ap.control.linearize_closed_loop(
            Controller(Design(arm, gains, "passivity")), arm, [0.1, 0.2]
        ),
        "which are not available in simulate": lambda: Controller(Design(arm, law=summing)).continuous(
            lambda t: TARGET
        ),
        "threshold of joint": lambda: Design(arm, gains, observer=ap.control.ContactObserver(-1.0)),
        "the bandwidth of the contact observer": lambda: ap.control.ContactObserver(1.0, bandwidth=0.0),
        "residuals have shape": lambda: ap.control.noise_thresholds(np.zeros((3, 2))),
    }
    for problem, call in cases.items():
        with pytest.raises(ArgumentError, match=problem):
            call()


def test_a_contact_observer_changes_neither_the_torques_nor_the_poles_of_a_law(arm):
    gains = critical(10.0, 1e-3)
    plain, watched = (
        Controller(Design(arm, gains, observer=observer)) for observer in (None, ap.control.ContactObserver(1.0))
    )
    assert np.array_equal(plain([0.1, 0.2], [0.3, 0.4], TARGET), watched([0.1, 0.2], [0.3, 0.4], TARGET))
    poles = [ap.control.linearize_closed_loop(each, arm, [0.1, 0.2]).poles for each in (plain, watched)]
    assert np.array_equal(*poles)


def test_laws_of_frames_and_of_two_arms_refuse_other_robots(arm):
    five_bar = ap.load("five-bar")
    with pytest.raises(ModelError, match="the law of a frame does not apply"):
        Design(five_bar, critical(10.0), "impedance")
    with pytest.raises(ModelError, match="law 'two-arms' does not apply to robot 'planar-2r'"):
        Controller(Design(arm, critical(10.0), "two-arms"))
    with pytest.raises(ModelError, match="Did you mean 'tool'"):
        Controller(Design(arm, critical(10.0), ap.control.operational_space("tol")))


def test_a_law_receives_the_sensors_of_a_device_and_the_time_in_the_control_loop(arm):
    @ap.control.law(memory={"seen": 1, "clock": 1}, sensors={"load": 1})
    def watching(dyn, state):
        tau = dyn.inverse_dynamics(state.q, state.v, state.a_d - 40.0 * (state.v - state.v_d))
        return tau, {"seen": state.memory["seen"] + state.sensors["load"], "clock": [state.t]}

    class Sensing(ap.hardware.SimulatedArm):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            self.info = replace(self.info, sensors={"load": 1})

        def read(self, state):
            state.sensors["load"][:] = 2.5
            return super().read(state)

    hw, clock = ap.hardware, ap.hardware.VirtualClock()
    device = Sensing(arm, clock)
    with pytest.raises(ArgumentError, match="needs the sensor 'load' with 1 numbers"):
        hw.standard_servo(arm, law=watching)
    servo = hw.standard_servo(arm, device.info, law=watching)
    loop = hw.Loop(device, servo, clock)
    loop.run(25)
    loop.arm()
    loop.start(hw.Reference.hold(loop.position, 1e-3, 1.0))
    loop.run(20)
    memory = servo.memory.named(loop._tick.memory_next)
    assert loop.state is hw.State.RUNNING
    assert memory["seen"][0] == 20 * 2.5
    assert memory["clock"][0] == pytest.approx(clock.now())
    loop.close()
