"""Planned motions on robots of others: `trajectory fastest` and `excite`, each followed by `control run`.

All commands use their default limits. The path of the fastest motion leads through two points towards the middle of the
ranges, by at most 1 rad or m and 30 % of a range.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

import appell as ap
from appell_lab.campaigns.control_robots import robot_files

ROBOTS = (
    *("ur5_robot", "ur10_robot", "panda", "kinova", "z1", "so101", "double_pendulum"),  # seen when reserves were chosen
    *("ur3_robot", "xarm7", "so100", "TwoDofs", "ur10_joint_limited_robot", "talos_left_arm"),
)
PLANS = {"fastest": (), "excite": ("--duration", "5", "--starts", "1", "--iterations", "3")}


@dataclass(frozen=True)
class Finding:
    """The result of one planned motion."""

    robot: str
    plan: str
    finished: bool
    sentence: str
    duration: float  # s of the plan


def run_plan(path: Path, plan: str, work: Path, *options: str) -> Finding:
    """Plan a motion of one file and run it, from the command line."""
    motion = work / "plan.csv"
    if plan == "fastest":
        system = ap.load(path, physical=False)
        limits = ap.motion.WorkingLimits.of(system)
        start = np.clip(system.start, limits.lower, limits.upper)
        size = np.minimum(0.3 * (limits.upper - limits.lower), 1.0)
        step = np.where(0.5 * (limits.lower + limits.upper) > start, size, -size)
        points = [start, start + step, start + 0.4 * step]
        spline = ap.motion.Spline([0.0, 1.0, 2.0], points, names=system.coordinate_names)
        spline.record(201).write(work / "path.csv", overwrite=True)
        command = ["trajectory", "fastest", path, work / "path.csv"]
    else:
        command = ["excite", path]
    result = _command(*command, "--no-physical", "--output", motion, "--force", *PLANS[plan], *options)
    if result.exit_code:
        text = result.output[max(result.output.rfind("Error: "), 0) :].strip()
        return Finding(path.stem, plan, False, text, 0.0)
    files = ("--log", work / "run.log", "--plot", work / "run.png", "--force")
    result = _command("control", "run", path, "--no-physical", "--reference", motion, *files)
    text = "" if result.exit_code == 0 else result.output[result.output.find("task not finished") :].strip()
    return Finding(path.stem, plan, result.exit_code == 0, text, float(ap.Record.read(motion).t[-1]))


def _command(*arguments: object):
    from appell.cli.main import app

    return CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(x) for x in arguments])


def main() -> None:
    """Run all robots, or those that are given, and write the result to the first argument."""
    findings = []
    for path in robot_files(sys.argv[2:] or ROBOTS):
        for plan in PLANS:
            with tempfile.TemporaryDirectory() as folder:
                findings.append(run_plan(path, plan, Path(folder)))
            print(findings[-1], flush=True)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps([asdict(finding) for finding in findings], indent=1) + "\n")


if __name__ == "__main__":
    main()
