"""Systems for the laws: the zoo, trees and mechanisms, and random trees; each bare, or with actuators of every kind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from appell.describe.load import load, zoo_names
from appell.model.actuator import Actuator
from appell.model.joints import Motion, Revolute
from appell.model.mechanism import Mechanism
from appell.model.robot import Robot
from appell.model.system import System
from robots import random_actuator, random_trees

SPREAD = {"agile-wrist": 0.4, "five-bar": 0.08, "three-rrr": 0.08, "delta": 0.15, "stewart-gough": 0.15}  # in reach


def systems(trees: int = 10, links: int = 10, first_seed: int = 100) -> dict[str, System]:
    """Every system of the zoo, and random trees."""
    return {system.name: system for system in [*map(load, zoo_names()), *random_trees(trees, links, first_seed)]}


def driven(system: System, seed: int = 0, *, springs: bool = True) -> System:
    """The same with random gears, rotors, friction, offsets and springs; joints of several axes get friction alone."""
    rng, turning = np.random.default_rng(seed), Revolute()  # which is what a mechanism's actuator is

    def drive(name: str, _: Actuator) -> Actuator:
        motion: Motion = system.joint(name).motion if isinstance(system, Robot) else turning
        own, stiffness, rest = random_actuator(rng, motion), float(rng.uniform(1.0, 50.0)), float(rng.normal())
        sprung = springs and motion.nv == 1 and rng.random() < 0.7
        return replace(own, stiffness=stiffness, rest=rest) if sprung else own

    return system.with_actuators(drive)


def motion_of(system: System, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, v and a that a system can have, limits aside."""
    v, a = rng.normal(size=(2, system.nv))
    if isinstance(system, Mechanism):
        return system.start + rng.uniform(-1.0, 1.0, system.nq) * SPREAD[system.name], v, a
    return system.random_configuration(rng, within_limits=False), v, a
