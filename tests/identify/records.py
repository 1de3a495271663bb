"""Records for the tests of identification, made once: the PUMA on the simulated cabinet, and clean motions."""

from functools import lru_cache

import numpy as np

import appell as ap
from appell.identify import MotionBounds, excite, process, seek
from appell.lab.papers.identification import LIMITS, PERIOD, guess, real, sought
from appell.lab.papers.recorded import recordings


@lru_cache
def puma():
    """The real robot, what is sought of its wrong description, the base of that, and the true full parameters."""
    robot = real()
    model = sought(guess(robot))
    return robot, model, model.base, sought(robot).nominal


@lru_cache
def motions():
    """An optimised motion, and another to judge by."""
    _, model, _, _ = puma()
    bounds = MotionBounds.of(model.system, **LIMITS)
    best = excite(model, bounds=bounds, starts=1, iterations=60).path
    return best, excite(model, bounds=bounds, starts=1, iterations=10, criterion="logdet", seed=7).path


@lru_cache
def recorded(seeds=(1,), which=0):
    """The record of the cabinet for every seed."""
    robot, model, _, _ = puma()
    return recordings(robot, motions()[which], model=model, period=PERIOD, seeds=seeds)


@lru_cache
def processed(seed=1, which=0, smooth=False):
    return process(recorded((seed,), which)[0], hold=True, smooth=smooth)


def motion(record):
    return record.q, record.v, record.a


def clean(system, count=400, seed=1):
    """q, v, a, tau of random motions, without noise."""
    q, v, a = seek(system).sample(count, np.random.default_rng(seed))
    return q, v, a, ap.Dynamics(system).inverse_dynamics(q, v, a)
