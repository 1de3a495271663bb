"""The time a compiled function takes for one sample of a batch, on one core, in processor time of the process."""

from __future__ import annotations

from time import process_time

import numpy as np

from appell.compile.function import Function


def nanoseconds(function: Function, samples: int = 2048, seconds: float = 0.05) -> float:
    """The best time a sample over as many runs as fit in `seconds`; arguments are random and of order one, matrices
    positive definite."""
    rng = np.random.default_rng(0)
    arguments = [rng.normal(size=(samples, *array.shape)) for array in function.inputs]
    arguments = [x @ x.swapaxes(1, 2) + np.eye(x.shape[-1]) if x.ndim == 3 else x for x in arguments]
    outputs = tuple(np.empty((samples, *array.shape)) for array in function.outputs)
    ufunc = function.ufunc
    ufunc(*arguments, out=outputs)
    best, end = float("inf"), process_time() + seconds
    while process_time() < end:
        start = process_time()
        ufunc(*arguments, out=outputs)
        best = min(best, process_time() - start)
    return 1e9 * best / samples
