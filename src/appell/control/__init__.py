"""Control laws and linear tools, on any system.

axes, friction_parts                       what can be controlled, and its equations for a controller
gains, laws, design, controller            a control law, from its formula to one compiled function
linear, directions                         its effect on small errors, with constraints kept
regulator                                  feedback of least cost about a steady motion
in_rollouts, measured                      both in the kernel of a rollout
python_control                             the same systems for python-control
"""

from appell.control.controller import Controller
from appell.control.design import Design
from appell.control.gains import Gains, critical, placed
from appell.control.laws import LAWS
from appell.control.linear import LinearSystem, linearize, linearize_closed_loop
from appell.control.python_control import io_system
from appell.control.regulator import Regulator, lqr

__all__ = [
    "LAWS",
    "Controller",
    "Design",
    "Gains",
    "LinearSystem",
    "Regulator",
    "critical",
    "io_system",
    "linearize",
    "linearize_closed_loop",
    "lqr",
    "placed",
]
