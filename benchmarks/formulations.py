"""Time every method for arms of 3 to 60 joints, and plot the cost of a sample against the number of joints.

    python benchmarks/formulations.py            writes results/formulations.json and docs/images/formulations.png
    python benchmarks/formulations.py --plot     draws the figure from the stored JSON

The arms are random revolute chains in Craig's convention. A time is the best of many runs of one compiled kernel on a
batch of 512 random states, on one core, in processor time; the methods alternate. A method whose tape for n joints has
more than MAX_OPERATIONS operations is left out from that n on and listed in the JSON: generating its code takes
minutes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from rich.progress import Progress

from appell.describe.dh import DH, from_dh
from appell.formulate.formulations import FORWARD_DYNAMICS, INVERSE_DYNAMICS, MASS_MATRIX, forward_method
from appell.model.robot import Robot
from appell.show.plot.style import (
    FIGURE_WIDTH_IN,
    GREY,
    NOTE_PT,
    label,
    legend_beside,
    line_style,
    new_figure,
    save,
    styled,
)
from appell_lab.counts.clock import nanoseconds
from appell_lab.counts.kernels import kernel
from appell_lab.counts.measure import FORWARD, INERTIA, INVERSE

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "formulations.json"
FIGURE = ROOT / "docs" / "images" / "formulations.png"
SIZES = (3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 25, 30, 40, 50, 60)
SAMPLES = 512
MAX_OPERATIONS = 100_000
ANNOTATION = {"textcoords": "offset points", "fontsize": NOTE_PT}
REPETITIONS, TIME_PER_METHOD_S = 6, 0.02  # all methods of one size alternate, with this time each

GAH, BIAS = MASS_MATRIX["gibbs-appell"], INVERSE_DYNAMICS["gibbs-appell"]
CRBA = forward_method("cholesky", INVERSE_DYNAMICS["newton-euler"], MASS_MATRIX["walker-orin"])
NOC = forward_method("cholesky", INVERSE_DYNAMICS["kane"], MASS_MATRIX["orthogonal-complement"])
SUBJECTS = {
    "inverse dynamics": (INVERSE, {name: m for name, m in INVERSE_DYNAMICS.items() if "branches" not in name}),
    "inertia matrix": (INERTIA, {name: m for name, m in MASS_MATRIX.items() if "branches" not in name}),
    "forward dynamics": (
        FORWARD,
        {
            "gibbs-appell, ldl": forward_method("ldl", BIAS, GAH),
            "gibbs-appell, cholesky": forward_method("cholesky", BIAS, GAH),
            "gibbs-appell, gauss-jordan": forward_method("gauss-jordan", BIAS, GAH),
            "mata": forward_method("cholesky", BIAS, MASS_MATRIX["hessian-loops"]),
            "walker-orin, cholesky": CRBA,
            "kane, orthogonal complement": NOC,
            **FORWARD_DYNAMICS,
        },
    ),
}


def random_arm(n: int) -> Robot:
    """Return an arm with random twists, lengths, offsets and bodies."""
    rng = np.random.default_rng(n)
    rows = []
    for _ in range(n):
        twist, length, offset = rng.uniform(-np.pi, np.pi), *rng.uniform(0.1, 0.4, 2)
        rows.append(
            DH(twist, length, offset, mass=1.0, com=rng.uniform(-0.1, 0.1, 3), inertia=rng.uniform(0.02, 0.03, 3))
        )
    return from_dh(rows, name=f"arm{n}")


def measure() -> dict:
    """Return {quantity: {method: {"n": […], "ns": […], "left_out": {n: operations}}}}."""
    subjects = [(quantity, name, what, m) for quantity, (what, known) in SUBJECTS.items() for name, m in known.items()]
    results: dict = {quantity: {} for quantity in SUBJECTS}
    for quantity, name, *_ in subjects:
        results[quantity][name] = {"n": [], "ns": [], "left_out": {}}
    with Progress(transient=True) as progress:
        bar = progress.add_task("", total=len(subjects) * len(SIZES))
        for n in SIZES:
            functions = {}
            for quantity, name, what, method in subjects:
                progress.update(bar, advance=1, description=f"{n} joints, {quantity}, {name}")
                line = results[quantity][name]
                if line["left_out"]:
                    continue
                function = kernel(random_arm(n), method, what)
                if len(function.tape) > MAX_OPERATIONS:
                    line["left_out"][str(n)] = len(function.tape)
                else:
                    functions[quantity, name] = function.compile()
            turns = [
                {key: nanoseconds(f, SAMPLES, TIME_PER_METHOD_S) for key, f in functions.items()}
                for _ in range(REPETITIONS)
            ]
            for quantity, name in functions:
                results[quantity][name]["n"].append(n)
                results[quantity][name]["ns"].append(round(min(turn[quantity, name] for turn in turns), 1))
    return results


def crossover(results: dict, first: str, second: str) -> int | None:
    """Return the first n from which the second method is faster."""
    a, b = (dict(zip(results[k]["n"], results[k]["ns"], strict=True)) for k in (first, second))
    sizes = sorted(set(a) & set(b))
    return next((n for k, n in enumerate(sizes) if all(b[m] < a[m] for m in sizes[k:])), None)


def draw(results: dict, path: Path = FIGURE) -> None:
    """Draw one panel per quantity, with the names of the methods beside it."""
    with styled():
        figure = new_figure(FIGURE_WIDTH_IN, 12.0)
        for axes, (quantity, lines) in zip(figure.subplots(3, 1), results.items(), strict=True):
            for k, (name, line) in enumerate(lines.items()):
                axes.plot(line["n"], line["ns"], **line_style(k), marker="os^vDPX*d"[k % 9], markersize=4, label=name)
            axes.set(xscale="log", yscale="log", xlabel="joints", ylabel=label("time per sample", "ns"), title=quantity)
            axes.set_xticks((3, 6, 10, 20, 30, 60), labels=("3", "6", "10", "20", "30", "60"))
            axes.minorticks_off()
            legend_beside(axes)
        meets = crossover(results["forward dynamics"], "walker-orin, cholesky", "articulated-body")
        if meets:
            axes.axvline(meets, color=GREY, linestyle=":")
            position = (meets, axes.get_ylim()[0])
            axes.annotate(f"from {meets} joints\nABA is faster than CRBA", position, xytext=(5, 6), **ANNOTATION)
        path.parent.mkdir(parents=True, exist_ok=True)
        save(figure, path, overwrite=True)


def main() -> None:
    if "--plot" not in sys.argv:
        results = measure()
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        RESULTS.write_text(
            json.dumps({"samples": SAMPLES, "limit": MAX_OPERATIONS, "ns_a_sample": results}, indent=1) + "\n"
        )
    results = json.loads(RESULTS.read_text())["ns_a_sample"]
    draw(results)
    forward = results["forward dynamics"]
    for first in ("walker-orin, cholesky", "gibbs-appell, ldl"):
        print(f"ABA is faster than {first} from n = {crossover(forward, first, 'articulated-body')}")


if __name__ == "__main__":
    main()
