"""Robots behind a joint-level interface, and the control loop (Valera et al. 2003).

clock                                            virtual clock and real-time clock
device, devices/                                 the joint-level interface, and devices by name
cabinet/  wiring, standard_wirings               amplifiers, converters and sensors of a cabinet
          signals                                signals of a cabinet, and their conversion to joint states
          plant, cabinet_step, simulated         a simulated cabinet with a system, imperfections and faults
          shared, server                         the cabinet in a separate process
loop/     reference, servo, startup              reference, control step and homing
          defaults                               default gains, limits and motions
          supervisor, reasons                    states, faults and limits; sentences that name joint and remedy
          control_loop, task                     the loop; a complete task
          journal, replay, summary               log of a run, its bit-exact replay and its summary
          response                               a control law on a plant, without a cabinet
          recording                              records of a path, for identification
"""

from appell.hardware.cabinet.shared import RemoteCabinet
from appell.hardware.cabinet.simulated import (
    PERFECT,
    CabinetModel,
    Faults,
    Imperfections,
    Injection,
    SimulatedCabinet,
    standard_cabinet,
    standard_plant,
)
from appell.hardware.cabinet.standard_wirings import WIRINGS, generic_wiring, puma_600, wiring_of
from appell.hardware.cabinet.wiring import Channel, Wiring
from appell.hardware.clock import MonotonicClock, VirtualClock, real_time
from appell.hardware.device import Device, DeviceInfo, DeviceStatus, JointCommand, JointState
from appell.hardware.devices import DEVICES, make_device
from appell.hardware.devices.simulated import SimulatedArm
from appell.hardware.loop.control_loop import Loop
from appell.hardware.loop.defaults import REFERENCES, logged_servo, standard_motion, standard_servo
from appell.hardware.loop.recording import Recording, Rig, recorded
from appell.hardware.loop.reference import Reference, recorded_path
from appell.hardware.loop.replay import first_difference, replay
from appell.hardware.loop.response import Response, closed_loop
from appell.hardware.loop.servo import Servo
from appell.hardware.loop.startup import homing_motion
from appell.hardware.loop.supervisor import Fault, Guard, Policy, State, Trigger
from appell.hardware.loop.task import run_task
from appell.hardware.plant import Plant

__all__ = [
    "DEVICES",
    "PERFECT",
    "REFERENCES",
    "WIRINGS",
    "CabinetModel",
    "Channel",
    "Device",
    "DeviceInfo",
    "DeviceStatus",
    "Fault",
    "Faults",
    "Guard",
    "Imperfections",
    "Injection",
    "JointCommand",
    "JointState",
    "Loop",
    "MonotonicClock",
    "Plant",
    "Policy",
    "Recording",
    "Reference",
    "RemoteCabinet",
    "Response",
    "Rig",
    "Servo",
    "SimulatedArm",
    "SimulatedCabinet",
    "State",
    "Trigger",
    "VirtualClock",
    "Wiring",
    "closed_loop",
    "first_difference",
    "generic_wiring",
    "homing_motion",
    "logged_servo",
    "make_device",
    "puma_600",
    "real_time",
    "recorded",
    "recorded_path",
    "replay",
    "run_task",
    "standard_cabinet",
    "standard_motion",
    "standard_plant",
    "standard_servo",
    "wiring_of",
]
