"""The classic mechanisms with loops and wheels; joints have the names that their sources use."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.algebra.vector import Vec3
from appell.describe.build import Builder
from appell.model.constraint import Hinge, Point, Rolling, Skate
from appell.model.joints import Planar, Prismatic, Revolute
from appell.model.robot import ConstrainedRobot

X, Y, Z = Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0)
Matter = dict[str, Any]  # mass, com and inertia of a link
FLAT = (0.0, 0.0, 0.0)

# ---- Andrews' squeezer: seven bodies in a plane, a motor and a spring; units of the test set

BASES = {"A": (-0.06934, -0.00227), "B": (-0.03635, 0.03273), "C": (0.014, 0.072)}
SPRING, REST_LENGTH, MOTOR = 4530.0, 0.07785, 0.033  # N/m, m, N m
SPRING_ARM = (0.02, -0.018)  # m, on the body with angle gamma
BODIES = (  # angle, parent, position on it, mass, centre of mass, inertia about it
    ("beta", None, (0.0, 0.0), 0.04325, (0.00092, 0.0), 2.194e-6),
    ("theta", "beta", (0.007, 0.0), 0.00365, (-0.0115, 0.0), 4.41e-7),
    ("gamma", None, BASES["B"], 0.02373, (0.01874, -0.01043), 5.255e-6),
    ("delta", None, BASES["A"], 0.0705, (0.02308, -0.00916), 1.169e-5),
    ("phi", "delta", (0.04, 0.0), 0.00706, (0.0, -0.00579), 5.667e-7),
    ("epsilon", None, BASES["A"], 0.05498, (0.01228, -0.00449), 1.912e-5),
    ("omega", "epsilon", (0.0, -0.04), 0.00706, (0.00579, 0.0), 5.667e-7),
)
SQUEEZED = {
    "beta": -0.0617138900142764496,
    "theta": 0.0,
    "gamma": 0.4552798191630703802,
    "delta": 0.4873649795438425502,
    "phi": 0.2226683901658858847,
    "epsilon": 1.2305474445498211925,
    "omega": -0.2226683901658858847,
}


def andrews_squeezer() -> ConstrainedRobot:
    """Return the squeezer: motor at beta, spring at gamma; three bodies are attached to the end of a fourth."""
    made = Builder("andrews-squeezer", root=None, gravity=FLAT)
    for name, parent, (x, y), mass, (cx, cy), inertia in BODIES:
        matter: Matter = {"mass": mass, "com": (cx, cy, 0.0), "inertia": (inertia, inertia, inertia)}
        made.link(name, Revolute(Z), parent=parent, joint_name=name, xyz=(x, y, 0.0), **matter)
    made.frame("end", on="theta", xyz=(-0.028, 0.0, 0.0))
    for name, (x, y) in {"gamma": (0.0, -0.035), "phi": (0.0, -0.02), "omega": (0.02, 0.0)}.items():
        made.frame(f"end of {name}", on=name, xyz=(x, y, 0.0))
    held = [Point("end", f"end of {name}") for name in ("gamma", "phi", "omega")]
    return made.build().with_loops(*held, actuated=("beta", "gamma"), home=list(SQUEEZED.values()))


def squeezing(t: float, q: np.ndarray, v: np.ndarray) -> list[float]:
    """Return the torques of the motor and of the spring between C and its arm."""
    c, s = math.cos(q[2]), math.sin(q[2])
    x, y = c * SPRING_ARM[0] - s * SPRING_ARM[1], s * SPRING_ARM[0] + c * SPRING_ARM[1]
    dx, dy = BASES["B"][0] + x - BASES["C"][0], BASES["B"][1] + y - BASES["C"][1]
    length = math.hypot(dx, dy)
    pull = -SPRING * (length - REST_LENGTH) / length
    return [MOTOR, pull * (x * dy - y * dx)]


# ---- Bricard's linkage: six bars of 1 m, each hinge perpendicular to the next


def bricard() -> ConstrainedRobot:
    """Return the linkage: five hinges carry the bars, the sixth closes the loop; one of its five rows is redundant."""
    made = Builder("bricard", root=None, gravity=(0.0, -9.81, 0.0))
    axes = (-Y, -Z, -X, -Y, -Z)
    directions = (X, -Y, Z, -X, Y)
    parent, at = None, Vec3(0.0, 0.0, 0.0)
    for k, (axis, direction) in enumerate(zip(axes, directions, strict=True), start=1):
        thin = tuple(1e-4 if x else 1.0 / 12.0 for x in direction)
        name, middle = f"bar{k}", 0.5 * direction
        made.link(name, Revolute(axis), parent=parent, joint_name=name, xyz=at, mass=1.0, com=middle, inertia=thin)
        parent, at = name, direction
    rpy = (0.0, math.pi / 2, math.pi)  # z of both frames along -x
    made.frame("end", on="bar5", xyz=at, rpy=rpy)
    made.frame("ground", on=None, xyz=(0.0, 0.0, 1.0), rpy=rpy)
    return made.build().with_loops(Hinge("end", "ground"), independent=("bar1",))


# ---- wheels and skates


@dataclass(frozen=True)
class Disk:
    """A thin disk: mass (kg), radius (m), and moments of inertia across and about its axis (kg m²)."""

    mass: float = 1.0
    radius: float = 0.5
    across: float = 0.0625
    about: float = 0.125
    gravity: float = 9.81

    def robot(self) -> ConstrainedRobot:
        """Return the disk on massless carriers for position, height and lean; it is upright at lean 0."""
        made = Builder("rolling-disk", root=None, gravity=(0.0, 0.0, -self.gravity))
        made.link("place", Planar(), joint_name="place", mass=0)
        made.link("height", Prismatic(Z), parent="place", joint_name="height", mass=0)
        made.link("lean", Revolute(X), parent="height", joint_name="lean", mass=0)
        matter: Matter = {"mass": self.mass, "inertia": (self.across, self.about, self.across)}
        made.link("disk", Revolute(Y), parent="lean", joint_name="spin", **matter)
        free, home = ("place_w", "lean", "spin"), [0.0, 0.0, 0.0, self.radius, 0.0, 0.0]
        return made.build().with_loops(Rolling("disk", self.radius), independent=free, home=home)

    def steady_spin(self, theta: float, yaw_rate: float) -> float:
        """Return the spin (rad/s) of steady rolling with this yaw rate, its axis at theta to the vertical."""
        A, C, mgr, q = self.across, self.rolling, self.mass * self.gravity * self.radius, yaw_rate * math.sin(theta)
        return (A * q * q / math.tan(theta) - mgr * math.cos(theta)) / (C * q)

    @property
    def rolling(self) -> float:
        """C + m R²."""
        return self.about + self.mass * self.radius**2

    @property
    def critical_spin(self) -> float:
        """Spin (rad/s) above which straight rolling is stable."""
        return math.sqrt(self.across * self.mass * self.gravity * self.radius / (self.about * self.rolling))

    def slope(self, spin: float) -> float:
        """Return λ² of straight rolling, 1/s²."""
        A, mgr = self.across, self.mass * self.gravity * self.radius
        return (mgr * A - self.about * self.rolling * spin**2) / (A * (A + self.mass * self.radius**2))


@dataclass(frozen=True)
class Sleigh:
    """A body on a frictionless skate, with its centre of mass ahead of the skate."""

    mass: float = 2.0
    ahead: float = 0.25
    inertia: float = 0.3

    def robot(self) -> ConstrainedRobot:
        made = Builder("chaplygin-sleigh", root=None, gravity=FLAT)
        matter: Matter = {"mass": self.mass, "com": (self.ahead, 0.0, 0.0), "inertia": (self.inertia,) * 3}
        made.link("body", Planar(), joint_name="body", **matter)
        return made.build().with_loops(Skate("body"), independent=("body_vx", "body_w"))

    def velocities(self, v: float, w: float, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the closed form of the velocity along the skate and of the angular velocity."""
        J = self.inertia + self.mass * self.ahead**2
        fast = math.sqrt(v * v + J * w * w / self.mass)
        phase = self.ahead * fast * self.mass / J * t + math.atanh(v / fast)
        return fast * np.tanh(phase), math.copysign(fast * math.sqrt(self.mass / J), w) / np.cosh(phase)


def snakeboard() -> ConstrainedRobot:
    """Return a board with a rotor and two steerable pairs of wheels."""
    made = Builder("snakeboard", root=None, gravity=FLAT)
    made.link("board", Planar(), joint_name="board", mass=3.0, inertia=(0.12, 0.12, 0.12))
    made.link("rotor", Revolute(Z), parent="board", joint_name="rotor", mass=1.2, inertia=(0.08, 0.08, 0.08))
    for name, x in (("front", 0.3), ("back", -0.3)):
        wheels: Matter = {"mass": 0.25, "inertia": (0.012, 0.012, 0.012)}
        made.link(name, Revolute(Z), parent="board", joint_name=name, xyz=(x, 0.0, 0.0), **wheels)
    free = ("board_vx", "rotor", "front", "back")
    return made.build().with_loops(
        Skate("front"), Skate("back"), independent=free, actuated=free[1:], home=[0.0, 0.0, 0.3, 0.2, 0.4, -0.4]
    )
