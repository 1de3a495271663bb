"""`Dynamics`: the equations of motion of a system as compiled functions."""

from appell.dynamics.dynamics import Dynamics

__all__ = ["Dynamics"]
