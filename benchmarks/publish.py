"""Carry the results of benchmarks into README.md, benchmarks/README.md and docs/images/speed.png.

Figures in the texts stand between markers and come from here, never from a keyboard; tests/project holds them equal.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

from appell.lab.bench.figure import Figure, seconds_text
from appell.lab.bench.peers.standing import Standing
from appell.lab.bench.report import Report
from appell.motion.pictures.look import BLUE, GREY, STYLE

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "against-pinocchio.json"
RUNS = ROOT / "benchmarks" / "results" / "simulation.json"
PEERS = ROOT / "benchmarks" / "results" / "peers.json"
BEGIN, END = "<!-- figures: written by benchmarks/publish.py -->", "<!-- end of figures -->"
BEGIN_RUNS, END_RUNS = "<!-- runs: written by benchmarks/publish.py -->", "<!-- end of runs -->"
BEGIN_PEERS, END_PEERS = "<!-- peers: written by benchmarks/publish.py -->", "<!-- end of peers -->"


def main() -> None:
    report = Report.read(RESULTS)
    if report.quick:
        sys.exit(f"{RESULTS.name} was measured with --quick, which is not good enough to publish; run make bench")
    pages = {ROOT / "README.md": report.markdown(), ROOT / "benchmarks" / "README.md": report.markdown_with_aims()}
    for path, figures in pages.items():
        text = between_markers(path.read_text(encoding="utf-8"), figures)
        if BEGIN_PEERS in text:
            text = between_markers(text, peers_text(), BEGIN_PEERS, END_PEERS)
        path.write_text(text, encoding="utf-8")
    readme = ROOT / "README.md"
    text = between_markers(readme.read_text(encoding="utf-8"), runs_text(), BEGIN_RUNS, END_RUNS)
    readme.write_text(text, encoding="utf-8")
    draw(report, ROOT / "docs" / "images" / "speed.png")


def between_markers(text: str, figures: str, begin: str = BEGIN, end: str = END) -> str:
    """The text with new figures between its markers."""
    head, rest = text.split(begin)
    tail = rest.split(end)[1]
    return f"{head}{begin}\n{figures}\n{end}{tail}"


def peers_text() -> str:
    """Against the best generated C and C++, as a table."""
    if not PEERS.exists():
        return "Not measured yet: `appell bench --peers --output benchmarks/results/peers.json`."
    standing = Standing.read(PEERS)
    if standing.quick:
        sys.exit(f"{PEERS.name} was measured with --quick, which is not good enough to publish; run make bench")
    return standing.markdown()


def runs_text() -> str:
    """What whole runs of `simulate` cost, as a table."""
    found = json.loads(RUNS.read_text(encoding="utf-8"))
    lines = ["| whole runs of `simulate` | appell | Pinocchio in `solve_ivp` | faster |", "|---|---:|---:|---:|"]
    for swing in found["swings"]:
        ours, theirs = (seconds_text(swing[f"{whose}, s"]) for whose in ("ours", "theirs"))
        lines.append(f"| {swing['robot']}, a swing of 5 s | {ours} | {theirs} | {swing['times faster']:.0f}x |")
    for drop in found["drops"]:
        how = "held by a PD law" if drop["held"] else "without torques"
        lines.append(f"| go2 dropped on its feet, 1 s, {how}, {drop['events']} events | {drop['s']:.2g} s | | |")
    note = "Same method (DOP853), tolerances (1e-8, 1e-10), steps and errors on both sides; processor time on one core."
    return "\n".join([*lines, "", note])


def draw(report: Report, path: Path) -> None:
    """Ours and Pinocchio's time for one sample, as two dots on a logarithmic scale with the ratio between them."""
    import matplotlib
    from matplotlib.figure import Figure as Canvas
    from matplotlib.lines import Line2D

    shown = [figure for figure in report.figures if figure.part == "batch" and figure.name != "float32"][::-1]
    with matplotlib.rc_context(STYLE | {"axes.grid.axis": "x", "ytick.left": False, "font.size": 11}):
        canvas = Canvas(figsize=(9, 0.5 * len(shown) + 1.2), layout="constrained")
        axes = canvas.subplots()
        for row, figure in enumerate(shown):
            _dumbbell(axes, row, figure)
        axes.set_xscale("log")
        axes.set_xlim(2.5e-9, 1e-4)
        axes.set_xticks([10.0**k for k in range(-8, -3)], [seconds_text(10.0**k) for k in range(-8, -3)])
        axes.set_ylim(-0.6, len(shown) - 0.4)
        axes.set_yticks(range(len(shown)), [f"{figure.robot}, {figure.title}" for figure in shown])
        axes.spines["left"].set_visible(False)
        axes.set_title(f"Time for one sample, one core, batches of {report.batch:,}")
        dots = [Line2D([], [], marker="o", markersize=10, linestyle="", color=color) for color in (BLUE, GREY)]
        axes.legend(dots, ["appell", "Pinocchio,\nin a Python loop"], loc="lower left")
        path.parent.mkdir(parents=True, exist_ok=True)
        canvas.savefig(path, dpi=130)


def _dumbbell(axes, row: int, figure: Figure) -> None:
    ours, theirs = figure.ours or math.nan, figure.theirs or math.nan
    axes.plot([ours, theirs], [row, row], color="#c9ced6", linewidth=2, zorder=1)
    for seconds, color, side in ((ours, BLUE, "right"), (theirs, GREY, "left")):
        axes.plot(seconds, row, "o", color=color, markersize=10)
        shift = (-10 if side == "right" else 10, 0)
        text = seconds_text(seconds)
        axes.annotate(text, (seconds, row), xytext=shift, textcoords="offset points", ha=side, va="center", color=color)
    middle = math.sqrt(ours * theirs)
    axes.text(middle, row + 0.08, f"{figure.value:.0f}x", ha="center", va="bottom", fontweight="bold", color="#333333")


if __name__ == "__main__":
    main()
