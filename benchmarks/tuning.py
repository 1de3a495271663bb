"""Measure the table of choices of code generation again, for the processor of this machine.

    python benchmarks/tuning.py                      measure, and print every choice
    python benchmarks/tuning.py --write              and write the best values into src/appell/compile/llvm/tuning.toml
    APPELL_INSTRUCTIONS=avx2 python benchmarks/...   the row of AVX2, on a machine with AVX-512

Every field of the table is varied alone, starting with the present row. A value replaces the present one if it is
faster by more than one per cent, as the geometric mean over all functions. Results must have the same bits with every
value. Times are the shortest of many, one value after the other in turns, on one core.
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import numpy as np

from appell.compile.llvm.lanes import Form
from appell.compile.llvm.tuning import TABLE, Tuning, tunings
from appell.compile.native.direct import direct_call
from appell.compile.native.gufunc import UfuncLoops
from appell.compile.native.machine import host
from appell_lab.bench.clock import one_core
from appell_lab.bench.machine import machine
from appell_lab.bench.peers.quantities import ARGUMENTS, OURS
from appell_lab.bench.subject import find, random_states

RESULTS = Path(__file__).parent / "results" / "tuning.json"
ROWS = {
    "puma": ("inverse_dynamics", "forward_dynamics", "mass_matrix", "inverse_dynamics_derivatives", "regressor"),
    "talos": ("inverse_dynamics", "forward_dynamics", "mass_matrix"),
}
BATCHES = {"puma": 2000, "talos": 256}
MIN_GAIN = 1.01
CALLS_PER_TURN = 4
LOADS = 3  # of the same code: one may be slower than another because of the physical pages it is in


def candidates(row: Tuning) -> dict[str, list]:
    """Return the values of every field that are compared; the present one comes first."""
    values: dict[str, list] = {
        "register": [32, 64] if host().kind == "avx512" else [16, 32],
        "chunk": [150, 300, 600, 1200],
        "undivided": [1, 2, 3, 6],
        "held": [row.held + change for change in (-3, 0, 2, 4)],
        "squares": [False, True],
        "unrolled": [0, 20, 40, 150],
        "angles": [4, 8, 12, 15, 20, 45],
    }
    return {name: [getattr(row, name), *(v for v in each if v != getattr(row, name))] for name, each in values.items()}


def measure(robot: str, quantity: str, rows: list[Tuning], turns: int) -> list[float]:
    """Return the time of one sample with every row, s."""
    subject, batch = find(robot), BATCHES[robot]
    function = OURS[quantity](subject.dynamics)
    fused = (function.packed().function if quantity == "regressor" else function).fused
    states = random_states(subject, batch)
    given = [np.ascontiguousarray(states[name]) for name in ARGUMENTS[quantity]]
    out = tuple(np.empty((batch, *array.shape)) for array in fused.outputs)
    calls, wanted = [], None
    for row in rows * LOADS:
        loops = UfuncLoops(fused, form=Form(row.register, row.chunk, host().cache, tuning=row))
        loops.load(np.float64)
        ufunc = loops.ufunc()
        calls.append(direct_call(fused, ufunc, ufunc) or ufunc)
        calls[-1](*given, out=out)
        bits = [array.tobytes() for array in out]
        wanted = wanted or bits
        if bits != wanted:
            raise SystemExit(f"{robot}, {quantity}: {row} changes results")
    best = [math.inf] * len(rows)
    for _ in range(turns):
        for number, call in enumerate(calls):
            for _ in range(CALLS_PER_TURN):
                start = perf_counter()
                call(*given, out=out)
                seconds = (perf_counter() - start) / batch
                best[number % len(rows)] = min(best[number % len(rows)], seconds)
    return best


def tune(row: Tuning, only: str | None, turns: int) -> tuple[Tuning, list[dict]]:
    """Return the best row and all measurements."""
    figures = []
    for field, values in candidates(row).items():
        if only not in (None, field):
            continue
        rows = [replace(row, **{field: value}) for value in values]
        gains = [0.0] * len(values)
        for robot, quantities in ROWS.items():
            for quantity in quantities:
                times = measure(robot, quantity, rows, turns)
                ratios = [time / times[0] for time in times]
                gains = [gain - math.log(ratio) for gain, ratio in zip(gains, ratios, strict=True)]
                figures.append(
                    {
                        "field": field,
                        "function": f"{robot}/{quantity}",
                        "seconds": dict(zip(map(str, values), times, strict=True)),
                    }
                )
                shown = "  ".join(f"{value}: {ratio:.3f}" for value, ratio in zip(values, ratios, strict=True))
                print(f"{field:9} {robot}/{quantity:30} {1e9 * times[0]:8.1f} ns  {shown}", flush=True)
        means = [math.exp(gain / sum(map(len, ROWS.values()))) for gain in gains]
        best = max(range(len(values)), key=means.__getitem__)
        if means[best] > MIN_GAIN:
            row = rows[best]
        means_text = ", ".join(f"{value} {mean:.3f}x" for value, mean in zip(values, means, strict=True))
        print(f"{field}: {getattr(row, field)}, from speeds {means_text}", flush=True)
    return row, figures


def write_table(kind: str, row: Tuning) -> None:
    """Replace the row of one kind of processor in the table."""
    head, *sections = TABLE.read_text(encoding="utf-8").split("\n[")
    texts = []
    for section in sections:
        if section.startswith(f"{kind}]"):
            values = "\n".join(f"{name} = {json.dumps(value)}" for name, value in vars(row).items())
            section = f"{kind}]  # measured on {machine()['cpu']} ({machine()['kind']})\n{values}\n"
        texts.append(section)
    TABLE.write_text("\n[".join([head, *texts]), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the table")
    parser.add_argument("--only", choices=candidates(tunings()["avx2"]), help="one field")
    parser.add_argument("--turns", type=int, default=25, help="repetitions")
    parser.add_argument("--robot", choices=ROWS, help="functions of one robot only")
    options = parser.parse_args()
    for robot in list(ROWS):
        if options.robot not in (None, robot):
            del ROWS[robot]
    kind = host().kind
    with one_core():
        row, figures = tune(tunings()[kind], options.only, options.turns)
    if options.write:
        write_table(kind, row)
        content = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
        content[kind] = {"machine": machine(), "row": vars(row), "figures": figures}
        RESULTS.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
