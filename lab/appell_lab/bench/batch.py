"""Batches: one call of ours against a Python loop over Pinocchio's function.

The loop is what a user of Pinocchio writes, call overhead included; for inverse and forward dynamics Pinocchio also
has a function of its own for batches, which is measured beside it on one thread. Ours writes into a preallocated array;
what it takes when it allocates its results is measured as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.compile.function import Function
from appell.dynamics import Dynamics
from appell.errors import AppellError
from appell_lab.bench.aims import aim
from appell_lab.bench.arrange import arranged
from appell_lab.bench.clock import TimedStatement, time_in_turns
from appell_lab.bench.figure import Figure
from appell_lab.bench.subject import Subject, pinocchio, random_states

AGREEMENT = 1e-9  # largest error relative to the largest entry; beyond it, what is timed is not the same function
JUDGED = 64  # samples that are compared


@dataclass(frozen=True)
class Measured:
    """A function of ours and the call of Pinocchio that computes the same."""

    name: str
    title: str
    arguments: tuple[str, ...]
    ours: Callable[[Dynamics], Function]
    theirs: str
    at_once: str = ""  # Pinocchio's own function for batches
    largest: int = 1000  # degrees of freedom up to which it is measured


QUANTITIES = (
    Measured(
        "inverse_dynamics", "inverse dynamics", ("q", "v", "a"), lambda d: d.inverse_dynamics, "rnea", "rneaInParallel"
    ),
    Measured("mass_matrix", "inertia matrix", ("q",), lambda d: d.mass_matrix, "crba"),
    Measured(
        "forward_dynamics", "forward dynamics", ("q", "v", "tau"), lambda d: d.forward_dynamics, "aba", "abaInParallel"
    ),
    Measured(
        "inverse_dynamics_derivatives",
        "inverse-dynamics derivatives",
        ("q", "v", "a"),
        lambda d: d.inverse_dynamics.jacobian("q", "v", "a"),
        "computeRNEADerivatives",
        largest=12,
    ),
    Measured(
        "regressor", "regressor", ("q", "v", "a"), lambda d: d.regressor, "computeJointTorqueRegressor", largest=12
    ),
)


def quantities(subject: Subject) -> list[Measured]:
    return [quantity for quantity in QUANTITIES if subject.robot.nv <= quantity.largest]


def measure(subject: Subject, quantity: Measured, count: int, turns: int, tick: Callable[[], object]) -> list[Figure]:
    """The figure of one function of one robot; `tick` is called after every turn."""
    pin, twin = pinocchio(), subject.twin
    states = random_states(subject, count)
    function = quantity.ours(subject.dynamics)
    ours = [states[name] for name in quantity.arguments]
    theirs = [twin.layout(name, states[name]) for name in quantity.arguments]
    _agree(subject, quantity, function, ours, theirs)

    listed = ", ".join(quantity.arguments)
    samples = ", ".join(f"{name}[i]" for name in quantity.arguments)
    out = tuple(np.empty((count, *array.shape)) for array in function.outputs)
    own = dict(zip(quantity.arguments, ours, strict=True)) | {"f": function, "out": out}
    other = dict(zip(quantity.arguments, theirs, strict=True)) | {"model": twin.model, "data": twin.data, "N": count}
    other["f"] = getattr(pin, quantity.theirs)
    contestants = {
        "theirs": TimedStatement(f"[f(model, data, {samples}) for i in range(N)]", other),
        "ours": TimedStatement(f"f({listed}, out=out)", own),
        "ours_allocating": TimedStatement(f"f({listed})", own),
    }
    if hasattr(pin, quantity.at_once):
        columns = {name: np.asfortranarray(array.T) for name, array in zip(quantity.arguments, theirs, strict=True)}
        result = np.empty((twin.model.nv, count), order="F")
        pool = {"f": getattr(pin, quantity.at_once), "pool": pin.ModelPool(twin.model, 1), "result": result}
        contestants["theirs_at_once"] = TimedStatement(f"f(1, pool, {listed}, result)", columns | pool)
    timings = time_in_turns(contestants, turns, tick)

    details: dict[str, Any] = {"function": quantity.theirs}
    details |= {f"{name}_best": timing.best / count for name, timing in timings.items()}
    details |= {f"{name}_median": timing.median / count for name, timing in timings.items()}
    return [
        Figure(
            "batch",
            subject.name,
            quantity.name,
            quantity.title,
            timings["theirs"].best / timings["ours"].best,
            "x",
            aim("batch", subject.name, quantity.name),
            timings["ours"].best / count,
            timings["theirs"].best / count,
            details,
        )
    ]


def measure_float32(subject: Subject, count: int, turns: int, tick: Callable[[], object]) -> list[Figure]:
    """Inverse dynamics in single precision against double precision."""
    states = random_states(subject, count)
    contestants = {}
    for dtype in (np.float64, np.float32):
        names: dict[str, Any] = {name: states[name].astype(dtype) for name in ("q", "v", "a")}
        names |= {"f": subject.dynamics.inverse_dynamics, "out": np.empty((count, subject.robot.nv), dtype)}
        contestants[dtype.__name__] = TimedStatement("f(q, v, a, out=out)", names)
    timings = time_in_turns(contestants, turns, tick)
    return [
        Figure(
            "batch",
            subject.name,
            "float32",
            "inverse dynamics, float32",
            timings["float64"].best / timings["float32"].best,
            "x",
            aim("batch", subject.name, "float32"),
            timings["float32"].best / count,
            timings["float64"].best / count,
        )
    ]


def _agree(subject: Subject, quantity: Measured, function: Function, ours: list, theirs: list) -> None:
    """Refuse to time two functions that do not compute the same."""
    pin, twin = pinocchio(), subject.twin
    mine = function(*(array[:JUDGED] for array in ours))
    for sample in range(min(JUDGED, len(ours[0]))):
        judged = getattr(pin, quantity.theirs)(twin.model, twin.data, *(array[sample] for array in theirs))
        for position, (result, other) in enumerate(zip(_several(mine), _several(judged), strict=True)):
            shaped = np.reshape(other, result.shape[1:])  # Pinocchio's matrices with one row come as vectors
            expected = arranged(twin, quantity.name, position, shaped[None])[0]
            error = np.abs(result[sample] - expected).max() / max(np.abs(expected).max(), 1e-300)
            if not error <= AGREEMENT:
                raise AppellError(
                    f"{quantity.title} of robot '{subject.name}' is {error:.1e} from Pinocchio's; it is not timed.",
                    expected=f"agreement within {AGREEMENT:g} of the largest entry",
                )


def _several(results) -> tuple:
    return results if isinstance(results, tuple) else (results,)
