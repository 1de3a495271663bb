"""Studies that the tests of sweeps share."""

from __future__ import annotations

import time

import numpy as np

TABLE = {"x": np.arange(30.0), "start": np.arange(60.0).reshape(30, 2)}


def smooth(x, start, seed):
    """Numbers, whole numbers and an array of random ones."""
    rng = np.random.default_rng(seed)
    return {"y": x**2 + start.sum(), "n": int(x), "draws": rng.normal(size=3), "even": x % 2 == 0}


def picky(x, start, seed):
    """The same, but every seventh job fails."""
    if x % 7 == 3:
        raise ValueError(f"{x} is not to its taste")
    return smooth(x, start, seed)


def noted(x, log, wait):
    """Writes down that it ran."""
    with open(log, "a", encoding="utf-8") as file:
        file.write(f"{x}\n")
    time.sleep(wait)
    return {"y": float(x)}
