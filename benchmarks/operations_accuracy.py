"""Accuracy and speed of exp, log and other functions: python benchmarks/operations_accuracy.py [accuracy] [speed].

accuracy    a million points per function and format: the largest error against mpmath in units of the last place, with
            fused multiply-adds and without; whether registers of all sizes and the exported C code give the same bits
speed       ns per element of a batch of 4096, compared with NumPy (for erf: SciPy) in the same run

The default is both. Accuracy takes about a quarter of an hour. Results are written to
benchmarks/results/operations-accuracy.json, where parts that are not measured are kept.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
from scipy.special import erf

from appell.compile.native import kernels
from appell.compile.native.machine import Target, host
from appell_lab.bench.clock import TimedStatement, one_core, time_in_turns
from appell_lab.bench.machine import machine, versions
from appell_lab.bench.results import save_results
from appell_lab.campaigns.operations import OPERATIONS, CLibrary, Errors, kernel, points

RESULTS = Path(__file__).parent / "results" / "operations-accuracy.json"
POINTS, SEED = 1_000_000, 20
BATCH, REPETITIONS = 4096, 200
REGISTERS = (8, 16, 32, 64)  # bytes: one double, SSE, AVX2, AVX-512
FORMATS = (np.float64, np.float32)
RANGES = {"log": (0.1, 10.0), "arcsin": (-1.0, 1.0), "arccos": (-1.0, 1.0), "power": (0.1, 3.0)}


def main() -> None:
    parts = sys.argv[1:] or ["accuracy", "speed"]
    if unknown := {*parts} - {"accuracy", "speed"}:
        raise SystemExit(f"unknown argument: {', '.join(unknown)}; expected accuracy or speed")
    for part in parts:
        measured = {"accuracy": accuracy, "speed": speed}[part]()
        stored = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
        facts = {"machine": machine(), "versions": versions(), "seed": SEED, "points": POINTS, "batch": BATCH}
        save_results(RESULTS, stored | facts | {part: measured})


def bits(x: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(x), 0, x.view(f"i{x.itemsize}"))


def accuracy() -> list[dict]:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for dtype in FORMATS:
            library = CLibrary(Path(folder, np.dtype(dtype).name), dtype) if shutil.which("gcc") else None
            for name, of in OPERATIONS.items():
                rows.append(measured(name, dtype, library))
                print("  ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
                assert max(rows[-1]["fused, ulp"], rows[-1]["unfused, ulp"]) <= of.bound
    return rows


def measured(name: str, dtype: type, library: CLibrary | None) -> dict:
    """Return the errors of one operation in one format."""
    arguments = points(name, dtype, POINTS, SEED)
    errors = Errors(name, arguments)
    with np.errstate(all="ignore"):
        registers = [size for size in REGISTERS if size >= np.dtype(dtype).itemsize]
        results = [kernel(name, size)(*arguments) for size in registers]
        unfused = without_fma(name)(*arguments)
    (worst, at), (unfused_worst, unfused_at) = errors.worst(results[0]), errors.worst(unfused)
    return {
        "function": name,
        "format": np.dtype(dtype).name,
        "points": len(arguments[0]),
        "bound, ulp": OPERATIONS[name].bound,
        "fused, ulp": round(worst, 3),
        "at": at,
        "unfused, ulp": round(unfused_worst, 3),
        "unfused at": unfused_at,
        "bytes of registers": registers,
        "registers give equal bits": all(np.array_equal(bits(results[0]), bits(other)) for other in results[1:]),
        "C gives equal bits": library and np.array_equal(bits(library(name, arguments)), bits(results[0])),
    }


def without_fma(name: str) -> np.ufunc:
    """Return an operation, compiled for a processor that rounds x y + z twice."""
    target = Target(host().triple, host().cpu, host().features, has_fma=False)
    with mock.patch.object(kernels, "host", return_value=target), mock.patch.dict(os.environ, APPELL_CACHE="off"):
        ufunc = kernel(name, REGISTERS[-1])
        for dtype in FORMATS:  # compile now
            ufunc(*[np.ones(1, dtype)] * OPERATIONS[name].operands)
    return ufunc


def speed() -> list[dict]:
    rows, rng = [], np.random.default_rng(SEED)
    with one_core():
        for dtype in FORMATS:
            for name, of in OPERATIONS.items():
                arguments = [
                    rng.uniform(*RANGES.get(name, (-5.0, 5.0)), BATCH).astype(dtype) for _ in range(of.operands)
                ]
                functions = {
                    "appell": kernel(name, host().register),
                    "NumPy": erf if name == "erf" else getattr(np, name),
                }
                out = np.empty(BATCH, dtype)
                runs = {}
                for key, function in functions.items():
                    np.testing.assert_allclose(function(*arguments), functions["NumPy"](*arguments), rtol=1e-5)
                    runs[key] = TimedStatement("f(*x, out=out)", {"f": function, "x": arguments, "out": out})
                times = time_in_turns(runs, REPETITIONS)
                taken = {f"{key}, ns": round(timing.best / BATCH * 1e9, 3) for key, timing in times.items()}
                rows.append({"function": name, "format": np.dtype(dtype).name, **taken})
                print("  ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
    return rows


if __name__ == "__main__":
    main()
