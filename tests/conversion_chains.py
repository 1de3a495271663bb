"""Conversions of a robot through several formats, and the largest change of its dynamics.

A step that a format refuses by name ends the chain. Forces are compared at random states, by the names of velocities;
mimic joints, which become constraints in MJCF, follow their leaders.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

import appell as ap
from appell.describe.convert import WRITERS
from appell.describe.load import load_text
from appell.errors import AppellError, ModelWarning
from appell.model.constraint import Gear

STATES = 3


def chain(robot, formats: Sequence[str]) -> tuple[float, str]:
    """Return the largest relative change of the forces over all steps, and the refusal that ended the chain."""
    worst, converted = 0.0, robot
    for format in formats:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            try:
                text = WRITERS[format](converted)
            except AppellError as error:
                return worst, f"{format}: {error.problem}"
            converted = load_text(text, format, physical=robot.physical)
        worst = max(worst, change(robot, converted))
    return worst, ""


def change(robot, other) -> float:
    """Largest relative difference of the forces along the velocities of `robot`."""
    if robot.is_tree and not other.is_tree:
        other = other.tree.with_loops(*other.constraints, independent=robot.velocity_names, home=other.home)
    assert sorted(other.velocity_names) == sorted(robot.velocity_names)
    one, two = (ap.Dynamics(each).equations for each in (robot, other))
    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(STATES):
        q = robot.random_configuration(rng, within_limits=False)
        v, a = rng.normal(size=(2, robot.nv))
        expected = np.array(one.forces(q.tolist(), v.tolist(), a.tolist(), {}))
        order = [robot.velocity_names.index(name) for name in other.velocity_names]
        actual = np.array(two.forces(_coordinates(robot, other, q).tolist(), v[order].tolist(), a[order].tolist(), {}))
        worst = max(worst, float(np.abs(actual - expected[order]).max() / np.abs(expected).max()))
    return worst


def _coordinates(robot, other, q: np.ndarray) -> np.ndarray:
    """The q of `other` for a q of `robot`, with joints of gears from those that `robot` has."""
    values = dict(zip(robot.coordinate_names, q, strict=True))
    for constraint in other.constraints if robot.is_tree else ():
        assert isinstance(constraint, Gear)
        (follower, share), *leaders = constraint.ratios.items()
        rest = sum(ratio * values[leader] for leader, ratio in leaders)
        values[follower] = (constraint.offset - rest) / share
    return np.array([values[name] for name in other.coordinate_names])
