"""Verdicts on many identifications, compared with the truth.

Twenty robots of example-robot-data are identified from simulated logs with random disturbances. Torques are Pinocchio's
inverse dynamics of the published URDF, plus friction that is computed here. The description that identification starts
from has bodies that are wrong by 20 %, up or down at random. A result is good if, on a new motion of the same kind, the
noise-free torque of every joint is predicted within `GOOD` of its root mean square.

    motion        five sines per joint with random phases around a random pose; amplitude 1, 0.5 or 0.2 rad;
                  first frequency 0.05 to 0.12 Hz, the same in the log and in the new motion
    log           8 to 40 s at 100, 200 or 500 Hz
    torque        white noise of 0.5 to 30 % of the RMS torque of the joint (logarithmically uniform)
    position      quantised in steps of 1e-6 to 1e-3 rad, plus white noise of half a step
    clock         even steps, uneven steps with correct stamps, or stamps with errors of 1 to 5 % of a step
    delay         none, or 1 to 30 ms by which the torques are late
    friction      Coulomb and viscous friction as in the model; or friction that the model does not have: Stribeck,
                  position-dependent, load-dependent; or friction although the model has none
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from appell.describe.load import load
from appell.identify import Assessment, LeastSquares, ParameterSet, identify_record, select_parameters
from appell.model.body import Body
from appell.model.system import System
from appell.motion.paths.fourier import Fourier
from appell.motion.record import Record
from appell_lab.bench.subject import pinocchio

ROBOTS = (
    "ur3_robot", "ur5_robot", "ur10_robot", "ur3_gripper", "ur5_gripper", "xarm7", "z1", "so100", "so101",
    "talos_left_arm", "double_pendulum", "double_pendulum_simple", "finger_edu", "TwoDofs", "bolt", "solo", "solo12",
    "a1", "go1", "hyq_no_sensors",
)  # fmt: skip
DESCRIPTION_ERROR = 0.2
GOOD = 0.05  # largest RMS error of a joint relative to the RMS of its torque
FRICTIONS = ("right", "right", "right", "stribeck", "position", "load", "missing")
CLOCKS = ("even", "even", "uneven", "wrong stamps")
SECONDS_NEW = 20.0  # of the new motion


@cache
def robot(name: str) -> System:
    """Return a robot of example-robot-data with a fixed base."""
    return load(f"example-robot-data:{name}")


@dataclass(frozen=True)
class Case:
    """One identification, by its number and the seed of the campaign."""

    number: int
    seed: int

    @property
    def robot(self) -> System:
        """The true robot."""
        return robot(ROBOTS[self.number % len(ROBOTS)])

    def rng(self, part: int) -> np.random.Generator:
        """Return the random generator of one part of the case."""
        return np.random.default_rng([self.seed, self.number, part])

    def settings(self) -> dict:
        """Return the disturbances of the case."""
        rng = self.rng(0)
        return {
            "friction": str(rng.choice(FRICTIONS)),
            "clock": str(rng.choice(CLOCKS)),
            "noise": float(np.exp(rng.uniform(np.log(0.005), np.log(0.3)))),
            "step": float(np.exp(rng.uniform(np.log(1e-6), np.log(1e-3)))),
            "delay": float(rng.uniform(1e-3, 3e-2) * (rng.uniform() < 0.5)),
            "seconds": float(rng.uniform(8.0, 40.0)),
            "rate": float(rng.choice([100.0, 200.0, 500.0])),
            "reach": float(rng.choice([1.0, 0.5, 0.2])),
        }

    def description(self) -> System:
        """Return the robot with the bodies that identification starts from."""
        rng, bodies = self.rng(1), {}
        for name, body in self.robot.bodies.items():
            if body is not None:
                mass, size, com = 1.0 + DESCRIPTION_ERROR * rng.choice([-1.0, 1.0], 3)
                bodies[name] = Body(mass * body.mass, com * body.com, (mass * size * size) * body.inertia)
        return self.robot.with_bodies(bodies)

    def parameter_set(self) -> ParameterSet:
        """Return the parameters to estimate."""
        return select_parameters(self.description(), friction=self.settings()["friction"] != "missing")

    def path(self, part: int) -> Fourier:
        """Return a motion of the case; part 0 is logged, part 1 is new."""
        n, rng, reach = self.robot.nv, self.rng(10 + part), self.settings()["reach"]
        size = rng.uniform(0.5, 1.0, (5, n)) / np.sqrt(np.arange(1, 6))[:, None]
        size *= reach / np.abs(size).sum(axis=0)
        phase = rng.uniform(0.0, 2.0 * np.pi, (5, n))
        common = self.rng(2)
        pose, first = common.uniform(-1.0, 1.0, n), common.uniform(0.05, 0.12)
        speed = size * 2.0 * np.pi * first * np.arange(1, 6)[:, None]
        seconds = SECONDS_NEW if part else self.settings()["seconds"]
        return Fourier(first, speed * np.cos(phase), speed * np.sin(phase), pose, seconds)

    def torque(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return the true torques of a motion, without noise."""
        rigid, rng, kind = _rigid_torque(self.robot, q, v, a), self.rng(3), self.settings()["friction"]
        motion = self.path(0)(np.linspace(0.0, self.settings()["seconds"], 500))
        size = np.sqrt(np.mean(_rigid_torque(self.robot, *motion) ** 2, axis=0))
        size = np.maximum(size, 0.03 * size.max())
        speed = np.sqrt(np.mean(motion[1] ** 2, axis=0))
        coulomb, viscous = size * rng.uniform(0.05, 0.4, len(size)), size * rng.uniform(0.05, 0.3, len(size)) / speed
        extra = rng.uniform(0.1, 1.0, len(size))
        sign = v / np.sqrt(v * v + (0.02 * speed) ** 2)
        if kind == "stribeck":
            coulomb = coulomb * (1.0 + extra * np.exp(-((v / (0.3 * speed)) ** 2)))
        elif kind == "position":
            coulomb = coulomb * (1.0 + extra * np.sin(7.0 * q))
        elif kind == "load":
            coulomb = coulomb + 0.3 * extra * np.abs(rigid)
        return rigid + coulomb * sign + viscous * v

    def log(self) -> Record:
        """Return the log: t, q and tau with all disturbances."""
        s, rng, path = self.settings(), self.rng(4), self.path(0)
        step = 1.0 / s["rate"]
        t = np.arange(s["delay"] + 2.0 * step, s["seconds"] - 2.0 * step, step)
        if s["clock"] == "uneven":
            t = t + rng.uniform(-0.2, 0.2, len(t)) * step
        q, tau = path(t)[0], self.torque(*path(t - s["delay"]))
        q = s["step"] * (np.round(q / s["step"]) + 0.5 * rng.normal(size=q.shape))
        tau = tau + s["noise"] * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
        if s["clock"] == "wrong stamps":
            t = t + rng.uniform(0.01, 0.05) * step * rng.normal(size=len(t))
        return Record.of(t, {"q": q, "tau": tau}, self.robot.actuator_names)

    def truth(self, verdict: Assessment) -> np.ndarray:
        """Return the RMS errors of the judged model on the new motion, relative to the RMS of each torque."""
        motion = self.path(1)(np.linspace(0.0, SECONDS_NEW, 2000))
        tau = self.torque(*motion)
        error = verdict.best.estimator.predict(*motion) - tau
        return np.sqrt(np.mean(error**2, axis=0) / np.mean(tau**2, axis=0))

    def verdict(self) -> Assessment:
        """Identify the robot from the log."""
        return identify_record(LeastSquares(self.parameter_set()), self.log())


def _rigid_torque(system: System, q, v, a) -> np.ndarray:
    """Return Pinocchio's inverse dynamics of the URDF, in the order of the system's joints."""
    pin = pinocchio()
    model = _model(system.source)
    data, index = model.createData(), [model.joints[model.getJointId(name)].idx_v for name in system.actuator_names]
    x = np.zeros((3, len(q), model.nv))
    x[:, :, index] = q, v, a
    return np.array([pin.rnea(model, data, *row) for row in zip(*x, strict=True)])[:, index]


@cache
def _model(source: str):
    return pinocchio().buildModelFromUrdf(source)


def outcome(case: Case) -> dict:
    """Return the result of one case: verdict, truth, estimated and true errors of the worst joint."""
    verdict = case.verdict()
    truth, best = case.truth(verdict), verdict.best
    return {
        "number": case.number, "robot": case.robot.name, "passed": verdict.passed, "good": bool(truth.max() <= GOOD),
        "true_error": float(truth.max()), "estimated_error": float(best.model_errors.max()),
        "limited_by": verdict.limited_by, "estimated_delay": verdict.delay, **case.settings(),
    }  # fmt: skip


def confusion(outcomes: list[dict]) -> dict[str, int | float]:
    """Return the confusion table of verdicts against truth, and the shares of wrong verdicts."""
    good, bad = ([o for o in outcomes if o["good"] is flag] for flag in (True, False))
    false_fail, false_pass = sum(not o["passed"] for o in good), sum(o["passed"] for o in bad)
    return {
        "cases": len(outcomes), "good_passed": len(good) - false_fail, "good_failed": false_fail,
        "bad_passed": false_pass, "bad_failed": len(bad) - false_pass,
        "good_failed_share": false_fail / max(len(good), 1), "bad_passed_share": false_pass / max(len(bad), 1),
    }  # fmt: skip
