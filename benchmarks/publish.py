"""Write the results of benchmarks into README.md, docs/measured.md, benchmarks/README.md and docs/images/speed.png.

Figures in the texts are between markers and are always written by this program; tests/project compares them.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

from appell.show.plot.style import BLUE, FIGURE_WIDTH_IN, GREY, INK, label, legend_beside, new_figure, save, styled
from appell_lab.bench.figure import Figure, in_unit, seconds_text
from appell_lab.bench.peers.peer_report import PeerReport
from appell_lab.bench.report import Report
from appell_lab.bench.subject import TALOS_NOTE

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "against-pinocchio.json"
RUNS = ROOT / "benchmarks" / "results" / "simulation.json"
PEERS = ROOT / "benchmarks" / "results" / "peers.json"
SUMMARY_FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "forward_dynamics_derivatives")  # in README.md


def main() -> None:
    report = Report.read(RESULTS)
    if report.quick:
        sys.exit(f"{RESULTS.name} was measured with --quick, which is not accurate enough to publish; run make bench")
    for page, figures in published().items():
        path = ROOT / page
        text = path.read_text(encoding="utf-8")
        for name, figure in figures.items():
            text = between_markers(text, name, figure)
        path.write_text(text, encoding="utf-8")
    draw(report, ROOT / "docs" / "images" / "speed.png")


def published() -> dict[str, dict[str, str]]:
    """Return the texts between markers, by page and name of the marker."""
    report = Report.read(RESULTS)
    return {
        "README.md": {"summary": summary_text(report)},
        "docs/measured.md": {"figures": report.markdown(), "runs": runs_text(), "peers": peers_text()},
        "benchmarks/README.md": {"figures": report.markdown_with_aims(), "peers": peers_text()},
    }


def between_markers(text: str, name: str, figures: str) -> str:
    """Return a text with new figures between the markers of a name."""
    begin, end = f"<!-- {name}: written by benchmarks/publish.py -->", f"<!-- end of {name} -->"
    head, rest = text.split(begin)
    return f"{head}{begin}\n{figures}\n{end}{rest.split(end)[1]}"


def summary_text(report: Report) -> str:
    """Return the summary: comparisons with compiled code and a Python loop, and the time to the first result."""
    peer_report = PeerReport.read(PEERS)
    loops = {(figure.robot, figure.name): figure for figure in report.figures if figure.part == "batch"}
    lines = [
        "| one sample in a batch, one core | appell | best generated C or C++ | Pinocchio from Python |",
        "|---|---:|---:|---:|",
    ]
    for comparison in peer_report.comparisons:
        row = comparison.row
        if row.one_call or row.quantity not in SUMMARY_FUNCTIONS or comparison.ratio is None:
            continue
        ours, loop = peer_report.seconds(comparison, comparison.ours), loops.get((row.robot, row.quantity))
        against = "" if loop is None else f"{seconds_text(loop.theirs or 0.0)} ({loop.value_text})"
        best = f"{seconds_text(ours * comparison.ratio)} ({in_unit(comparison.ratio, 'x')})"
        lines.append(f"| {row.robot} {row.title} | {seconds_text(ours)} | {best} | {against} |")
    start = {figure.key: figure.value for figure in report.figures if figure.part == "start"}
    cold = {robot: start[f"{robot}/start/inverse_dynamics"] for robot in ("puma", "talos")}
    times = ", ".join(f"{robot} {seconds:.2g} s" for robot, seconds in cold.items())
    first = f"First torque of a new robot, including compilation: {times}."
    return "\n".join([*lines, "", f"{TALOS_NOTE} {first} {peer_report.machine['cpu']}, {peer_report.date}."])


def peers_text() -> str:
    """Return the table of comparisons with the best generated C and C++."""
    if not PEERS.exists():
        return "Not measured yet: `appell bench --peers --output benchmarks/results/peers.json`."
    peer_report = PeerReport.read(PEERS)
    if peer_report.quick:
        sys.exit(f"{PEERS.name} was measured with --quick, which is not accurate enough to publish; run make bench")
    return peer_report.markdown()


def runs_text() -> str:
    """Return the table of complete `simulate` runs."""
    runs = json.loads(RUNS.read_text(encoding="utf-8"))
    lines = ["| complete runs of `simulate` | appell | Pinocchio in `solve_ivp` | faster |", "|---|---:|---:|---:|"]
    for swing in runs["swings"]:
        ours, theirs = (seconds_text(swing[f"{side}, s"]) for side in ("ours", "theirs"))
        lines.append(f"| {swing['robot']}, a swing of 5 s | {ours} | {theirs} | {swing['times faster']:.0f}x |")
    for drop in runs["drops"]:
        how = "held by a PD law" if drop["held"] else "without torques"
        lines.append(f"| go2 dropped on its feet, 1 s, {how}, {drop['events']} events | {drop['s']:.2g} s | | |")
    note = "Same method (DOP853), tolerances (1e-8, 1e-10), steps and errors on both sides; processor time on one core."
    return "\n".join([*lines, "", note])


def draw(report: Report, path: Path) -> None:
    """Draw the times of appell and Pinocchio for one sample as two dots on a logarithmic scale, with their ratio."""
    from matplotlib.lines import Line2D

    shown = [figure for figure in report.figures if figure.part == "batch" and figure.name != "float32"][::-1]
    with styled():
        canvas = new_figure(FIGURE_WIDTH_IN, 0.5 * len(shown) + 1.2)
        axes = canvas.subplots()
        for row, figure in enumerate(shown):
            _dumbbell(axes, row, figure)
        axes.set_xscale("log")
        times = [seconds for figure in shown for seconds in (figure.ours, figure.theirs) if seconds]
        low, high = 0.25 * min(times), 4.0 * max(times)  # space for the labels beside the dots
        powers = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
        axes.set_xlim(low, high)
        axes.set_xticks([10.0**k for k in powers], [f"{10 ** (k + 9):,}" for k in powers])
        axes.set_xlabel(label("time for one sample", "ns"))
        axes.set_ylim(-0.6, len(shown) - 0.4)
        axes.set_yticks(range(len(shown)), [f"{figure.robot}, {figure.title}" for figure in shown])
        axes.tick_params(left=False)
        axes.grid(axis="y", visible=False)
        axes.spines["left"].set_visible(False)
        axes.set_title(f"Time for one sample, one core, batches of {report.batch:,}")
        dots = [Line2D([], [], marker="o", markersize=10, linestyle="", color=color) for color in (BLUE, GREY)]
        legend_beside(axes, dots, ["appell", "Pinocchio,\nin a Python loop"])
        path.parent.mkdir(parents=True, exist_ok=True)
        save(canvas, path, overwrite=True)


def _dumbbell(axes, row: int, figure: Figure) -> None:
    ours, theirs = figure.ours or math.nan, figure.theirs or math.nan
    axes.plot([ours, theirs], [row, row], color=GREY, alpha=0.45, linewidth=2, zorder=1)
    for seconds, color, side in ((ours, BLUE, "right"), (theirs, GREY, "left")):
        axes.plot(seconds, row, "o", color=color, markersize=10)
        shift = (-10 if side == "right" else 10, 0)
        text = seconds_text(seconds)
        axes.annotate(text, (seconds, row), xytext=shift, textcoords="offset points", ha=side, va="center", color=color)
    middle = math.sqrt(ours * theirs)
    axes.text(middle, row + 0.08, f"{figure.value:.0f}x", ha="center", va="bottom", fontweight="bold", color=INK)


if __name__ == "__main__":
    main()
