"""Reference numbers for constrained robots, and the robots they are about.

tests/references/constraints.json holds four-bars, parallel robots, wheels and skates as plain data, with states,
accelerations, constraint forces, motions and impacts that were computed with 50 digits (Talos: 30) by programs that
share nothing with appell, each held against a second method; its `about` explains names and signs, one line a case.
Joints have the names of their links; for closures see `plain_closures`.
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
]  # of all but Talos
JOINTS: dict[str, Callable[[dict], Motion]] = {
    "revolute": lambda link: Revolute(link["axis"]),
    "prismatic": lambda link: Prismatic(link["axis"]),
    "floating": lambda link: Floating(),
    "planar": lambda link: Planar(),
}


def tree(model: dict) -> Robot:
    """The links of a model, and a frame for every side of a closure."""
    made = Builder(model["name"], root=None, gravity=model["gravity"])
    for link in model["links"]:
        given = {key: link[key] for key in ("mass", "com", "inertia", "xyz", "rpy") if key in link}
        made.link(link["name"], JOINTS[link["joint"]](link), parent=link["parent"], joint_name=link["name"], **given)
    return framed(made.build(), model["closures"])


def velocity_names(robot: Robot, names: Iterable[str]) -> tuple[str, ...]:
    """'body[2]' as the robot calls the third velocity of the joint 'body'."""
    spans = {link.name: robot.span(link.joint)[1] for link in robot.links}
    found = []
    for name in names:
        joint, _, number = name.rstrip("]").partition("[")
        found.append(robot.velocity_names[spans[joint].start + int(number or 0)])
    return tuple(found)


def state(name: str, k: int = 0) -> dict:
    """A state of a case as arrays, by the names q, v, tau, a and others; a state without tau is free of forces."""
    given = CASES[name]["states"][k]
    found = {key.removeprefix("tree_"): value for key, value in given.items() if key != "checks"}
    if "reactions" in found:
        found["closure_forces"] = found["reactions"]
    found.setdefault("tau", np.zeros(len(found["v"])))
    lists = ("q", "v", "tau", "a", "basis", "reduced_inertia", "closure_forces", "generalized_constraint_force")
    return {key: np.array(value, float) if key in lists else value for key, value in found.items()}


@cache
def constrained(name: str, actuated: tuple[str, ...] | None = None) -> ConstrainedRobot:
    """The robot of a case, on the independent velocities of its states; without names, a force along every velocity."""
    case = CASES[name]
    robot, closures = tree(case["model"]), case["model"]["closures"]
    first = state(name) if "states" in case else {"q": case["q0"]}
    independent = velocity_names(robot, first["independent"]) if "independent" in first else None
    return robot.with_loops(*constraints(closures), actuated=actuated, independent=independent, home=first["q"])


def independent_part(system: ConstrainedRobot, w) -> np.ndarray:
    """The velocities v of a constrained robot among those of its tree."""
    names = system.tree.velocity_names
    return np.asarray(w, float)[..., [names.index(name) for name in system.velocity_names]]
