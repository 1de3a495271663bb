"""Records for the tests of identification, made once: the PUMA on the simulated cabinet, and clean motions."""

from functools import lru_cache

import numpy as np

import appell as ap
from appell.identify import Bounds, Cabinet, Model, Tracking, base_parameters, excite, process
from appell.lab.papers.identification import LIMITS, PERIOD, WIDTH, guess, with_friction


@lru_cache
def puma():
    """The real robot, the model that starts from a wrong description, its base, and the true full parameters."""
    real = ap.load("puma")
    model = Model(guess(real), friction=True, width=WIDTH)
    return real, model, base_parameters(model), with_friction(Model(real, friction=True, width=WIDTH))


@lru_cache
def motions():
    """An optimised motion, and another to judge by."""
    _, model, _, _ = puma()
    bounds = Bounds.of(model, **LIMITS)
    best = excite(model, bounds=bounds, starts=1, iterations=60).trajectory
    return best, excite(model, bounds=bounds, starts=1, iterations=10, criterion="logdet", seed=7).trajectory


@lru_cache
def recorded(seeds=(1,), which=0):
    """(log, truth) of the cabinet for every seed."""
    _, model, base, truth = puma()
    return Cabinet().record(base, truth, Tracking.along(model, motions()[which], PERIOD), seeds=seeds)


@lru_cache
def processed(seed=1, which=0):
    return process(recorded((seed,), which)[0][0], hold=True)


def clean(robot, count=400, seed=1):
    """q, v, a, tau of random motions, without noise."""
    model = Model(robot)
    q, v, a = model.sample(count, np.random.default_rng(seed))
    return q, v, a, ap.Dynamics(robot).inverse_dynamics(q, v, a)
