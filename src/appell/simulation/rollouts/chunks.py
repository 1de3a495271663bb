"""A march in pieces: long work that can be watched and interrupted, with the numbers of one call.

A call of a kernel cannot be stopped. So a rollout is cut along its steps into calls of about a tenth of a second, each
begun where the one before ended; what is carried passes from call to call as it would from step to step.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from appell.compile.marching.march import March

CALL = 0.1  # s: how long a call is to take
FIRST = 100_000  # steps of members in the first call, which tells how long they take


def march_on(
    march: March,
    carried: Sequence[np.ndarray],
    held: Sequence[np.ndarray],
    driven: Mapping[str, np.ndarray],
    out: Sequence[np.ndarray],
    every: int,
    threads: int | None = None,
    told: Callable[[int], None] = lambda rows: None,
) -> None:
    """Fill `out`, (members, rows, ...) each in the order of the march's results; `told` is called with rows done.

    Carried and held arrays have an axis of members, driven ones one of members and one of steps.
    """
    members, rows = out[0].shape[:2]
    done, size = 0, max(1, FIRST // (max(1, members) * every))
    state = list(carried)
    while done < rows:
        upto = min(rows, done + size)
        steps = slice(done * every, upto * every)
        begun = time.perf_counter()
        with np.errstate(all="ignore"):  # members that blow up are told of in the records
            march(
                *state,
                *held,
                *(array[:, steps] for array in driven.values()),
                every=every,
                threads=threads,
                out=tuple(array[:, done:upto] for array in out),
            )
        taken = max(time.perf_counter() - begun, 1e-6)
        state = [array[:, upto - 1] for array, _ in zip(out, carried, strict=False)]
        size = max(1, min(8 * (upto - done), int((upto - done) * CALL / taken)))
        done = upto
        told(done)
