"""Robots for tests: the zoo, random trees, and the URDFs of example-robot-data."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib.metadata import files
from pathlib import Path

import numpy as np

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose, of_quaternion
from appell.algebra.vector import Vec3
from appell.describe.load import load_tree, tree_names
from appell.model.actuator import Actuator, Friction
from appell.model.body import Body
from appell.model.frame import Frame
from appell.model.joints import KINDS, Motion, Revolute, random_quaternion
from appell.model.limits import Limits
from appell.model.robot import Joint, Link, Mimic, Robot

ALL_KINDS = (*KINDS, "mimic")
ONE_AXIS = ("revolute", "continuous", "prismatic")
SIZE_CLASSES = (3, 9, 20, 40)  # bounds of the numbers of joints of distinct example cases


def zoo() -> list[Robot]:
    """Return the trees of the zoo."""
    return [load_tree(name) for name in tree_names()]


def example_urdfs() -> list[Path]:
    """Return all URDF files of the package example-robot-data."""
    return sorted(Path(str(file.locate())) for file in files("example-robot-data") or [] if file.suffix == ".urdf")


@cache
def example_cases() -> dict[str, tuple[Path, str]]:
    """Return the example URDFs on a fixed and a floating base that Pinocchio loads and that have moving joints."""
    import pinocchio as pin

    cases = {}
    for path in example_urdfs():
        try:
            moves = pin.buildModelFromUrdf(str(path)).nv > 0
        except ValueError:
            continue
        for base in ("fixed", "floating") if moves else ("floating",):
            cases[f"{path.stem} on a {base} base"] = path, base
    return cases


@cache
def distinct_example_cases() -> list[str]:
    """Return the names of example cases that differ in kinds of joints, branches, massless links or size.

    Of files with the same structure the first is taken, on a fixed and a floating base in turn. The tests of URDF
    compare the joints, bodies and poses of all files with Pinocchio; with the same structure, equations differ in
    numbers only.
    """
    import pinocchio as pin

    listed: dict[tuple, str] = {}
    for path, _ in example_cases().values():
        model = pin.buildModelFromUrdf(str(path))
        kinds = frozenset(joint.shortname() for joint in model.joints[1:])
        massless = any(inertia.mass == 0.0 for inertia in model.inertias[1:])
        has_branches = len(set(model.parents)) < len(model.parents) - 1
        size = sum(model.nv > bound for bound in SIZE_CLASSES)
        base = "floating" if model.nv == 0 or len(listed) % 2 else "fixed"
        listed.setdefault((kinds, massless, has_branches, size), f"{path.stem} on a {base} base")
    return list(listed.values())


def rope(links: int) -> Robot:
    """Return rods of 5 cm on joints about y and x alternately, hanging from the ground."""
    rods = []
    for k in range(links):
        axis, position = ((1, 0, 0) if k % 2 else (0, 1, 0)), Vec3(0.0, 0.0, -0.05 if k else 0.0)
        joint = Joint(f"joint{k}", Revolute(axis), Pose(translation=position))
        body = Body(0.02, (0.0, 0.0, -0.025), (4.3e-6, 4.3e-6, 1e-6))
        rods.append(Link(f"link{k}", f"link{k - 1}" if k else None, joint, body))
    return Robot("rope", tuple(rods))


def random_body(rng: np.random.Generator) -> Body:
    """Return the body of eight point masses, which is always physical."""
    masses, points = rng.uniform(0.1, 1.0, 8), rng.uniform(-0.3, 0.3, (8, 3))
    com = masses @ points / masses.sum()
    arms = points - com
    second = np.einsum("k,ki,kj->ij", masses, arms, arms)
    inertia = np.trace(second) * np.eye(3) - second
    return Body(float(masses.sum()), Vec3.of(com.tolist()), Mat3.of(((inertia + inertia.T) / 2).tolist()))


def random_pose(rng: np.random.Generator) -> Pose:
    return Pose(of_quaternion(*random_quaternion(rng).tolist()), Vec3.of(rng.uniform(-0.5, 0.5, 3).tolist()))


def random_joint(rng: np.random.Generator, kind: str) -> Motion:
    if kind not in ONE_AXIS:
        return KINDS[kind]()
    axis = np.eye(3)[rng.integers(3)] if rng.random() < 0.5 else rng.normal(size=3)
    return KINDS[kind](axis.tolist())


def random_actuator(rng: np.random.Generator, motion: Motion) -> Actuator:
    """Return an actuator with all kinds of friction and, for one-axis joints, a geared rotor and limits."""
    coulomb = rng.uniform(0.0, 1.0)
    friction = Friction(
        viscous=rng.uniform(0.0, 2.0),
        coulomb=coulomb,
        static=coulomb + rng.uniform(0.0, 1.0) if rng.random() < 0.5 else None,
        stribeck=rng.uniform(0.01, 1.0),
        width=rng.uniform(0.01, 1.0) if rng.random() < 0.5 else 0.0,
    )
    offset = rng.normal()
    if motion.nv != 1:
        return Actuator(friction=friction, offset=offset)
    gear, rotor = rng.choice([-1.0, 1.0]) * rng.uniform(1.0, 100.0), rng.uniform(0.0, 1e-3)
    torque, speed, current, constant = rng.uniform(0.1, 100.0, 4)
    return Actuator(*map(float, (gear, rotor)), friction, offset, *map(float, (torque, speed, current, constant)))


def random_tree(
    seed: int,
    links: int = 8,
    *,
    base: str = "fixed",
    kinds: tuple[str, ...] = ALL_KINDS,
    branching: bool = True,
    actuators: bool = False,
) -> Robot:
    """Return a random tree of `links` links, plus one link for a moving base; 'mimic' joints follow one-axis joints.

    With `actuators`, the same tree with an actuator at every joint except the base.
    """
    rng, drives = np.random.default_rng(seed), np.random.default_rng([seed, 1])
    made: list[Link] = []
    if base != "fixed":
        made.append(Link("base", None, Joint("root_joint", KINDS[base]()), random_body(rng)))
    for i in range(links):
        parent = made[rng.integers(len(made)) if branching else -1].name if made else None
        leaders = [link.joint.name for link in made if link.joint.motion.nq == 1 and link.joint.mimic is None]
        kind, mimic = str(rng.choice(kinds)), None
        if kind == "mimic":
            kind = str(rng.choice(ONE_AXIS))
            if leaders:
                mimic = Mimic(str(rng.choice(leaders)), float(rng.uniform(-2, 2)), float(rng.uniform(-1, 1)))
        bounded = kind in ("revolute", "prismatic")
        limits, drive = (Limits(-3.0, 3.0), Actuator(torque=100.0, speed=2.0)) if bounded else (Limits(), Actuator())
        joint = Joint(f"joint{i}", random_joint(rng, kind), random_pose(rng), limits, mimic, drive)
        if actuators:
            joint = replace(joint, actuator=random_actuator(drives, joint.motion))
        made.append(Link(f"link{i}", parent, joint, random_body(rng)))
    frames = [Frame(f"frame{i}", str(rng.choice([link.name for link in made])), random_pose(rng)) for i in range(3)]
    gravity = Vec3.of(rng.normal(0.0, 5.0, 3).tolist())
    return Robot(f"random{seed}", tuple(made), tuple(frames), gravity)


def random_chain(seed: int, n: int, actuators: bool = False) -> Robot:
    """Return a serial arm of n revolute and prismatic joints."""
    return random_tree(seed, n, kinds=("revolute", "prismatic"), branching=False, actuators=actuators)


def random_trees(count: int, links: int = 30, first_seed: int = 0, actuators: bool = False) -> list[Robot]:
    """Return trees of up to `links` links with joints of all kinds, every second one on a floating base."""
    sizes = np.random.default_rng(first_seed).integers(1, links + 1, count)
    bases = ("fixed", "floating")
    return [random_tree(first_seed + i, int(sizes[i]), base=bases[i % 2], actuators=actuators) for i in range(count)]


def random_motion(robot: Robot, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a random q, v and a; limits are ignored."""
    return robot.random_configuration(rng, within_limits=False), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
