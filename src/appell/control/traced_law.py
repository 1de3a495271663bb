"""Control laws as traced functions of the state, the reference, the time, a memory, further sensors and parameters.

    @ap.control.law(memory={"sum": 3}, sensors={"wrench": 6}, parameters={"gain": 2.0})
    def my_law(dyn, state):
        e = state.q - state.q_d
        tau = dyn.gravity(state.q) - state.parameters["gain"] * e - state.memory["sum"]
        return tau, {"sum": state.memory["sum"] + state.period * e}

`dyn` is a `Dynamics` of the model with rotors and viscous friction; its functions, called with arrays of the state,
become part of the compiled step. Sizes and initial values of memory and parameters are numbers, or functions of the
`Design`, for laws that do not depend on the number of joints. Parameters are arguments of the compiled step.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.algebra.loops import UNROLLED, Loops
from appell.algebra.scalar import Scalar
from appell.compile.tape.traced_array import traced_array
from appell.control.blocks import Blocks
from appell.errors import ArgumentError, TraceError, unknown_name
from appell.simulation.rollouts.tracing import called, name_of, scalars_of

if TYPE_CHECKING:
    from appell.control.design import Design

RESERVED = ("q", "v", "reference", "time", "before", "tau", "demand", "contact")  # arguments and results of the step


@dataclass(frozen=True)
class LawState:
    """What a traced law computes with: arrays of traced scalars, in SI units.

    q (nq), v (nv)                 measured configuration and velocity
    q_d, v_d, a_d (nv)             desired motion of the controlled coordinates
    t, period                      time of the step and time between two steps, in s
    memory, sensors, parameters    arrays by name
    tau (nu)                       torques that were applied during the last period
    loops                          loops of a law that is `looped`: `appell.algebra.loops`
    """

    q: Any
    v: Any
    q_d: Any
    v_d: Any
    a_d: Any
    t: Scalar
    period: float
    memory: Mapping[str, Any]
    sensors: Mapping[str, Any]
    parameters: Mapping[str, Any]
    tau: Any
    design: Design = field(repr=False)
    loops: Loops = UNROLLED

    def dry_friction(self, v: Any) -> Any:
        """Return torques (nu) against the dry friction of the drives at a velocity v (nv), with a smooth sign."""
        return traced_array(self.design.dry_friction(self.q, v))

    def at_actuators(self, forces: Any) -> Any:
        """Return torques (nu) that are equivalent to forces along the coordinates (nv); for an arm, the forces."""
        columns = self.design.parts.equations.at_actuators(self.q, [[force] for force in forces])
        return traced_array([row[0] for row in columns])


@dataclass(frozen=True)
class TracedLaw:
    """A control law that is a function of (dyn, state); see `law`."""

    name: str
    function: Callable[..., Any] = field(repr=False)
    memory: Mapping[str, Any] = field(default_factory=dict, hash=False)
    sensors: Mapping[str, int] = field(default_factory=dict, hash=False)
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)
    tracks: bool = True  # whether the reference must start at the arm's position
    looped: bool = False  # whether loops of the law stay loops in the compiled step
    integral = False  # such a law has no ki; its memory may hold any integral

    def __post_init__(self):
        names = [*self.memory, *self.sensors, *self.parameters]
        for name in names:
            if not name.isidentifier() or name in RESERVED or name.endswith("_next") or names.count(name) > 1:
                raise ArgumentError(
                    f"law '{self.name}' names an array '{name}'.",
                    expected="different identifiers for memory, sensors and parameters, none of " + ", ".join(RESERVED),
                )

    def __reduce__(self):
        """Pickle a law by the name of its module and its own, if it is found there."""
        function = self.function
        origin = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
        if getattr(_member(*origin), "function", None) is function:
            return _member, origin
        return TracedLaw, tuple(getattr(self, each.name) for each in fields(self))

    def torques(self, design: Design, state: LawState) -> tuple[list[Scalar], dict[str, list[Scalar]]]:
        """Return torques at the actuators and the new blocks of the memory, both checked."""
        what, function = f"law '{self.name}'", self.function
        source = function.func if isinstance(function, functools.partial) else function
        given = called(function, what, design.parts.smooth, state, source=source)
        has_memory = isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], Mapping)
        tau, changed = given if has_memory else (given, {})
        if self.memory and not has_memory:
            raise TraceError(
                f"{what} has a memory, but returned only one result.",
                expected="(tau, {name: values}) with the blocks " + ", ".join(self.memory),
            )
        if unknown := [name for name in changed if name not in self.memory]:
            raise ArgumentError(unknown_name("block of memory", unknown[0], self.memory, what))
        blocks = {}
        for name in self.memory:
            values = np.ravel(np.asarray(changed.get(name, state.memory[name]), object)).tolist()
            entries = [f"{name}[{k}]" for k in range(len(state.memory[name]))]
            blocks[name] = scalars_of(values, entries, f"{what}: memory '{name}'")
        return scalars_of(tau, design.model.actuator_names, what), blocks


def law(
    *,
    name: str | None = None,
    memory: Mapping[str, Any] | None = None,
    sensors: Mapping[str, int] | None = None,
    parameters: Mapping[str, Any] | None = None,
    tracks: bool = True,
) -> Callable[[Callable], TracedLaw]:
    """Return a decorator that makes a control law of a function (dyn, state) -> tau or (tau, memory).

    Parameters
    ----------
    name : str, optional
        Name in messages and logs; by default that of the function, with "-" for "_".
    memory : mapping, optional
        Sizes or initial values of arrays that the law returns and gets back in the next step, by name.
    sensors : mapping of str to int, optional
        Sizes of further measurements, by name, such as {"wrench": 6}.
    parameters : mapping, optional
        Default values of numbers that may change between two steps, by name; `Design(parameters=...)` replaces them.
    tracks : bool
        Whether the law follows a reference that starts at the arm's position; False for laws that accept a distant
        target.

    Returns
    -------
    callable
        Its argument is a function `law(dyn, state)` over arrays of traced scalars; `state` is a `LawState`.

    Examples
    --------
    >>> import numpy as np, appell as ap
    >>> @ap.control.law(parameters={"stiffness": [30.0, 20.0], "damping": 4.0})
    ... def spring(dyn, state):
    ...     gains = state.parameters
    ...     return dyn.gravity(state.q) - gains["stiffness"] * (state.q - state.q_d) - gains["damping"] * state.v
    >>> controller = ap.control.Controller(ap.control.Design(ap.load("planar-2r"), law=spring, torque_limit=np.inf))
    >>> controller([0.1, 0.0], [0.0, 0.0], [[0.0, 0.0]] * 3).round(3)
    array([16.522,  4.88 ])
    """

    def decorated(function: Callable) -> TracedLaw:
        named = name or name_of(function).replace("_", "-")
        return TracedLaw(named, function, memory or {}, sensors or {}, parameters or {}, tracks)

    return decorated


def resolved(design: Design, given: Mapping[str, Any], what: str) -> Blocks:
    """Return blocks from sizes, values, or functions of the design."""
    blocks = {}
    for name, value in given.items():
        known = value(design) if callable(value) else value
        try:
            numbers = known if isinstance(known, int) and what == "memory" else np.array(known, float).ravel()
        except (TypeError, ValueError):
            numbers = np.full(1, np.nan)
        if not np.isfinite(numbers).all():
            raise ArgumentError(f"{what} '{name}' of law '{design.law.name}' is {known!r}.", expected="finite numbers")
        blocks[name] = numbers
    return Blocks(**blocks)


def _member(module: str, name: str) -> Any:
    try:
        return functools.reduce(getattr, name.split("."), importlib.import_module(module))
    except (ImportError, AttributeError, ValueError):
        return None
