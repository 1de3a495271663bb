"""Laws of rollouts: feedback over traced scalars, which becomes a part of the kernel.

    law(t, q, v) -> tau                          asked at every instant, in every stage of a step: a continuous law
    law(t, q, v, memory) -> (tau, memory)        asked once a step; its torque is held until the next

`Feedback(law, memory, period)` gives the initial memory and a period: the law is asked when a period begins, and its
torque and memory are held until the next. An object may have its initial memory as `start`. Designs and regulators
of `ap.control` give a `KernelLaw` by their method `kernel_law(reference)`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from inspect import Parameter, signature
from typing import Any

import numpy as np

from appell.algebra.scalar import Scalar
from appell.errors import ArgumentError
from appell.simulation.options import Feedback
from appell.simulation.rollouts.tracing import called, name_of, scalars_of

Telling = Callable[[np.ndarray], np.ndarray]  # times (steps) -> numbers (steps, told), or (members, steps, told)
EXPECTED = "a function of (t, q, v), a Feedback, or a design of ap.control"


@dataclass(frozen=True)
class KernelLaw:
    """`torque(t, q, v, memory, told)` gives (tau, memory) over scalars; `told` is what it is told at the time."""

    name: str
    torque: Callable[..., tuple[Any, Any]] = field(repr=False)
    start: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)  # the memory it begins with
    told: int = 0  # numbers that it is told
    telling: Telling | None = field(default=None, repr=False)
    period: float | None = None  # s; None: a step
    continuous: bool = False  # asked at every instant; it then has neither memory nor period, and is told nothing
    source: Callable | None = field(default=None, repr=False)  # what a user wrote, if that is another function

    @property
    def memory(self) -> int:
        """How many numbers it remembers."""
        return np.shape(self.start)[-1]

    def __call__(self, t: Scalar, q, v, memory, told, names: Sequence[str]) -> tuple[list[Scalar], list[Scalar]]:
        """Torques by these names, and what is remembered, checked."""
        what = f"law '{self.name}'"
        arguments = t, list(q), list(v), list(memory), list(told)
        tau, kept = called(self.torque, what, *arguments, source=self.source)
        return scalars_of(tau, names, what), scalars_of(kept, [f"{k}" for k in range(self.memory)], f"{what}: memory")


def law_of(law: Any, reference: Any = None) -> KernelLaw | None:
    """Return the law of a rollout as its kernel takes it; None if there is none."""
    if law is None:
        if reference is not None:
            raise ArgumentError("there is a reference without a law.", expected="law=...")
        return None
    if isinstance(law, KernelLaw):
        return law
    if hasattr(law, "kernel_law"):
        return law.kernel_law(reference)
    if not callable(law) and not isinstance(law, Feedback):
        raise ArgumentError(f"law is {law!r}.", expected=EXPECTED)
    if reference is not None:
        raise ArgumentError("a law that is a function takes no reference.", hint="write it into the function")
    feedback = law if isinstance(law, Feedback) else Feedback(law)
    given, memory, period = feedback.function, feedback.memory, feedback.period
    if hasattr(given, "kernel_law"):
        raise ArgumentError(f"{given!r} brings its own memory and period.", expected="law= and reference= alone")
    start = getattr(given, "start", None) if memory is None else memory
    remembers = _arguments(given) == 4
    if remembers and start is None:
        raise ArgumentError(
            f"law '{name_of(given)}' has a memory, and nobody says what it begins with.",
            expected="Feedback(law, memory=[...])",
        )
    if not remembers:
        if memory is not None:
            raise ArgumentError(
                f"law '{name_of(given)}' takes no memory, and there is one.", expected="law(t, q, v, memory)"
            )
        return KernelLaw(name_of(given), _plain(given), period=period, continuous=period is None, source=given)
    try:
        begun = np.array(start, float)
    except (TypeError, ValueError):
        begun = np.zeros(())
    if begun.ndim not in (1, 2):
        raise ArgumentError(f"the memory of the law is {start!r}.", expected="numbers, or (members, numbers)")
    return KernelLaw(name_of(given), _remembering(given), begun, period=period, source=given)


def _plain(law: Callable) -> Callable[..., tuple[Any, Any]]:
    return lambda t, q, v, memory, told: (law(t, q, v), memory)


def _remembering(law: Callable) -> Callable[..., tuple[Any, Any]]:
    def torque(t, q, v, memory, told):
        pair = law(t, q, v, memory)
        if not (isinstance(pair, (tuple, list)) and len(pair) == 2):
            raise ArgumentError(f"law '{name_of(law)}' gave {pair!r}.", expected="(tau, memory)")
        return pair

    return torque


def _arguments(function: Callable) -> int:
    """How many arguments a law takes: 3 or 4."""
    try:
        taken = signature(function).parameters.values()
    except (TypeError, ValueError):
        return 3
    kinds = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    needed = sum(own.kind in kinds and own.default is Parameter.empty for own in taken)
    most = sum(own.kind in kinds for own in taken)
    if any(own.kind == Parameter.VAR_POSITIONAL for own in taken) or needed <= 3 <= most:
        return 3
    if needed <= 4 <= most:
        return 4
    raise ArgumentError(f"law '{name_of(function)}' takes {most} arguments.", expected=EXPECTED)
