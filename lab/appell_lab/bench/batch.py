"""Batches: one call of appell against a Python loop over Pinocchio's function.

The loop is what a user of Pinocchio writes, including call overhead; for inverse and forward dynamics Pinocchio also
has functions for batches, which are measured on one thread. appell writes into a preallocated array; the time with
allocation of the results is measured as well.
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

AGREEMENT = 1e-9  # maximum error relative to the largest entry; beyond it, the functions are not the same
COMPARED_SAMPLES = 64


@dataclass(frozen=True)
class Quantity:
    """A function of appell and the function of Pinocchio that computes the same."""

    name: str
    title: str
    arguments: tuple[str, ...]
    ours: Callable[[Dynamics], Function]
    theirs: str
    at_once: str = ""  # Pinocchio's function for batches
    max_nv: int = 1000  # largest number of degrees of freedom for which it is measured


QUANTITIES = (
    Quantity(
        "inverse_dynamics", "inverse dynamics", ("q", "v", "a"), lambda d: d.inverse_dynamics, "rnea", "rneaInParallel"
    ),
    Quantity("mass_matrix", "inertia matrix", ("q",), lambda d: d.mass_matrix, "crba"),
    Quantity(
        "forward_dynamics", "forward dynamics", ("q", "v", "tau"), lambda d: d.forward_dynamics, "aba", "abaInParallel"
    ),
    Quantity(
        "inverse_dynamics_derivatives",
        "inverse-dynamics derivatives",
        ("q", "v", "a"),
        lambda d: d.inverse_dynamics.jacobian("q", "v", "a"),
        "computeRNEADerivatives",
        max_nv=12,
    ),
    Quantity(
        "regressor", "regressor", ("q", "v", "a"), lambda d: d.regressor, "computeJointTorqueRegressor", max_nv=12
    ),
)


def quantities(subject: Subject) -> list[Quantity]:
    """Return the quantities that are measured for a robot."""
    return [quantity for quantity in QUANTITIES if subject.robot.nv <= quantity.max_nv]


def measure(subject: Subject, quantity: Quantity, count: int, turns: int, tick: Callable[[], object]) -> list[Figure]:
    """Measure one function of one robot.

    Parameters
    ----------
    subject : the robot
    quantity : the function
    count : number of samples in the batch
    turns : number of timed repetitions; the best counts
    tick : called after every repetition
    """
    pin, twin = pinocchio(), subject.twin
    states = random_states(subject, count)
    function = quantity.ours(subject.dynamics)
    ours = [states[name] for name in quantity.arguments]
    theirs = [twin.layout(name, states[name]) for name in quantity.arguments]
    _check_agreement(subject, quantity, function, ours, theirs)

    listed = ", ".join(quantity.arguments)
    samples = ", ".join(f"{name}[i]" for name in quantity.arguments)
    out = tuple(np.empty((count, *array.shape)) for array in function.outputs)
    our_names = dict(zip(quantity.arguments, ours, strict=True)) | {"f": function, "out": out}
    their_names = dict(zip(quantity.arguments, theirs, strict=True)) | {
        "model": twin.model,
        "data": twin.data,
        "N": count,
    }
    their_names["f"] = getattr(pin, quantity.theirs)
    statements = {
        "theirs": TimedStatement(f"[f(model, data, {samples}) for i in range(N)]", their_names),
        "ours": TimedStatement(f"f({listed}, out=out)", our_names),
        "ours_allocating": TimedStatement(f"f({listed})", our_names),
    }
    if hasattr(pin, quantity.at_once):
        columns = {name: np.asfortranarray(array.T) for name, array in zip(quantity.arguments, theirs, strict=True)}
        result = np.empty((twin.model.nv, count), order="F")
        pool = {"f": getattr(pin, quantity.at_once), "pool": pin.ModelPool(twin.model, 1), "result": result}
        statements["theirs_at_once"] = TimedStatement(f"f(1, pool, {listed}, result)", columns | pool)
    timings = time_in_turns(statements, turns, tick)

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
    """Compare inverse dynamics in single and double precision; parameters as in `measure`."""
    states = random_states(subject, count)
    statements = {}
    for dtype in (np.float64, np.float32):
        names: dict[str, Any] = {name: states[name].astype(dtype) for name in ("q", "v", "a")}
        names |= {"f": subject.dynamics.inverse_dynamics, "out": np.empty((count, subject.robot.nv), dtype)}
        statements[dtype.__name__] = TimedStatement("f(q, v, a, out=out)", names)
    timings = time_in_turns(statements, turns, tick)
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


def _check_agreement(subject: Subject, quantity: Quantity, function: Function, ours: list, theirs: list) -> None:
    """Raise AppellError if the two functions do not compute the same."""
    pin, twin = pinocchio(), subject.twin
    our_results = function(*(array[:COMPARED_SAMPLES] for array in ours))
    for sample in range(min(COMPARED_SAMPLES, len(ours[0]))):
        reference = getattr(pin, quantity.theirs)(twin.model, twin.data, *(array[sample] for array in theirs))
        for position, (result, other) in enumerate(zip(_as_tuple(our_results), _as_tuple(reference), strict=True)):
            shaped = np.reshape(other, result.shape[1:])  # Pinocchio returns matrices with one row as vectors
            expected = arranged(twin, quantity.name, position, shaped[None])[0]
            error = np.abs(result[sample] - expected).max() / max(np.abs(expected).max(), 1e-300)
            if not error <= AGREEMENT:
                raise AppellError(
                    f"{quantity.title} of robot '{subject.name}' differs from Pinocchio by {error:.1e}; "
                    "it is not timed.",
                    expected=f"agreement within {AGREEMENT:g} of the largest entry",
                )


def _as_tuple(results) -> tuple:
    return results if isinstance(results, tuple) else (results,)
