"""Robots under control: laws, plant, and the open controller of Valera et al. 2003 on a simulated cabinet.

axes, arm, parallel_arm, model                       what a controller knows of a robot
arithmetic, gains, laws, design, controller          a control law, from its formula to one compiled function
plant, reference, closed_loop, linear                what it is tried on, without hardware in between
drive, puma600, generic, signals, hardware           motors, converters and sensors, and the interface to them
servo, startup, states, supervisor, loop, task       the loop that runs against it
clock, journal, replay      , summary                 time, and what is left of a run
cabinet_step, cabinet, faults, campaign              a simulated cabinet, and what it does to a loop
shared, serve, latency                               processes and the machine's own time
"""

from appell.control.arm import Arm
from appell.control.cabinet.drive import Drive, Wiring
from appell.control.cabinet.faults import Faults, Injection
from appell.control.cabinet.generic import generic_wiring
from appell.control.cabinet.hardware import Hardware
from appell.control.cabinet.plant import Plant
from appell.control.cabinet.puma600 import puma_600
from appell.control.cabinet.shared import RemoteCabinet
from appell.control.cabinet.simulated import PERFECT, CabinetModel, Imperfections, SimulatedCabinet
from appell.control.law.closed_loop import Response, closed_loop
from appell.control.law.controller import Controller
from appell.control.law.design import Design
from appell.control.law.gains import Gains, critical, placed
from appell.control.law.laws import LAWS
from appell.control.law.linear import LinearSystem, linearize, linearize_closed_loop
from appell.control.loop.clock import MonotonicClock, VirtualClock, real_time
from appell.control.loop.limits import Limits
from appell.control.loop.loop import Loop
from appell.control.loop.reference import Reference
from appell.control.loop.replay import first_difference, replay
from appell.control.loop.servo import Servo
from appell.control.loop.startup import index_search
from appell.control.loop.states import Event, Fault, State
from appell.control.loop.supervisor import Policy
from appell.control.loop.task import run_task, standard_plant, standard_servo
from appell.control.model import Model
from appell.control.parallel_arm import ParallelArm

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
    "real_time",
    "replay",
    "run_task",
    "standard_plant",
    "standard_servo",
]
