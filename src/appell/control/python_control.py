"""Systems for the package python-control: named states, inputs and outputs, with compiled functions.

    ẋ = (N(q) v, a(q, v, τ))        x = (q, v)         u = (τ, outside wrenches)         y = h(q, v, τ)

python-control can interconnect such a system with controllers, linearise it, find operating points and simulate it. Its
integrators do not maintain the norm of quaternions or the closure of loops, as `ap.simulate` does, and dry friction
that sticks is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from appell.compile.function import Function
from appell.control.friction_parts import smooth
from appell.control.linear import checked_system, python_control
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, unknown_name
from appell.model.system import System
from appell.motion.titles import titles

WRENCH = ("fx", "fy", "fz", "mx", "my", "mz")
OutputFunction = Callable[[dict[str, np.ndarray]], np.ndarray]  # arguments by name -> values of an output


def io_system(
    system: System | Dynamics, outputs: Sequence[str | Function] | None = None, *, name: str | None = None
) -> Any:
    """Return a `control.NonlinearIOSystem` for the package python-control.

    Parameters
    ----------
    system : System or Dynamics
        A system, of which rotors and viscous friction are included, or a Dynamics, which is used as it is.
    outputs : sequence of str or Function, optional
        Names of states ("q_elbow") or accelerations ("a_elbow"), or functions of q, v and tau such as `dyn.energy`; by
        default all states.
    name : str, optional
        By default the name of the system.

    Returns
    -------
    control.NonlinearIOSystem
        Its inputs are the actuator forces, followed by the external wrenches of a Dynamics.
    """
    control = python_control()
    dyn = system if isinstance(system, Dynamics) else smooth(system)
    model, rate = checked_system(dyn.system), dyn.state_rate
    states = (*titles("q", model.coordinate_names), *titles("v", model.velocity_names))
    inputs = titles("tau", model.actuator_names)
    inputs += tuple(f"{wrench.name}_{axis}" for wrench in rate.inputs[3:] for axis in WRENCH)
    ends = np.cumsum([array.size for array in rate.inputs])[:-1]
    names = [array.name for array in rate.inputs]

    def arguments(x, u) -> dict[str, np.ndarray]:
        return dict(zip(names, np.split(np.concatenate([x, u]), ends), strict=True))

    def update(t, x, u, params) -> np.ndarray:
        return np.concatenate(rate(*arguments(x, u).values()))

    signals = [_output(each, dyn, states) for each in (states if outputs is None else outputs)]

    def output(t, x, u, params) -> np.ndarray:
        values = arguments(x, u)
        return np.concatenate([evaluate(values) for _, evaluate in signals])

    return control.nlsys(
        update,
        output,
        states=list(states),
        inputs=list(inputs),
        outputs=[title for named, _ in signals for title in named],
        name=name or model.name,
    )


def _output(requested: str | Function, dyn: Dynamics, states: tuple[str, ...]) -> tuple[list[str], OutputFunction]:
    """Return the names of an output and the function that computes it."""
    if isinstance(requested, Function):
        return _of_function(requested, dyn)
    accelerations = titles("a", dyn.system.velocity_names)
    if requested in states:
        index = states.index(requested)
        return [requested], lambda values: np.concatenate([values["q"], values["v"]])[index : index + 1]
    if requested in accelerations:
        k = accelerations.index(requested)
        return [requested], lambda values: dyn.state_rate(*values.values())[1][k : k + 1]
    raise ArgumentError(unknown_name("output", str(requested), (*states, *accelerations), dyn.system.owner))


def _of_function(function: Function, dyn: Dynamics) -> tuple[list[str], OutputFunction]:
    sizes = {array.name: array.shape for array in dyn.state_rate.inputs}
    needed = [array.name for array in function.inputs]
    if unknown := [str(array) for array in function.inputs if sizes.get(array.name) != array.shape]:
        raise ArgumentError(
            f"{function.name} takes {', '.join(unknown)}, which is not a state or input of {dyn.system.owner}.",
            expected=", ".join(map(str, dyn.state_rate.inputs)),
        )

    def evaluate(values: dict[str, np.ndarray]) -> np.ndarray:
        results = function(*(values[name] for name in needed))
        return np.concatenate([np.ravel(each) for each in (results if isinstance(results, tuple) else (results,))])

    named = [
        "_".join([function.name, *([array.name] * (len(function.outputs) > 1)), *map(str, index)])
        for array in function.outputs
        for index in np.ndindex(array.shape)
    ]
    return named, evaluate
