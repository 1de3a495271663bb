"""The time per sample of a compiled function on a batch, on one core, as processor time of the process."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import numpy as np

from appell.compile.function import Function

MEASURING_S = 0.05  # processor time for the calls of one function


def nanoseconds(function: Function, samples: int = 2048, seconds: float | None = None) -> float:
    """Return the shortest time per sample, in ns, of all calls within a given time.

    Arguments are random numbers of order one; matrices are positive definite.

    Parameters
    ----------
    function : the function
    samples : number of samples per call
    seconds : processor time for all calls; by default `MEASURING_S`
    """
    rng = np.random.default_rng(0)
    arguments = [rng.normal(size=(samples, *array.shape)) for array in function.inputs]
    arguments = [x @ x.swapaxes(1, 2) + np.eye(x.shape[-1]) if x.ndim == 3 else x for x in arguments]
    outputs = tuple(np.empty((samples, *array.shape)) for array in function.outputs)
    ufunc = function.ufunc
    ufunc(*arguments, out=outputs)
    best, end = float("inf"), process_time() + (MEASURING_S if seconds is None else seconds)
    while process_time() < end:
        best = min(best, seconds_of(lambda: ufunc(*arguments, out=outputs)))
    return 1e9 * best / samples


def seconds_of(call: Callable[[], object]) -> float:
    """Return the processor time of a call, which is repeated until the clock advances: on Windows by steps of 16 ms."""
    start, calls, duration = process_time(), 0, 0.0
    while duration == 0.0:
        call()
        calls, duration = calls + 1, process_time() - start
    return duration / calls
