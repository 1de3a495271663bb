"""Survey of MJCF files: which of them MuJoCo compiles, which appell reads, and whether the two agree.

    python benchmarks/mjcf_survey.py gymnasium=FOLDER dm-control=FOLDER ...       names and unpacked packages

A file that MuJoCo does not compile is part of another file or lacks its meshes; appell must reject it with MuJoCo's
reason. A file that appell rejects is read again without the unsupported elements (`without=`), which are also removed
from MuJoCo's model. Then inverse dynamics, M and bias of compiled functions are compared with mj_inverse, mj_fullM and
qfrc_bias at random states, relative to the largest entry; above MAX_COMPILED_NV velocities the formulas run in Python
instead of machine code. For robots with loops, the tree is compared, and MuJoCo's constraints must be satisfied by
configurations and velocities of appell. Results of a package replace those of an earlier run in
results/mjcf-survey.json; a table of the counts is printed.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import mujoco
import numpy as np

import appell as ap
from appell.describe.mjcf.context import OMITTABLE
from appell.errors import AppellError, Hint, ModelWarning
from appell_lab.references.mujoco_terms import differences, gaps, stripped

OUT = Path(__file__).parent / "results" / "mjcf-survey.json"
OUTCOMES = ("at once", "with a warning", "with physical=False", "refused", "nothing moves")
TOLERANCE = 1e-9  # relative difference
MAX_COMPILED_NV = 25  # number of velocities up to which functions are compiled
STATES = 2


def main(packages: list[str]) -> None:
    results = json.loads(OUT.read_text()) if OUT.exists() else {}
    print(
        f"| package | files | MuJoCo compiles | {' | '.join(OUTCOMES)} | read without it | agree | by | refused for |"
    )
    print("|---" * (len(OUTCOMES) + 7) + "|")
    for name, _, folder in (package.partition("=") for package in packages):
        files = list(_package(Path(folder)))
        counts = summary(files)
        kept = [file for file in files if file["appell"] not in ("at once", "not compiled") or _differs(file)]
        results[name] = {"counts": counts, "files": kept}
        print(f"| {name} | {' | '.join(map(str, counts.values()))} |", flush=True)
        OUT.write_text(json.dumps(results, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")


def _differs(file: dict) -> bool:
    return not file.get("difference", 0.0) <= TOLERANCE


def _package(folder: Path) -> Iterator[dict]:
    for path in sorted([*folder.rglob("*.xml"), *folder.rglob("*.mjcf")]):
        text = path.read_text(encoding="utf-8", errors="replace")
        if "<mujoco" in text:
            report = examine(path, folder)
            yield {key: x.replace(f"{folder}/", "") if isinstance(x, str) else x for key, x in report.items()}


def summary(files: list[dict]) -> dict:
    """Return the counts of a package."""
    outcomes = Counter(file["appell"] for file in files)
    kinds = Counter(kind for file in files for kind in file.get("kinds", ()))
    compared = [file for file in files if "difference" in file]
    agreeing = sum(file["difference"] <= TOLERANCE for file in compared)
    return {
        "files": len(files),
        "MuJoCo compiles": sum(file["compiles"] for file in files),
        **{outcome: outcomes[outcome] for outcome in OUTCOMES},
        "read without it": sum(bool(file.get("without")) for file in files),
        "agree": f"{agreeing} of {len(compared)}",
        "largest difference": f"{max((file['difference'] for file in compared), default=0.0):.0e}",
        "refused for": ", ".join(f"{kind} {count}" for kind, count in kinds.most_common()),
    }


def examine(path: Path, folder: Path) -> dict:
    report: dict = {"file": str(path.relative_to(folder))}
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except (ValueError, mujoco.FatalError):
        model = None
    report["compiles"] = model is not None
    if model is None:
        try:
            ap.load(path)
        except AppellError as error:
            return report | {"appell": "not compiled", "message": str(error)}
        return report | {"appell": "refused", "message": "appell reads what MuJoCo does not compile", "difference": 1.0}
    return report | _compared(lambda **options: ap.load(path, **options), model)


def _compared(read, model: mujoco.MjModel) -> dict:
    """Return how a document was read, and the difference between its robot and the model."""
    outcome, robot, message, kinds = _read(read)
    report: dict = {"appell": outcome, "message": message, "nv": int(model.nv)}
    if outcome == "refused":
        report["kinds"] = kinds or ["other"]
        if kinds:
            again, robot, further, _ = _read(lambda **options: read(without=kinds, **options))
            report |= {"without": kinds} if robot is not None else {"even so": f"{again}: {further}"}
            stripped(model, kinds)
    if robot is not None:
        report["difference"] = compare(model, robot)
    return report


def _read(read) -> tuple[str, ap.Robot | None, str, list[str]]:
    message, kinds = "", []
    for physical in (True, False):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", ModelWarning)
            try:
                robot = read(physical=physical)
            except AppellError as error:
                hints = [flaw.hint for flaw in error.parts or (error,)]
                parameters = [hint.parameters for hint in hints if isinstance(hint, Hint)]
                kinds = sorted({given["without"] for given in parameters if "without" in given} & set(OMITTABLE))
                message = message or str(error)
                if "no moving joint" in str(error):
                    return "nothing moves", None, message, []
                continue
        if not physical:
            return "with physical=False", robot, message, []
        messages = "; ".join(str(warning.message) for warning in warned)
        return "with a warning" if warned else "at once", robot, messages, []
    return "refused", None, message, kinds


def compare(model: mujoco.MjModel, robot) -> float:
    """Return the largest difference of all terms and states."""
    rng = np.random.default_rng(1)
    errors = [
        max(differences(model, robot, rng, compiled=robot.tree.nv <= MAX_COMPILED_NV).values()) for _ in range(STATES)
    ]
    if robot.tree is not robot:
        errors += gaps(model, robot, rng).values()
    return float(max(errors))


if __name__ == "__main__":
    main(sys.argv[1:])
