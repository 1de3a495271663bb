"""The control loop on devices: modes, devices that misbehave, a user's own class, and sentences that name the joint."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import appell as ap
from appell.cli.main import app
from appell.errors import ArgumentError
from appell.hardware.device import MODES, DeviceStatus, JointState
from appell.hardware.loop.summary import summarize
from appell.hardware.loop.supervisor import Fault, Policy, State
from appell.motion.working_limits import WorkingLimits
from robots import example_urdfs

hw = ap.hardware
PERIOD = 1e-3


@pytest.fixture(scope="module")
def robot():
    return ap.load("planar-2r")


def loop_of(robot, log=None, arm=None, policy=None, **options):
    clock = hw.VirtualClock()
    device = (arm or hw.SimulatedArm)(robot, clock)
    servo = hw.standard_servo(robot, device.info, **options)
    return hw.Loop(device, servo, clock, policy or Policy(), log=log)


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_follows_the_default_motion_and_its_log_replays_bit_by_bit(robot, mode, tmp_path):
    loop = loop_of(robot, tmp_path / "run.log", mode=mode)
    outcome = hw.run_task(loop, hw.standard_motion(loop.servo))
    loop.close()
    assert outcome.finished, outcome.sentence
    log = ap.Record.read(tmp_path / "run.log")
    assert np.abs(log["q"] - log["qd"]).max() < 2e-3
    assert np.ptp(log["qd"], axis=0).min() > 0.1  # it did move
    assert ("qc" in log.quantities) == (mode != "torque")
    assert hw.first_difference(log, hw.replay(log, hw.logged_servo(log, robot))) is None


@pytest.mark.parametrize("mode", MODES)
def test_a_stop_in_every_mode_brakes_smoothly_to_rest(robot, mode):
    loop = loop_of(robot, mode=mode)
    loop.run(25)
    loop.arm()
    loop.start(hw.standard_motion(loop.servo)(loop.position))
    loop.run(500)
    speed, position = np.abs(loop.device.v).max(), loop.device.q
    loop.stop()
    loop.run(int(loop.supervisor.policy.stop_time / PERIOD))
    assert speed > 0.3
    assert loop.state is State.ARMED
    distance = np.abs(loop.device.q - position).max()
    assert distance == pytest.approx(speed / loop.servo.design.stop_damping, rel=0.2)


def test_a_mode_that_the_device_lacks_is_refused_with_those_it_has(robot):
    info = replace(hw.SimulatedArm(robot, hw.VirtualClock()).info, modes=("position", "velocity"))
    with pytest.raises(ArgumentError, match="no mode 'torque'") as error:
        hw.standard_servo(robot, info)
    assert "position, velocity" in str(error.value)


class Bad(hw.SimulatedArm):
    """An arm that misbehaves from t = 0.1 s on."""

    def after(self, state: JointState) -> bool:
        return True

    def read(self, state: JointState) -> bool:
        arrived = super().read(state)
        return self.after(state) if self.time > 0.1 else arrived


class Silent(Bad):
    def after(self, state):
        return False


class NotANumber(Bad):
    def after(self, state):
        state.q[1] = np.nan
        return True


class Repeated(Bad):
    def after(self, state):
        state.stamp = 0.1
        return True


class Old(Bad):
    def after(self, state):
        state.stamp -= 0.05
        return True


class Hot(Bad):
    def after(self, state):
        state.faults[1] = DeviceStatus.HOT
        return True


class Pressed(Bad):
    def after(self, state):
        state.status = DeviceStatus.EMERGENCY_STOP
        return True


class Offset(Bad):
    def after(self, state):
        state.q[1] += 0.3
        return True


@pytest.mark.parametrize(
    ("arm", "fault", "words"),
    [
        (
            Silent,
            Fault.STALE,
            "the simulated planar-2r sent no new state for more than 5 periods: check its connection",
        ),
        (NotANumber, Fault.NOT_A_NUMBER, "measured a position of 'elbow' that is not a number"),
        (Repeated, Fault.STALE, "sent a state with the stamp 0.1 s after one with"),
        (Old, Fault.STALE, "after one with"),
        (Hot, Fault.TEMPERATURE, "the motor is too hot (joint 'elbow'): let it cool down"),
        (Pressed, Fault.EMERGENCY_STOP, "the emergency stop was pressed"),
        (
            Offset,
            Fault.FOLLOWING,
            "joint 'elbow' was 0.3 rad away from its reference, more than its limit of",
        ),
    ],
)
def test_a_device_that_misbehaves_is_stopped_and_the_log_names_the_reason(robot, arm, fault, words, tmp_path):
    loop = loop_of(robot, tmp_path / "run.log", arm)
    outcome = hw.run_task(loop, hw.standard_motion(loop.servo))
    loop.run(20)
    loop.close()
    assert not outcome.finished
    assert outcome.state is State.FAULT
    assert loop.fault & fault
    assert words in outcome.sentence
    assert any(words in line for line in loop.history)
    assert not loop.device.drives.mode
    log = ap.Record.read(tmp_path / "run.log")
    assert len(log) == outcome.ticks + 20
    assert (words in summarize(log).fault) == (fault is not Fault.STALE or arm is Silent)


def test_a_device_that_never_measures_a_number_cannot_be_armed(robot):
    class Broken(hw.SimulatedArm):
        def read(self, state):
            super().read(state)
            state.q[0] = np.nan
            return True

    loop = loop_of(robot, arm=Broken)
    loop.run(30)
    with pytest.raises(ArgumentError, match=r"state FAULT .*measured a position of 'shoulder' that is not a number"):
        loop.arm()


def test_a_device_with_other_joints_is_refused_by_name(robot):
    info = replace(hw.SimulatedArm(robot, hw.VirtualClock()).info, actuators=("shoulder", "wrist"))
    with pytest.raises(ArgumentError, match="has the actuators shoulder, wrist: 'wrist' for 'elbow'"):
        hw.standard_servo(robot, info)


def test_a_velocity_beyond_its_limit_names_joint_value_limit_and_remedy(robot):
    loop = loop_of(robot, velocity=[3.0, 0.4])
    loop.run(25)
    loop.arm()
    loop.start(hw.standard_motion(loop.servo)(loop.position))
    loop.run(50)
    loop.device._bound.state_next[3] += 1.0  # rad/s, as if the arm were hit
    loop.run(3)
    assert "joint 'elbow' moved at" in loop.sentence
    assert "above its limit of 0.4 rad/s: lower the speed of the reference" in loop.sentence


USER_MODULE = '''
from appell.hardware import SimulatedArm

class Arm(SimulatedArm):
    """A user's own device."""

class Incomplete:
    def __init__(self, robot, clock): ...
'''


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_robot_for_test.py").write_text(USER_MODULE)

    def invoke(*arguments: str):
        return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["control", "run", "planar-2r", *arguments])

    return invoke


def test_a_users_class_runs_from_the_command_line(run, tmp_path):
    result = run(
        "--device", "my_robot_for_test:Arm", "--option", "heartbeat=0.05", "--log", "a.log", "--mode", "velocity"
    )
    assert result.exit_code == 0, result.output
    assert ap.Record.read("a.log").about["device"]["heartbeat"] == 0.05


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--device", "my_robott"), "has no device 'my_robott'"),
        (("--device", "missing_module:Arm"), "there is no module 'missing_module' for device"),
        (("--device", "my_robot_for_test:Arms"), "has no class 'Arms'. Did you mean 'Arm'?"),
        (("--device", "my_robot_for_test:Incomplete"), "lacks the methods open, read, write, enable"),
        (("--device", "my_robot_for_test:Arm", "--option", "speed=1"), "cannot be made with the options speed"),
        (("--fault", "power-loss@1", "--device", "simulated"), "faults cannot be injected into device 'simulated'"),
        (("--mode", "cartesian"), "has no mode 'cartesian'"),
    ],
)
def test_invalid_devices_are_reported_by_name(run, arguments, words):
    result = run(*arguments)
    assert result.exit_code == 1
    assert words in result.output.replace("\n", " ")


@pytest.mark.parametrize("name", ["z1", "double_pendulum"])
def test_robots_of_others_finish_with_default_settings(name, tmp_path, monkeypatch):
    """z1 starts outside its limits by rounding; the limits of double_pendulum are 0 to 0."""
    monkeypatch.chdir(tmp_path)
    path = next(path for path in example_urdfs() if path.stem == name)
    result = CliRunner().invoke(app, ["control", "run", str(path), "--no-physical"])
    assert result.exit_code == 0, result.output


def test_a_joint_whose_motor_cannot_overcome_its_friction_is_named_and_not_moved(robot):
    """The gripper of talos_left_arm has 1 N m of torque and 1 N m of dry friction."""
    weak = {"torque": 100.0}, {"torque": 10.0, "friction": ap.Friction(coulomb=9.0)}
    arm = robot.with_actuators(dict(zip(robot.actuator_names, weak, strict=True)))
    with pytest.warns(ap.LimitWarning, match="'elbow' is not moved: its torque limit of 10 N m or N leaves too little"):
        motion = hw.standard_motion(hw.standard_servo(arm))
    moved = np.ptp(motion(robot.start).q, axis=0)
    assert moved[0] > 0.1
    assert moved[1] < 1e-12


def test_limits_that_are_not_described_follow_rules_and_are_named(robot):
    limits = WorkingLimits.of(robot)
    assert limits.speed.tolist() == [1.5, 1.5]
    assert (limits.torque > 0.0).all()
    with pytest.warns(ap.LimitWarning, match="no torque limit of shoulder, elbow"):
        hw.make_device("simulated", robot, hw.VirtualClock())
    described = robot.with_actuators(lambda name, _: ap.Actuator(torque=7.0, speed=2.0))
    assert WorkingLimits.of(described).torque.tolist() == [7.0, 7.0]
    assert np.allclose(hw.standard_servo(described).guard.velocity, 2.2)
