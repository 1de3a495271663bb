"""Predictive control: a step of a PUMA on an emulated Cortex-M7, and a Panda at 1 kHz in a closed loop.

    python benchmarks/mpc.py [benchmarks/results/mpc.json]

PUMA: 20 steps of 20 ms with torque limits; instructions per call, and whether C and Python give the same bits.
Panda: 25 steps of 20 ms, half the torque limits, a kick of 0.5 rad/s in all joints; the cost of the closed loop with
one iteration per period against that with the solution of every problem, and the processor time of the calls.
Panda of example-robot-data with its finger: the law in `simulate`, and in the control loop of a simulated arm with the
clock of the machine, which counts missed deadlines.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import appell as ap
from appell.hardware.loop.summary import summarize
from appell_lab.boards.board import BOARDS, BoardJob
from appell_lab.campaigns.control_robots import robot_files

PERIOD_S, DURATION_S = 1e-3, 0.8
HOME = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.8])
PANDA_GOAL = HOME + np.array([1.0, 0.6, -0.5, 0.7, 0.5, 0.4, -0.5])


def puma_on_cortex_m7() -> dict:
    """Run three steps on the emulator."""
    robot = ap.load("puma")
    goal = robot.start + np.array([0.5, 0.3, -0.3, 0.2, 0.2, 0.1])
    plan = ap.Optimizer(
        ap.Dynamics(robot),
        20,
        0.02,
        limits="torque",
        cost=lambda t, q, v, tau: 10.0 * ap.square(q - goal) + 0.5 * ap.square(v) + 1e-4 * ap.square(tau),
        final_cost=lambda q, v: 10.0 * ap.square(q - goal) + 2.0 * ap.square(v),
    )
    law = plan.mpc(q0=robot.start)
    controller, rng, given, expected = law.controller(), np.random.default_rng(0), [], []
    for k in range(3):
        state = [np.array(0.02 * k), robot.start + 0.05 * rng.normal(size=6), 0.2 * rng.normal(size=6)]
        given.append(state + [block.copy() for block in controller.memory.values()])
        tau = controller(*state).copy()
        expected.append([tau] + [block.copy() for block in controller.memory.values()])
    job = BoardJob(law.to_c("puma_mpc"), law.function, tuple(np.array(x) for x in zip(*given, strict=True)))
    with tempfile.TemporaryDirectory() as folder:
        outcome = BOARDS["cortex-m7"].run({"mpc": job}, Path(folder))
    arrays = enumerate(outcome.one["mpc"])
    equal = all(np.array_equal(array, np.array([row[k] for row in expected])) for k, array in arrays)
    state_bytes = 8 * sum(block.size for block in controller.memory.values())
    return {"same_bits": equal, "instructions": outcome.instructions["mpc"], "state_bytes": state_bytes}


def panda_at_1_khz() -> dict:
    """Compare one iteration per period with the solution of every problem."""
    robot = ap.load("panda")
    dyn, limit = ap.Dynamics(robot), 0.5 * robot.limits.torque
    plan = ap.Optimizer(
        dyn,
        25,
        0.02,
        limits={"torque": limit},
        cost=lambda t, q, v, tau: 10.0 * ap.square(q - PANDA_GOAL) + 0.1 * ap.square(v) + 1e-4 * ap.square(tau),
        final_cost=lambda q, v: 10.0 * ap.square(q - PANDA_GOAL) + ap.square(v),
    )
    motion = [plan(HOME)]

    def converged(t, q, v):
        motion[0] = plan(q, v, guess=motion[0])
        return motion[0].tau[0]

    def closed_loop(controller):
        q, v, total, seconds = HOME, np.zeros(7), 0.0, []
        torque, ticks = 0.0, round(DURATION_S / PERIOD_S)
        for k in range(ticks):
            v = v + 0.5 * (k == ticks // 4)
            clock = time.thread_time()
            tau = np.array(controller(k * PERIOD_S, q, v))
            seconds.append(time.thread_time() - clock)
            torque = max(torque, float((np.abs(tau) / limit).max()))
            total += PERIOD_S * (10.0 * ((q - PANDA_GOAL) ** 2).sum() + 0.1 * (v**2).sum() + 1e-4 * (tau**2).sum())
            moved = ap.rollout(dyn, q, v, tau, steps=4, dt=0.25 * PERIOD_S)
            q, v = moved["q"][0, -1], moved["v"][0, -1]
        return total, np.array(seconds), torque

    cost, seconds, torque = closed_loop(plan.mpc(PERIOD_S, q0=HOME).controller())
    best, _, _ = closed_loop(converged)
    percentiles = {f"{p:g} %": float(np.percentile(seconds, p)) for p in (50, 99, 100)}
    return {
        "cost": cost,
        "converged_cost": best,
        "difference": cost / best - 1.0,
        "largest_torque": torque,
        "calls": len(seconds),
        "missed": int((seconds > PERIOD_S).sum()),
        "processor_seconds": percentiles,
    }


def described_panda() -> dict:
    """Run the law in `simulate` and in a control loop."""
    hw, robot = ap.hardware, ap.load(robot_files(["panda"])[0])
    limit, start = 0.5 * robot.limits.torque, np.append(HOME, 0.02)
    goal = start + np.array([0.4, 0.3, -0.3, 0.3, 0.3, 0.2, -0.3, 0.01])
    plan = ap.Optimizer(
        ap.Dynamics(robot),
        25,
        0.02,
        limits={"torque": limit, "speed": 0.8 * robot.limits.speed},  # inside those of the guard
        cost=lambda t, q, v, tau: 10.0 * ap.square(q - goal) + 0.1 * ap.square(v) + 1e-4 * ap.square(tau),
        final_cost=lambda q, v: 10.0 * ap.square(q - goal) + ap.square(v),
    )
    law = plan.mpc(PERIOD_S, q0=start)
    record = ap.simulate(robot, start, until=DURATION_S, torque=law)
    clock = hw.MonotonicClock()
    arm = hw.SimulatedArm(robot, clock, start)
    guard = hw.standard_servo(robot, arm.info).guard
    servo = hw.Servo(ap.control.Design(robot, law=law.traced, period=law.period), arm.info, guard)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "run.log"
        loop = hw.Loop(arm, servo, clock, log=log)
        outcome = hw.run_task(loop, lambda q: hw.Reference.hold(q, law.period, DURATION_S))
        loop.close()
        summary = summarize(ap.Record.read(log))
    return {
        "simulate": {
            "largest_torque": float(np.abs(record.tau / limit).max()),
            "distance": float(np.abs(record.q[-1] - goal).max()),
        },
        "loop": {
            "finished": bool(outcome.finished),
            "outcome": outcome.sentence,
            "ticks": summary.ticks,
            "missed": summary.skipped,
            "latest_wake_up_s": summary.latest,
            "largest_torque": float((summary.largest_torque / limit).max()),
        },
    }


if __name__ == "__main__":
    results = {"puma": puma_on_cortex_m7(), "panda": panda_at_1_khz(), "described panda": described_panda()}
    print(json.dumps(results, indent=1))
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(results, indent=1) + "\n")
