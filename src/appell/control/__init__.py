"""Control laws, linearisation and linear-quadratic regulators for robots and mechanisms.

axes, friction_parts                       checks of controllable systems, and their equations for a controller
gains, laws, traced_law                    control laws: formulas of joints, and functions of the whole state
task_space, slotine_li, cooperation        laws of a frame, of the whole arm, and of two arms that hold one load
contact_observer                           detection of contacts by the generalised momentum
design, controller, blocks                 a control law, from its formula to one compiled function with its memory
linear, directions                         linearisation, also of systems with constraints
regulator                                  linear-quadratic regulator about a steady motion
rollout_laws                               control laws in the kernel of a rollout
python_control                             systems for the package python-control
whole_body, quadratic_program              torques and contact forces of a robot on contacts, by tasks and limits
"""

from appell.control.contact_observer import ContactObserver, noise_thresholds
from appell.control.controller import Controller
from appell.control.cooperation import two_arms
from appell.control.design import Design
from appell.control.gains import Gains, critical, placed
from appell.control.laws import LAWS, Law
from appell.control.linear import LinearSystem, linearize, linearize_closed_loop
from appell.control.python_control import io_system
from appell.control.regulator import Regulator, lqr
from appell.control.slotine_li import adaptive, passivity
from appell.control.task_space import hybrid_force, impedance, operational_space
from appell.control.traced_law import LawState, TracedLaw, law
from appell.control.whole_body import MomentumTask, PostureTask, WholeBody, WholeBodyCommand
from appell.kinematics.tasks import ComTask, FrameTask

__all__ = [
    "LAWS",
    "ComTask",
    "ContactObserver",
    "Controller",
    "Design",
    "FrameTask",
    "Gains",
    "Law",
    "LawState",
    "LinearSystem",
    "MomentumTask",
    "PostureTask",
    "Regulator",
    "TracedLaw",
    "WholeBody",
    "WholeBodyCommand",
    "adaptive",
    "critical",
    "hybrid_force",
    "impedance",
    "io_system",
    "law",
    "linearize",
    "linearize_closed_loop",
    "lqr",
    "noise_thresholds",
    "operational_space",
    "passivity",
    "placed",
    "two_arms",
]
