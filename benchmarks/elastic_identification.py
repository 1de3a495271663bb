"""Identification of elastic joints on simulated hardware, for arms and seeds on which nothing was chosen.

    python benchmarks/elastic_identification.py [--arms kinova xarm7 puma] [--seeds 0 1 2] [--output results/...json]

`appell.identify.elastic_joints` was developed on the UR5. Here, the Kinova and the xArm 7 of example-robot-data and
the PUMA follow random periodic motions with a controller whose model is the rigid arm. Springs, rotors and friction
follow from the torque limit of a joint by one rule (`springs`), and the seed changes the motion, the stiffnesses (by up
to 30 %) and the noise. Every motion is identified with four sets of sensors, with the default settings. For each set
the result lists the joints that pass, the largest error of a stiffness among them, and the sentence of the others.
"""

from __future__ import annotations

import argparse
import json
from importlib.metadata import files
from pathlib import Path

import numpy as np

import appell as ap

PERIOD, DURATION = 1e-3, 8.0
STIFFNESS, DAMPING_TIME, INERTIA = 120.0, 2.5e-4, 4e-3  # per N m of the torque limit: N m/rad; s; kg m²
VISCOUS, COULOMB, GEAR = 0.02, 0.03, 100.0  # per N m of the torque limit; gear ratio
COUNTS, TORQUE_NOISE = 2.0**19, 2e-4  # of the encoders, per revolution; of the torque sensors, per N m of the limit
FREQUENCIES, AMPLITUDES = (0.25, 0.75, 1.5, 2.5), (0.5, 0.15, 0.05, 0.02)  # Hz, rad
SENSORS = {
    "link encoders": {"link_counts": COUNTS},
    "torque sensors": {"torque_noise": TORQUE_NOISE},
    "both": {"link_counts": COUNTS, "torque_noise": TORQUE_NOISE},
    "neither": {},
}
ARMS = {"kinova": "kinova.urdf", "xarm7": "xarm7.urdf", "puma": ""}  # files of example-robot-data, or the zoo


def rigid_arm(name: str) -> ap.Robot:
    if not ARMS[name]:
        return ap.load(name)
    paths = (Path(str(file.locate())) for file in files("example-robot-data") or [])
    return ap.load(next(path for path in paths if path.name == ARMS[name]))


def elastic_arm(name: str, rng: np.random.Generator) -> ap.Robot:
    """Return an arm with motors and springs in proportion to the torque limits of its joints."""
    robot = rigid_arm(name)
    limits = {joint: a.torque_limit for joint, a in zip(robot.joint_names, robot.actuators, strict=True)}

    def motor(joint: str, actuator: ap.Actuator) -> ap.Actuator:
        limit = limits[joint]
        friction = ap.Friction(viscous=VISCOUS * limit, coulomb=COULOMB * limit)
        return ap.Actuator(gear=GEAR, rotor_inertia=INERTIA * limit / GEAR**2, friction=friction)

    stiffness = {joint: STIFFNESS * limit * rng.uniform(0.7, 1.3) for joint, limit in limits.items()}
    springs = {joint: ap.Elasticity(k, damping=DAMPING_TIME * k) for joint, k in stiffness.items()}
    return robot.with_actuators(motor).with_elastic_joints(springs)


class Excitation:
    """A periodic motion of all joints from rest."""

    duration = DURATION

    def __init__(self, start: np.ndarray, rng: np.random.Generator):
        self.start, self.w = start, 2.0 * np.pi * np.array(FREQUENCIES)[:, None]
        self.size = rng.normal(size=(len(FREQUENCIES), len(start))) * np.array(AMPLITUDES)[:, None]

    def __call__(self, t):
        c, w, phase = self.size, self.w, self.w * np.asarray(t)[..., None, None]
        terms = c * (1 - np.cos(phase)), c * w * np.sin(phase), c * w**2 * np.cos(phase)
        q, v, a = (term.sum(-2) for term in terms)
        return self.start + q, v, a


def response(robot: ap.Robot, rng: np.random.Generator) -> ap.hardware.Response:
    """Return the motion of an arm with springs whose controller has a model without springs and measures motors."""
    n = len(robot.joint_names)
    start = robot.rigid.start + rng.uniform(-0.6, 0.6, n)
    design = ap.control.Design(robot.rigid, ap.control.critical(15.0, PERIOD), period=PERIOD, torque_limit=np.inf)
    plant = ap.hardware.Plant(robot)
    plant.set_state(ap.Dynamics(robot).flat_state(start, *np.zeros((3, n)))[0])
    reference = ap.hardware.Reference.sampled(Excitation(start, rng), PERIOD)
    return ap.hardware.closed_loop(ap.control.Controller(design), plant, reference)


def identified(robot: ap.Robot, record: ap.Record) -> dict:
    """Return the verdict of a fit, and the errors of its stiffnesses."""
    fit = ap.identify.identify_elastic_joints(robot, record)
    errors = {
        joint.joint: joint.stiffness / robot.drives[joint.joint].elasticity.stiffness - 1.0 for joint in fit.joints
    }
    passed = [joint.joint for joint in fit.joints if joint.passed]
    return {
        "passed": f"{len(passed)} of {len(fit.joints)}",
        "largest error of those that pass, %": percent(max((abs(errors[k]) for k in passed), default=np.nan)),
        "error and standard deviation, %": {
            joint.joint: [percent(errors[joint.joint]), percent(joint.stiffness_std / joint.stiffness)]
            for joint in fit.joints
            if np.isfinite(joint.stiffness)
        },
        "others": {joint.joint: joint.sentence for joint in fit.joints if not joint.passed},
    }


def percent(share: float) -> float | None:
    """Return a share in percent; None if it is not known."""
    return float(f"{100.0 * share:.3g}") if np.isfinite(share) else None


def run(arm: str, seed: int, sensors: dict[str, dict]) -> dict:
    """Return the results of one motion for several sets of sensors."""
    rng = np.random.default_rng([seed, *map(ord, arm)])
    robot = elastic_arm(arm, rng)
    moved, limits = response(robot, rng), np.array([a.torque_limit for a in rigid_arm(arm).actuators])
    rows = {}
    for name, options in sensors.items():
        noise = {"torque_noise": TORQUE_NOISE * limits} if "torque_noise" in options else {}
        rows[name] = identified(robot, moved.measured(**options | noise, seed=seed))
        print(arm, seed, name, json.dumps(rows[name]), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arms", nargs="+", default=list(ARMS), choices=list(ARMS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    result = {arm: {f"seed {seed}": run(arm, seed, SENSORS) for seed in given.seeds} for arm in given.arms}
    if given.output:
        given.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
