"""A system as python-control knows it: states, inputs and outputs with names, and compiled functions behind them.

    ẋ = (N(q) v, a(q, v, τ))        x = (q, v)         u = (τ, outside wrenches)         y = h(q, v, τ)

There it can be interconnected with controllers, linearised, brought to an operating point and run. Its integrators know
nothing of quaternions and loops, which `ap.simulate` keeps where they belong, nor of dry friction that sticks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from appell.compile.function import Function
from appell.control.friction_parts import smooth
from appell.control.linear import known, python_control
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, unknown_name
from appell.model.system import System
from appell.motion.titles import titles

WRENCH = ("fx", "fy", "fz", "mx", "my", "mz")
Reading = Callable[[dict[str, np.ndarray]], np.ndarray]  # arguments by name -> numbers


def io_system(
    system: System | Dynamics, outputs: Sequence[str | Function] | None = None, *, name: str | None = None
) -> Any:
    """A `control.NonlinearIOSystem` of a system, with rotors and viscous friction; of a Dynamics as it stands.

    `outputs` are names of states ("q_elbow"), of accelerations ("a_elbow"), or functions of q, v and tau, such as
    `dyn.energy`; all states, if None. Outside wrenches of a Dynamics are inputs after its torques.
    """
    control = python_control()
    dyn = system if isinstance(system, Dynamics) else smooth(system)
    own, rate = known(dyn.system), dyn.state_rate
    states = (*titles("q", own.coordinate_names), *titles("v", own.velocity_names))
    inputs = titles("tau", own.actuator_names)
    inputs += tuple(f"{wrench.name}_{axis}" for wrench in rate.inputs[3:] for axis in WRENCH)
    places = np.cumsum([array.size for array in rate.inputs])[:-1]
    names = [array.name for array in rate.inputs]

    def arguments(x, u) -> dict[str, np.ndarray]:
        return dict(zip(names, np.split(np.concatenate([x, u]), places), strict=True))

    def update(t, x, u, params) -> np.ndarray:
        return np.concatenate(rate(*arguments(x, u).values()))

    readings = [_reading(each, dyn, states) for each in (states if outputs is None else outputs)]

    def output(t, x, u, params) -> np.ndarray:
        found = arguments(x, u)
        return np.concatenate([read(found) for _, read in readings])

    return control.nlsys(
        update,
        output,
        states=list(states),
        inputs=list(inputs),
        outputs=[title for named, _ in readings for title in named],
        name=name or own.name,
    )


def _reading(asked: str | Function, dyn: Dynamics, states: tuple[str, ...]) -> tuple[list[str], Reading]:
    """The names of an output, and how it is computed."""
    if isinstance(asked, Function):
        return _of_function(asked, dyn)
    accelerations = titles("a", dyn.system.velocity_names)
    if asked in states:
        place = states.index(asked)
        return [asked], lambda found: np.concatenate([found["q"], found["v"]])[place : place + 1]
    if asked in accelerations:
        k = accelerations.index(asked)
        return [asked], lambda found: dyn.state_rate(*found.values())[1][k : k + 1]
    raise ArgumentError(unknown_name("output", str(asked), (*states, *accelerations), dyn.system.owner))


def _of_function(function: Function, dyn: Dynamics) -> tuple[list[str], Reading]:
    sizes = {array.name: array.shape for array in dyn.state_rate.inputs}
    needed = [array.name for array in function.inputs]
    if strange := [str(array) for array in function.inputs if sizes.get(array.name) != array.shape]:
        raise ArgumentError(
            f"{function.name} takes {', '.join(strange)}, which no state and no input of {dyn.system.owner} gives.",
            expected=", ".join(map(str, dyn.state_rate.inputs)),
        )

    def read(found: dict[str, np.ndarray]) -> np.ndarray:
        results = function(*(found[name] for name in needed))
        return np.concatenate([np.ravel(each) for each in (results if isinstance(results, tuple) else (results,))])

    named = [
        "_".join([function.name, *([array.name] * (len(function.outputs) > 1)), *map(str, index)])
        for array in function.outputs
        for index in np.ndindex(array.shape)
    ]
    return named, read
