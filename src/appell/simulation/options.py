"""Groups of related options of `simulate` and `rollout`, checked on construction.

simulate(robot, solver=Solver("Radau", rtol=1e-6))                      or solver="Radau"
rollout(robot, contacts=..., contact_model=SpringContacts(depth=1e-4))  rk4, euler, midpoint
rollout(robot, contacts=..., method="moreau", contact_model=ImpulseContacts(sweeps=20))
rollout(robot, law=Feedback(law, memory=[0.0], period=4e-3), output=Output(every=10, energy=True))
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.algebra.scalar import is_number
from appell.compile.ode.tableau import METHODS
from appell.errors import ArgumentError, check_number, is_finite, unknown_name, value_text

IMPLICIT = {"Radau": 3, "BDF": 5, "LSODA": 12}  # implicit method of SciPy -> highest degree of its interpolant
SOLVER_METHODS = (*METHODS, *IMPLICIT)
MIN_FLOAT, MAX_FLOAT = sys.float_info.min, sys.float_info.max
RANGES = {  # option -> lowest value, highest value, text for messages
    "rtol": (MIN_FLOAT, 1.0, "a positive number, at most 1"),
    "atol": (MIN_FLOAT, 1.0, "a positive number, at most 1 (in m, rad, ...)"),
    "max_step": (MIN_FLOAT, np.inf, "a positive number of seconds"),
    "tolerance": (
        1e-13,
        MAX_FLOAT,
        "a finite number of metres, at least 1e-13 (smaller distances are rounding errors)",
    ),
    "rest_speed": (MIN_FLOAT, MAX_FLOAT, "a positive, finite number of metres per second"),
    "max_events": (1, MAX_FLOAT, "an integer, at least 1"),
    "max_steps": (1, MAX_FLOAT, "an integer, at least 1"),
    "least_progress": (MIN_FLOAT, MAX_FLOAT, "a positive, finite number of seconds"),
}
INTEGER_OPTIONS = ("max_events", "max_steps")
FLOAT_TYPES = (np.float64, np.float32)
MAX_STEPS = 10**9
IMPACT_ORDERS = ("together", "in_turn")  # of `simulate`, the default first
IMPACT_LAWS = ("energetic", "poisson", "newton-path", "newton")  # of `simulate`, the default first


@dataclass(frozen=True)
class Solver:
    """Method, tolerances and limits of `simulate`.

    Parameters
    ----------
    method
        Explicit: DOP853, RK45 or RK23. Implicit, for stiff torques: Radau, BDF or LSODA.
    rtol, atol
        Relative and absolute error tolerance of a step.
    max_step
        Longest step, s.
    tolerance
        Contact tolerance, m. Points closer to a wall than this at an impact take part in it, and no point penetrates a
        wall deeper than this.
    rest_speed
        Normal speed below which a bouncing point is considered at rest, m/s.
    max_events, max_steps
        Number of events and of steps after which a run ends.
    least_progress
        A run that advances less than this time in 2000 steps ends with status STALLED, s.

    Examples
    --------
    >>> import appell as ap
    >>> record = ap.simulate(ap.load("pendulum"), q0=[0.5], solver=ap.Solver("RK45", rtol=1e-6))
    >>> record.about["method"], record.about["rtol"]
    ('RK45', 1e-06)
    """

    method: str = "DOP853"
    rtol: float = 1e-8
    atol: float = 1e-10
    max_step: float = np.inf
    tolerance: float = 1e-7
    rest_speed: float = 1e-5
    max_events: int = 10_000
    max_steps: int = 1_000_000
    least_progress: float = 1e-5

    def __post_init__(self):
        if self.method not in SOLVER_METHODS:
            raise ArgumentError(unknown_name("method", str(self.method), SOLVER_METHODS, "simulate"))
        for name, (low, high, expected) in RANGES.items():
            value = getattr(self, name)
            in_range = is_number(value) and low <= value <= high and (is_finite(value) or value == high)
            if not in_range or (name in INTEGER_OPTIONS and value != round(value)):
                raise ArgumentError(f"{name} is {value_text(value)}.", expected=expected)

    @staticmethod
    def of(given: Solver | str) -> Solver:
        """Return `given` as a solver; a string is the name of its method."""
        if isinstance(given, Solver):
            return given
        if not isinstance(given, str):
            raise ArgumentError(f"solver is {given!r}.", expected="the name of a method, or Solver(method, rtol, ...)")
        return Solver(given)


@dataclass(frozen=True)
class SpringContacts:
    """Contact model of rollouts by rk4, euler and midpoint: springs and dampers; see `rollouts.contacts.penalty`.

    Parameters
    ----------
    depth
        Depth to which the system at rest sinks into a wall or a joint stop, m or rad.
    stiffness
        Stiffness of walls, N/m. None: derived from `depth`.
    """

    depth: float = 1e-3
    stiffness: float | None = None

    def __post_init__(self):
        check_number("depth of SpringContacts", self.depth, least=0.0, above=True)
        if self.stiffness is not None:
            check_number("stiffness of SpringContacts", self.stiffness, least=0.0, above=True)


@dataclass(frozen=True)
class ImpulseContacts:
    """Contact model of rollouts by moreau: impulses by Newton's law; see `rollouts.contacts.impulses`.

    Parameters
    ----------
    sweeps
        Largest number of Gauss-Seidel sweeps over all contacts per step.
    tolerance
        Relative change of the impulses by a sweep, below which the sweeps end early. 0: they never do.
    """

    sweeps: int = 20
    tolerance: float = 1e-4

    def __post_init__(self):
        if isinstance(self.sweeps, bool) or not isinstance(self.sweeps, int) or self.sweeps < 1:
            raise ArgumentError(f"sweeps of ImpulseContacts is {self.sweeps!r}.", expected="an integer, at least 1")
        check_number("tolerance of ImpulseContacts", self.tolerance, least=0.0)


@dataclass(frozen=True)
class Feedback:
    """A control law of a rollout that is a Python function, with its memory and its sampling period.

    Parameters
    ----------
    function
        law(t, q, v) -> tau, or law(t, q, v, memory) -> (tau, memory), over traced scalars.
    memory
        Initial memory, (m,) or (members, m). None: the function has no memory, or its attribute `start` is the initial
        memory.
    period
        Time between two evaluations, s; an integer number of steps. The torque is held in between. None: a function
        with memory is evaluated once per step, one without memory in every stage of a step.
    """

    function: Callable
    memory: Any = None
    period: float | None = None

    def __post_init__(self):
        if not callable(self.function):
            raise ArgumentError(f"the law of a Feedback is {self.function!r}.", expected="a function of (t, q, v)")
        if self.period is not None:
            check_number("the period of the law", self.period, least=0.0, above=True)


@dataclass(frozen=True)
class Output:
    """Content of the records that a rollout returns.

    Parameters
    ----------
    every
        Number of steps between two rows; it must divide the number of steps.
    energy
        Whether to add the total energy, J.
    dtype
        float64, or float32 to compute in single precision.
    """

    every: int = 1
    energy: bool = False
    dtype: Any = float

    def __post_init__(self):
        checked_steps("every", self.every)
        float_type(self.dtype)


def check_impact_law(law: Any) -> None:
    """Raise `ArgumentError` if an impact law does not exist."""
    if law not in IMPACT_LAWS:
        raise ArgumentError(unknown_name("impact law", str(law), IMPACT_LAWS, "simulate"))


def check_impact_order(order: Any) -> None:
    """Raise `ArgumentError` if an order of simultaneous impacts does not exist."""
    if order not in IMPACT_ORDERS:
        raise ArgumentError(unknown_name("impact order", str(order), IMPACT_ORDERS, "simulate"))


def checked_steps(name: str, given: Any, least: int = 1) -> int:
    """Return a number of steps as an int; raise `ArgumentError` with this name if it is not one."""
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)) or not least <= given <= MAX_STEPS:
        raise ArgumentError(f"{name} is {value_text(given)}.", expected=f"an integer from {least} to {MAX_STEPS:g}")
    return int(given)


def checked_step_length(dt: Any) -> float:
    """Return the length of a step in seconds as a float."""
    check_number("dt, the length of a step,", dt, least=0.0, above=True)
    return float(dt)


def float_type(dtype: Any) -> np.dtype:
    """Return float64 or float32 as a dtype; raise `ArgumentError` for any other."""
    try:
        kind = np.dtype(dtype)
    except TypeError:
        kind = np.dtype(object)
    if kind not in FLOAT_TYPES:
        raise ArgumentError(f"dtype is {dtype!r}.", expected="float64 or float32")
    return kind
