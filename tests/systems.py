"""Systems for the tests of laws: the zoo, random trees and constrained robots, with or without actuators."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from answers import answer
from appell.describe.load import load, zoo_names
from appell.model.actuator import Actuator
from appell.model.joints import Motion, Revolute
from appell.model.mechanism import Mechanism
from appell.model.robot import ConstrainedRobot, Robot
from appell.model.system import System
from constrained_cases import constrained
from robots import random_actuator, random_trees

MAX_FROM_START = {
    "agile-wrist": 0.4,
    "five-bar": 0.08,
    "three-rrr": 0.08,
    "delta": 0.15,
    "stewart-gough": 0.15,
}  # rad or m, within reach


CONSTRAINED = ("floating-fourbar", "bricard", "rod-leg", "snakeboard")  # a floating loop, one with a redundant row, ...


def systems(trees: int = 6, links: int = 10, first_seed: int = 100) -> dict[str, System]:
    """Return all systems of the zoo, random trees, and constrained robots of the reference data, by name."""
    listed = [*map(load, zoo_names()), *random_trees(trees, links, first_seed), *map(constrained, CONSTRAINED)]
    return {system.name: fully_actuated(system) for system in listed}


def fully_actuated(system: System) -> System:
    """Return the system with an actuator for every velocity; with a motor at its fork only, a bicycle has too few."""
    if not isinstance(system, ConstrainedRobot) or system.nu >= system.nv:
        return system
    return system.tree.with_loops(*system.constraints, independent=system.velocity_names, home=system.start)


def tree_of(system: System) -> Robot | None:
    """Return the tree of a robot, with or without constraints; None for a mechanism in closed form."""
    if isinstance(system, ConstrainedRobot):
        return system.tree
    return system if isinstance(system, Robot) else None


def driven(system: System, seed: int = 0, *, springs: bool = True) -> System:
    """Return the system with random gears, rotors, friction, offsets, springs; multi-axis joints get friction only."""
    rng, revolute, tree = np.random.default_rng(seed), Revolute(), tree_of(system)  # for actuators of mechanisms

    def drive(name: str, _: Actuator) -> Actuator:
        motion: Motion = revolute if tree is None else tree.joint(name).motion
        actuator, stiffness, rest = random_actuator(rng, motion), float(rng.uniform(1.0, 50.0)), float(rng.normal())
        sprung = springs and motion.nv == 1 and rng.random() < 0.7
        return replace(actuator, stiffness=stiffness, rest=rest) if sprung else actuator

    return system.with_actuators(drive)


def motion_of(system: System, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a random q, v and a; limits are ignored."""
    v, a = rng.normal(size=(2, system.nv))
    if isinstance(system, Mechanism):
        return system.start + rng.uniform(-1.0, 1.0, system.nq) * MAX_FROM_START[system.name], v, a
    return system.random_configuration(rng, within_limits=False), v, a


def displacement(dyn, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the velocity along which derivatives with respect to q are taken: v, or its positional part with loops."""
    system = dyn.system
    if not isinstance(system, ConstrainedRobot):
        return v
    return answer(dyn.tree_velocity, q, v)[list(system.map.positions)]
