"""Systems under control: laws, plant, and the open controller of Valera et al. 2003 on a simulated cabinet.

axes, friction_parts, clock                          what can be controlled, its equations for a controller, time
law/      gains, laws, design, controller            a control law, from its formula to one compiled function
          linear, directions                         what it does to small errors, constraints kept
          regulator                                  feedback of least cost about a steady motion
          in_rollouts, measured                      both in the kernel of a rollout
          io_system                                  the same systems for python-control
cabinet/  wiring, generic, puma600, hardware         amplifiers, converters and sensors, and the interface to them
          signals, plant, cabinet_step, simulated    a simulated cabinet with a system behind it
          faults, shared, server                     what it can be told to suffer, and as a process of its own
loop/     reference, servo, guard, startup           what a loop follows, computes and watches, and where it begins
          states, supervisor, control_loop, task     the loop that runs against a cabinet
          journal, repeater, summary                 what is left of a run
          response                                   a law on a plant, without hardware in between
          recording                                  records of a path, for identification
"""

from appell.control.cabinet.faults import Faults, Injection
from appell.control.cabinet.generic import WIRINGS, generic_wiring, wiring_of
from appell.control.cabinet.hardware import Hardware
from appell.control.cabinet.plant import Plant
from appell.control.cabinet.puma600 import puma_600
from appell.control.cabinet.shared import RemoteCabinet
from appell.control.cabinet.simulated import PERFECT, CabinetModel, Imperfections, SimulatedCabinet
from appell.control.cabinet.wiring import Channel, Wiring
from appell.control.clock import MonotonicClock, VirtualClock, real_time
from appell.control.law.controller import Controller
from appell.control.law.design import Design
from appell.control.law.gains import Gains, critical, placed
from appell.control.law.io_system import io_system
from appell.control.law.laws import LAWS
from appell.control.law.linear import LinearSystem, linearize, linearize_closed_loop
from appell.control.law.regulator import Regulator, lqr
from appell.control.loop.control_loop import Loop
from appell.control.loop.guard import Guard
from appell.control.loop.recording import Recording, Rig, recorded
from appell.control.loop.reference import Reference, recorded_path
from appell.control.loop.repeater import first_difference, replay
from appell.control.loop.response import Response, closed_loop
from appell.control.loop.servo import Servo
from appell.control.loop.startup import index_search
from appell.control.loop.states import Fault, State, Trigger
from appell.control.loop.supervisor import Policy
from appell.control.loop.task import run_task, standard_plant, standard_servo

__all__ = [
    "LAWS",
    "PERFECT",
    "WIRINGS",
    "CabinetModel",
    "Channel",
    "Controller",
    "Design",
    "Fault",
    "Faults",
    "Gains",
    "Guard",
    "Hardware",
    "Imperfections",
    "Injection",
    "LinearSystem",
    "Loop",
    "MonotonicClock",
    "Plant",
    "Policy",
    "Recording",
    "Reference",
    "Regulator",
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
    "critical",
    "first_difference",
    "generic_wiring",
    "index_search",
    "io_system",
    "linearize",
    "linearize_closed_loop",
    "lqr",
    "placed",
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
