"""A Universal Robot as a device, by RTDE. The robot runs `robot_program`, which executes the commands of the loop.

The controller sends its joint states at 500 Hz (CB3: 125 Hz) with time stamps of its own clock. A state is stamped with
the time of the loop's clock that corresponds to it: the smallest difference of both clocks that was observed, which
belongs to the package with the shortest delay. It grows by `CLOCK_DRIFT`, to follow a controller with a slower clock.

If the commands stop, the watchdog of RTDE ends the robot program, and the controller holds the arm.
"""

from __future__ import annotations

import socket
import struct
import time
from contextlib import suppress

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ArgumentError, DeviceError
from appell.hardware.clock import Clock
from appell.hardware.device import DeviceInfo, DeviceStatus, JointCommand, JointState
from appell.hardware.devices import rtde_protocol as rtde
from appell.hardware.devices.drives import check_finite, check_mode, check_real_time, declared
from appell.hardware.devices.rtde_protocol import Packages, RtdeRecipe, package
from appell.model.system import System

CLOCK_DRIFT = 1e-4  # s per s
CB3_MAJOR_VERSION = 3
DIRECT_TORQUE_VERSION = (5, 22)  # first PolyScope 5 with direct_torque
SAFETY_STATUS = {  # safety_mode of the controller -> status of the device
    **dict.fromkeys((1, 2), DeviceStatus.READY),  # normal, reduced
    **dict.fromkeys((3, 8, 9, 10, 11), DeviceStatus.DRIVE_FAULT),  # protective stop, violation, fault
    **dict.fromkeys((5, 6, 7), DeviceStatus.EMERGENCY_STOP),
}
REPORTED = (rtde.ENABLED_MODE, rtde.LAST_NUMBER, rtde.ADDS_GRAVITY)
OUTPUTS = (
    *("timestamp", "actual_q", "actual_qd", "target_moment", "robot_mode", "safety_mode"),
    *(f"output_int_register_{k}" for k in REPORTED),
)
INPUTS = (
    *(f"input_int_register_{k}" for k in (rtde.NUMBER, rtde.MODE, rtde.JOINT)),
    *(f"input_double_register_{rtde.TARGETS + k}" for k in range(rtde.JOINTS)),
)


def robot_program(heartbeat: float = 0.1) -> str:
    """Return the URScript program that executes the commands of `RtdeRobot`; start it on the robot before the loop.

    Parameters
    ----------
    heartbeat : time in s without a command after which the controller ends the program and holds the arm
    """
    targets = ", ".join(f"read_input_float_register({rtde.TARGETS + k})" for k in range(rtde.JOINTS))
    return f"""def appell_device():
  rtde_set_watchdog("input_int_register_{rtde.NUMBER}", {1.0 / heartbeat:g}, "stop")
  write_output_integer_register({rtde.ADDS_GRAVITY}, 1)
  global mode = 0
  global number = read_input_integer_register({rtde.NUMBER})
  global target = get_actual_joint_positions()
  while True:
    local newest = read_input_integer_register({rtde.NUMBER})
    if newest != number:
      number = newest
      if read_input_integer_register({rtde.MODE}) != mode:
        mode = read_input_integer_register({rtde.MODE})
        stopj(10.0)
        target = get_actual_joint_positions()
        if mode != 1:
          target = [0, 0, 0, 0, 0, 0]
        end
      elif read_input_integer_register({rtde.JOINT}) > 0:
        target[read_input_integer_register({rtde.JOINT}) - 1] = read_input_float_register({rtde.TARGET})
      else:
        target = [{targets}]
      end
    end
    write_output_integer_register({rtde.ENABLED_MODE}, mode)
    write_output_integer_register({rtde.LAST_NUMBER}, number)
    if mode == 1:
      servoj(target, t=get_steptime(), lookahead_time=0.03, gain=500)
    elif mode == 2:
      speedj(target, 10.0, get_steptime())
    elif mode == 3:
      direct_torque(target, friction_comp=False)
    else:
      sync()
    end
  end
end
"""


class RtdeRobot:
    """A robot with six joints that is controlled by RTDE.

    Parameters
    ----------
    system : the robot; its six actuators are the joints of the controller, in their order
    clock : the clock of the loop
    host, port : address of the controller
    timeout : time in s to wait for an answer
    period : time between two states, in s
    heartbeat : heartbeat of the robot program, in s
    """

    def __init__(
        self,
        system: System,
        clock: Clock,
        *,
        host: str = "127.0.0.1",
        port: int = rtde.PORT,
        timeout: float = 2.0,
        period: float = 2e-3,
        heartbeat: float = 0.1,
    ):
        if system.nu != rtde.JOINTS:
            raise ArgumentError(
                f"{system.owner} has {system.nu} actuators and cannot be controlled by RTDE.",
                expected=f"{rtde.JOINTS} actuators",
            )
        self.system, self.clock, self.host, self.port, self.timeout = system, clock, host, port, timeout
        self.address = f"{host}:{port}"
        limits = system.limits
        self.info = DeviceInfo(
            f"rtde {self.address}",
            tuple(system.actuator_names),
            ("position", "velocity", "torque"),
            period,
            latency=2.0 * period,
            heartbeat=heartbeat,
            safe_state="hold",
            speed=declared(limits.speed),
            torque=declared(limits.torque),
        )
        self.version: tuple[int, ...] = ()
        self.discarded = 0  # commands that could not be sent, because the controller did not read them
        self._number, self._mode = 0, ""
        self._offset, self._stamp = np.inf, -np.inf
        self._newest: dict[str, tuple] = {}
        self._answers: dict[int, bytes] = {}

    # ---- connection

    def open(self) -> None:
        """Connect, agree on the variables and wait for the first state."""
        check_real_time(self.info, self.clock)
        try:
            self._socket = socket.create_connection((self.host, self.port), self.timeout)
        except OSError as error:
            problem = f"the robot at {self.address} cannot be reached: {error.strerror or error}."
            raise DeviceError(problem, hint="Check the address, and that RTDE is enabled on the controller.") from None
        try:
            self._agree()
        except (OSError, ValueError, struct.error, DeviceError) as error:
            self._socket.close()
            if isinstance(error, DeviceError):
                raise
            raise self._violation(error) from None

    def _agree(self) -> None:
        self._socket.settimeout(self.timeout)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._packages = Packages()
        self._answers.clear()
        accepted = self._ask(rtde.REQUEST_VERSION, struct.pack(">H", rtde.PROTOCOL_VERSION))
        if accepted != b"\1":
            raise DeviceError(
                f"the robot at {self.address} does not accept version {rtde.PROTOCOL_VERSION} of RTDE.",
                hint="Update the controller to PolyScope 3.10, 5.4 or later.",
            )
        self.version = struct.unpack(">4I", self._ask(rtde.GET_CONTROLLER))
        slowest = 8e-3 if self.version[0] <= CB3_MAJOR_VERSION else 2e-3
        if self.info.period < slowest - 1e-9:
            raise DeviceError(
                f"the robot at {self.address} sends its state every {slowest:g} s, not every {self.info.period:g} s.",
                hint=f"Pass period={slowest:g}.",
            )
        frequency = struct.pack(">d", 1.0 / self.info.period)
        self._outputs = self._recipe(rtde.OUTPUTS, frequency + ",".join(OUTPUTS).encode(), OUTPUTS)
        self._inputs = self._recipe(rtde.INPUTS, ",".join(INPUTS).encode(), INPUTS)
        if self._ask(rtde.START) != b"\1":
            raise DeviceError(f"the robot at {self.address} does not start to send data.")
        self._wait(lambda: bool(self._newest), "send a state")
        self._number = self._register(rtde.LAST_NUMBER)
        self._socket.setblocking(False)

    def _ask(self, kind: int, content: bytes = b"") -> bytes:
        """Send a request and return the content of its answer."""
        self._socket.sendall(package(kind, content))
        until = time.monotonic() + self.timeout
        while time.monotonic() < until:
            self._handle(self._receive())
            if kind in self._answers:
                return self._answers.pop(kind)
        raise DeviceError(f"the robot at {self.address} did not answer within {self.timeout:g} s.")

    def _recipe(self, kind: int, content: bytes, names: tuple[str, ...]) -> RtdeRecipe:
        answer = self._ask(kind, content)
        types = answer[1:].decode("ascii").split(",")
        refused = [f"{name} ({kind})" for name, kind in zip(names, types, strict=False) if kind not in rtde.FORMATS]
        if refused or len(types) != len(names):
            raise DeviceError(
                f"the robot at {self.address} refuses the variables {', '.join(refused) or 'of the recipe'}.",
                hint="Stop other RTDE clients that use them." if "IN_USE" in types else "Update the controller.",
            )
        recipe = RtdeRecipe(answer[0], names, types)
        if kind == rtde.OUTPUTS:
            self._outputs = recipe
        return recipe

    def _receive(self) -> bytes:
        """Return received bytes; raise a DeviceError if the connection is closed or does not answer."""
        try:
            received = self._socket.recv(1 << 16)
        except TimeoutError:
            raise DeviceError(f"the robot at {self.address} did not answer within {self.timeout:g} s.") from None
        except BlockingIOError:
            raise
        except OSError as error:
            raise DeviceError(f"the connection to the robot at {self.address} is lost: {error.strerror}.") from None
        if not received:
            raise DeviceError(f"the robot at {self.address} has closed the connection.")
        return received

    def _violation(self, error: Exception) -> DeviceError:
        return DeviceError(
            f"the robot at {self.address} does not follow RTDE: {error}.", hint="Check address and port of the robot."
        )

    def _wait(self, condition, what: str) -> None:
        """Handle packages until a condition holds; raise a DeviceError after the timeout."""
        until = time.monotonic() + self.timeout
        self._socket.settimeout(self.timeout)
        while not condition():
            if time.monotonic() > until:
                raise DeviceError(
                    f"the robot at {self.address} did not {what} within {self.timeout:g} s.",
                    hint="Start the program of `robot_program` on the robot.",
                )
            self._handle(self._receive())

    def _handle(self, received: bytes) -> None:
        for kind, content in self._packages.feed(received):
            if kind == rtde.DATA:
                self._take(content)
            else:
                self._answers[kind] = content

    def _take(self, content: bytes) -> None:
        values = self._outputs.unpack(content)
        difference = self.clock.now() - values["timestamp"][0]
        elapsed = max(0.0, values["timestamp"][0] - self._newest.get("timestamp", (np.inf,))[0])
        self._offset = min(self._offset + CLOCK_DRIFT * elapsed, difference)
        self._newest = values

    def _register(self, k: int) -> int:
        return self._newest[f"output_int_register_{k}"][0]

    # ---- device

    def read(self, state: JointState) -> bool:
        """Take the newest state that has arrived; raise a DeviceError if the connection is lost."""
        try:
            while True:
                self._handle(self._receive())
        except BlockingIOError:
            pass
        except (ValueError, struct.error) as error:
            raise self._violation(error) from None
        values = self._newest
        (stamp,) = values["timestamp"]
        if not stamp > self._stamp:
            return False
        self._stamp = stamp
        state.stamp = stamp + self._offset
        state.q[:], state.v[:], state.tau[:] = values["actual_q"], values["actual_qd"], values["target_moment"]
        status = SAFETY_STATUS.get(values["safety_mode"][0], DeviceStatus.DRIVE_FAULT)
        if values["robot_mode"][0] != 7:  # not running
            status |= DeviceStatus.NO_POWER
        elif self._mode and self._register(rtde.ENABLED_MODE) != rtde.MODE_NUMBERS[self._mode]:
            status |= DeviceStatus.WATCHDOG
        state.status = int(status)
        return True

    def write(self, command: JointCommand) -> None:
        """Send a command in the enabled mode; one that is not finite raises an ArgumentError and disables the robot."""
        if not self._mode:
            return
        check_finite(self, command, self._mode)
        targets = {"position": command.q, "velocity": command.v, "torque": command.tau}[self._mode]
        if self._mode == "torque" and self._register(rtde.ADDS_GRAVITY):
            targets = targets - self._gravity(self._newest["actual_q"])
        self._send(self._mode, targets.tolist())

    def _send(self, mode: str, targets: list[float], number: int | None = None) -> None:
        self._number = (self._number + 1) % (1 << 31)
        registers = (self._number, rtde.MODE_NUMBERS[mode] if number is None else number, 0, *targets)
        message = self._inputs.pack(dict(zip(INPUTS, registers, strict=True)))
        try:
            if self._socket.send(message) != len(message):
                raise DeviceError(f"the robot at {self.address} does not read its commands.")
        except BlockingIOError:
            self.discarded += 1
        except OSError as error:
            raise DeviceError(f"the connection to the robot at {self.address} is lost: {error.strerror}.") from None

    def enable(self, mode: str) -> None:
        """Enable a mode of the robot program, and wait until it reports this mode."""
        check_mode(self.info, mode)
        if mode == "torque":
            if self.version[:2] < DIRECT_TORQUE_VERSION:
                version, needed = (".".join(map(str, v)) for v in (self.version[:2], DIRECT_TORQUE_VERSION))
                raise DeviceError(
                    f"the robot at {self.address} has software {version} and does not offer torque mode.",
                    expected=f"version {needed} or later",
                )
            if self._register(rtde.ADDS_GRAVITY):
                dynamics = Dynamics(self.system)
                zero = np.zeros(self.system.nv)
                self._gravity = lambda q: np.asarray(dynamics.inverse_dynamics(np.array(q), zero, zero))
        self._mode = ""
        self._send(mode, [0.0] * rtde.JOINTS)
        try:
            self._wait(lambda: self._register(rtde.ENABLED_MODE) == rtde.MODE_NUMBERS[mode], f"enable mode '{mode}'")
        finally:
            self._socket.setblocking(False)
        self._mode = mode

    def disable(self) -> None:
        """Switch the robot program off; without a connection its watchdog does this."""
        self._mode = ""
        self._try_send(0)

    def clear(self) -> None:
        """Request the reset of a fault of a simulated robot; on a real one, unlock the stop on its panel."""
        self._mode = ""
        self._try_send(rtde.RESET)

    def _try_send(self, number: int) -> None:
        with suppress(DeviceError, AttributeError):  # lost, or never opened
            self._send("", [0.0] * rtde.JOINTS, number)

    def close(self) -> None:
        """Disable the robot and disconnect."""
        self.disable()
        if hasattr(self, "_socket"):
            self._socket.close()
