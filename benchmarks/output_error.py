"""Output-error identification of a UR5, by appell and by mujoco.sysid, from the same data and the same start.

    python benchmarks/output_error.py

Pinocchio simulates the UR5 of example-robot-data with viscous friction under a PD law whose torque is held for one
sample; the measured positions have white noise. Both programs start from a description whose masses and inertias are
wrong by 20 % and whose friction is half of the true one. They estimate ten inertial parameters of each of the six
bodies (appell: their base parameters) and one viscous coefficient per joint, from segments of equal length. Both get
the same initial states from the filtered positions; appell corrects them and also estimates a delay, mujoco.sysid
keeps them. Errors are those of the torques along a new motion, relative to the torques that Pinocchio computes for it,
and those of the viscous coefficients. mujoco.sysid differentiates by finite differences, uses threads, and ends after
`MUJOCO_ITERATIONS` iterations, or when it has converged.

`python benchmarks/output_error.py coverage [SEEDS]` counts instead how many 95 % intervals of the base parameters
contain the true values, with other noise, other motions and other descriptions for every seed. The torques of these
logs are continuous and measured at the samples: commands that are held for a sample are approximated by the estimator,
with errors larger than such narrow intervals.

`mujoco.sysid` needs the packages of the extra `mujoco[sysid]`.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np

import appell as ap
from appell.identify import LeastSquares, OutputError, process, select_parameters
from appell.identify.estimators.least_squares import Described
from appell_lab.bench.machine import machine, versions
from appell_lab.references.oracle import Oracle

PERIOD_S, INNER_STEPS, DURATION_S, SEGMENT_S, NOISE_RAD = 4e-3, 8, 10.0, 0.3, 2e-5
DESCRIPTION_ERROR, MAX_ITERATIONS, MUJOCO_ITERATIONS = 0.2, 30, 200
FREQUENCIES_HZ = 0.2 * np.arange(1, 6)
VISCOUS = np.array([3.0, 3.0, 2.0, 1.0, 1.0, 0.6])
KP, KD = np.array([600.0, 600.0, 300.0, 80.0, 60.0, 4.0]), np.array([60.0, 60.0, 30.0, 8.0, 6.0, 0.4])


RESULT = Path(__file__).parent / "results" / "output-error.json"


def coverage(seeds: int) -> None:
    """Count the intervals of base parameters that contain the true values, and store the result."""
    robot = ap.load("example-robot-data:ur5_robot")
    rubbing = {
        name: {"friction": ap.Friction(viscous=x)} for name, x in zip(robot.actuator_names, VISCOUS, strict=True)
    }
    truth = select_parameters(robot.with_actuators(rubbing), friction=("viscous",)).base.values()
    oracle, covered, largest = Oracle(robot), [], []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        data = process(simulated(oracle, robot, rng, held=False))
        parameters = select_parameters(described_robot(robot, rng), friction=("viscous",))
        fit = OutputError(parameters, segment=SEGMENT_S, iterations=MAX_ITERATIONS).fit_record(data)
        low, high = fit.intervals().T
        covered.append(((low <= truth) & (truth <= high)).tolist())
        largest.append(float(np.max(np.abs(fit.base_parameters_ - truth) / fit.std_)))
        print(
            f"seed {seed}: {np.mean(covered[-1]):.3f}, largest error {largest[-1]:.2f} standard deviations", flush=True
        )
    share = np.mean(covered, axis=0)
    result = json.loads(RESULT.read_text(encoding="utf-8"))
    result["coverage"] = {
        "seeds": seeds,
        "parameters": len(truth),
        "covered": float(np.mean(covered)),
        "covered_least_of_a_parameter": float(share.min()),
        "largest_errors_in_standard_deviations": largest,
    }
    print(result["coverage"])
    RESULT.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def described_robot(robot, rng: np.random.Generator):
    """Return the description that identification starts from: wrong masses and inertias, half of the friction."""
    factors = 1.0 + DESCRIPTION_ERROR * rng.choice([-1.0, 1.0], size=len(robot.links))
    bodies = {
        link.name: ap.Body.from_parameters([factor * x for x in link.body.parameters])
        for link, factor in zip(robot.links, factors, strict=True)
    }
    half = {
        name: {"friction": ap.Friction(viscous=0.5 * x)} for name, x in zip(robot.actuator_names, VISCOUS, strict=True)
    }
    return robot.with_bodies(bodies).with_actuators(half)


def main() -> None:
    warnings.simplefilter("ignore", ap.ModelWarning)
    if sys.argv[1:2] == ["coverage"]:
        return coverage(int(sys.argv[2]) if len(sys.argv) > 2 else 40)
    robot = ap.load("example-robot-data:ur5_robot")
    rng, oracle = np.random.default_rng(0), Oracle(robot)
    log = simulated(oracle, robot, rng)
    data = process(log, hold=True)
    described = described_robot(robot, rng)
    new = motion(np.arange(0.0, 10.0, 0.01), np.random.default_rng(99))
    expected = np.array([oracle.inverse_dynamics(*row) for row in zip(*new, strict=True)]) + VISCOUS * new[1]

    def errors(tau: np.ndarray) -> list[float]:
        return (np.sqrt(np.mean((tau - expected) ** 2, axis=0) / np.mean(expected**2, axis=0))).tolist()

    figures = {}
    parameters = select_parameters(described, friction=("viscous",))
    start = Described(parameters).fit_record(data)
    figures["description"] = {"torque_errors": errors(start.predict(*new)), "largest_viscous_error": 0.5}
    plain = LeastSquares(parameters).fit_record(data)
    figures["appell, least squares"] = summary(errors(plain.predict(*new)), viscous(plain))
    for name in ("appell, first call with filled cache", "appell"):
        clock = Clock()
        fit = OutputError(parameters, start=start, segment=SEGMENT_S, iterations=MAX_ITERATIONS).fit_record(data)
        used = clock.read() | {"iterations": len(fit.log_likelihoods_) - 1}
        figures[name] = summary(errors(fit.predict(*new)), viscous(fit)) | used
        print(name, figures[name])
    figures["mujoco.sysid"] = by_mujoco(described, log, data, new, errors)
    print("mujoco.sysid", figures["mujoco.sysid"])
    import mujoco

    result = {
        "machine": machine(),
        "versions": versions() | {"mujoco": mujoco.__version__},
        "robot": "ur5_robot",
        "samples": len(data),
        "period_s": PERIOD_S,
        "segment_s": SEGMENT_S,
        "largest_iterations": {"appell": MAX_ITERATIONS, "mujoco.sysid": MUJOCO_ITERATIONS},
        "position_noise_rad": NOISE_RAD,
        "figures": figures,
    }
    RESULT.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return None


class Clock:
    """Wall time and processor time since its construction, in s."""

    def __init__(self):
        self.start = time.perf_counter(), time.process_time()

    def read(self) -> dict[str, float]:
        return {"wall_s": time.perf_counter() - self.start[0], "processor_s": time.process_time() - self.start[1]}


def summary(torque_errors: list[float], estimated: np.ndarray) -> dict[str, object]:
    return {
        "torque_errors": torque_errors,
        "largest_torque_error": max(torque_errors),
        "largest_viscous_error": float(np.max(np.abs(estimated / VISCOUS - 1.0))),
    }


def viscous(fit) -> np.ndarray:
    kinds = [parameter.kind for parameter in fit.parameter_set_.parameters]
    return fit.parameters_[np.array(kinds) == "viscous"]


def motion(t: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return q, v and a of a random Fourier series."""
    w = 2.0 * np.pi * FREQUENCIES_HZ
    sines, cosines = rng.normal(size=(2, len(w), 6)) * (0.4 / np.sqrt(np.arange(1, 6)))[:, None]
    s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    q = s @ sines + c @ cosines + np.array([0.0, -1.2, 1.0, 0.0, 0.5, 0.0])
    return q, (c * w) @ sines - (s * w) @ cosines, -(s * w**2) @ sines - (c * w**2) @ cosines


def simulated(oracle: Oracle, robot, rng: np.random.Generator, held: bool = True) -> ap.Record:
    """Return the log: Runge-Kutta steps with Pinocchio's ABA under a PD law, sampled (`held`) or continuous."""
    t, h = np.arange(0.0, DURATION_S, PERIOD_S), PERIOD_S / INNER_STEPS
    fine = np.arange(2 * INNER_STEPS * len(t)) * 0.5 * h
    reference, rates, _ = motion(fine, rng)
    aba, model, data = oracle.pin.aba, oracle.model, oracle.data

    def law(k: int, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return oracle.gravity(q) + KP * (reference[k] - q) + KD * (rates[k] - v)

    q, v, rows = reference[0], rates[0], []
    for k in range(0, len(fine), 2 * INNER_STEPS):
        rows.append((q, command := law(k, q, v)))

        def slope(k, q, v, command=command):
            return aba(model, data, q, v, (command if held else law(min(k, len(fine) - 1), q, v)) - VISCOUS * v)

        for i in range(k, k + 2 * INNER_STEPS, 2):
            a1 = slope(i, q, v)
            v2 = v + 0.5 * h * a1
            a2 = slope(i + 1, q + 0.5 * h * v, v2)
            v3 = v + 0.5 * h * a2
            a3 = slope(i + 1, q + 0.5 * h * v2, v3)
            v4 = v + h * a3
            a4 = slope(i + 2, q + h * v3, v4)
            q = q + h / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4)
            v = v + h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
    q, tau = (np.array(part) for part in zip(*rows, strict=True))
    return ap.Record.of(t, {"q": q + NOISE_RAD * rng.normal(size=q.shape), "tau": tau}, robot.joint_names)


def by_mujoco(described, log: ap.Record, data: ap.Record, new, errors) -> dict[str, object]:
    """Identify the arm with mujoco.sysid and return the figures."""
    import mujoco
    from mujoco import sysid

    spec = mujoco.MjSpec.from_string(ap.to_mjcf(described))
    spec.option.timestep, spec.option.integrator = PERIOD_S, mujoco.mjtIntegrator.mjINT_RK4
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    for joint in described.joint_names:
        spec.add_sensor(name=f"{joint}_q", type=mujoco.mjtSensor.mjSENS_JOINTPOS, objtype=mujoco.mjtObj.mjOBJ_JOINT,
                        objname=joint)  # fmt: skip
    model, params = spec.compile(), sysid.ParameterDict()
    for link in described.links:
        kind, modifier = sysid.InertiaType.Pseudo, partial(write_inertia, name=link.name)
        params.add(sysid.body_inertia_param(spec, model, link.name, inertia_type=kind, modifier=modifier))
    for joint, value in zip(described.joint_names, 0.5 * VISCOUS, strict=True):

        def damping(spec, parameter, joint=joint):
            spec.joint(joint).damping[0] = parameter.value[0]

        params.add(sysid.Parameter(f"{joint}_damping", value, 0.01 * value, 10.0 * value, modifier=damping))
    size, offset = int(SEGMENT_S / PERIOD_S), round((data.t[0] - log.t[0]) / PERIOD_S)
    parts = {"states": [], "controls": [], "sensors": []}
    for k in range(0, len(data) - size + 1, size):
        rows, times = slice(offset + k, offset + k + size), PERIOD_S * np.arange(size)
        parts["states"].append(sysid.create_initial_state(model, data.q[k], data.v[k], np.zeros(0)))
        parts["controls"].append(sysid.TimeSeries(times, log.tau[rows]))
        parts["sensors"].append(sysid.TimeSeries.from_names(times, log.q[rows], model))
    names = [f"segment{k}" for k in range(len(parts["states"]))]
    sequences = sysid.ModelSequences("ur5", spec, names, parts["states"], parts["controls"], parts["sensors"])
    clock = Clock()
    fitted, result = sysid.optimize(
        params, sysid.build_residual_fn(models_sequences=[sequences]), optimizer="mujoco", max_iters=MUJOCO_ITERATIONS,
    )  # fmt: skip
    used: dict[str, object] = clock.read() | {"objective": [float(y) for y in result.extras.get("objective", [])]}
    used |= {"iterations": len(result.extras.get("objective", []))}
    model = sysid.apply_param_modifiers(fitted, spec)
    state, tau = mujoco.MjData(model), []
    for q, v, a in zip(*new, strict=True):
        state.qpos[:], state.qvel[:], state.qacc[:] = q, v, a
        mujoco.mj_inverse(model, state)
        tau.append(state.qfrc_inverse.copy())
    estimated = np.array([float(model.joint(joint).damping[0]) for joint in described.joint_names])
    return summary(errors(np.array(tau)), estimated) | used


def write_inertia(spec, parameter, name: str) -> None:
    """Set the inertia of a body from pseudo-inertia parameters.

    The default modifier of mujoco.sysid 3.17 gives models that MuJoCo 3.17 does not compile for this arm.
    """
    import mujoco
    from mujoco import sysid

    mass, *rest = sysid.model_modifier.pi_from_theta(parameter.value)
    body, com = spec.body(name), np.array(rest[:3]) / mass
    about_com = np.reshape(rest[3:], (3, 3)) - mass * (com @ com * np.eye(3) - np.outer(com, com))
    moments, axes = np.linalg.eigh(about_com)
    axes[:, 2] *= np.linalg.det(axes)
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, axes.ravel())
    body.mass, body.ipos, body.inertia, body.iquat = mass, com, moments, quaternion


if __name__ == "__main__":
    main()
