"""Systems for the laws: the zoo, trees and mechanisms, and random trees; each bare, or with actuators of every kind."""

from __future__ import annotations

import numpy as np

from appell.describe.load import load, zoo_names
from appell.model.joints import Revolute
from appell.model.mechanism import Mechanism
from appell.model.robot import Robot
from appell.model.system import System
from robots import random_actuator, random_trees

SPREAD = {"agile-wrist": 0.4, "five-bar": 0.08, "three-rrr": 0.08, "delta": 0.15, "stewart-gough": 0.15}  # in reach


def systems(trees: int = 10, links: int = 10, first_seed: int = 100) -> dict[str, System]:
    """Every system of the zoo, and random trees."""
    return {system.name: system for system in [*map(load, zoo_names()), *random_trees(trees, links, first_seed)]}


def driven(system: System, seed: int = 0) -> System:
    """The same with random gears, rotors, friction and offsets; joints of several axes get friction alone."""
    rng = np.random.default_rng(seed)
    turning = Revolute()  # what a mechanism's actuator is
    return system.with_actuators(
        lambda name, _: random_actuator(rng, system.joint(name).motion if isinstance(system, Robot) else turning)
    )


def motion_of(system: System, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, v and a that a system can have, limits aside."""
    v, a = rng.normal(size=(2, system.nv))
    if isinstance(system, Mechanism):
        return system.start + rng.uniform(-1.0, 1.0, system.nq) * SPREAD[system.name], v, a
    return system.random_configuration(rng), v, a
