"""Timing of threads and workers: two threads compared with one, small calls, and the first result of a worker.

python benchmarks/cores.py           on an idle machine; times are the best of many, ratios are of one run
"""

from __future__ import annotations

import argparse
import os
import pickle
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from timeit import repeat

import numpy as np

import appell as ap
from appell_lab.bench.subject import find

FIRST_RESULT = """
import sys
from time import perf_counter
start = perf_counter()
import numpy as np, pickle
import appell
imported = perf_counter()
with open(sys.argv[1], "rb") as file:
    dyn = pickle.load(file)
arrived = perf_counter()
function = getattr(dyn, sys.argv[2])
function(*(np.zeros((100, *array.shape)) for array in function.inputs))
print(imported - start, arrived - imported, perf_counter() - arrived)
"""


def best(call, number: int, repetitions: int) -> float:
    return min(repeat(call, number=number, repeat=repetitions)) / number


def scaling(rounds: int) -> None:
    """Compare one and two threads, alternating, so that other load on the machine affects both."""
    forward = ap.Dynamics(ap.load("puma")).forward_dynamics
    print(f"PUMA forward dynamics, {os.cpu_count()} cores")
    for samples in (1_000, 4_000, 8_000, 16_000, 50_000, 200_000, 1_000_000):
        x = np.random.default_rng(0).uniform(-1, 1, (3, samples, 6))
        out = np.empty((samples, 6))
        calls = [partial(forward, *x, out=out, threads=count) for count in (1, 2)]
        times = [[best(call, max(1, 50_000 // samples), 1) for call in calls] for _ in range(rounds)]
        one, two = np.min(times, axis=0)
        start, cpu_start = perf_counter(), process_time()
        for _ in range(10):
            calls[1]()
        overlap = (process_time() - cpu_start) / (perf_counter() - start)
        print(f"  {samples:9,d} samples  {1e6 * one:9.1f} us  {one / two:5.2f}x on two, {overlap:4.2f} cores busy")


def small_calls(rounds: int) -> None:
    """Time calls that are never divided among threads, with one thread and with two allowed."""
    dyn = ap.Dynamics(ap.load("puma"))
    x = np.random.default_rng(0).uniform(-1, 1, (3, 64, 6))
    one = x[:, 0].copy()
    calls = {
        "one sample": lambda: dyn.forward_dynamics(*one),
        "one sample, scalar results": lambda: dyn.energy(one[0], one[1]),
        "64 samples": lambda: dyn.forward_dynamics(*x),
        "bound": dyn.forward_dynamics.bind(),
    }
    print("calls that are not divided, ns with one thread and with two allowed")
    for name, call in calls.items():
        times = []
        for count in (1, 2):
            with ap.set_threads(count):
                times.append(1e9 * best(call, 5_000, rounds))
        print(f"  {name:28s} {times[0]:8.0f} {times[1]:8.0f}")


def first_results(names: list[str], rounds: int) -> None:
    """Time from the bytes of a Dynamics to the first result of a batch, in a new process with a warm cache."""
    print("first result of a worker after import, ms: Dynamics pickled before use, and after use")
    for name in names:
        for function in ("inverse_dynamics", "forward_dynamics"):
            dyn = ap.Dynamics(find(name).robot)
            unused = pickle.dumps(dyn)
            compiled = getattr(dyn, function)
            compiled(*(np.zeros((100, *array.shape)) for array in compiled.inputs))
            times = [_first_result(sent, function, rounds) for sent in (unused, pickle.dumps(dyn))]
            print(f"  {name:8s} {function:18s} {times[0]:8.1f} {times[1]:8.1f}")


def _first_result(sent: bytes, function: str, rounds: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "dynamics.pickle"
        path.write_bytes(sent)
        command = [sys.executable, "-W", "ignore", "-c", FIRST_RESULT, str(path), function]
        lines = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(rounds)]
    return 1e3 * min(sum(map(float, line.split()[1:])) for line in lines)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=40)
    options.add_argument("--robots", nargs="*", default=["puma", "panda", "tree10", "talos"])
    chosen = options.parse_args()
    scaling(chosen.rounds)
    small_calls(chosen.rounds)
    first_results(chosen.robots, max(3, chosen.rounds // 8))
