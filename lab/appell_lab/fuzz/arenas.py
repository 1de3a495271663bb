"""Where motions are hunted: small random robots with points on them, each before a wall that leaves them room.

Robots and walls come from a pool, so that their kernels are compiled once and thousands of motions run in them. The
judge knows places from Pinocchio and distances from the formulas below; of appell it believes neither.
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
from appell_lab.judges.peer_tree import ONE_AXIS, PeerTree, our_robot

ARENAS = 48
LIMIT = 2.0  # rad or m, of joints of one axis
DOWN = [0.0, 0.0, -9.81]


@dataclass(frozen=True)
class Arena:
    """One robot and one wall, by number."""

    number: int

    @cached_property
    def links(self) -> list[dict[str, Any]]:
        rng = np.random.default_rng([self.number, 11])
        links = random_links(rng, 3, tame=True)
        return [link | {"tip": rng.uniform(-0.3, 0.3, 3).tolist()} for link in links]

    @cached_property
    def dynamics(self) -> Dynamics:
        rng, plain = np.random.default_rng([self.number, 12]), our_robot(self.links, DOWN)
        drives = self.number % 3 == 0

        def joint(given: Joint) -> Joint:
            one = given.motion.nv == 1
            friction = Friction(viscous=float(rng.uniform(0, 1)), coulomb=float(rng.uniform(0, 1)) * one)
            bounded = given.motion.name in ("revolute", "prismatic") and given.mimic is None
            limits = Limits(-LIMIT, LIMIT) if bounded else Limits()
            return replace(given, limits=limits, actuator=Actuator(friction=friction) if drives else Actuator())

        links = tuple(replace(link, joint=joint(link.joint)) for link in plain.links)
        frames = tuple(
            Frame(f"tip{k}", f"link{k}", Pose(translation=Vec3.of(link["tip"]))) for k, link in enumerate(self.links)
        )
        return Dynamics(replace(plain, links=links, frames=frames), friction=drives)

    @property
    def robot(self) -> Robot:
        return self.dynamics.system  # type: ignore[return-value]

    @cached_property
    def peer(self) -> PeerTree:
        return PeerTree([link | {"rotor": 0.0} for link in self.links], DOWN, self.robot)

    @cached_property
    def wall(self) -> dict[str, Any]:
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
        wall = self.wall
        match wall["kind"]:
            case "plane":
                return Plane(wall["axis"], -wall["R"])
            case "sphere" | "ball":
                return Sphere(wall["R"], wall["center"], inside=wall["kind"] == "sphere")
            case _:
                return Cylinder(wall["R"], wall["center"], wall["axis"])

    def places(self, q: np.ndarray) -> dict[str, np.ndarray]:
        """Where all points are, by Pinocchio."""
        peer = self.peer
        peer.pin.forwardKinematics(peer.model, peer.data, peer.q(q))
        found = {}
        for k, link in enumerate(self.links):
            pose = peer.data.oMi[peer.model.getJointId(f"joint{k}")]
            found[f"link{k}"] = np.array(pose.translation)
            found[f"tip{k}"] = np.array(pose.act(np.array(link["tip"])))
        return found

    def distances(self, q: np.ndarray) -> dict[str, float]:
        """How far every point is from the wall, negative inside it, in metres."""
        wall, found = self.wall, {}
        for name, x in self.places(q).items():
            away = x - wall["center"]
            if wall["kind"] == "plane":
                found[name] = float(x @ wall["axis"] + wall["R"])
            elif wall["kind"] == "tube":
                found[name] = float(wall["R"] - np.linalg.norm(np.cross(away, wall["axis"])))
            else:
                sign = 1.0 if wall["kind"] == "sphere" else -1.0
                found[name] = float(sign * (wall["R"] - np.linalg.norm(away)))
        return found

    @cached_property
    def points(self) -> tuple[str, ...]:
        """The tips: they move, whatever the joints are, unless they stand on a lone axis."""
        return tuple(f"tip{k}" for k in range(len(self.links)))

    @cached_property
    def is_flat(self) -> bool:
        """Whether every joint has one axis, so that a constant force has a potential."""
        return all(link["kind"] in ONE_AXIS for link in self.links)

    @cached_property
    def has_stops(self) -> bool:
        return any(link.joint.limits.lower is not None for link in self.robot.links)

    def start(self, rng: np.random.Generator) -> np.ndarray | None:
        """A configuration between the stops and before the wall, the nearest to it of a few."""
        found = []
        for _ in range(40):
            q = self.robot.random_configuration(rng)
            nearest = min(self.distances(q)[name] for name in self.points)
            if nearest > 1e-3:
                found.append((nearest, q.tolist()))
            if len(found) == 8:
                break
        return np.array(min(found)[1]) if found else None


@lru_cache(maxsize=ARENAS)
def arena(number: int) -> Arena:
    return Arena(number)
