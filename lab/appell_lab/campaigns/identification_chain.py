"""The chain excite, run, identify, run on URDFs of others, from the command line and from Python.

The arm moves with friction that the controller's model lacks. The identified parameters are those that determine the
torques: friction, and the base parameters of the bodies. Their error is measured by the torques that they give: the
error along random motions, relative to the RMS torque of each joint, separately for bodies and friction.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

import appell as ap
from appell.model.system import System
from appell.motion.working_limits import reachable_poses, slow_torques
from appell_lab.campaigns.control_robots import robot_files

ROBOTS = ("ur3_robot", "ur5_robot", "kinova", "z1", "TwoDofs")
SETTINGS = {"duration": 6.0, "starts": 1, "iterations": 5}  # of the excitation
FRICTION_SHARE = 0.02  # dry and viscous friction of the real robot, over the torque of slow motions


@dataclass(frozen=True)
class Chain:
    """Errors of the identified parameters, and RMS following errors before and after."""

    robot: str
    body_error: float  # relative error of torques without friction
    friction_error: float  # largest relative error of a friction parameter
    following: tuple[float, float]  # rad, with the described and with the identified model
    same_in_python: bool  # the log of the first run has the same bits


def run_chain(path: Path, folder: Path) -> Chain:
    """Run the chain on one file."""
    model = ap.load(path, physical=False)
    level = FRICTION_SHARE * np.maximum(slow_torques(model, reachable_poses(model)[0]), 1.0)
    frictions = {
        name: ap.Friction(viscous=float(x), coulomb=float(x), static=float(x), width=0.02)
        for name, x in zip(model.actuator_names, level, strict=True)
    }
    real = model.with_actuators(lambda name, actuator: replace(actuator, friction=frictions[name]))
    bare = model.with_actuators(lambda name, actuator: replace(actuator, friction=ap.Friction()))
    ap.to_toml(real, folder / "real.toml")
    ap.to_toml(bare, folder / "model.toml")
    plan, log, again, fit = (folder / name for name in ("plan.csv", "run.log", "again.log", "fit.toml"))
    options = [f"--{key}={value}" for key, value in SETTINGS.items()]
    _command("excite", folder / "model.toml", "--output", plan, "--friction", "--force", "--no-physical", *options)
    run = ("control", "run", folder / "real.toml", "--reference", plan, "--plot", folder / "a.png", "--force")
    _command(*run, "--model", folder / "model.toml", "--log", log, "--no-physical")
    _command(
        "identify",
        log,
        "--robot",
        folder / "model.toml",
        "--friction",
        "--hold",
        "--export",
        fit,
        "--force",
        "--force-export",
        "--no-physical",
        "--width",
        "0.02",
        "--negative",
        "zero",
        codes=(0, 3),
    )
    _command(*run, "--model", fit, "--log", again, "--no-physical")
    fitted = ap.load(fit, physical=False)
    rng = np.random.default_rng(0)
    q, v, a = (rng.uniform(-1.0, 1.0, (200, model.nq)) for _ in range(3))
    true, fitted_tau = (ap.Dynamics(x).inverse_dynamics(q, v, a) for x in (real, fitted))
    scale = np.sqrt(np.mean(true**2, axis=0)).max()
    rows = zip(fitted.actuators, (frictions[name] for name in model.actuator_names), strict=True)
    friction = max(
        abs(getattr(actuator.friction, kind) / getattr(truth, kind) - 1.0)
        for actuator, truth in rows
        for kind in ("viscous", "coulomb")
    )
    return Chain(
        path.stem,
        float((np.sqrt(np.mean((fitted_tau - true) ** 2, axis=0)) / scale).max()),
        float(friction),
        (_following(log), _following(again)),
        _python_run(real, bare, plan, folder / "python.log") == ap.Record.read(log).data.tobytes(),
    )


def _python_run(real: System, model: System, plan: Path, log: Path) -> bytes:
    """Return the log of the first run, made in Python."""
    hw, clock = ap.hardware, ap.hardware.VirtualClock()
    arm = hw.make_device("simulated", real, clock)
    servo = hw.standard_servo(real, arm.info, model=model)
    path = hw.recorded_path(ap.Record.read(plan), real.coordinate_names)
    loop = hw.Loop(arm, servo, clock, log=log)
    hw.run_task(loop, lambda q: hw.Reference.approached(path, servo.design.period, q)[0])
    loop.close()
    return ap.Record.read(log).data.tobytes()


def _following(log: Path) -> float:
    from appell.hardware.loop.summary import last_motion

    record = ap.Record.read(log)
    part = record.part(last_motion(record))
    return float(np.sqrt(np.mean((part["q"] - part["qd"]) ** 2)))


def _command(*arguments, codes: tuple[int, ...] = (0,)) -> str:
    from appell.cli.main import app

    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(x) for x in arguments])
    if result.exit_code not in codes:
        raise RuntimeError(f"appell {' '.join(map(str, arguments))}\n{result.output}")
    return result.output


def main() -> None:
    """Run the chains of all robots, or of those that are given, and write the result to the first argument."""
    chains = []
    for path in robot_files(sys.argv[2:] or ROBOTS):
        with tempfile.TemporaryDirectory() as folder:
            chains.append(run_chain(path, Path(folder)))
        print(chains[-1], flush=True)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps([asdict(chain) for chain in chains], indent=1) + "\n")


if __name__ == "__main__":
    main()
