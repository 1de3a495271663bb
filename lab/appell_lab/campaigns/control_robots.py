"""`control run` with default settings on robots of example-robot-data.

The list was fixed before the defaults were chosen. The bases of quadrupeds and humanoids are held: their files have no
floating joint.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import files
from pathlib import Path

from appell.hardware.loop.summary import summarize
from appell.motion.record import Record

ROBOTS = (  # paths in the folder of example-robot-data
    # arms
    "ur_description/urdf/ur3_robot.urdf",
    "ur_description/urdf/ur5_robot.urdf",
    "ur_description/urdf/ur10_robot.urdf",
    "ur_description/urdf/ur10_joint_limited_robot.urdf",
    "ur_description/urdf/ur5_gripper.urdf",
    "kinova_description/robots/kinova.urdf",
    "panda_description/urdf/panda.urdf",
    "xarm_description/urdf/xarm7.urdf",
    "z1_description/urdf/z1.urdf",
    "so_arm_description/urdf/so100.urdf",
    "so_arm_description/urdf/so101.urdf",
    "talos_data/robots/talos_left_arm.urdf",
    "double_pendulum_description/urdf/double_pendulum.urdf",
    "asr_twodof_description/urdf/TwoDofs.urdf",
    # quadrupeds
    "anymal_b_simple_description/robots/anymal.urdf",
    "go2_description/urdf/go2.urdf",
    "solo_description/robots/solo12.urdf",
    "hyq_description/robots/hyq_no_sensors.urdf",
    # humanoids
    "talos_data/robots/talos_reduced.urdf",
    "g1_description/urdf/g1_29dof_rev_1_0.urdf",
)


@dataclass(frozen=True)
class Finding:
    """The result of one robot."""

    robot: str
    joints: int
    finished: bool
    sentence: str
    largest_error: float  # rad or m
    duration: float  # s of the run, on the clock of the robot


def robot_files(names: Sequence[str] = ROBOTS) -> list[Path]:
    """Return the files of a list of paths or stems."""
    paths = [Path(str(file.locate())) for file in files("example-robot-data") or () if file.suffix == ".urdf"]
    return [next(path for path in paths if path.as_posix().endswith(name) or path.stem == name) for name in names]


def run_robot(path: Path, work: Path) -> Finding:
    """Execute `appell control run` with default settings on one file."""
    log = work / "run.log"
    log.unlink(missing_ok=True)
    command = ("control", "run", str(path), "--log", str(log), "--plot", str(work / "run.png"), "--force", "--json")
    done = subprocess.run([sys.executable, "-m", "appell", *command], capture_output=True, text=True, check=False)
    if not log.exists():
        return Finding(path.name, 0, False, _last_sentence(done.stderr), math.nan, 0.0)
    summary = summarize(Record.read(log))
    finished, joints = done.returncode == 0, len(summary.coordinates)
    text = "" if finished else _last_sentence(done.stderr)
    return Finding(path.name, joints, finished, text, float(summary.largest_error.max()), summary.duration)


def _last_sentence(text: str) -> str:
    """Return the sentence that ends the output of a task that did not finish, or of an error."""
    return text[max(text.rfind("task not finished: "), text.rfind("Error: "), 0) :].replace("\n", " ").strip()


def run() -> Iterator[Finding]:
    """Run all robots of the list."""
    with tempfile.TemporaryDirectory() as work:
        for path in robot_files():
            yield run_robot(path, Path(work))


def main() -> None:
    """Run the campaign and write its result to the file that is given."""
    findings = []
    for finding in run():
        findings.append(finding)
        print(
            f"{finding.robot:32} {finding.joints:3} {'finished' if finding.finished else finding.sentence}", flush=True
        )
    if len(sys.argv) > 1:
        content = {"finished": sum(f.finished for f in findings), "robots": [asdict(finding) for finding in findings]}
        Path(sys.argv[1]).write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
