"""A campaign of pushes: how soon a contact observer detects a force at the tool, and whether noise causes alarms.

    python -m appell_lab.campaigns.pushes benchmarks/results/pushes.json

All runs are one batch: an arm follows a random motion by computed torque, with noise in positions, velocities and
torques. The thresholds are those of `noise_thresholds`, from runs of another seed without a push. In half of the
counted runs a force of random direction acts at the tool from a random time. The arms have no dry friction, which on
others would hide a small force.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import files
from pathlib import Path

import numpy as np

import appell as ap
from appell.compile.function import Function
from appell.control import ContactObserver, Controller, Design, critical, noise_thresholds
from appell.model.system import System
from appell.version import VERSION

PERIOD_S = 1e-3
FREQUENCY = 20.0  # 1/s, poles of the tracking error


@dataclass(frozen=True)
class Noise:
    """Standard deviations of white noise in one reading: an encoder, its filtered rate, and a motor."""

    position: float = 1e-5  # rad
    velocity: float = 1e-3  # rad/s
    torque: float = 0.1  # N m


@dataclass(frozen=True)
class Pushes:
    """Result of a campaign: alarms without a push, and times from the push to its detection, in s."""

    robot: str
    runs: int
    seconds: float
    force: float  # N
    noise: Noise
    thresholds: tuple[float, ...]  # N m
    false_alarms: int  # runs with an alarm before a push, or without one
    detected: int
    pushed: int
    median: float
    longest: float


def campaign(
    robot: System, q0: np.ndarray, tool: str, runs: int = 1000, seconds: float = 1.0, force: float = 5.0, seed: int = 1
) -> Pushes:
    """Run a campaign of pushes.

    Parameters
    ----------
    robot : System
    q0 : array, shape (n,)
        Configuration around which the arm moves by up to 0.3 rad.
    tool : str
        Frame on which the force acts.
    runs : int
        Number of runs without a push, and of runs with one.
    seconds : float
        Duration of a run.
    force : float
        In N.
    seed : int
    """
    rng, noise = np.random.default_rng(seed), Noise()
    step = _Step(robot, tool)
    calibration = step.run(q0, max(20, runs // 20), seconds, 0.0, noise, np.random.default_rng(seed + 1))
    thresholds = noise_thresholds(calibration.residuals.reshape(-1, robot.nv))
    quiet = step.run(q0, runs, seconds, 0.0, noise, rng)
    pushed = step.run(q0, runs, seconds, force, noise, rng)
    alarms = [(np.abs(each.residuals) > np.array(thresholds)).any(axis=-1) for each in (quiet, pushed)]
    ticks = np.arange(alarms[1].shape[0])[:, None]
    early = (alarms[1] & (ticks <= pushed.start)).any(axis=0)
    after = alarms[1] & (ticks > pushed.start)
    latency = np.where(after.any(axis=0), after.argmax(axis=0) - pushed.start, np.inf) * PERIOD_S
    return Pushes(
        robot.name,
        runs,
        seconds,
        force,
        noise,
        thresholds,
        int(alarms[0].any(axis=0).sum() + early.sum()),
        int(np.isfinite(latency).sum()),
        runs,
        float(np.median(latency)),
        float(latency.max()),
    )


@dataclass(frozen=True)
class _Runs:
    residuals: np.ndarray  # (ticks, runs, n), N m
    start: np.ndarray  # tick from which the force acts, (runs,)


class _Step:
    """One period of controller and arm for a batch of runs."""

    def __init__(self, robot: System, tool: str):
        self.robot, self.n = robot, robot.nv
        self.design = Design(robot, critical(FREQUENCY, PERIOD_S), period=PERIOD_S, observer=ContactObserver(1.0))
        self.controller = Controller(self.design).function
        dyn = ap.Dynamics(robot, wrenches=[tool], reference="LOCAL_WORLD_ALIGNED", friction=True, rotors=True)

        def moved(q, v, tau, push):
            """One step of the classical Runge-Kutta method with held torque and force."""
            wrench, h = [*push, 0.0, 0.0, 0.0], PERIOD_S
            a1 = dyn.forward_dynamics(q, v, tau, wrench)
            v2 = v + 0.5 * h * a1
            a2 = dyn.forward_dynamics(q + 0.5 * h * v, v2, tau, wrench)
            v3 = v + 0.5 * h * a2
            a3 = dyn.forward_dynamics(q + 0.5 * h * v2, v3, tau, wrench)
            v4 = v + h * a3
            a4 = dyn.forward_dynamics(q + h * v3, v4, tau, wrench)
            return {
                "q_next": q + h / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4),
                "v_next": v + h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4),
            }

        self.plant = Function.of("pushed_step", {"q": self.n, "v": self.n, "tau": self.n, "push": 3}, moved)

    def run(self, q0: np.ndarray, runs: int, seconds: float, force: float, noise: Noise, rng) -> _Runs:
        n, memory = self.n, self.design.memory
        parameters = self.design.parameter_blocks.split(self.design.parameter_blocks.start)
        size, rate = rng.uniform(-0.15, 0.15, (runs, n)), rng.uniform(1.0, 4.0, (runs, n))
        direction = rng.normal(size=(runs, 3))
        direction *= force / np.linalg.norm(direction, axis=1, keepdims=True)
        ticks = round(seconds / PERIOD_S)
        start = rng.integers(ticks // 5, ticks - 100, runs)
        q, v = np.tile(q0, (runs, 1)), np.zeros((runs, n))
        carried = [np.tile(block, (runs, 1)) for block in memory.split(memory.start)]
        residuals = np.empty((ticks, runs, n))
        names = [array.name for array in self.controller.outputs]
        for k in range(ticks):
            t = k * PERIOD_S
            wave = [1.0 - np.cos(rate * t), rate * np.sin(rate * t), rate**2 * np.cos(rate * t)]
            reference = np.stack([q0 + size * wave[0], size * wave[1], size * wave[2]], axis=1)
            seen = q + noise.position * rng.normal(size=q.shape), v + noise.velocity * rng.normal(size=v.shape)
            results = dict(zip(names, self.controller(*seen, reference, *parameters, *carried), strict=True))
            carried = [results["tau" if name == "before" else f"{name}_next"] for name in memory.at]
            residuals[k] = results["residual_next"]
            ripple = noise.torque * rng.normal(size=v.shape)
            q, v = self.plant(q, v, results["tau"] + ripple, direction * (k >= start)[:, None])
        return _Runs(residuals, start)


def main(path: str) -> None:
    """Run the campaign on two arms and write its results as JSON."""
    ur5 = next(str(file.locate()) for file in files("example-robot-data") or [] if file.name == "ur5_robot.urdf")
    arms = {
        "panda": (ap.load("panda"), "tool", [0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.8]),
        "ur5": (ap.load(ur5), "tool0", [0.3, -1.2, 1.4, -0.7, 0.8, 0.2]),
    }
    results = [asdict(campaign(robot, np.array(q), tool)) for robot, tool, q in arms.values()]
    Path(path).write_text(json.dumps({"version": VERSION, "campaigns": results}, indent=1) + "\n", encoding="utf-8")
    for each in results:
        print(
            f"{each['robot']}: {each['false_alarms']} false alarms in {2 * each['runs']} runs; {each['detected']} of "
            f"{each['pushed']} pushes of {each['force']:g} N detected, after {1e3 * each['median']:.0f} ms (median) "
            f"and at most {1e3 * each['longest']:.0f} ms"
        )


if __name__ == "__main__":
    main(sys.argv[1])
