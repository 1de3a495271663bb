"""Robots behind a controller: the open controller of Valera et al. 2003 and the simulated cabinet it drives.

cabinet/  wiring, generic, puma600, hardware         amplifiers, converters and sensors, and the interface to them
          signals, plant, cabinet_step, simulated    a simulated cabinet with a system behind it
          faults, shared, server                     simulated faults, and the cabinet as a process of its own
loop/     reference, servo, guard, startup           what a loop follows, computes and monitors, and where it begins
          states, supervisor, control_loop, task     the loop that runs against a cabinet
          journal, repeater, summary                 what is left of a run
          response                                   a law on a plant, without hardware in between
          recording                                  records of a path, for identification
"""

from appell.hardware.cabinet.generic import WIRINGS, generic_wiring, puma_600, wiring_of
from appell.hardware.cabinet.hardware import Hardware
from appell.hardware.cabinet.plant import Plant
from appell.hardware.cabinet.shared import RemoteCabinet
from appell.hardware.cabinet.simulated import PERFECT, CabinetModel, Faults, Imperfections, Injection, SimulatedCabinet
from appell.hardware.cabinet.wiring import Channel, Wiring
from appell.hardware.clock import MonotonicClock, VirtualClock, real_time
from appell.hardware.loop.control_loop import Loop
from appell.hardware.loop.recording import Recording, Rig, recorded
from appell.hardware.loop.reference import Reference, recorded_path
from appell.hardware.loop.repeater import first_difference, replay
from appell.hardware.loop.response import Response, closed_loop
from appell.hardware.loop.servo import Servo
from appell.hardware.loop.startup import index_search
from appell.hardware.loop.supervisor import Fault, Guard, Policy, State, Trigger
from appell.hardware.loop.task import run_task, standard_plant, standard_servo

__all__ = [
    "PERFECT",
    "WIRINGS",
    "CabinetModel",
    "Channel",
    "Fault",
    "Faults",
    "Guard",
    "Hardware",
    "Imperfections",
    "Injection",
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
    "SimulatedCabinet",
    "State",
    "Trigger",
    "VirtualClock",
    "Wiring",
    "closed_loop",
    "first_difference",
    "generic_wiring",
    "index_search",
    "puma_600",
    "real_time",
    "recorded",
    "recorded_path",
    "replay",
    "run_task",
    "standard_plant",
    "standard_servo",
    "wiring_of",
]
