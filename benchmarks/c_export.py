"""Tests and timing of exported C: python benchmarks/c_export.py [bits] [speed] [publish].

bits    for all robots, functions, formats and machines: whether the exported C gives the same bits as the compiled
        function, for single samples and batches; on a Cortex-M also instructions per call (counted by the emulator,
        not cycles), bytes of code and constants, and bytes of stack
speed   gcc -O3 -march=native on this machine: one sample per call compared with CasADi's generated C, of a textbook
        recursion and of the tape of appell; batches compared with the ufunc on the same arrays, element k of sample i
        at x[k * n + i]

The default is bits and speed. Results are written to benchmarks/results/c-export.json, where parts that are not
measured are kept, and tables to docs/c-code.md; `publish` only writes the tables.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import appell as ap
from appell.compile.c.source import CSource
from appell_lab.bench.clock import TimedStatement, one_core, time_in_turns
from appell_lab.bench.machine import machine, versions
from appell_lab.bench.peers.builds import SOURCES, BuildFolder, optimised
from appell_lab.bench.peers.casadi_c import CasadiC
from appell_lab.bench.peers.library import bound
from appell_lab.bench.results import save_results
from appell_lab.bench.subject import find, random_states
from appell_lab.boards.board import BOARDS, Board, BoardJob

ROBOTS = ("puma", "panda", "agile-wrist", "talos")
FUNCTIONS = {
    "inverse dynamics": lambda dyn: dyn.inverse_dynamics,
    "forward dynamics": lambda dyn: dyn.forward_dynamics,
    "mass matrix": lambda dyn: dyn.mass_matrix,
    "derivatives of inverse dynamics": lambda dyn: dyn.inverse_dynamics.jacobian("q", "v"),
    "derivatives of forward dynamics": lambda dyn: dyn.forward_dynamics.jacobian("q", "v", "tau"),
}
SAMPLES = 19  # for the comparison of bits
BATCH, REPETITIONS = 2000, 60
AIMS = {"times faster than CasADi, one sample": 2.0, "times faster than the ufunc, batch": 1.0}
RESULTS = Path(__file__).parent / "results" / "c-export.json"
PAGE = Path(__file__).parents[1] / "docs" / "c-code.md"
BEGIN, END = "<!-- figures: written by benchmarks/c_export.py -->\n", "<!-- end of figures -->\n"
KINDS = {"float64": "double", "float32": "float"}
FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-std=c99")


def main() -> None:
    parts = sys.argv[1:] or ["bits", "speed"]
    if unknown := {*parts} - {"bits", "speed", "publish"}:
        raise SystemExit(f"unknown argument: {', '.join(unknown)}; expected bits, speed or publish")
    for part in parts:
        if part != "publish":
            store(**{part: {"bits": bits, "speed": speed}[part]()})
    publish()


def stored() -> dict:
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}


def store(**parts: list[dict]) -> None:
    save_results(RESULTS, stored() | {"machine": machine(), "versions": versions(), "aims": AIMS} | parts)


# ---- figures


def publish() -> None:
    """Write the figures into the page."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    PAGE.write_text(before + BEGIN + figures() + END + rest.split(END)[1], encoding="utf-8")
    print(f"written {RESULTS.name}, {PAGE.name}")


def figures() -> str:
    """Return the figures of the page."""
    content, lines = stored(), []
    if measured := content.get("bits"):
        tried = [row for row in measured if row["equal"] is not None]
        equal = sum(row["equal"] for row in tried)
        lines += [f"Bits equal in {equal} of {len(tried)} combinations of robot, function, format and machine."]
        lines += [
            "",
            "| on a Cortex-M | format | instructions per call | code, bytes | stack, bytes |",
            "|---|---|---:|---:|---:|",
        ]
        for row in tried:
            if "instructions" in row and row["function"] in ("inverse dynamics", "forward dynamics", "mass matrix"):
                name = f"{row['robot']}, {row['function']}, {row['board'].removeprefix('cortex-').upper()}"
                numbers = (f"{row[key]:,}" for key in ("instructions", "code", "stack"))
                lines.append(f"| {name} | {KINDS[row['dtype']]} | {' | '.join(numbers)} |")
        lines += ["", "Instructions are counted by the emulator; the number of cycles is higher.", ""]
    if measured := content.get("speed"):
        single = [row for row in measured if "CasADi" in row]
        lines += [
            "| one sample, gcc -O3, ns | exported | CasADi's C | CasADi's C of appell's tape |",
            "|---|---:|---:|---:|",
        ]
        for row in single:
            times = (f"{row[key]:.0f}" for key in ("ours", "CasADi", "CasADi of our tape"))
            lines.append(f"| {row['robot']}, {row['function'].replace('_', ' ')} | {' | '.join(times)} |")
        lines += ["", "| batch, gcc -O3, ns per sample | exported | ufunc on the same arrays |", "|---|---:|---:|"]
        for row in measured:
            if "ufunc" in row:
                kind = KINDS[row["what"].split(", ")[1]]
                name = f"{row['robot']}, {row['function'].replace('_', ' ')}, {kind}"
                lines.append(f"| {name} | {row['ours']:.1f} | {row['ufunc']:.1f} |")
    return "\n".join(lines) + "\n"


# ---- bits


def bits() -> list[dict]:
    """Compare all combinations; results for the same source and samples are reused."""
    known = {row["digest"]: row for row in stored().get("bits", ()) if row["equal"] is not None}
    rows: list[dict] = []
    large = {("talos", name) for name in FUNCTIONS if "derivatives" in name}  # last, because they take minutes each
    for robot, name in sorted(((robot, name) for name in FUNCTIONS for robot in ROBOTS), key=large.__contains__):
        system = find("talos").robot if robot == "talos" else ap.load(robot)
        function = FUNCTIONS[name](ap.Dynamics(system))
        for board in BOARDS.values():
            for dtype in board.formats:
                row = {"robot": robot, "function": name, "board": board.name, "dtype": dtype}
                code = function.to_c("exported", dtype=dtype)
                content = "\n".join([*row.values(), *board.flags, code.source])
                row["digest"] = hashlib.sha256(content.encode()).hexdigest()[:16]
                rows.append(known.get(row["digest"]) or row | cell(board, function, code, system, dtype))
                print("  ".join(f"{value}" for value in rows[-1].values()), flush=True)
                measured = {row["digest"] for row in rows}
                store(bits=rows + [row for digest, row in known.items() if digest not in measured])
    return rows


def cell(board: Board, function: ap.Function, code: CSource, system, dtype: str) -> dict:
    if board.missing:
        return {"equal": None, "why": board.missing}
    given = samples(function, system, dtype)
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        flags = ("-fstack-usage", "-save-temps=obj") if board.bare else ()
        try:
            outcome = board.run({"it": BoardJob(code, function, given)}, Path(folder), flags)
        except subprocess.TimeoutExpired as error:
            return {"equal": None, "why": f"{Path(error.cmd[0]).name} took more than {error.timeout:.0f} s"}
        expected = function(*given)
        expected = expected if isinstance(expected, tuple) else (expected,)
        equal = [
            np.array_equal(result, reference, equal_nan=True)
            for part in (outcome.one, outcome.batch)
            for result, reference in zip(part["it"], expected, strict=True)
        ]
        more = {"instructions": outcome.instructions["it"], **sizes(Path(folder))} if board.bare else {}
    return {"equal": all(equal), "source": len(code.source)} | more


def samples(function: ap.Function, system, dtype: str) -> tuple[np.ndarray, ...]:
    """Return random states, including huge angles, NaN and infinity."""
    rng = np.random.default_rng(7)
    q = np.array([system.random_configuration(rng) for _ in range(SAMPLES)])
    rest = [rng.uniform(-3.0, 3.0, (SAMPLES, *array.shape)) for array in function.inputs[1:]]
    arrays = [array.astype(dtype) for array in (q, *rest)]
    arrays[0][3, -1], arrays[0][5, -2] = 1e9, -7e30
    arrays[-1][11, 1], arrays[0][16, 0] = np.nan, np.inf
    return tuple(arrays)


def sizes(folder: Path) -> dict[str, int]:
    """Return the bytes of code, constants and stack that a call with one sample needs."""
    [object_file], [usage] = folder.glob("*exported.o"), folder.glob("*exported.su")
    listed = subprocess.run(["arm-none-eabi-nm", "-S", object_file.name], cwd=folder, check=True, capture_output=True)
    of_batches = re.compile(r"_batch$|_each\b|_lanes\b")
    code = stack = deeper = 0
    for line in listed.stdout.decode().splitlines():
        match line.split():
            case [_, size, _, name] if not of_batches.search(name):
                code += int(size, 16)
    for line in usage.read_text().splitlines():
        name, size = line.split("\t")[0].rpartition(":")[2], int(line.split("\t")[1])
        if name == "exported":
            stack = size
        elif not of_batches.search(name):
            deeper = max(deeper, size)
    return {"code": code, "stack": stack + deeper}


# ---- speed

_ROWS = """
#include "exported.c"
void rows(long n, const @real@ *x, const @real@ *y, const @real@ *z, @real@ *r)
{
    for (long k = 0; k < n; ++k)
        exported(x + k * @n@, y + k * @n@, z + k * @n@, r + k * @n@);
}
"""


def speed() -> list[dict]:
    rows = []
    with one_core(), tempfile.TemporaryDirectory() as folder:
        for robot in ("puma", "panda"):
            for name in ("inverse_dynamics", "forward_dynamics"):
                rows += one(robot, name, Path(folder, robot, name)), *batches(robot, name, Path(folder, robot, name))
    for row in rows:
        print("  ".join(f"{key} {value}" for key, value in row.items()))
    return rows


def one(robot: str, name: str, folder: Path) -> dict:
    """Time one sample per call, in a C loop over many samples."""
    subject, dyn = find(robot), ap.Dynamics(ap.load(robot))
    states, function = random_states(subject, BATCH), getattr(dyn, name)
    arrays = [np.ascontiguousarray(states[array.name]) for array in function.inputs]
    results = {key: np.zeros_like(arrays[0]) for key in ("ours", "CasADi of our tape")}
    built = build(folder, function, np.float64)
    theirs = CasadiC(BuildFolder()).prepare(subject, name, states)
    runs = {
        "ours": bound(built.rows, None, BATCH, [*arrays, results["ours"]]),
        "CasADi": theirs.run,
        "CasADi of our tape": bound(
            generated(folder, function).batch, None, BATCH, [*arrays, results["CasADi of our tape"], *[np.zeros(1)] * 2]
        ),
    }
    times = time_in_turns({key: TimedStatement("run()", {"run": run}) for key, run in runs.items()}, REPETITIONS)
    expected = function(*arrays)
    assert np.array_equal(results["ours"], expected)
    for other in (theirs.results()[0], results["CasADi of our tape"]):
        assert np.allclose(other, expected, rtol=1e-9, atol=1e-9)
    taken = {key: round(timing.best / BATCH * 1e9, 1) for key, timing in times.items()}
    return {"robot": robot, "function": name, "what": "one sample, ns", **taken} | {
        "times faster": round(taken["CasADi"] / taken["ours"], 2)
    }


def batches(robot: str, name: str, folder: Path) -> list[dict]:
    """Time batches of the exported C and of the ufunc on the same arrays."""
    rows = []
    for dtype in (np.float64, np.float32):
        dyn, rng = ap.Dynamics(ap.load(robot)), np.random.default_rng(1)
        function = getattr(dyn, name)
        arrays = [rng.uniform(-3.0, 3.0, (array.size, BATCH)).astype(dtype) for array in function.inputs]
        ours, theirs = (np.zeros_like(arrays[0]) for _ in range(2))
        built = build(folder, function, dtype)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*arrays, ours)]
        names = {"f": built.exported_batch, "a": (ctypes.c_size_t(BATCH), *pointers)}
        views = {"u": function.ufunc, "x": [array.T for array in arrays], "out": theirs.T}
        contestants = {"ours": TimedStatement("f(*a)", names), "ufunc": TimedStatement("u(*x, out=out)", views)}
        times = time_in_turns(contestants, REPETITIONS)
        assert np.array_equal(ours, theirs)
        taken = {key: round(timing.best / BATCH * 1e9, 2) for key, timing in times.items()}
        kind = f"batch of {BATCH}, {np.dtype(dtype).name}, ns per sample"
        faster = round(taken["ufunc"] / taken["ours"], 2)
        rows.append({"robot": robot, "function": name, "what": kind, **taken, "times faster": faster})
    return rows


def build(folder: Path, function: ap.Function, dtype) -> ctypes.CDLL:
    real, target = ("double" if dtype == np.float64 else "float"), folder / np.dtype(dtype).name
    function.to_c("exported", dtype=dtype).write(target, overwrite=True)
    text = _ROWS.replace("@real@", real).replace("@n@", str(function.inputs[0].size))
    return compiled(target, text, "ours")


def generated(folder: Path, function: ap.Function) -> ctypes.CDLL:
    """Return CasADi's C of the same tape, exported by `to_casadi`."""
    import casadi

    target = folder / "casadi"
    target.mkdir(parents=True, exist_ok=True)
    generator = casadi.CodeGenerator("theirs.c", {"with_header": False})
    generator.add(casadi.Function("kernel", *_ends(function.to_casadi())))
    generator.generate(f"{target}/")
    return compiled(target, (SOURCES / CasadiC.source).read_text(encoding="utf-8"), "theirs", *optimised())


def _ends(function) -> tuple[list, list]:
    inputs = function.sx_in()
    return inputs, function.call(inputs)


def compiled(target: Path, text: str, name: str, *flags: str) -> ctypes.CDLL:
    (target / f"{name}_rows.c").write_text(text)
    shared = ["-fPIC", "-shared", "-w", f'-DKERNEL="{name}.c"']
    command = ["gcc", *(flags or FLAGS), *shared, f"{name}_rows.c", "-o", f"{name}.so", "-lm"]
    subprocess.run(command, cwd=target, check=True)
    return ctypes.CDLL(str(target / f"{name}.so"))


if __name__ == "__main__":
    main()
