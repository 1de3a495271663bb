"""Robots under control: laws, plant, and the open controller of Valera et al. 2003 on a simulated cabinet.

axes, arm, parallel_arm, model                       what a controller knows of a robot
arithmetic, gains, laws, design, controller          a control law, from its formula to one compiled function
plant, reference, closed_loop, linear                what it is tried on, without hardware in between
drive, puma600, generic, signals, hardware           motors, converters and sensors, and the interface to them
servo, startup, states, supervisor, loop, task       the loop that runs against it
clock, log, journal, replay, summary                 time, and what is left of a run
cabinet_step, cabinet, faults, campaign              a simulated cabinet, and what it does to a loop
shared, serve, latency                               processes and the machine's own time
"""

from appell.control.arm import Arm
from appell.control.cabinet import PERFECT, CabinetModel, Imperfections, SimulatedCabinet
from appell.control.clock import MonotonicClock, VirtualClock, real_time
from appell.control.closed_loop import Response, closed_loop
from appell.control.controller import Controller
from appell.control.design import Design
from appell.control.drive import Drive, Wiring
from appell.control.faults import Faults, Injection
from appell.control.gains import Gains, critical, placed
from appell.control.generic import generic_wiring
from appell.control.hardware import Hardware
from appell.control.laws import LAWS
from appell.control.limits import Limits
from appell.control.linear import LinearSystem, linearize, linearize_closed_loop
from appell.control.log import Log, read_log
from appell.control.loop import Loop
from appell.control.model import Model
from appell.control.parallel_arm import ParallelArm
from appell.control.plant import Plant
from appell.control.puma600 import puma_600
from appell.control.reference import Reference
from appell.control.replay import first_difference, replay
from appell.control.servo import Servo
from appell.control.shared import RemoteCabinet
from appell.control.startup import index_search
from appell.control.states import Event, Fault, State
from appell.control.supervisor import Policy
from appell.control.task import run_task, standard_plant, standard_servo

__all__ = [
    "LAWS",
    "PERFECT",
    "Arm",
    "CabinetModel",
    "Controller",
    "Design",
    "Drive",
    "Event",
    "Fault",
    "Faults",
    "Gains",
    "Hardware",
    "Imperfections",
    "Injection",
    "Limits",
    "LinearSystem",
    "Log",
    "Loop",
    "Model",
    "MonotonicClock",
    "ParallelArm",
    "Plant",
    "Policy",
    "Reference",
    "RemoteCabinet",
    "Response",
    "Servo",
    "SimulatedCabinet",
    "State",
    "VirtualClock",
    "Wiring",
    "closed_loop",
    "critical",
    "first_difference",
    "generic_wiring",
    "index_search",
    "linearize",
    "linearize_closed_loop",
    "placed",
    "puma_600",
    "read_log",
    "real_time",
    "replay",
    "run_task",
    "standard_plant",
    "standard_servo",
]
