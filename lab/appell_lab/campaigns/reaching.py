"""`appell optimize` on robots of others: every robot reaches a pose of a frame, given on the command line.

The pose is that of a random configuration within the limits, at most 0.6 rad or m from the start in every joint. The
torques are then rolled out with the same step: the frame must arrive where it should.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from importlib.metadata import files
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

import appell as ap
from appell.cli.optimize import inner_start

ROBOTS = {  # file of example-robot-data -> frame
    "ur3_robot": "tool0",
    "ur5_robot": "tool0",
    "ur10_joint_limited_robot": "tool0",
    "panda": "panda_hand_tcp",
    "kinova": "j2s6s200_link_6",
    "xarm7": "link_eef",
    "z1": "gripperStator",
    "so101": "gripper_frame_link",
    "talos_left_arm": "gripper_left_base_link",
    "solo12": "HR_FOOT",
    "so100": "gripper",
}
MAX_CHANGE = 0.6  # rad or m; largest distance of a joint from the start
SEED = 20


@dataclass(frozen=True)
class Reached:
    """The result for one robot."""

    robot: str
    solved: bool
    iterations: int
    message: str
    duration: float  # s of the motion
    miss: float  # m between the frame and its goal after a rollout of the torques
    exceeded: float  # largest torque relative to its limit
    seconds: float  # processor time with a cold cache


def robot_file(name: str) -> Path:
    """Return the path of a URDF of example-robot-data."""
    return next(Path(str(file.locate())) for file in files("example-robot-data") or [] if file.name == f"{name}.urdf")


def reach(name: str, *options: str) -> Reached:
    """Run the command for one robot and roll its torques out."""
    path, frame = robot_file(name), ROBOTS[name]
    system = ap.load(path, physical=False)
    start, rng = inner_start(system), np.random.default_rng(SEED)
    low, high = (
        np.nan_to_num(x, neginf=-MAX_CHANGE, posinf=MAX_CHANGE) for x in (system.limits.lower, system.limits.upper)
    )
    margin = 0.05 * (high - low)
    target = np.clip(start + rng.uniform(-MAX_CHANGE, MAX_CHANGE, system.nq), low + margin, high - margin)
    pose = ap.Dynamics(system).pose(frame)
    goal = np.asarray(pose(target), float)[:3, 3]
    text = f"{frame}:{','.join(f'{x:.12g}' for x in goal)}"
    clock = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "motion.npz"
        command = ["optimize", str(path), "--to", text, "--no-physical", "--json", "--output", str(output), *options]
        from appell.cli.main import app

        result = CliRunner().invoke(app, command)
        seconds = time.process_time() - clock
        if not output.exists():
            return Reached(name, False, 0, result.output[-300:], 0.0, np.inf, np.inf, seconds)
        motion = ap.Record.read(output)
    data = json.loads(result.stdout[result.stdout.index("{") :])
    steps = len(motion) - 1
    torques = motion.tau[:-1]
    dyn = ap.Dynamics(system, rotors=True)
    moved = ap.rollout(dyn, motion.q[0], motion.v[0], torques, steps=steps, dt=motion.t[-1] / steps, method="euler")
    miss = float(np.linalg.norm(np.asarray(pose(moved["q"][0, -1]), float)[:3, 3] - goal))
    exceeded = float(np.max(np.abs(torques) / np.where(system.limits.torque > 0.0, system.limits.torque, np.inf)))
    outcome = data["solved"], data["iterations"], data["message"]
    return Reached(name, *outcome, float(motion.t[-1]), miss, exceeded, round(seconds, 2))


def main(output: str) -> None:
    """Run all robots and write the results to a JSON file."""
    results = []
    for name in ROBOTS:
        results.append(reach(name))
        print(results[-1], flush=True)
    Path(output).write_text(json.dumps({"seed": SEED, "robots": [asdict(each) for each in results]}, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
