"""Control laws, linearisation and linear-quadratic regulators for robots and mechanisms.

axes, friction_parts                       checks of controllable systems, and their equations for a controller
gains, laws, traced_law                    control laws: formulas of joints, and functions of the whole state
design, controller, blocks                 a control law, from its formula to one compiled function with its memory
linear, directions                         linearisation, also of systems with constraints
regulator                                  linear-quadratic regulator about a steady motion
rollout_laws                               control laws in the kernel of a rollout
python_control                             systems for the package python-control
"""

from appell.control.controller import Controller
from appell.control.design import Design
from appell.control.gains import Gains, critical, placed
from appell.control.laws import LAWS
from appell.control.linear import LinearSystem, linearize, linearize_closed_loop
from appell.control.python_control import io_system
from appell.control.regulator import Regulator, lqr
from appell.control.traced_law import LawState, TracedLaw, law

__all__ = [
    "LAWS",
    "Controller",
    "Design",
    "Gains",
    "LawState",
    "LinearSystem",
    "Regulator",
    "TracedLaw",
    "critical",
    "io_system",
    "law",
    "linearize",
    "linearize_closed_loop",
    "lqr",
    "placed",
]
