"""Control laws of rollouts: feedback over traced scalars, compiled into the kernel.

    law(t, q, v) -> tau                          continuous: evaluated in every stage of a step
    law(t, q, v, memory) -> (tau, memory)        evaluated once per step; the torque is held during the step
    law(t, q, v, *, weights) -> tau              keyword-only parameters are `arguments` of the rollout

`Feedback(law, memory, period)` adds the initial memory and a period: the law is evaluated when a period starts, and its
torque and memory are held until the next. A callable object may have its initial memory as attribute `start`. Designs
and regulators of `ap.control` return a `KernelLaw` from their method `kernel_law(reference)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from inspect import Parameter, signature
from typing import Any

import numpy as np

from appell.algebra.scalar import Scalar
from appell.compile.tape.traced_array import traced_array
from appell.errors import ArgumentError
from appell.simulation.options import Feedback
from appell.simulation.rollouts.tracing import called, name_of, scalars_of

Signal = Callable[[np.ndarray], np.ndarray]  # times (steps,) -> (steps, signal_size) or (members, steps, signal_size)
NO_ARGUMENTS: Mapping[str, Any] = {}  # a plain dict, because plans are pickled with their arguments
EXPECTED = "a function of (t, q, v), a Feedback, or a design of ap.control"


@dataclass(frozen=True)
class KernelLaw:
    """A control law as the kernel evaluates it.

    Parameters
    ----------
    name
        Name for messages.
    torque
        Function (t, q, v, memory, signal, **arguments) -> (tau, memory) over scalars.
    start
        Initial memory, (m,) or (members, m).
    signal_size, signal
        Number of additional inputs per step, such as the reference, and the function of time that returns them.
    period
        Time between two evaluations, s. None: one step.
    continuous
        Whether the law is evaluated in every stage of a step. It then has no memory, period or signal.
    source
        The function that the user wrote, if `torque` is another one; for messages.
    looped
        Whether `torque` takes the keyword `loops`: its loops stay loops in the kernel.
    """

    name: str
    torque: Callable[..., tuple[Any, Any]] = field(repr=False)
    start: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)
    signal_size: int = 0
    signal: Signal | None = field(default=None, repr=False)
    period: float | None = None
    continuous: bool = False
    source: Callable | None = field(default=None, repr=False)
    looped: bool = False

    @property
    def memory(self) -> int:
        """Size of the memory."""
        return np.shape(self.start)[-1]

    def __call__(
        self, t: Scalar, q, v, memory, signal, names: Sequence[str], named: Mapping[str, Any] = NO_ARGUMENTS
    ) -> tuple[list[Scalar], list[Scalar]]:
        """Return the torques, one per name, and the new memory, both checked; `named` are arguments of the rollout."""
        what = f"law '{self.name}'"
        given = t, list(q), list(v), list(memory), list(signal)
        tau, remembered = called(partial(self.torque, **named), what, *given, source=self.source or self.torque)
        entries = [f"{k}" for k in range(self.memory)]
        return scalars_of(tau, names, what), scalars_of(remembered, entries, f"{what}: memory")


def law_of(law: Any, reference: Any = None) -> KernelLaw | None:
    """Return the control law of a rollout as a `KernelLaw`; None if there is none."""
    if law is None:
        if reference is not None:
            raise ArgumentError("reference is given without a law.", expected="law=...")
        return None
    if isinstance(law, KernelLaw):
        return law
    if hasattr(law, "kernel_law"):
        return law.kernel_law(reference)
    if not callable(law) and not isinstance(law, Feedback):
        raise ArgumentError(f"law is {law!r}.", expected=EXPECTED)
    if reference is not None:
        raise ArgumentError(
            "reference is given, but the law is a function.", hint="Evaluate the reference inside the function."
        )
    feedback = law if isinstance(law, Feedback) else Feedback(law)
    given, memory, period = feedback.function, feedback.memory, feedback.period
    if hasattr(given, "kernel_law"):
        raise ArgumentError(
            f"{given!r} has its own memory and period and cannot be a Feedback.", expected="law= and reference= alone"
        )
    start = getattr(given, "start", None) if memory is None else memory
    has_memory = _arguments(given) == 4
    if has_memory and start is None:
        raise ArgumentError(
            f"law '{name_of(given)}' has a memory without an initial value.",
            expected="Feedback(law, memory=[...])",
        )
    if not has_memory:
        if memory is not None:
            raise ArgumentError(
                f"memory is given, but law '{name_of(given)}' does not take it.", expected="law(t, q, v, memory)"
            )
        return KernelLaw(name_of(given), _plain(given), period=period, continuous=period is None, source=given)
    try:
        initial = np.array(start, float)
    except (TypeError, ValueError, OverflowError):
        initial = np.zeros(())
    if initial.ndim not in (1, 2):
        raise ArgumentError(f"the memory of the law is {start!r}.", expected="an array (m,) or (members, m)")
    return KernelLaw(name_of(given), _with_memory(given), initial, period=period, source=given)


def _plain(law: Callable) -> Callable[..., tuple[Any, Any]]:
    return lambda t, q, v, memory, signal, **named: (law(t, traced_array(q), traced_array(v), **named), memory)


def _with_memory(law: Callable) -> Callable[..., tuple[Any, Any]]:
    def torque(t, q, v, memory, signal, **named):
        pair = law(t, traced_array(q), traced_array(v), traced_array(memory), **named)
        if not (isinstance(pair, (tuple, list)) and len(pair) == 2):
            raise ArgumentError(f"law '{name_of(law)}' returned {pair!r}.", expected="(tau, memory)")
        return pair

    return torque


def keyword_names(function: Callable | None) -> list[str]:
    """Return the keyword-only parameters of a user's function, which are arguments of the rollout."""
    try:
        parameters = signature(function).parameters.values() if function is not None else ()
    except (TypeError, ValueError):
        return []
    return [parameter.name for parameter in parameters if parameter.kind == Parameter.KEYWORD_ONLY]


def _arguments(function: Callable) -> int:
    """Return the number of arguments of a law: 3 or 4."""
    try:
        parameters = signature(function).parameters.values()
    except (TypeError, ValueError):
        return 3
    kinds = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    required = sum(parameter.kind in kinds and parameter.default is Parameter.empty for parameter in parameters)
    accepted = sum(parameter.kind in kinds for parameter in parameters)
    if any(parameter.kind == Parameter.VAR_POSITIONAL for parameter in parameters) or required <= 3 <= accepted:
        return 3
    if required <= 4 <= accepted:
        return 4
    raise ArgumentError(f"law '{name_of(function)}' takes {accepted} arguments.", expected=EXPECTED)
