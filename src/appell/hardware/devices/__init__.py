"""Devices by name: `make_device("simulated", robot, clock)`, or a user's class as `make_device("my_robot:Arm", ...)`.

A device is made by calling its class with the system, the clock of the loop and the options of its constructor.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from typing import Any

from appell.errors import ArgumentError, unknown_name
from appell.hardware.clock import Clock
from appell.hardware.device import MODES, SAFE_STATES, Device, DeviceInfo
from appell.model.system import System

DEVICES = {  # name -> module and class, or function that returns the device
    "simulated": "appell.hardware.devices.simulated:SimulatedArm",
    "cabinet": "appell.hardware.cabinet.simulated:standard_cabinet",
    "mujoco": "appell.hardware.devices.mujoco:MujocoArm",
    "replayed": "appell.hardware.devices.replayed:ReplayedLog",
    "rtde": "appell.hardware.devices.rtde:RtdeRobot",
    "moteus": "appell.hardware.devices.moteus:MoteusMotors",
}
METHODS = ("open", "read", "write", "enable", "disable", "clear", "close")


def make_device(name: str, system: System, clock: Clock, **options: Any) -> Device:
    """Return the device of a name.

    Parameters
    ----------
    name : str
        One of `DEVICES`, or `module:Class` for a class that implements `Device`. The module is also searched in the
        current folder.
    system : the robot that the device moves
    clock : the clock of the loop
    **options
        Further arguments of the class.

    Raises
    ------
    ArgumentError
        If the module or the class does not exist, lacks a method, or does not accept an option.
    """
    make = _find(name)
    try:
        inspect.signature(make).bind(system, clock, **options)
    except TypeError as error:
        accepted = [p.name for p in inspect.signature(make).parameters.values() if p.kind is p.KEYWORD_ONLY]
        raise ArgumentError(
            f"device '{name}' cannot be made with the options {', '.join(options) or '(none)'}: {error}.",
            expected=f"a call with the robot, the clock and options such as {', '.join(accepted) or '(none)'}",
        ) from None
    device = make(system, clock, **options)
    check_device(device, name)
    return device


def check_device(device: Any, name: str) -> None:
    """Raise an ArgumentError unless an object implements `Device` and declares valid properties."""
    missing = [method for method in METHODS if not callable(getattr(device, method, None))]
    if missing:
        raise ArgumentError(
            f"device '{name}' ({type(device).__name__}) lacks the methods {', '.join(missing)}.",
            expected=f"the methods of hardware.Device: {', '.join(METHODS)}",
        )
    info = getattr(device, "info", None)
    if not isinstance(info, DeviceInfo):
        raise ArgumentError(f"device '{name}' has no `info` of type DeviceInfo.", expected="info = DeviceInfo(...)")
    for what, values, known in (("mode", info.modes, MODES), ("safe state", (info.safe_state,), SAFE_STATES)):
        for value in values:
            if value not in known:
                raise ArgumentError(unknown_name(what, value, known, f"device '{name}'"))
    n = len(info.actuators)
    for what in ("lower", "upper", "speed", "torque", "resolution"):
        values = getattr(info, what)
        if values is not None and len(values) != n:
            raise ArgumentError(f"device '{name}' declares {len(values)} values of {what} for {n} actuators.")


def _find(name: str) -> Any:
    """Return the class or function of a device."""
    module_name, colon, attribute = DEVICES.get(name, name).partition(":")
    if not colon or not attribute:
        raise ArgumentError(
            unknown_name("device", name, DEVICES, "appell.hardware"), expected="one of these, or module:Class"
        )
    if "" not in sys.path:
        sys.path.insert(0, "")  # modules in the current folder
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        if error.name != module_name.partition(".")[0]:
            raise ArgumentError(f"module '{module_name}' of device '{name}' cannot be imported: {error}.") from None
        raise ArgumentError(
            f"there is no module '{module_name}' for device '{name}'.",
            hint="Start in the folder that contains it, or add that folder to PYTHONPATH.",
        ) from None
    make = getattr(module, attribute, None)
    if not callable(make):
        classes = [key for key, value in vars(module).items() if inspect.isclass(value) and not key.startswith("_")]
        raise ArgumentError(unknown_name("class", attribute, classes, f"module '{module_name}'"))
    return make
