"""Survey of URDF files: which of them Pinocchio and appell load, why not, and whether the two agree.

    python benchmarks/urdf_survey.py rtb-data=FOLDER pybullet=FOLDER ...          names and unpacked packages

A file is read strictly first, and then with `physical=False` if its only errors are bodies that cannot exist. A file
without moving joints gets a floating base in both programs. Mass and, at a random state, gravity and inverse dynamics
are compared with Pinocchio's reading of the same file; every joint has its position coordinate. The counts and all
files that are not read without remarks are written to results/urdf-survey.json; a table of the counts is printed.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pinocchio as pin

import appell as ap
from appell.errors import AppellError, ModelWarning

OUT = Path(__file__).parent / "results" / "urdf-survey.json"
OUTCOMES = ("at once", "with a warning", "with physical=False", "refused")
TOLERANCE = 1e-9  # relative; chains of light and heavy links lose some digits in both programs


def main(packages: list[str]) -> None:
    results = {}
    print(f"| package | files | Pinocchio | {' | '.join(OUTCOMES)} | refused, Pinocchio loads | agree | by |")
    print("|---" * (len(OUTCOMES) + 6) + "|")
    for name, _, folder in (package.partition("=") for package in packages):
        files = [examine(path, Path(folder)) for path in sorted(Path(folder).rglob("*.urdf"))]
        counts = summary(files)
        results[name] = {"counts": counts, "files": [file for file in files if file["appell"] != "at once"]}
        print(f"| {name} | {' | '.join(map(str, counts.values()))} |")
    OUT.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def summary(files: list[dict]) -> dict:
    """Return the counts of a package."""
    outcomes = Counter(file["appell"] for file in files)
    both = [file for file in files if file["pinocchio"] and file["appell"] != "refused"]
    agreeing = sum(file["difference"] <= TOLERANCE for file in both)
    return {
        "files": len(files),
        "Pinocchio loads": sum(file["pinocchio"] for file in files),
        **{outcome: outcomes[outcome] for outcome in OUTCOMES},
        "refused, Pinocchio loads": sum(file["pinocchio"] and file["appell"] == "refused" for file in files),
        "agree": f"{agreeing} of {len(both)}",
        "largest difference": f"{max((file['difference'] for file in both), default=0.0):.0e}",
    }


def examine(path: Path, folder: Path) -> dict:
    model, base = _theirs(path)
    outcome, robot, message = _ours(path, base)
    report = {"file": str(path.relative_to(folder)), "pinocchio": model is not None, "appell": outcome}
    if model is not None and robot is not None:
        report["difference"] = compare(model, robot)
    return report | {"message": message.replace(str(path), path.name)}


def _theirs(path: Path) -> tuple[pin.Model | None, str]:
    try:
        model = pin.buildModelFromUrdf(str(path))
        if model.nv:
            return model, "fixed"
        return pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer()), "floating"
    except (ValueError, RuntimeError):
        return None, "fixed"


def _ours(path: Path, base: str) -> tuple[str, ap.Robot | None, str]:
    message = ""
    for physical in (True, False):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", ModelWarning)
            try:
                robot = ap.load_tree(path, base=base, physical=physical, mimic=False)
            except AppellError as error:
                message = message or str(error)
                continue
        if not physical:
            return "with physical=False", robot, message
        messages = "; ".join(str(warning.message) for warning in warned)
        return "with a warning" if warned else "at once", robot, messages
    return "refused", None, message


def compare(model: pin.Model, robot: ap.Robot) -> float:
    """Return the largest relative difference in mass, gravity and inverse dynamics; infinite if the joints differ."""
    if {link.joint.name for link in robot.links} != set(list(model.names)[1:]):
        return float("inf")
    rng, data, equations = np.random.default_rng(1), model.createData(), ap.Dynamics(robot).equations
    q = np.concatenate([link.joint.motion.random(rng) for link in robot.moving])
    v, a = rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    theirs, rows = np.zeros(model.nq), np.zeros(robot.nv, int)
    for link in robot.moving:
        joint, (at_q, at_v) = model.joints[model.getJointId(link.joint.name)], robot.span(link.joint)
        position = q[at_q]
        if joint.nq == len(position) + 1:  # an angle, stored as its cosine and sine
            position = [*position[:-1], np.cos(position[-1]), np.sin(position[-1])]
        theirs[joint.idx_q : joint.idx_q + joint.nq] = position
        rows[at_v] = np.arange(joint.idx_v, joint.idx_v + joint.nv)
    their_v, their_a = np.zeros(model.nv), np.zeros(model.nv)
    their_v[rows], their_a[rows] = v, a
    forces = pin.rnea(model, data, theirs, their_v, their_a)[rows]
    gravity = pin.computeGeneralizedGravity(model, data, theirs)[rows]
    weight = sum(model.inertias[i].mass for i in range(1, model.njoints))
    scale = max(float(np.abs(forces).max()), 1e-12)
    differences = (
        np.abs(np.subtract(equations.forces(q.tolist(), v.tolist(), a.tolist(), {}), forces)).max() / scale,
        np.abs(np.subtract(equations.bias(q.tolist(), [0.0] * robot.nv), gravity)).max() / scale,
        abs(sum(body.mass for body in robot.bodies.values() if body is not None) - weight) / max(weight, 1e-12),
    )
    return float(max(differences))


if __name__ == "__main__":
    main(sys.argv[1:])
