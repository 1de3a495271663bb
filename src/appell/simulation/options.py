"""Options of `simulate` and `rollout` that belong together, each checked when it is made.

simulate(robot, solver=Solver("Radau", rtol=1e-6))                      or solver="Radau"
rollout(robot, contacts=..., contact_model=SpringContacts(depth=1e-4))  rk4, euler, midpoint
rollout(robot, contacts=..., method="moreau", contact_model=ImpulseContacts(sweeps=20))
rollout(robot, law=Feedback(law, memory=[0.0], period=4e-3), output=Output(every=10, energy=True))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.algebra.scalar import is_number
from appell.compile.ode.tableau import METHODS
from appell.errors import ArgumentError, check_number, unknown_name

IMPLICIT = {"Radau": 3, "BDF": 5, "LSODA": 12}  # the highest degree of each interpolant
SOLVER_METHODS = (*METHODS, *IMPLICIT)
TINY, HUGE = np.finfo(float).tiny, np.finfo(float).max
RANGES = {
    "rtol": (TINY, 1.0, "a positive number, at most 1"),
    "atol": (TINY, 1.0, "a positive number, at most 1 (m, rad, and so on)"),
    "max_step": (TINY, np.inf, "a positive number of seconds"),
    "tolerance": (1e-13, HUGE, "a finite number of metres, at least 1e-13, below which positions are rounding"),
    "rest_speed": (TINY, HUGE, "a positive, finite number of metres per second"),
    "max_events": (1, HUGE, "a whole number, at least 1"),
    "max_steps": (1, HUGE, "a whole number, at least 1"),
    "least_progress": (TINY, HUGE, "a positive, finite number of seconds"),
}
COUNTED = ("max_events", "max_steps")
KINDS = (np.float64, np.float32)
MOST_STEPS = 10**9


@dataclass(frozen=True)
class Solver:
    """How `simulate` integrates a motion, resolves its events, and where it gives up.

    Parameters
    ----------
    method
        DOP853, RK45 or RK23; Radau, BDF or LSODA for stiff torques.
    rtol, atol
        Relative and absolute tolerance of a step.
    max_step
        Longest step, s.
    tolerance
        Points nearer to a wall than this at an impact are solved together, and none goes deeper into it, m.
    rest_speed
        Bounces slower than this are taken as finished, m/s.
    max_events, max_steps
        Numbers of events and steps after which a run ends.
    least_progress
        A run that advances less than this in 2000 steps ends as STALLED, s.
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
        for name, (least, most, expected) in RANGES.items():
            value = getattr(self, name)
            if not is_number(value) or not least <= value <= most or (name in COUNTED and value != round(value)):
                raise ArgumentError(f"{name} is {value!r}.", expected=expected)

    @staticmethod
    def of(given: Solver | str) -> Solver:
        """Return a solver, or the one that a method's name stands for."""
        if isinstance(given, Solver):
            return given
        if not isinstance(given, str):
            raise ArgumentError(f"solver is {given!r}.", expected="the name of a method, or Solver(method, rtol, ...)")
        return Solver(given)


@dataclass(frozen=True)
class SpringContacts:
    """Contacts of rollouts by rk4, euler and midpoint: springs with dampers; see `rollouts.contacts.penalty`.

    Parameters
    ----------
    depth
        Depth to which the system at rest sinks into a wall or a stop, m or rad.
    stiffness
        Stiffness of walls, N/m. None: that of `depth`.
    """

    depth: float = 1e-3
    stiffness: float | None = None

    def __post_init__(self):
        check_number("depth of SpringContacts", self.depth, least=0.0, above=True)
        if self.stiffness is not None:
            check_number("stiffness of SpringContacts", self.stiffness, least=0.0, above=True)


@dataclass(frozen=True)
class ImpulseContacts:
    """Contacts of rollouts by moreau: impulses; see `rollouts.contacts.impulses`.

    Parameters
    ----------
    sweeps
        Number of Gauss-Seidel sweeps over all contacts in a step.
    """

    sweeps: int = 20

    def __post_init__(self):
        if isinstance(self.sweeps, bool) or not isinstance(self.sweeps, int) or self.sweeps < 1:
            raise ArgumentError(f"sweeps of ImpulseContacts is {self.sweeps!r}.", expected="a whole number from 1")


@dataclass(frozen=True)
class Feedback:
    """A function as the law of a rollout, with its memory and its period.

    Parameters
    ----------
    function
        law(t, q, v) -> tau, or law(t, q, v, memory) -> (tau, memory), over traced scalars.
    memory
        Initial memory, (m,) or (members, m); None: the function has none, or has it as its attribute `start`.
    period
        Time between two evaluations, a whole number of steps, s; the torque is held in between. None: a function with
        memory is evaluated in every step, one without in every stage of a step.
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
    """What a rollout returns.

    Parameters
    ----------
    every
        Number of steps between two rows; it divides the number of steps.
    energy
        Whether records have the energy, J.
    dtype
        float64, or float32 to compute in single precision.
    """

    every: int = 1
    energy: bool = False
    dtype: Any = float

    def __post_init__(self):
        number_of_steps("every", self.every)
        kind_of(self.dtype)


def number_of_steps(what: str, given: Any, least: int = 1) -> int:
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)) or not least <= given <= MOST_STEPS:
        raise ArgumentError(f"{what} is {given!r}.", expected=f"a whole number from {least} to {MOST_STEPS:g}")
    return int(given)


def step_length(dt: Any) -> float:
    check_number("dt, the length of a step,", dt, least=0.0, above=True)
    return float(dt)


def kind_of(dtype: Any) -> np.dtype:
    try:
        kind = np.dtype(dtype)
    except TypeError:
        kind = np.dtype(object)
    if kind not in KINDS:
        raise ArgumentError(f"dtype is {dtype!r}.", expected="float64 or float32")
    return kind
