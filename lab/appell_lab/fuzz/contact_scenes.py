"""Scenes for random motions with contact: small random robots with contact points, each in front of a wall.

Scenes come from a fixed set, so that their kernels are compiled once and used by thousands of motions. Positions of
points are computed by Pinocchio and distances from walls by the formulas below, independently of appell.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell.dynamics import Dynamics
from appell.model.actuator import Actuator, Friction
from appell.model.frame import Frame
from appell.model.limits import Limits
from appell.model.robot import Joint, Robot
from appell.simulation import Cylinder, Plane, Sphere
from appell.simulation.contact.surface import Surface
from appell_lab.fuzz.random_robots import random_links
from appell_lab.references.peer_tree import ONE_AXIS, PeerTree, our_robot

SCENES = 48  # number of scenes
JOINT_LIMIT = 2.0  # rad or m, of revolute and prismatic joints
GRAVITY = [0.0, 0.0, -9.81]


@dataclass(frozen=True)
class ContactScene:
    """One robot and one wall, both determined by the number of the scene."""

    number: int

    @cached_property
    def links(self) -> list[dict[str, Any]]:
        """The links as numbers, each with a contact point `tip`."""
        rng = np.random.default_rng([self.number, 11])
        links = random_links(rng, 3, ordinary=True)
        return [link | {"tip": rng.uniform(-0.3, 0.3, 3).tolist()} for link in links]

    @cached_property
    def dynamics(self) -> Dynamics:
        """The robot with joint limits; every third one has friction."""
        rng, plain = np.random.default_rng([self.number, 12]), our_robot(self.links, GRAVITY)
        has_friction = self.number % 3 == 0

        def joint(given: Joint) -> Joint:
            one_axis = given.motion.nv == 1
            friction = Friction(viscous=float(rng.uniform(0, 1)), coulomb=float(rng.uniform(0, 1)) * one_axis)
            bounded = given.motion.name in ("revolute", "prismatic") and given.mimic is None
            limits = Limits(-JOINT_LIMIT, JOINT_LIMIT) if bounded else Limits()
            return replace(given, limits=limits, actuator=Actuator(friction=friction) if has_friction else Actuator())

        links = tuple(replace(link, joint=joint(link.joint)) for link in plain.links)
        frames = tuple(
            Frame(f"tip{k}", f"link{k}", Pose(translation=Vec3.of(link["tip"]))) for k, link in enumerate(self.links)
        )
        return Dynamics(replace(plain, links=links, frames=frames), friction=has_friction)

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.dynamics.system  # type: ignore[return-value]

    @cached_property
    def peer(self) -> PeerTree:
        """The robot in Pinocchio."""
        return PeerTree([link | {"rotor": 0.0} for link in self.links], GRAVITY, self.robot)

    @cached_property
    def wall(self) -> dict[str, Any]:
        """The wall: its kind, size R in m, centre and axis."""
        rng = np.random.default_rng([self.number, 13])
        R = float(rng.uniform(0.5, 1.2)) * (1.0 + len(self.links)) * 0.5
        center, axis = 0.2 * rng.normal(size=3), 0.3 * rng.normal(size=3) + [0, 1, 0]
        kind = ("plane", "plane", "sphere", "ball", "tube")[int(rng.integers(5))]
        if kind == "plane":
            axis = 0.4 * rng.normal(size=3) + [0, 0, 1]
        if kind == "ball":
            center = np.array([0.0, 0.0, -2.4 * R])
        return {"kind": kind, "R": R, "center": center, "axis": axis / np.linalg.norm(axis)}

    @cached_property
    def surface(self) -> Surface:
        """The wall as a surface of appell."""
        wall = self.wall
        match wall["kind"]:
            case "plane":
                return Plane(wall["axis"], -wall["R"])
            case "sphere" | "ball":
                return Sphere(wall["R"], wall["center"], inside=wall["kind"] == "sphere")
            case _:
                return Cylinder(wall["R"], wall["center"], wall["axis"])

    def positions(self, q: np.ndarray) -> dict[str, np.ndarray]:
        """Return the positions of all points, computed by Pinocchio."""
        peer = self.peer
        peer.pin.forwardKinematics(peer.model, peer.data, peer.q(q))
        positions = {}
        for k, link in enumerate(self.links):
            pose = peer.data.oMi[peer.model.getJointId(f"joint{k}")]
            positions[f"link{k}"] = np.array(pose.translation)
            positions[f"tip{k}"] = np.array(pose.act(np.array(link["tip"])))
        return positions

    def distances(self, q: np.ndarray) -> dict[str, float]:
        """Return the distances of all points from the wall in m, negative inside it."""
        wall, distances = self.wall, {}
        for name, x in self.positions(q).items():
            offset = x - wall["center"]
            if wall["kind"] == "plane":
                distances[name] = float(x @ wall["axis"] + wall["R"])
            elif wall["kind"] == "tube":
                distances[name] = float(wall["R"] - np.linalg.norm(np.cross(offset, wall["axis"])))
            else:
                sign = 1.0 if wall["kind"] == "sphere" else -1.0
                distances[name] = float(sign * (wall["R"] - np.linalg.norm(offset)))
        return distances

    @cached_property
    def points(self) -> tuple[str, ...]:
        """The contact points: the tips, which move with every joint unless they lie on the only axis."""
        return tuple(f"tip{k}" for k in range(len(self.links)))

    @cached_property
    def is_flat(self) -> bool:
        """Whether every joint has one axis, so that a constant force has a potential."""
        return all(link["kind"] in ONE_AXIS for link in self.links)

    @cached_property
    def has_stops(self) -> bool:
        """Whether a joint has limits."""
        return any(link.joint.limits.lower is not None for link in self.robot.links)

    def start(self, rng: np.random.Generator) -> np.ndarray | None:
        """Return a random configuration within the limits and outside the wall, the one nearest to it of eight."""
        candidates = []
        for _ in range(40):
            q = self.robot.random_configuration(rng)
            nearest = min(self.distances(q)[name] for name in self.points)
            if nearest > 1e-3:
                candidates.append((nearest, q.tolist()))
            if len(candidates) == 8:
                break
        return np.array(min(candidates)[1]) if candidates else None


@lru_cache(maxsize=SCENES)
def contact_scene(number: int) -> ContactScene:
    """Return a scene by its number, 0 to SCENES - 1."""
    return ContactScene(number)
