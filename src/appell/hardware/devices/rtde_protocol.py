"""RTDE, the real-time data exchange of Universal Robots: packages, recipes and the registers of a robot program.

A package is its size (uint16), its kind (one character) and its content; all numbers are big-endian. A client first
agrees on the protocol version, then sends the names of the variables to receive (output recipe, with a frequency) and
to send (input recipe); the controller answers with their types. Data packages carry the number of a recipe and its
values.

A program on the robot, or the server of this package, executes the commands of a client from input registers:

    int 42      number of the command; every change is a command and a heartbeat
    int 43      mode: 0 off, 1 position, 2 velocity, 3 torque, -1 reset of a fault
    int 44      0: the command is for all joints; k: only for joint k, from 1 to 6
    double 24…  targets of the six joints, in rad, rad/s or N m
    double 42   target of joint k

and reports in output registers: int 24 the mode that is enabled, int 25 the number of the last command, int 26 whether
it adds the torques of gravity to the targets (1) or not (0).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence

PORT = 30004
PROTOCOL_VERSION = 2
JOINTS = 6
NUMBER, MODE, JOINT, TARGETS, TARGET = 42, 43, 44, 24, 42  # input registers
ENABLED_MODE, LAST_NUMBER, ADDS_GRAVITY = 24, 25, 26  # output registers
MODE_NUMBERS = {"": 0, "position": 1, "velocity": 2, "torque": 3}
RESET = -1
HEADER = struct.Struct(">HB")
REQUEST_VERSION, GET_CONTROLLER, TEXT, DATA, OUTPUTS, INPUTS, START, PAUSE = b"VvMUOISP"
FORMATS = {  # type -> format of struct
    **{"BOOL": "?", "UINT8": "B", "UINT32": "I", "UINT64": "Q", "INT32": "i", "DOUBLE": "d"},
    **{"VECTOR3D": "3d", "VECTOR6D": "6d", "VECTOR6INT32": "6i", "VECTOR6UINT32": "6I"},
}


def _typed(kind: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), kind)


def _registers(prefix: str) -> dict[str, str]:
    types = _typed("UINT32", f"{prefix}_bit_registers0_to_31 {prefix}_bit_registers32_to_63")
    types |= {f"{prefix}_bit_register_{k}": "BOOL" for k in range(64, 128)}
    types |= {f"{prefix}_int_register_{k}": "INT32" for k in range(48)}
    return types | {f"{prefix}_double_register_{k}": "DOUBLE" for k in range(48)}


INPUT_TYPES = {  # variables that a client can send
    **_registers("input"),
    **_typed("UINT32", "speed_slider_mask"),
    **_typed("DOUBLE", "speed_slider_fraction standard_analog_output_0 standard_analog_output_1"),
    **_typed("UINT8", "standard_digital_output_mask standard_digital_output configurable_digital_output_mask"),
    **_typed("UINT8", "configurable_digital_output tool_digital_output_mask tool_digital_output"),
    **_typed("UINT8", "standard_analog_output_mask standard_analog_output_type"),
    **_typed("VECTOR6D", "external_force_torque"),
}
OUTPUT_TYPES = {  # variables that a client can receive
    **_registers("output"),
    **_registers("input"),
    **_typed(
        "VECTOR6D", "target_q target_qd target_qdd target_current target_moment actual_q actual_qd actual_current"
    ),
    **_typed("VECTOR6D", "actual_current actual_current_window actual_current_as_torque joint_control_output"),
    **_typed("VECTOR6D", "actual_TCP_pose actual_TCP_speed actual_TCP_force target_TCP_pose target_TCP_speed"),
    **_typed("VECTOR6D", "actual_joint_voltage ft_raw_wrench payload_inertia tcp_offset joint_temperatures"),
    **_typed("VECTOR3D", "actual_tool_accelerometer elbow_position elbow_velocity payload_cog"),
    **_typed("VECTOR6INT32", "joint_mode"),
    **_typed("INT32", "robot_mode safety_mode safety_status tool_output_voltage"),
    **_typed("UINT32", "runtime_state robot_status_bits safety_status_bits analog_io_types tool_mode"),
    **_typed("UINT32", "tool_analog_input_types euromap67_input_bits euromap67_output_bits"),
    **_typed("UINT64", "actual_digital_input_bits actual_digital_output_bits"),
    **_typed("UINT8", "tool_output_mode tool_digital_output0_mode tool_digital_output1_mode"),
    **_typed("DOUBLE", "timestamp actual_execution_time speed_scaling target_speed_fraction actual_momentum"),
    **_typed("DOUBLE", "actual_main_voltage actual_robot_voltage actual_robot_current tcp_force_scalar payload"),
    **_typed("DOUBLE", "standard_analog_input0 standard_analog_input1 standard_analog_output0"),
    **_typed("DOUBLE", "standard_analog_output1 io_current tool_analog_input0 tool_analog_input1"),
    **_typed("DOUBLE", "tool_output_current tool_temperature euromap67_24V_voltage euromap67_24V_current"),
    **_typed("DOUBLE", "collision_detection_ratio time_scale_source"),
}


def package(kind: int, content: bytes = b"") -> bytes:
    """Return the bytes of a package."""
    return HEADER.pack(HEADER.size + len(content), kind) + content


class Packages:
    """Splits a stream of bytes into packages."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, received: bytes) -> Iterator[tuple[int, bytes]]:
        """Yield kind and content of every complete package; raise ValueError for bytes that are not RTDE."""
        self._pending += received
        while len(self._pending) >= HEADER.size:
            size, kind = HEADER.unpack_from(self._pending)
            if size < HEADER.size:
                raise ValueError(f"a package has a size of {size} bytes")
            if len(self._pending) < size:
                return
            content = bytes(self._pending[HEADER.size : size])
            del self._pending[:size]
            yield kind, content


class RtdeRecipe:
    """The variables of a data package: their names, and the bytes of their values."""

    def __init__(self, number: int, names: Sequence[str], types: Sequence[str]):
        self.number, self.names = number, tuple(names)
        self._sizes = [int(FORMATS[kind][:-1] or 1) for kind in types]
        self._format = struct.Struct(">B" + "".join(FORMATS[kind] for kind in types))

    def pack(self, values: Mapping[str, Sequence | float]) -> bytes:
        """Return a data package; variables without a value are zero."""
        flat: list = []
        for name, size in zip(self.names, self._sizes, strict=True):
            value = values.get(name, 0)
            flat += ([value] * size) if isinstance(value, (int, float)) else list(value)
        return package(DATA, self._format.pack(self.number, *flat))

    def unpack(self, content: bytes) -> dict[str, tuple]:
        """Return the values of a data package by name; raise ValueError if its size is wrong."""
        if len(content) != self._format.size:
            raise ValueError(f"a data package has {len(content)} bytes instead of {self._format.size}")
        flat, values, begin = self._format.unpack(content), {}, 1
        for name, size in zip(self.names, self._sizes, strict=True):
            values[name] = flat[begin : begin + size]
            begin += size
        return values
