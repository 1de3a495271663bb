"""Robots through three conversions, URDF → MJCF → TOML → URDF: the dynamics stay the same, or an error says why not.

A case is a random tree, or a file of example-robot-data. After every conversion M and joint forces at a random state
are compared with those of the first robot, joint by joint, by name. Friction, rotors and limits are compared unless a
warning names values that a format cannot express. A conversion that is rejected with a named error ends the chain.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

import numpy as np

from appell.describe.load import load, load_text
from appell.describe.write import to_mjcf, to_toml, to_urdf
from appell.dynamics import Dynamics
from appell.errors import AppellError, ModelWarning
from appell.model.actuator import Friction
from appell.model.joints import KINDS
from appell.model.limits import Limits
from appell.model.robot import Robot
from appell_lab.fuzz.random_robots import IDENTITY_PLACEMENT, fewer_links, plainer_links, random_links
from appell_lab.fuzz.target import Case, Target, Verdict
from appell_lab.references.peer_tree import our_robot

BOUND = 1e-12  # relative to the largest entry
CHAIN: tuple[tuple[str, Callable[..., str]], ...] = (
    ("urdf", to_urdf),
    ("mjcf", to_mjcf),
    ("toml", to_toml),
    ("urdf", to_urdf),
)
LIMITED = (KINDS["revolute"], KINDS["prismatic"])
ONE_AXIS = (*LIMITED, KINDS["continuous"])
LOSSES = ("cannot express", "in MJCF,")  # in warnings: values that are lost or differ
WORDS = {  # in these warnings, by the terms that are then not compared
    "forces of all": ("coulomb", "viscous", "static", "stribeck", "friction", "rotor", "gear", "offset", "stiffness"),
    "lower limits": ("limits",),
    "upper limits": ("limits",),
    "torque limits": ("torque", "current"),
    "speed limits": ("speed",),
}


@cache
def example_files() -> list[Path]:
    """Return the URDF files of example-robot-data; empty if it is not installed."""
    try:
        listed = files("example-robot-data") or []
    except PackageNotFoundError:
        return []
    return sorted(Path(str(file.locate())) for file in listed if file.suffix == ".urdf")


class RoundTrips(Target):
    """Robots through three conversions."""

    name = "round-trips"
    about = "random trees and files of example-robot-data through URDF, MJCF, TOML and URDF again: the same dynamics"
    seconds = 120.0
    megabytes = 3000
    share = 0.5

    def case(self, seed: int) -> Case:
        """Return the case of a seed; seeds below twice the number of files are the files, on both bases."""
        bases = ("fixed", "floating")
        rng = np.random.default_rng([seed, 37])
        if seed < 2 * len(example_files()):
            path = example_files()[seed // 2]
            return {"file": path.name, "number": seed // 2, "base": bases[seed % 2], "states": seed}
        links = random_links(rng, 5, ordinary=bool(rng.random() < 0.7))
        links[0] |= IDENTITY_PLACEMENT if links[0]["kind"] == "floating" else {}  # as MJCF requires
        return {"links": links, "gravity": rng.normal(0.0, 5.0, 3).tolist(), "states": seed}

    def check(self, case: Case) -> Verdict:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            try:
                robot = _robot(case)
            except AppellError as error:
                return Verdict(counts={f"not read: {_reason(error)}": 1})
        trip = Trip(robot, np.random.default_rng([case["states"], 38]), _is_physical(case))
        return trip.verdict("files" if "file" in case else "random robots")

    def smaller(self, case: Case) -> Iterator[Case]:
        for links in (*fewer_links(case.get("links", [])), *plainer_links(case.get("links", []))):
            yield case | {"links": links}


def _is_physical(case: Case) -> bool:
    """Return whether all bodies of a file can exist; MuJoCo rejects others."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            return "file" not in case or bool(load(example_files()[case["number"]], base=case["base"]))
    except AppellError:
        return False


def _robot(case: Case) -> Any:
    if "file" in case:
        return load(example_files()[case["number"]], base=case["base"], physical=False)
    rng = np.random.default_rng([case["states"], 39])
    robot = our_robot(case["links"], case["gravity"])
    for link in robot.links:
        if isinstance(link.joint.motion, ONE_AXIS) and rng.random() < 0.5:
            robot = robot.with_actuators({link.joint.name: {"friction": Friction(*rng.uniform(0.0, 1.0, 2).tolist())}})
    limited = [x.joint.name for x in robot.links if type(x.joint.motion) in LIMITED]
    limits = {name: sorted(rng.uniform(-2, 2, 2).tolist()) for name in limited}
    links = [
        replace(link, joint=replace(link.joint, limits=Limits(*limits[link.joint.name])))
        if link.joint.name in limits and link.joint.mimic is None and rng.random() < 0.5
        else link
        for link in robot.links
    ]
    return replace(robot, links=tuple(links))


class Trip:
    """A robot, its state and its dynamics before the conversions."""

    def __init__(self, robot: Any, rng: np.random.Generator, physical: bool = True):
        self.robot, self.physical, self.lost = robot, physical, list[str]()
        tree = robot.tree
        q = tree.random_configuration(rng, within_limits=False)
        v, a = rng.normal(size=(2, tree.nv))
        self.state = {x.joint.name: _parts(tree, x.joint, q, v, a) for x in tree.links if x.joint.mimic is None}

    def verdict(self, kind: str) -> Verdict:
        """Convert the robot step by step, and compare every step with the first robot."""
        first, robot = self._terms(self.robot), self.robot
        figures: dict[str, float] = {}
        for step, (format, write) in enumerate(CHAIN):
            where = f"{step + 1}: {format}"
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    text = write(robot)
                except AppellError as error:
                    return Verdict(figures=figures, counts={f"{kind}, {where} not written: {_reason(error)}": 1})
                self.lost += [str(x.message) for x in caught if any(loss in str(x.message) for loss in LOSSES)]
                try:
                    robot = load_text(text, format, physical=False)
                except AppellError as error:
                    if not self.physical:
                        return Verdict(figures=figures, counts={f"{kind}, {where}: impossible bodies": 1})
                    return Verdict(f"step {where} cannot be read back: {error}"[:600], f"{where}: {_reason(error)}")
            problem, difference = self._difference(first, robot)
            if problem:
                return Verdict(f"step {where}: {problem}", f"{where}: {problem[:40]}", figures)
            figures[f"{kind}, {where}"] = difference
        counts = {f"{kind} converted": 1} | ({f"{kind} with a named loss": 1} if self.lost else {})
        return Verdict(figures=figures, counts=counts)

    def _difference(self, first: dict[str, Any], robot: Any) -> tuple[str, float]:
        if robot.tree is not robot and self.robot.tree is self.robot:  # mimic joints are equality constraints in MJCF
            return "", abs(robot.tree.mass - self.robot.mass) / self.robot.mass
        names = [link.joint.name for link in robot.tree.links if link.joint.mimic is None]
        if sorted(names) != sorted(self.state) and any("in MJCF," in text for text in self.lost):
            return "", abs(robot.tree.mass - self.robot.tree.mass) / self.robot.tree.mass
        if sorted(names) != sorted(self.state):
            return f"joints are {names[:20]} instead of {list(self.state)[:20]}", np.inf
        terms = self._terms(robot)
        error = 0.0
        lost = " ".join(self.lost)
        for name in [name for name in terms if not any(word in lost for word in WORDS.get(name, ()))]:
            ours, theirs = terms[name], first[name]
            with np.errstate(invalid="ignore"):
                same = (ours == theirs) | ~(np.isfinite(theirs) | np.isfinite(ours))
                size = np.abs(np.where(same, 0.0, ours - theirs)).max(initial=0.0)
            scale = np.abs(theirs[np.isfinite(theirs)]).max(initial=0.0) or 1.0
            if not size <= BOUND * scale:
                return f"{name} differ by {size / scale:.3g}, relative", np.inf
            error = max(error, float(size / scale))
        return "", error

    def _terms(self, robot: Any) -> dict[str, Any]:
        """Return M, forces of bodies and of all, and limits, in the order of the names of the joints."""
        tree: Robot = robot.tree
        q, v, a = np.zeros(tree.nq), np.zeros(tree.nv), np.zeros(tree.nv)
        order: list[int] = []
        order_q: list[int] = []
        for name in sorted(self.state):
            joint = tree.joint(name)
            sq, sv = tree.span(joint)
            q[sq], v[sv], a[sv] = self.state[name]
            order += range(tree.nv)[sv]
            order_q += range(tree.nq)[sq]
        bodies, all_parts = Dynamics(tree), Dynamics(tree, rotors=True, friction=True)
        M = np.array(bodies.equations.mass_matrix(q.tolist()), float)
        forces, of_all = (
            np.array(dyn.equations.forces(q.tolist(), v.tolist(), a.tolist(), {}), float) for dyn in (bodies, all_parts)
        )
        return {
            "M": M[np.ix_(order, order)],
            "forces": forces[order],
            "forces of all": of_all[order],
            "lower limits": tree.limits.lower[order_q],
            "upper limits": tree.limits.upper[order_q],
            "torque limits": tree.limits.torque[order],
            "speed limits": tree.limits.speed[order],
        }


def _parts(tree: Robot, joint: Any, *arrays: np.ndarray) -> list[np.ndarray]:
    sq, sv = tree.span(joint)
    return [array[sq if k == 0 else sv] for k, array in enumerate(arrays)]


def _reason(error: AppellError) -> str:
    """Return the first words of an error without its names and numbers."""
    words = str(error).splitlines()[0].split()
    return " ".join(word for word in words if word.isalpha())[:60]
