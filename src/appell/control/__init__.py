"""Control laws, linearisation and linear-quadratic regulators for robots and mechanisms.

axes, friction_parts                       checks of controllable systems, and their equations for a controller
gains, laws, design, controller            a control law, from its formula to one compiled function
linear, directions                         linearisation, also of systems with constraints
regulator                                  linear-quadratic regulator about a steady motion
rollout_laws                               control laws in the kernel of a rollout
python_control                             systems for the package python-control
whole_body, quadratic_program              torques and contact forces of a robot on contacts, by tasks and limits
"""

from appell.control.controller import Controller
from appell.control.design import Design
from appell.control.gains import Gains, critical, placed
from appell.control.laws import LAWS
from appell.control.linear import LinearSystem, linearize, linearize_closed_loop
from appell.control.python_control import io_system
from appell.control.regulator import Regulator, lqr
from appell.control.whole_body import MomentumTask, PostureTask, WholeBody, WholeBodyCommand
from appell.kinematics.tasks import ComTask, FrameTask

__all__ = [
    "LAWS",
    "ComTask",
    "Controller",
    "Design",
    "FrameTask",
    "Gains",
    "LinearSystem",
    "MomentumTask",
    "PostureTask",
    "Regulator",
    "WholeBody",
    "WholeBodyCommand",
    "critical",
    "io_system",
    "linearize",
    "linearize_closed_loop",
    "lqr",
    "placed",
]
