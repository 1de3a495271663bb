"""MuJoCo as the robot: an independent plant with drives, heartbeat and a wrench sensor."""

from __future__ import annotations

import numpy as np
import pytest

from appell.dynamics import Dynamics
from appell.errors import ArgumentError, DescriptionError, DeviceError
from appell.hardware.clock import VirtualClock
from appell.hardware.device import DeviceStatus, JointCommand, JointState
from appell.hardware.devices import make_device
from appell.hardware.devices.mujoco import MujocoArm
from served_robots import START, ur5

PRESS = """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 0.1">
<joint name="lift" type="slide" axis="0 0 1"/><geom type="sphere" size="0.1" mass="2"/><site name="tip"/>
</body></worldbody><actuator><position joint="lift" kp="1e4" forcerange="-50 50"/></actuator></mujoco>"""

ACROBOT = """<mujoco><worldbody><body><joint name="shoulder" axis="0 1 0"/><geom size="0.1 0.1 0.1" type="box"/>
<body pos="0 0 -1"><joint name="elbow" axis="0 1 0"/><geom size="0.1 0.1 0.1" type="box"/></body></body></worldbody>
<actuator><motor joint="elbow"/></actuator></mujoco>"""


def run(device, clock: VirtualClock, command: JointCommand, state: JointState, seconds: float) -> None:
    for _ in range(round(seconds / 1e-3)):
        clock.wait_until(clock.now() + 1e-3)
        device.read(state)
        device.write(command)


def opened(**options) -> tuple[MujocoArm, VirtualClock, JointState, JointCommand]:
    clock = VirtualClock(5.0)
    device = make_device("mujoco", ur5(), clock, start=START, **options)
    device.open()
    state, command = JointState(device.info), JointCommand(len(device.info.actuators))
    assert device.read(state)
    return device, clock, state, command


def test_torques_accelerate_the_arm_as_the_equations_of_motion_say():
    device, clock, state, command = opened()
    q = state.q.copy()
    device.enable("torque")
    command.tau[:] = 3.0, -40.0, -5.0, 1.0, 0.2, 0.1
    device.write(command)
    clock.wait_until(5.001)
    assert device.read(state)
    assert not device.read(state)  # no step has passed since
    expected = Dynamics(ur5()).forward_dynamics(q, np.zeros(6), command.tau)
    assert state.stamp == pytest.approx(5.001)
    assert state.v / 1e-3 == pytest.approx(expected, rel=1e-6, abs=1e-6)  # one step of semi-implicit Euler from rest
    assert state.tau.tolist() == command.tau.tolist()


def test_position_velocity_and_impedance_modes_reach_their_targets():
    device, clock, state, command = opened()
    target = state.q + 0.1
    device.enable("position")
    command.q[:] = target
    run(device, clock, command, state, 0.3)
    assert state.q == pytest.approx(target, abs=1e-3)
    device.enable("velocity")
    command.v[:] = 0.2
    run(device, clock, command, state, 0.2)
    assert state.v == pytest.approx(0.2, abs=1e-3)
    device.enable("impedance")
    command.q[:], command.v[:] = target, 0.0
    command.kp[:], command.kd[:] = [300, 300, 300, 20, 20, 2], [40, 40, 20, 1, 1, 0.04]  # the wrist is light
    command.tau[:] = Dynamics(ur5()).gravity(target)
    run(device, clock, command, state, 1.5)
    assert state.q[:3] == pytest.approx(target[:3], abs=1e-2)


def test_without_commands_the_drives_enter_their_safe_state_until_the_fault_is_cleared():
    for safe_state in ("zero torque", "hold"):
        device, clock, state, command = opened(safe_state=safe_state, heartbeat=0.02)
        device.enable("position")
        command.q[:] = state.q
        run(device, clock, command, state, 0.05)
        clock.wait_until(clock.now() + 0.018)
        device.read(state)
        assert state.status == DeviceStatus.READY
        clock.wait_until(clock.now() + 0.004)
        device.read(state)
        assert state.status == DeviceStatus.WATCHDOG
        if safe_state == "zero torque":
            assert not state.tau.any()
        else:
            assert state.q == pytest.approx(command.q, abs=1e-6)
        with pytest.raises(DeviceError, match="has a fault"):
            device.enable("torque")
        device.clear()
        device.enable("torque")


def test_a_command_that_is_not_finite_is_a_fault_of_that_drive():
    device, clock, state, command = opened()
    device.enable("torque")
    command.tau[2] = np.nan
    command.q[:] = np.nan  # torque mode does not use positions
    run(device, clock, command, state, 0.01)
    assert state.faults.tolist() == [0, 0, DeviceStatus.DRIVE_FAULT, 0, 0, 0]
    assert np.isfinite(state.q).all()


def test_the_wrench_sensor_measures_the_force_of_a_contact(tmp_path):
    path = tmp_path / "press.xml"
    path.write_text(PRESS)
    clock = VirtualClock()
    device = MujocoArm(path, clock, wrench="tip", heartbeat=0.5)
    assert device.info.actuators == ("lift",)
    assert device.info.torque == (50.0,)
    device.open()
    state, command = JointState(device.info), JointCommand(1)
    device.enable("torque")
    command.tau[0] = -30.0
    run(device, clock, command, state, 0.4)
    contact = 30.0 + 2.0 * 9.81
    assert state.sensors["wrench"][2] == pytest.approx(contact - 2.0 * 9.81, rel=1e-3)
    assert device.data.qfrc_constraint[0] == pytest.approx(contact, rel=1e-3)


def test_a_floor_can_be_added_to_the_model_of_a_robot():
    device, *_ = opened(edit=lambda spec: spec.worldbody.add_geom(name="floor", type=0, size=[1, 1, 1]))
    assert device.model.ngeom == 1


def test_a_robot_with_joints_that_are_not_driven_offers_only_torque_and_impedance(tmp_path):
    path = tmp_path / "acrobot.xml"
    path.write_text(ACROBOT)
    device = MujocoArm(path, VirtualClock())
    assert device.info.actuators == ("elbow",)
    assert device.info.modes == ("torque", "impedance")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"wrench": "tol0"}, "has no frame 'tol0'. Did you mean 'tool0'"),
        ({"start": {"elbow": 1.0}}, "has no joint 'elbow'. Did you mean 'elbow_joint'"),
    ],
)
def test_unknown_frames_and_joints_are_named(options, text):
    with pytest.raises(ArgumentError, match=text):
        MujocoArm(ur5(), VirtualClock(), **options)


def test_a_missing_mode_and_a_bad_model_are_named(tmp_path):
    device, *_ = opened()
    with pytest.raises(ArgumentError, match="has no mode 'force'"):
        device.enable("force")
    (tmp_path / "bad.xml").write_text("<mujoco><worldbody>")
    with pytest.raises(DescriptionError, match="MuJoCo cannot read the model"):
        MujocoArm(tmp_path / "bad.xml", VirtualClock())
    (tmp_path / "none.xml").write_text("<mujoco/>")
    with pytest.raises(DescriptionError, match="no hinge or slide"):
        MujocoArm(tmp_path / "none.xml", VirtualClock())
