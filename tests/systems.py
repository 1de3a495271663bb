"""Systems for the laws: the zoo, random trees and constrained robots; each bare, or with actuators of every kind."""

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

SPREAD = {"agile-wrist": 0.4, "five-bar": 0.08, "three-rrr": 0.08, "delta": 0.15, "stewart-gough": 0.15}  # in reach


CONSTRAINED = ("floating-fourbar", "bricard", "rod-leg", "snakeboard")  # a loop that flies, one with an implied row...


def systems(trees: int = 10, links: int = 10, first_seed: int = 100) -> dict[str, System]:
    """Every system of the zoo, random trees, and constrained robots of the reference."""
    listed = [*map(load, zoo_names()), *random_trees(trees, links, first_seed), *map(constrained, CONSTRAINED)]
    return {system.name: able(system) for system in listed}


def able(system: System) -> System:
    """With motors for every motion: a bicycle with one at its fork alone has no torques for most of its motions."""
    if not isinstance(system, ConstrainedRobot) or system.nu >= system.nv:
        return system
    return system.tree.with_loops(*system.constraints, independent=system.velocity_names, home=system.start)


def tree_of(system: System) -> Robot | None:
    """The tree of a robot, with or without constraints; None for a mechanism in closed form."""
    if isinstance(system, ConstrainedRobot):
        return system.tree
    return system if isinstance(system, Robot) else None


def driven(system: System, seed: int = 0, *, springs: bool = True) -> System:
    """The same with random gears, rotors, friction, offsets and springs; joints of several axes get friction alone."""
    rng, turning, tree = np.random.default_rng(seed), Revolute(), tree_of(system)  # a mechanism's actuators turn

    def drive(name: str, _: Actuator) -> Actuator:
        motion: Motion = turning if tree is None else tree.joint(name).motion
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


def displacement(dyn, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The motion v along which derivatives by q are told: v itself, or all directions that loops leave to positions."""
    system = dyn.system
    if not isinstance(system, ConstrainedRobot):
        return v
    return answer(dyn.tree_velocity, q, v)[list(system.map.positions)]
