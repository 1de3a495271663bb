"""Reaching problems of optimal control: one statement for appell, its peers and an independent check.

    min  Σ h/2 (wq |q - goal|² + wv |v|² + wu |τ|²) + ½ (Wq |q - goal|² + Wv |v|² + Wp |p(tool) - target|²)

over the torques of N semi-implicit steps from q0 at rest, within limits of torque, speed and position. The first guess
is to stay at q0 under gravity torques.
"""

from __future__ import annotations

from collections.abc import Callable
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
    def system(self) -> ap.Robot:
        """The robot."""
        return ap.load(self.robot if self.robot in ap.zoo_names() else robot_files([self.robot])[0])

    @cached_property
    def dyn(self) -> ap.Dynamics:
        """Equations of motion."""
        return ap.Dynamics(self.system)

    @property
    def bounded(self) -> bool:
        """Whether anything is limited."""
        return bool(self.torque or self.speed or self.lower or self.upper)

    @cached_property
    def costs(self) -> tuple[Callable, Callable]:
        """Running and final cost, as `rollout` and `optimize` expect them."""
        wq, wv, wu = self.running
        Wq, Wv = self.final
        tool = self.dyn.pose(self.tool) if self.tool else None

        def cost(t, q, v, tau):
            return 0.5 * (wq * _square(q, self.goal) + wv * _square(v) + wu * _square(tau))

        def final_cost(q, v):
            value = 0.5 * (Wq * _square(q, self.goal) + Wv * _square(v))
            if tool is not None:
                value = value + 0.5 * self.tool_weight * _square([row[3] for row in tool(q)[:3]], self.target)
            return value

        return cost, final_cost

    def near(self, seed: int, spread: float) -> Reaching:
        """Return the problem from a start near q0."""
        return replace(self, q0=tuple(np.array(self.q0) + spread * np.random.default_rng(seed).normal(size=len(self.q0))))

    def statement(self) -> dict[str, Any]:
        """Return what a peer in another process needs: numbers, and the robot as URDF."""
        return asdict(self) | {"urdf": ap.to_urdf(self.system), "gravity": list(self.system.gravity)}


def _square(x, reference=None):
    """Return the sum of squares of x, or of its difference from a reference."""
    return ap.square(x if reference is None else [a - b for a, b in zip(x, reference, strict=True)])


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
