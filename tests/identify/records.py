"""Records for the tests of identification, made once: the PUMA on the simulated cabinet, and clean motions."""

from functools import lru_cache

import numpy as np

import appell as ap
from appell.hardware import Rig
from appell.identify import MotionBounds, ParameterMotion, TrackingLaw, excite, process, seek
from appell_lab.papers.identification import LIMITS, NOISY, PERIOD, guess, real, sought


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
def rig():
    """The real robot on the simulated cabinet, its controller with the wrong description."""
    robot, model, _, _ = puma()
    return Rig(robot, model.system, period=PERIOD)


@lru_cache
def recorded(seed=1, which=0):
    """The record of a motion."""
    return rig().record(motions()[which], seed, NOISY).record


@lru_cache
def processed(seed=1, which=0, smooth=False):
    return process(recorded(seed, which), hold=True, smooth=smooth)


@lru_cache
def under_a_known_law():
    """A law of the estimators' own, and the record of the PUMA with smooth friction under it, with noise on the torques
    on their way to the joints: what output error is made for."""
    sought = seek(puma()[1].system, friction=True, rotor=True, width=0.02)
    base, law = sought.base, TrackingLaw.along(sought, motions()[0], PERIOD)
    truth, given, rng = base.values(puma()[3]), [], np.random.default_rng(1)
    noise, torque = 0.01 * np.array([own.torque_limit for own in sought.system.actuators]), law.start()

    def disturbed(k, q, v):
        given.append(torque(k, q, v))
        return given[-1] + noise * rng.normal(size=q.shape)

    q, *_ = ParameterMotion(base, truth).run(law.q[0], law.v[0], len(law.q), PERIOD, disturbed)
    t, q = PERIOD * np.arange(len(q)), q + 2e-5 * rng.normal(size=q.shape)
    names = sought.system.coordinate_names
    return law, base, truth, process(ap.Record.of(t, {"q": q, "tau": np.array(given)}, names), hold=True)


def motion(record):
    return record.q, record.v, record.a


def clean(system, count=400, seed=1):
    """q, v, a, tau of random motions, without noise."""
    q, v, a = seek(system).sample(count, np.random.default_rng(seed))
    return q, v, a, ap.Dynamics(system).inverse_dynamics(q, v, a)
