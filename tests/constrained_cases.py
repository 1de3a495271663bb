"""Reference numbers for constrained robots, and the robots they are about.

tests/references/constraints.json holds four-bars, parallel robots, wheels and skates as plain data, with states,
accelerations, constraint forces, motions and impacts computed with 50 digits (Talos: 30) by programs that share no code
with appell, each checked by a second method. Its `about` explains names and signs, with one line per case. Joints have
the names of their links; for closures see `plain_closures`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import numpy as np

from appell.describe.build import Builder
from appell.model.joints import Floating, Motion, Planar, Prismatic, Revolute
from appell.model.robot import ConstrainedRobot, Robot
from appell_lab.references.plain_closures import constraints, framed

CASES = json.loads((Path(__file__).parent / "references" / "constraints.json").read_text(encoding="utf-8"))["cases"]
STATES = [
    (name, k) for name, case in CASES.items() for k in range(len(case.get("states", ()))) if "model" in case
]  # all but Talos
JOINTS: dict[str, Callable[[dict], Motion]] = {
    "revolute": lambda link: Revolute(link["axis"]),
    "prismatic": lambda link: Prismatic(link["axis"]),
    "floating": lambda link: Floating(),
    "planar": lambda link: Planar(),
}


def tree(model: dict) -> Robot:
    """Return the tree of a model, with a frame for every side of a closure."""
    builder = Builder(model["name"], root=None, gravity=model["gravity"])
    for link in model["links"]:
        given = {key: link[key] for key in ("mass", "com", "inertia", "xyz", "rpy") if key in link}
        builder.link(link["name"], JOINTS[link["joint"]](link), parent=link["parent"], joint_name=link["name"], **given)
    return framed(builder.build(), model["closures"])


def velocity_names(robot: Robot, names: Iterable[str]) -> tuple[str, ...]:
    """Return names of velocities of the robot; 'body[2]' is the third velocity of the joint 'body'."""
    spans = {link.name: robot.span(link.joint)[1] for link in robot.links}
    converted = []
    for name in names:
        joint, _, number = name.rstrip("]").partition("[")
        converted.append(robot.velocity_names[spans[joint].start + int(number or 0)])
    return tuple(converted)


def state(name: str, k: int = 0) -> dict:
    """Return a state of a case as arrays q, v, tau, a and others; tau is zero if the case has none."""
    given = CASES[name]["states"][k]
    values = {key.removeprefix("tree_"): value for key, value in given.items() if key != "checks"}
    if "reactions" in values:
        values["closure_forces"] = values["reactions"]
    values.setdefault("tau", np.zeros(len(values["v"])))
    lists = ("q", "v", "tau", "a", "basis", "reduced_inertia", "closure_forces", "generalized_constraint_force")
    return {key: np.array(value, float) if key in lists else value for key, value in values.items()}


@cache
def constrained(name: str, actuated: tuple[str, ...] | None = None) -> ConstrainedRobot:
    """Return the robot of a case with the independent velocities of its states; by default fully actuated."""
    case = CASES[name]
    robot, closures = tree(case["model"]), case["model"]["closures"]
    first = state(name) if "states" in case else {"q": case["q0"]}
    independent = velocity_names(robot, first["independent"]) if "independent" in first else None
    return robot.with_loops(*constraints(closures), actuated=actuated, independent=independent, home=first["q"])


def independent_part(system: ConstrainedRobot, w) -> np.ndarray:
    """Return the independent velocities of a constrained robot among those of its tree."""
    names = system.tree.velocity_names
    return np.asarray(w, float)[..., [names.index(name) for name in system.velocity_names]]
