"""Random MJCF documents, read by appell and by MuJoCo.

Documents have defaults and classes, included files, all joints, springs, limits, actuators and equality constraints.
Inverse dynamics, M and bias are compared with mj_inverse, mj_fullM and qfrc_bias at a random state; position limits
with those of the compiled model. Of loops, MuJoCo's constraint rows must be closed at configurations of appell and have
zero rate along its velocities, and appell must leave as many velocities as MuJoCo's rows do. A document may be rejected
because of a part that appell does not support and `without` can leave out, or because its loops cannot be closed.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from appell.describe.load import load
from appell.describe.mjcf.compiler import ascii_name, mujoco
from appell.errors import AppellError, ModelWarning
from appell_lab.fuzz.target import Case, Target, Verdict
from appell_lab.references.mujoco_terms import differences, gaps, movable
from appell_lab.references.random_mjcf import random_mjcf, split_mjcf

BOUND = 1e-9  # relative to the largest entry; MuJoCo's own rounding is below it
LIMIT_BOUND = 1e-12


class Mjcf(Target):
    """Random MJCF documents, compared with MuJoCo."""

    name = "mjcf"
    about = "random MJCF documents with defaults, includes, loops, limits and actuators, compared with MuJoCo"
    seconds = 60.0
    megabytes = 2000
    share = 0.5

    def prepare(self) -> None:
        mujoco()

    def case(self, seed: int) -> Case:
        rng = np.random.default_rng([seed, 41])
        text = random_mjcf(seed, loops=bool(rng.random() < 0.5))
        return {"files": split_mjcf(text, rng) if rng.random() < 0.5 else {"main.xml": text}, "states": seed}

    def check(self, case: Case) -> Verdict:
        with tempfile.TemporaryDirectory() as directory:
            for name, text in case["files"].items():
                (Path(directory) / name).write_text(text, encoding="utf-8")
            path = Path(directory) / "main.xml"
            model = mujoco().MjModel.from_xml_path(ascii_name(path))
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ModelWarning)
                    robot: Any = load(path)
            except AppellError as error:
                return _rejected(error)
        rng = np.random.default_rng([case["states"], 42])
        figures = differences(model, robot, rng, compiled=False) | {"limits": _limits(model, robot)}
        counts = {"files": len(case["files"]), "compared": 1}
        if robot.tree is not robot:
            figures |= gaps(model, robot, rng)
            counts |= {"with loops": 1}
            if robot.nv != (expected := movable(model, robot)):
                return Verdict(f"{robot.nv} velocities are free, {expected} in MuJoCo", "degrees of freedom", figures)
        for name, value in figures.items():
            if not value <= (LIMIT_BOUND if name == "limits" else BOUND):
                return Verdict(f"{name}: difference {value:.3g}", name, figures)
        return Verdict(figures=figures, counts=counts)

    def smaller(self, case: Case) -> Iterator[Case]:
        yield from ()


def _rejected(error: AppellError) -> Verdict:
    """Return the verdict on an error."""
    parts = [str(part) for part in error.parts or (error,)]
    known = ("without=", "no moving joint", "cannot be closed", "opposite directions")
    if all(any(text in part for text in known) for part in parts):
        return Verdict(counts={"rejected by name": 1})
    return Verdict(f"rejected: {error}"[:600], f"rejected: {parts[0][:60]}")


def _limits(model: Any, robot: Any) -> float:
    """Return the largest difference of position limits of joints with one axis, by name."""
    worst, tree, engine = 0.0, robot.tree, mujoco()
    for k in range(model.njnt):
        name = engine.mj_id2name(model, engine.mjtObj.mjOBJ_JOINT, k)
        if model.jnt_type[k] < 2 or name not in [link.joint.name for link in tree.links]:
            continue
        limits = tree.joint(name).limits
        low, high = model.jnt_range[k] if model.jnt_limited[k] else (None, None)
        if (limits.lower is None) != (low is None):
            return np.inf
        if low is not None:
            worst = max(worst, abs(limits.lower - low), abs(limits.upper - high))
    return float(worst)
