"""A simulated Universal Robot: an RTDE server around a device with six actuators.

It answers the requests of RTDE clients as a controller does, and executes the commands of `rtde_protocol` as the robot
program would. Variables that the device does not have are zero. A client that disconnects while it commands the robot
disables it; one that stops sending is left to the heartbeat of the device.
"""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from appell.errors import ArgumentError, DeviceError
from appell.hardware.device import DeviceInfo, JointState
from appell.hardware.devices import rtde_protocol as rtde
from appell.hardware.devices.rtde_protocol import Packages, RtdeRecipe, package
from appell.hardware.devices.serving import ServedDevice

CONTROLLER_VERSION = (5, 25, 0, 0)
MAX_PENDING_BYTES = 1 << 16  # of a client that does not read, after which it is disconnected
ROBOT_RUNNING, SAFETY_NORMAL, SAFETY_PROTECTIVE_STOP = 7, 1, 3
PROGRAM_STOPPED, PROGRAM_PLAYING = 1, 2
JOINT_RUNNING = 253
MODES = {number: mode for mode, number in rtde.MODE_NUMBERS.items()}


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address; port 0 is any free port."""
    try:
        return socket.create_server((host, port))
    except OSError as error:
        problem = f"the server cannot listen at {host}:{port}: {error.strerror or error}."
        raise DeviceError(problem, hint="Choose another address, or port 0 for any free port.") from None


@dataclass(eq=False)
class Client:
    """A connection, its recipes and the bytes that could not be sent yet."""

    socket: socket.socket
    packages: Packages = field(default_factory=Packages)
    outputs: list[tuple[RtdeRecipe, float]] = field(default_factory=list)  # recipes and their periods in s
    due: list[float] = field(default_factory=list)  # time stamps of the next packages
    inputs: list[RtdeRecipe] = field(default_factory=list)
    version: int = 1
    started: bool = False
    pending: bytearray = field(default_factory=bytearray)


class RtdeServer:
    """The RTDE side of a simulated robot; an `Endpoint` for `serve`.

    Parameters
    ----------
    info : description of the served device, which must have six actuators
    host, port : str and int
        Address to listen at; `port` 0 is any free port, found in `address`.
    tool : callable, optional
        `tool(q)` returns the pose of the tool, of shape (6,): position in m and rotation vector in rad.
    """

    def __init__(
        self,
        info: DeviceInfo,
        host: str = "127.0.0.1",
        port: int = rtde.PORT,
        tool: Callable[[np.ndarray], np.ndarray] | None = None,
    ):
        if len(info.actuators) != rtde.JOINTS:
            raise ArgumentError(
                f"device '{info.name}' has {len(info.actuators)} actuators and cannot be served by RTDE.",
                expected=f"{rtde.JOINTS} actuators",
            )
        self.info, self.tool = info, tool
        self.ints, self.doubles = [0] * 48, [0.0] * 48  # input registers
        self.clients: list[Client] = []
        self._socket = listen(host, port)
        self._socket.setblocking(False)
        self.address = self._socket.getsockname()
        self._origin: float | None = None

    def exchange(self, drive: ServedDevice, deadline: float) -> None:
        """Handle messages until the deadline."""
        while True:
            wait = max(0.0, deadline - time.monotonic())
            readable, _, _ = select.select([self._socket, *(client.socket for client in self.clients)], [], [], wait)
            for client in [client for client in self.clients if client.socket in readable]:
                self._receive(client, drive)
            if self._socket in readable:
                self._accept()
            if not readable or wait == 0.0:
                return

    def _accept(self) -> None:
        try:
            connection, _ = self._socket.accept()
        except OSError:  # the client has given up
            return
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.clients.append(Client(connection))

    def _receive(self, client: Client, drive: ServedDevice) -> None:
        try:
            received = client.socket.recv(1 << 16)
            if not received:
                return self._drop(client, drive)
            for kind, content in client.packages.feed(received):
                self._handle(client, kind, content, drive)
        except BlockingIOError:
            pass
        except (OSError, ValueError, UnicodeError, struct.error):  # the connection is broken, or this is not RTDE
            self._drop(client, drive)
        return None

    def _drop(self, client: Client, drive: ServedDevice | None) -> None:
        if client not in self.clients:
            return
        self.clients.remove(client)
        client.socket.close()
        if drive is not None and drive.mode and any(_commands(recipe) for recipe in client.inputs):
            drive.set_mode("")

    def _send(self, client: Client, message: bytes) -> None:
        client.pending += message
        try:
            sent = client.socket.send(client.pending)
            del client.pending[:sent]
        except BlockingIOError:
            pass
        except OSError:
            client.pending += bytes(MAX_PENDING_BYTES)  # dropped at the next state

    def _handle(self, client: Client, kind: int, content: bytes, drive: ServedDevice) -> None:
        match kind:
            case rtde.REQUEST_VERSION:
                (version,) = struct.unpack(">H", content)
                accepted = version in (1, rtde.PROTOCOL_VERSION)
                client.version = version if accepted else client.version
                self._send(client, package(kind, bytes([accepted])))
            case rtde.GET_CONTROLLER:
                self._send(client, package(kind, struct.pack(">4I", *CONTROLLER_VERSION)))
            case rtde.OUTPUTS:
                self._send(client, package(kind, self._add_outputs(client, content)))
            case rtde.INPUTS:
                self._send(client, package(kind, self._add_inputs(client, content)))
            case rtde.START | rtde.PAUSE:
                client.started = kind == rtde.START and bool(client.outputs)
                self._send(client, package(kind, bytes([client.started or kind == rtde.PAUSE])))
            case rtde.DATA:
                self._take(client, content, drive)

    def _add_outputs(self, client: Client, content: bytes) -> bytes:
        frequency, rest = 1.0 / self.info.period, content
        if client.version >= rtde.PROTOCOL_VERSION:
            (frequency,), rest = struct.unpack_from(">d", content), content[8:]
        names = rest.decode("ascii").rstrip(",").split(",")  # ur_rtde ends its list with a comma
        types = [rtde.OUTPUT_TYPES.get(name, "NOT_FOUND") for name in names]
        valid = "NOT_FOUND" not in types and frequency > 0.0
        number = len(client.outputs) + 1 if valid else 0
        if valid:
            client.outputs.append((RtdeRecipe(number, names, types), max(1.0 / frequency, self.info.period)))
            client.due.append(-np.inf)
        return (bytes([number]) if client.version >= rtde.PROTOCOL_VERSION else b"") + ",".join(types).encode()

    def _add_inputs(self, client: Client, content: bytes) -> bytes:
        names = content.decode("ascii").rstrip(",").split(",")
        used = {
            name for other in self.clients if other is not client for recipe in other.inputs for name in recipe.names
        }
        types = ["IN_USE" if name in used else rtde.INPUT_TYPES.get(name, "NOT_FOUND") for name in names]
        valid = not {"IN_USE", "NOT_FOUND"} & set(types)
        number = len(client.inputs) + 1 if valid else 0
        if valid:
            client.inputs.append(RtdeRecipe(number, names, types))
        return bytes([number]) + ",".join(types).encode()

    def _take(self, client: Client, content: bytes, drive: ServedDevice) -> None:
        """Store the registers of a data package, and execute the command if its number has changed."""
        recipe = next((recipe for recipe in client.inputs if content[:1] == bytes([recipe.number])), None)
        if recipe is None:
            raise ValueError("a data package belongs to no recipe")
        before = self.ints[rtde.NUMBER]
        for name, values in recipe.unpack(content).items():
            prefix, _, index = name.rpartition("_")
            if prefix == "input_int_register":
                self.ints[int(index)] = values[0]
            elif prefix == "input_double_register":
                self.doubles[int(index)] = values[0]
        if self.ints[rtde.NUMBER] != before:
            self._execute(drive)

    def _execute(self, drive: ServedDevice) -> None:
        number, joint = self.ints[rtde.MODE], self.ints[rtde.JOINT]
        if number == rtde.RESET:
            drive.clear()
            return
        mode = MODES.get(number, "")
        if mode != drive.mode:
            drive.command.q[:], drive.command.v[:], drive.command.tau[:] = drive.state.q, 0.0, 0.0
            if not (mode and drive.state.status):  # a fault is reset first
                drive.set_mode(mode)
            return
        if not mode or not 0 <= joint <= rtde.JOINTS:
            return
        target = {"position": drive.command.q, "velocity": drive.command.v, "torque": drive.command.tau}[mode]
        if joint:
            target[joint - 1] = self.doubles[rtde.TARGET]
        else:
            target[:] = self.doubles[rtde.TARGETS : rtde.TARGETS + rtde.JOINTS]
        drive.write()

    def publish(self, state: JointState, drive: ServedDevice) -> None:
        """Send a state to all clients whose packages are due."""
        if self._origin is None:
            self._origin = state.stamp
        values = dict(self._values(state, drive)) if self.clients else {}
        half = 0.5 * self.info.period
        for client in list(self.clients):
            for index, (recipe, period) in enumerate(client.outputs if client.started else ()):
                if state.stamp >= client.due[index] - half:
                    client.due[index] = max(client.due[index] + period, state.stamp + half)
                    self._send(client, recipe.pack(values))
            if len(client.pending) > MAX_PENDING_BYTES:
                self._drop(client, drive)

    def _values(self, state: JointState, drive: ServedDevice) -> Iterator[tuple[str, float | list]]:
        q, v, tau = state.q.tolist(), state.v.tolist(), state.tau.tolist()
        stopped = bool(state.status or state.faults.any())
        yield "timestamp", state.stamp - (self._origin or 0.0)
        yield "actual_q", q
        yield "actual_qd", v
        yield "target_q", drive.command.q.tolist() if drive.mode == "position" else q
        yield "target_qd", drive.command.v.tolist() if drive.mode == "velocity" else v
        for name in ("target_moment", "actual_current_as_torque"):
            yield name, tau
        yield "robot_mode", ROBOT_RUNNING
        yield "joint_mode", JOINT_RUNNING
        yield "safety_mode", SAFETY_PROTECTIVE_STOP if stopped else SAFETY_NORMAL
        yield "safety_status", SAFETY_PROTECTIVE_STOP if stopped else SAFETY_NORMAL
        yield "safety_status_bits", 4 if stopped else 1
        yield "robot_status_bits", 1 | (2 if drive.mode else 0)
        yield "runtime_state", PROGRAM_PLAYING if drive.mode else PROGRAM_STOPPED
        yield "speed_scaling", 1.0
        yield "target_speed_fraction", 1.0
        if "wrench" in state.sensors:
            yield "ft_raw_wrench", state.sensors["wrench"].tolist()
            yield "actual_TCP_force", state.sensors["wrench"].tolist()
        if self.tool is not None:
            yield "actual_TCP_pose", np.asarray(self.tool(state.q)).tolist()
        yield f"output_int_register_{rtde.ENABLED_MODE}", rtde.MODE_NUMBERS[drive.mode]
        yield f"output_int_register_{rtde.LAST_NUMBER}", self.ints[rtde.NUMBER]
        for kind, registers in (("int", self.ints), ("double", self.doubles)):
            yield from ((f"input_{kind}_register_{k}", value) for k, value in enumerate(registers))

    def close(self) -> None:
        """Disconnect all clients."""
        for client in list(self.clients):
            self._drop(client, None)
        self._socket.close()


def _commands(recipe: RtdeRecipe) -> bool:
    return f"input_int_register_{rtde.NUMBER}" in recipe.names
