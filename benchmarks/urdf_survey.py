"""Every URDF of some packages: does Pinocchio load it, does appell, why not, and do the two agree?

    python benchmarks/urdf_survey.py rtb-data=FOLDER pybullet=FOLDER ...          names and unpacked packages

A file is read strictly first, and with `physical=False` if bodies that cannot exist are all that is wrong. A file in
which nothing moves is put on a floating base, in both programs. Mass and, at a random motion, gravity and inverse
dynamics are compared with Pinocchio's own reading of the same file; every joint has a coordinate of its own. The counts
and all files that are not read at once go to results/urdf-survey.json, a table of the counts to the screen.
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
AGREE = 1e-9  # relative; chains of light and heavy links lose some digits in either program


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
    """The counts of a package."""
    outcomes = Counter(file["appell"] for file in files)
    both = [file for file in files if file["pinocchio"] and file["appell"] != "refused"]
    agreeing = sum(file["difference"] <= AGREE for file in both)
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
        told = "; ".join(str(warning.message) for warning in warned)
        return "with a warning" if warned else "at once", robot, told
    return "refused", None, message


def compare(model: pin.Model, robot: ap.Robot) -> float:
    """The largest relative difference in mass, gravity and inverse dynamics; infinite if the joints are others."""
    if {link.joint.name for link in robot.links} != set(list(model.names)[1:]):
        return float("inf")
    rng, data, equations = np.random.default_rng(1), model.createData(), ap.Dynamics(robot).equations
    q = np.concatenate([link.joint.motion.random(rng) for link in robot.moving])
    v, a = rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    theirs, rows = np.zeros(model.nq), np.zeros(robot.nv, int)
    for link in robot.moving:
        joint, (at_q, at_v) = model.joints[model.getJointId(link.joint.name)], robot.span(link.joint)
        own = q[at_q]
        if joint.nq == len(own) + 1:  # an angle, kept as its cosine and sine
            own = [*own[:-1], np.cos(own[-1]), np.sin(own[-1])]
        theirs[joint.idx_q : joint.idx_q + joint.nq] = own
        rows[at_v] = np.arange(joint.idx_v, joint.idx_v + joint.nv)
    speeds, gains = np.zeros(model.nv), np.zeros(model.nv)
    speeds[rows], gains[rows] = v, a
    forces = pin.rnea(model, data, theirs, speeds, gains)[rows]
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
