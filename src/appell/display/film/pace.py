"""How fast a film shows what happens, and at which times its frames are.

At the speed of life if that lasts some seconds; else slower or faster by a round factor, which the picture says.
"""

from __future__ import annotations

import math

import numpy as np

from appell.errors import ArgumentError, check_number

FRAMES_A_SECOND = 25
SHORTEST, LONGEST = 2.0, 20.0  # seconds of a film whose speed nobody chose
MOST = 10_000  # frames


def pace(span: float, slower: float | None) -> float:
    """How much slower than life, as asked for or so that the film lasts some seconds."""
    if slower is not None:
        check_number("slower", slower, least=0.0, above=True)
        if slower * span * FRAMES_A_SECOND > MOST:
            raise ArgumentError(
                f"the film would have {slower * span * FRAMES_A_SECOND:.0f} frames.",
                expected=f"at most {MOST}",
                hint="a smaller `slower`, or record.part(rows)",
            )
        return float(slower)
    if span == 0.0 or SHORTEST <= span <= LONGEST:
        return 1.0
    wanted = SHORTEST / span if span < SHORTEST else span / LONGEST
    power = 10.0 ** math.floor(math.log10(wanted))
    nice = power * next(k for k in (1.0, 2.0, 5.0, 10.0) if k * power >= wanted * (1.0 - 1e-9))
    return nice if span < SHORTEST else 1.0 / nice


def frame_times(first: float, last: float, slower: float) -> np.ndarray:
    """Of all frames, evenly from the first time on; the last frame is at the last time."""
    step = 1.0 / (slower * FRAMES_A_SECOND)
    frames = 1 + math.ceil((last - first) / step - 1e-6)
    return np.minimum(first + step * np.arange(frames), last)
