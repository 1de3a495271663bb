"""Studies shared by the tests of sweeps."""

from __future__ import annotations

import time

import numpy as np

TABLE = {"x": np.arange(30.0), "start": np.arange(60.0).reshape(30, 2)}


def smooth(x, start, seed):
    """Return a float, an integer, an array of random numbers and a bool."""
    rng = np.random.default_rng(seed)
    return {"y": x**2 + start.sum(), "n": int(x), "draws": rng.normal(size=3), "even": x % 2 == 0}


def picky(x, start, seed):
    """Return the same as `smooth`, except that every seventh job fails."""
    if x % 7 == 3:
        raise ValueError(f"{x} is not accepted")
    return smooth(x, start, seed)


def logged(x, log, wait):
    """Append x to a file."""
    with open(log, "a", encoding="utf-8") as file:
        file.write(f"{x}\n")
    time.sleep(wait)
    return {"y": float(x)}
