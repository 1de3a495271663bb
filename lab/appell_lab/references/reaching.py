"""Reaching problems of optimal control: one statement for appell, its peers and an independent check.

    min  Σ h/2 (wq |q - goal|² + wv |v|² + wu |τ|²) + ½ (Wq |q - goal|² + Wv |v|² + Wp |p(tool) - target|²)

over the torques of N semi-implicit steps from q0 at rest, within limits of torque, speed and position. The first guess
is to stay at q0 under gravity torques.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

import appell as ap
from appell_lab.campaigns.control_robots import robot_files

Numbers = tuple[float, ...]


@dataclass(frozen=True)
class Reaching:
    """The statement of a problem; units are m, rad, s, N and N m."""

    name: str
    robot: str  # robot of the zoo, or stem of a file of example-robot-data
    q0: Numbers
    goal: Numbers
    running: tuple[float, float, float]  # weights of q - goal, v, torque
    final: tuple[float, float]  # weights of q - goal, v
    torque: Numbers = ()  # limits; empty: unlimited
    speed: Numbers = ()
    lower: Numbers = ()
    upper: Numbers = ()
    tool: str = ""  # frame whose position has a final cost
    target: Numbers = ()
    tool_weight: float = 0.0
    steps: int = 100
    dt: float = 0.01
    exact: bool = False  # whether the motion must end at the goal at rest

    @cached_property
    def system(self) -> Any:
        """The robot."""
        return ap.load(self.robot if self.robot in ap.zoo_names() else robot_files([self.robot])[0])

    @cached_property
    def dyn(self) -> ap.Dynamics:
        """Equations of motion."""
        return ap.Dynamics(self.system)

    @cached_property
    def limits(self) -> dict[str, Any]:
        """Limits, as `optimize` expects them."""
        free, names = (float("inf"),) * self.system.nv, self.system.coordinate_names
        ranges = zip(self.lower or [-x for x in free], self.upper or free, strict=True)
        return {
            "torque": list(self.torque or free),
            "speed": list(self.speed or free),
            "position": dict(zip(names, ranges, strict=True)),
        }

    @cached_property
    def options(self) -> dict[str, Any]:
        """Arguments of `optimize`, except the start."""
        wq, wv, wu = self.running
        Wq, Wv = self.final
        tool = self.dyn.pose(self.tool) if self.tool else None

        def cost(t, q, v, tau):
            return 0.5 * (wq * ap.square(_minus(q, self.goal)) + wv * ap.square(v) + wu * ap.square(tau))

        def final_cost(q, v):
            value = 0.5 * (Wq * ap.square(_minus(q, self.goal)) + Wv * ap.square(v))
            if tool is not None:
                position = [row[3] for row in list(tool(q))[:3]]
                value = value + 0.5 * self.tool_weight * ap.square(_minus(position, self.target))
            return value

        def meet(q, v):
            return {"goal": _minus(q, self.goal), "rest": list(v)}

        result = {"steps": self.steps, "dt": self.dt, "limits": self.limits, "cost": cost, "final_cost": final_cost}
        return result | ({"meet": meet} if self.exact else {})

    def near(self, seed: int, spread: float) -> Reaching:
        """Return the problem from a start near q0."""
        away = spread * np.random.default_rng(seed).normal(size=len(self.q0))
        return replace(self, q0=tuple(self.q0 + away))

    def statement(self) -> dict[str, Any]:
        """Return what a peer in another process needs: numbers, and the robot as URDF."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # these problems do not include rotors and motors
            return asdict(self) | {"urdf": ap.to_urdf(self.system), "gravity": list(self.system.gravity)}


def _minus(x, reference):
    return [a - b for a, b in zip(x, reference, strict=True)]


PUMA = Reaching(
    "puma-reach",
    "puma",
    q0=(0.0, -0.8, 0.6, 0.0, 0.5, 0.0),
    goal=(0.8, -0.2, -0.4, 0.5, -0.3, 0.6),
    running=(1.0, 0.1, 1e-3),
    final=(1e4, 1e2),
)
PANDA_START = (0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.785)
PANDA = Reaching(
    "panda-reach",
    "panda",
    q0=PANDA_START,
    goal=(0.6, 0.1, -0.4, -1.4, 0.3, 1.9, 0.2),
    running=(1.0, 0.1, 1e-3),
    final=(1e4, 1e2),
)
PROBLEMS = {
    problem.name: problem
    for problem in (
        PUMA,
        PANDA,
        replace(PUMA, name="puma-reach-bounded", torque=(60.0, 90.0, 40.0, 3.0, 3.0, 0.6)),
        Reaching(
            "panda-tool-bounded",
            "panda",
            q0=PANDA_START,
            goal=PANDA_START,
            running=(0.0, 0.2, 1e-3),
            final=(0.1, 10.0),
            torque=(15.0, 32.0, 12.0, 16.0, 3.0, 3.0, 1.0),
            tool="tool",
            target=(0.35, 0.4, 0.45),
            tool_weight=1e4,
        ),
        Reaching(
            "ur5-limits",
            "ur5_robot",
            q0=(0.0, -1.2, 1.4, -0.6, 0.3, 0.0),
            goal=(1.2, -0.6, 0.7, -1.2, -0.5, 0.8),
            running=(0.0, 0.05, 1e-3),
            final=(1e4, 1e2),
            torque=(150.0, 150.0, 150.0, 28.0, 28.0, 28.0),
            speed=(1.5, 1.2, 1.2, 1.2, 1.2, 1.2),
            lower=(-np.inf, -1.22, -np.inf, -np.inf, -0.5, -np.inf),
            upper=(1.2, np.inf, 1.42, np.inf, np.inf, np.inf),
        ),
    )
}
