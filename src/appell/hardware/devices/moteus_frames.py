"""Frames of moteus motor controllers on CAN-FD: registers in subframes, as in the package `moteus`.

A frame is a sequence of subframes: a byte with the action (write 0x00, read 0x10, reply 0x20), the resolution of the
values and their number, the first register, and the values of consecutive registers. Values are 32-bit floats, or
integers in units of `SCALES` of which the smallest is NaN. The identifier of a frame is source << 8 | destination; the
bit 0x8000 requests a reply.
"""

from __future__ import annotations

import math
import socket
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Protocol

from appell.errors import DeviceError

MODE, POSITION, VELOCITY, TORQUE, VOLTAGE, TEMPERATURE, FAULT = 0x000, 0x001, 0x002, 0x003, 0x00D, 0x00E, 0x00F
COMMAND_POSITION, COMMAND_TIMEOUT = 0x020, 0x027
STOPPED, IN_FAULT, IN_POSITION, TIMED_OUT = 0, 1, 10, 11  # values of MODE
WRITE, READ, REPLY, NOP = 0x00, 0x10, 0x20, 0x50
INT8, INT16, INT32, FLOAT = range(4)  # resolutions
REPLY_REQUESTED = 0x8000
VALUES = (struct.Struct("<b"), struct.Struct("<h"), struct.Struct("<i"), struct.Struct("<f"))
MAX_INTEGERS = (127, 32767, 2147483647)
PLAIN = (1.0, 1.0, 1.0)
ANGLE, SPEED, MOMENT = (0.01, 1e-4, 1e-5), (0.1, 2.5e-4, 1e-5), (0.5, 0.01, 0.001)
FRACTION = tuple(1.0 / largest for largest in MAX_INTEGERS)
SCALES = {  # register -> units of int8, int16 and int32; those of others are 1
    **dict.fromkeys((POSITION, 0x020, 0x026), ANGLE),
    **dict.fromkeys((VELOCITY, 0x021, 0x028), SPEED),
    **dict.fromkeys((TORQUE, 0x022, 0x025), MOMENT),
    **dict.fromkeys((0x023, 0x024), FRACTION),
    COMMAND_TIMEOUT: (0.01, 0.001, 1e-6),
    VOLTAGE: (0.5, 0.1, 0.001),
    TEMPERATURE: (1.0, 0.1, 0.001),
}
LENGTHS = (*range(9), 12, 16, 20, 24, 32, 48, 64)  # of CAN-FD frames


def subframe(action: int, first: int, resolution: int, values: Sequence[float] | int) -> bytes:
    """Return the bytes of a subframe.

    Parameters
    ----------
    action : WRITE, READ or REPLY
    first : first register, below 128
    resolution : INT8, INT16, INT32 or FLOAT
    values : values of consecutive registers, or their number in a READ
    """
    count = values if isinstance(values, int) else len(values)
    kind = action | resolution << 2
    head = bytes([kind | count, first] if count <= 3 else [kind, count, first])
    if isinstance(values, int):
        return head
    return head + b"".join(_encoded(first + k, resolution, value) for k, value in enumerate(values))


def _encoded(register: int, resolution: int, value: float) -> bytes:
    if resolution == FLOAT:
        return VALUES[FLOAT].pack(value)
    largest = MAX_INTEGERS[resolution]
    if not math.isfinite(value):
        return VALUES[resolution].pack(-largest - 1)
    scaled = value / SCALES.get(register, PLAIN)[resolution]
    return VALUES[resolution].pack(int(max(-largest, min(largest, scaled))))


def subframes(frame: bytes) -> Iterator[tuple[int, int, int, float | None]]:
    """Yield action, register, resolution and value (None in a READ); raise ValueError if the frame is not valid."""
    k = 0
    while k < len(frame):
        head = frame[k]
        k += 1
        if head == NOP:
            continue
        action, resolution, count = head & 0xF0, head >> 2 & 3, head & 3
        if action not in (WRITE, READ, REPLY):
            raise ValueError(f"a frame has the unknown subframe 0x{head:02x}")
        try:
            if not count:
                count, k = frame[k], k + 1
            first, k = frame[k], k + 1
            for register in range(first, first + count):
                value = None
                if action != READ:
                    (value,) = VALUES[resolution].unpack_from(frame, k)
                    k += VALUES[resolution].size
                    if resolution != FLOAT:
                        smallest = -MAX_INTEGERS[resolution] - 1
                        value = math.nan if value == smallest else value * SCALES.get(register, PLAIN)[resolution]
                yield action, register, resolution, value
        except (IndexError, struct.error):
            raise ValueError("a frame ends within a subframe") from None


def values_of(wanted: int, frame: bytes) -> dict[int, float]:
    """Return the values of all subframes with an action, by register."""
    return {
        register: value for action, register, _, value in subframes(frame) if action == wanted and value is not None
    }


QUERY = subframe(READ, MODE, INT8, 1) + subframe(READ, POSITION, FLOAT, 3) + subframe(READ, VOLTAGE, INT8, 3)
STOP = subframe(WRITE, MODE, INT8, [STOPPED])


def position_command(command: Sequence[float], timeout: float) -> bytes:
    """Return the subframes of a command in position mode.

    Parameters
    ----------
    command : sequence of float
        Position in revolutions (NaN: the present one), velocity in revolutions/s, feed-forward torque in N m, scale of
        kp, scale of kd.
    timeout : time in s without a command after which the controller leaves position mode
    """
    mode = subframe(WRITE, MODE, INT8, [IN_POSITION])
    return mode + subframe(WRITE, COMMAND_POSITION, FLOAT, command) + subframe(WRITE, COMMAND_TIMEOUT, FLOAT, [timeout])


def reply(registers: Mapping[int, float], request: bytes) -> bytes:
    """Return the reply to the READ subframes of a request; registers that do not exist are NaN."""
    asked: list[tuple[int, int, list[float]]] = []
    for action, register, resolution, _ in subframes(request):
        if action == READ:
            value = registers.get(register, math.nan)
            if asked and asked[-1][1] == resolution and asked[-1][0] + len(asked[-1][2]) == register:
                asked[-1][2].append(value)
            else:
                asked.append((register, resolution, [value]))
    return b"".join(subframe(REPLY, *entry) for entry in asked)


def padded(frame: bytes) -> bytes:
    """Return a frame with the next length that CAN-FD allows."""
    return frame.ljust(next(length for length in LENGTHS if length >= len(frame)), bytes([NOP]))


class Bus(Protocol):
    """The methods of a bus of python-can that are used."""

    def send(self, msg: Any, timeout: float | None = None) -> None:
        """Send a message with `arbitration_id` and `data`."""

    def recv(self, timeout: float | None = None) -> Any:
        """Return the next message, or None after the timeout in s."""

    def shutdown(self) -> None:
        """Close the bus."""


class UdpBus:
    """CAN frames as UDP datagrams between two processes, for simulated motors, with the methods of python-can.

    Parameters
    ----------
    host, port : address of the other side, or the own address if `serve`
    serve : whether to wait for frames at this address; replies go to the sender of the last frame
    """

    _HEADER = struct.Struct(">I")

    def __init__(self, host: str = "127.0.0.1", port: int = 0, serve: bool = False):
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind((host, port) if serve else ("", 0))
        except OSError as error:
            self._socket.close()
            raise DeviceError(f"the bus cannot use {host}:{port}: {error.strerror or error}.") from None
        self.address = self._socket.getsockname()
        self._serve, self._peer = serve, None if serve else (host, port)

    def send(self, msg: Any, timeout: float | None = None) -> None:
        """Send a message; as on a real bus, it is lost without a receiver."""
        if self._peer is not None:
            try:
                self._socket.settimeout(timeout)
                self._socket.sendto(self._HEADER.pack(msg.arbitration_id) + bytes(msg.data), self._peer)
            except ConnectionRefusedError:
                pass

    def recv(self, timeout: float | None = None) -> Any:
        """Return the next message, or None after the timeout in s."""
        until = math.inf if timeout is None else time.monotonic() + timeout
        while True:
            remaining = until - time.monotonic()
            try:
                self._socket.settimeout(None if timeout is None else max(0.0, remaining))
                content, sender = self._socket.recvfrom(256)
            except (TimeoutError, BlockingIOError):
                return None
            except ConnectionRefusedError:
                continue
            if len(content) < self._HEADER.size:
                continue
            self._peer = sender if self._serve else self._peer
            (identifier,) = self._HEADER.unpack_from(content)
            return SimpleNamespace(arbitration_id=identifier, data=content[self._HEADER.size :])

    def shutdown(self) -> None:
        """Close the socket."""
        self._socket.close()
