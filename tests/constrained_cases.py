"""Reference numbers for constrained robots, and the robots they are about.

tests/references/constraints.json holds four-bars, parallel robots, wheels and skates as plain data, with states,
accelerations, constraint forces, motions and impacts that were computed with 50 digits (Talos: 30) by programs that
share nothing with appell, each held against a second method; its `about` explains names and signs, one line a case.
Here the data of a model become a tree with frames, and rows on top of it. Joints have the names of their links, the
frames of closure k are 'k/a' and 'k/b', the closure itself is 'closure k'.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

import appell as ap
from appell.describe.build import Builder
from appell.model.constrained import ConstrainedRobot
from appell.model.constraint import Constraint
from appell.model.joints import Floating, Motion, Planar, Prismatic, Revolute
from appell.model.robot import Robot

CASES = json.loads((Path(__file__).parent / "references" / "constraints.json").read_text(encoding="utf-8"))["cases"]
MODELS = [name for name, case in CASES.items() if "model" in case and "states" in case]

JOINTS: dict[str, Callable[[dict], Motion]] = {
    "revolute": lambda link: Revolute(link["axis"]),
    "prismatic": lambda link: Prismatic(link["axis"]),
    "floating": lambda link: Floating(),
    "planar": lambda link: Planar(),
}
ROWS: dict[str, Callable[[dict, str, str, str | None], Constraint]] = {
    "point": lambda data, name, a, b: ap.Point(a, b, name=name),
    "orientation": lambda data, name, a, b: ap.Orientation(a, b, name=name),
    "hinge": lambda data, name, a, b: ap.Hinge(a, b, name=name),
    "distance": lambda data, name, a, b: ap.Distance(a, b, data["length"], name=name),
    "gear": lambda data, name, a, b: ap.Gear(data["ratio"], data["offset"], name=name),
    "rolling-disk": lambda data, name, a, b: ap.Rolling(a, data["radius"], axis="y", name=name),
    "rolling-ball": lambda data, name, a, b: ap.Rolling(a, data["radius"], ball=True, spin=data["spin"], name=name),
    "knife": lambda data, name, a, b: ap.Skate(a, across="y", name=name),
}


def tree(model: dict) -> Robot:
    """The links of a model, and a frame for every side of a closure."""
    made = Builder(model["name"], root=None, gravity=model["gravity"])
    for link in model["links"]:
        matter = {key: link[key] for key in ("mass", "com", "inertia")}
        place = {key: link.get(key, (0, 0, 0)) for key in ("xyz", "rpy")}
        joint = JOINTS[link["joint"]](link)
        made.link(link["name"], joint, parent=link["parent"], joint_name=link["name"], **place, **matter)
    for k, closure in enumerate(model["closures"]):
        for side in ("a", "b"):
            if side in closure:
                at = {key: closure[side].get(key, (0, 0, 0)) for key in ("xyz", "rpy")}
                made.frame(f"{k}/{side}", on=closure[side]["link"], **at)
    return made.build()


def constraints(model: dict) -> list[Constraint]:
    """The closures of a model, by names that say their number."""
    return [
        ROWS[data["type"]](data, f"closure {k}", f"{k}/a", f"{k}/b" if "b" in data else None)
        for k, data in enumerate(model["closures"])
    ]


def velocity_names(robot: Robot, names: list[str]) -> tuple[str, ...]:
    """'body[2]' as the robot calls the third velocity of the joint 'body'."""
    spans = {link.name: robot.span(link.joint)[1] for link in robot.links}
    found = []
    for name in names:
        joint, _, number = name.rstrip("]").partition("[")
        found.append(robot.velocity_names[spans[joint].start + int(number or 0)])
    return tuple(found)


@cache
def constrained(name: str) -> ConstrainedRobot:
    """The robot of a case, on the independent velocities of its states, with a force along every velocity of its tree."""
    case = CASES[name]
    robot, state = tree(case["model"]), (case.get("states") or [{}])[0]
    independent = velocity_names(robot, state["independent"]) if "independent" in state else None
    home = state.get("q", state.get("tree_q", case.get("q0")))
    return robot.with_loops(*constraints(case["model"]), independent=independent, home=home)


def independent_part(system: ConstrainedRobot, w) -> np.ndarray:
    """The velocities v of a constrained robot among those of its tree."""
    names = system.tree.velocity_names
    return np.asarray(w, float)[..., [names.index(name) for name in system.velocity_names]]
