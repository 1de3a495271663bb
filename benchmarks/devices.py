"""Robots behind protocols: python benchmarks/devices.py [KILLS] [SECONDS].

Drives simulated robots at 500 Hz through RTDE and moteus frames on the loopback interface (60 s each): lateness of the
wake-ups, missed deadlines, states per tick and their age. Then kills robot, loop or both at random times (200 by
default). Writes results/devices.json.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import numpy as np

from appell.hardware.clock import MonotonicClock, real_time
from appell.hardware.device import JointCommand, JointState
from appell_lab.bench.machine import machine, versions
from appell_lab.campaigns.killed_devices import HEARTBEAT_S, forked_robot, run_campaign

RESULTS = Path(__file__).resolve().parent / "results" / "devices.json"
PERIOD_S = 2e-3


def statistics(values: np.ndarray) -> dict[str, float]:
    """Return percentiles and the maximum, in ms."""
    return {
        name: round(1e3 * float(np.percentile(values, p)), 4) for name, p in (("p50", 50), ("p99", 99), ("max", 100))
    }


def drive(protocol: str, seconds: float) -> dict:
    """Drive a simulated robot in another process at 500 Hz: a slow sine of all joints in position mode."""
    clock, ticks = MonotonicClock(), int(seconds / PERIOD_S)
    late, done, age = np.zeros(ticks), np.zeros(ticks), np.full(ticks, np.nan)
    with tempfile.TemporaryDirectory() as folder, forked_robot(protocol, Path(folder)) as device:
        state, command = JointState(device.info), JointCommand(len(device.info.actuators))
        device.open()
        while not device.read(state):
            clock.wait_until(clock.now() + PERIOD_S)
        start, trips = state.q.copy(), 0
        with real_time() as privileges:
            device.enable("position")
            origin, grid, skipped = clock.now() + PERIOD_S, 0, 0
            for k in range(ticks):
                deadline = origin + grid * PERIOD_S
                late[k] = clock.wait_until(deadline) - deadline
                if device.read(state):
                    age[k] = clock.now() - state.stamp
                    trips += state.status != 0
                command.q[:] = start + 0.05 * np.sin(np.pi * grid * PERIOD_S)
                device.write(command)
                done[k] = clock.now() - deadline
                passed = int((clock.now() - origin) / PERIOD_S)
                skipped += max(0, passed - grid)
                grid = max(grid, passed) + 1
        error = float(np.abs(state.q - command.q).max())
        device.close()
    return {
        "ticks": ticks,
        "missed": int((done > PERIOD_S).sum()),
        "skipped": skipped,
        "lateness in ms": statistics(late),
        "read and write in ms": statistics(done - late),
        "new states": int(np.isfinite(age).sum()),
        "age of states in ms": statistics(age[np.isfinite(age)]),
        "states with a fault": int(trips),
        "last tracking error in rad": error,
        "scheduling": privileges.scheduling,
    }


def main(kills: int = 200, seconds: float = 60.0) -> None:
    """Run both parts and write the results."""
    load = os.getloadavg()[0]
    deadlines = {protocol: drive(protocol, seconds) for protocol in ("rtde", "moteus")} if seconds else {}
    print(json.dumps(deadlines, indent=1), flush=True)
    findings = []
    for finding in run_campaign(kills, seed=30):
        findings.append(asdict(finding))
        if finding.broken:
            print(finding, flush=True)
    delays = np.array([finding["time_to_safe"] for finding in findings if np.isfinite(finding["time_to_safe"])])
    groups: dict[str, Counter] = {}
    for finding in findings:
        group = groups.setdefault(f"{finding['protocol']}, {finding['victim']} killed", Counter())
        group.update({"cases": 1, "violations": int(bool(finding["broken"])), f"loop {finding['loop_state']}": 1})
    result = {
        "machine": machine(),
        "versions": versions(),
        "load average before": load,
        "heartbeat in s": HEARTBEAT_S,
        "deadlines at 500 Hz": deadlines,
        "kills": {
            "cases": len(findings),
            "violations": [finding for finding in findings if finding["broken"]],
            "by kind": groups,
            "time from the last command to the safe state in ms": statistics(delays) if len(delays) else {},
        },
    }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result["kills"], indent=1))


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
