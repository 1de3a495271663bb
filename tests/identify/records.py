"""Cached records for the tests of identification: the PUMA on the simulated cabinet, and motions without noise."""

from functools import lru_cache

import numpy as np

import appell as ap
from appell.hardware import Rig
from appell.identify import MotionBounds, ParameterMotion, TrackingLaw, excite, process, select_parameters
from appell_lab.papers.identification import LIMITS, NOISY, PERIOD, guess, parameter_set, real


@lru_cache
def puma():
    """Return the real robot, the parameters of its wrong description, their base, and the true full parameters."""
    robot = real()
    model = parameter_set(guess(robot))
    return robot, model, model.base, parameter_set(robot).nominal


@lru_cache
def motions():
    """Return an optimised motion, and another one for validation."""
    _, model, _, _ = puma()
    bounds = MotionBounds.of(model.system, **LIMITS)
    best = excite(model, bounds=bounds, starts=1, iterations=60).path
    return best, excite(model, bounds=bounds, starts=1, iterations=10, criterion="logdet", seed=7).path


@lru_cache
def rig():
    """Return the real robot on the simulated cabinet, with the wrong description in its controller."""
    robot, model, _, _ = puma()
    return Rig(robot, model.system, period=PERIOD)


@lru_cache
def recorded(seed=1, which=0):
    """Return the record of a motion."""
    return rig().record(motions()[which], seed, NOISY).record


@lru_cache
def processed(seed=1, which=0, smooth=False):
    return process(recorded(seed, which), hold=True, smooth=smooth)


@lru_cache
def under_a_known_law():
    """Return a known control law and a record of the PUMA with smooth friction under it.

    Noise acts on the torques between controller and joints, which is the case that output error is made for.
    """
    parameter_set = select_parameters(puma()[1].system, friction=True, rotor=True, width=0.02)
    base, law = parameter_set.base, TrackingLaw.along(parameter_set, motions()[0], PERIOD)
    truth, given, rng = base.values(puma()[3]), [], np.random.default_rng(1)
    noise, torque = 0.01 * np.array([each.torque_limit for each in parameter_set.system.actuators]), law.start()

    def disturbed(k, q, v):
        given.append(torque(k, q, v))
        return given[-1] + noise * rng.normal(size=q.shape)

    q, *_ = ParameterMotion(base, truth).run(law.q[0], law.v[0], len(law.q), PERIOD, disturbed)
    t, q = PERIOD * np.arange(len(q)), q + 2e-5 * rng.normal(size=q.shape)
    names = parameter_set.system.coordinate_names
    return law, base, truth, process(ap.Record.of(t, {"q": q, "tau": np.array(given)}, names), hold=True)


def motion(record):
    return record.q, record.v, record.a


def clean(system, count=400, seed=1):
    """Return q, v, a and tau of random motions, without noise."""
    q, v, a = select_parameters(system).sample(count, np.random.default_rng(seed))
    return q, v, a, ap.Dynamics(system).inverse_dynamics(q, v, a)
