"""A log as a device."""

from __future__ import annotations

import numpy as np
import pytest

from appell.describe.load import load
from appell.errors import ArgumentError, DeviceError
from appell.hardware.clock import VirtualClock
from appell.hardware.device import JointCommand, JointState
from appell.hardware.devices import make_device
from appell.motion import Record

T = 0.5 + 0.01 * np.arange(5)
Q = np.arange(10.0).reshape(5, 2)
NAMES = ("shoulder", "elbow")


def record(**blocks) -> Record:
    return Record.of(T, {"q": Q, **blocks}, NAMES)


def test_states_come_at_the_times_of_the_log_and_end_with_it(tmp_path):
    path = tmp_path / "log.csv"
    record(v=2.0 * Q, tau=-Q).write(path)
    clock = VirtualClock(100.0)
    device = make_device("replayed", load("planar-2r"), clock, log=path)
    state = JointState(device.info)
    device.open()
    stamps, rows = [], []
    for time in (100.0, 100.004, 100.01, 100.035, 100.04, 100.05):
        clock.wait_until(time)
        if device.read(state):
            stamps.append(state.stamp)
            rows.append(state.q.tolist() + state.v.tolist() + state.tau.tolist())
    assert stamps == pytest.approx([100.0, 100.01, 100.03, 100.04])
    assert rows == [[*Q[k], *(2.0 * Q[k]), *(-Q[k])] for k in (0, 1, 3, 4)]


def test_quantities_that_the_log_lacks_are_not_measured():
    device = make_device("replayed", load("planar-2r"), VirtualClock(), log=record())
    state = JointState(device.info)
    device.open()
    assert device.info.measures == ("q",)
    assert device.read(state)
    assert not state.v.any()


def test_commands_are_compared_with_the_recorded_torques():
    device = make_device("replayed", load("planar-2r"), VirtualClock(), log=record(tau=-Q), tolerance=0.1)
    command = JointCommand(2)
    device.open()
    device.read(JointState(device.info))
    device.write(command)  # not enabled
    device.enable("torque")
    command.tau[:] = 0.0, -1.05
    device.write(command)
    for wrong in (-1.2, np.nan):
        command.tau[1] = wrong
        with pytest.raises(
            DeviceError, match=rf"actuator 'elbow' at 0.5 s is {wrong} and differs from the recorded -1"
        ):
            device.write(command)


@pytest.mark.parametrize(
    ("log", "options", "text"),
    [
        (Record.of(T, {"q": Q}, ("shoulder", "elbo")), {}, "the log has no actuator 'elbow'. Did you mean 'elbo'"),
        (Record.of(T, {"v": Q}, NAMES), {}, "the log has no positions"),
        (record(), {"tolerance": 1.0}, "the log has no torques to compare with"),
        (record().part(slice(0, 0)), {}, "the times of the log do not increase"),
    ],
)
def test_logs_that_do_not_fit_are_refused(log, options, text):
    with pytest.raises(ArgumentError, match=text):
        make_device("replayed", load("planar-2r"), VirtualClock(), log=log, **options)
