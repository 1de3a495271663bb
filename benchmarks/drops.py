"""A sweep of a hundred thousand drops of Shafei's tree robot with three kills: python benchmarks/drops.py [--whole].

Starts a Dask scheduler and two workers; kills a worker, the scheduler and the client with signal 9 during the sweep;
continues with the same command each time; and compares the store with undisturbed drops: a random subset computed again
in this process, or, with --whole, all drops in a second sweep on two workers. Writes the results, the figure and the
paragraph of the documentation. An interrupted run continues where it stopped, but publishes nothing. --draw STORE only
draws the figure.
"""

from __future__ import annotations

import argparse
import json
import runpy
import textwrap
import time
from pathlib import Path

import numpy as np

import appell as ap
from appell.show.plot.style import BLUE, COLORS, FIGURE_WIDTH_IN, label, new_figure, save, styled
from appell.sweeps.jobs import seed_of
from appell_lab.bench.machine import machine, versions
from appell_lab.campaigns.interrupted_sweep import KILLS, InterruptedSweep, differences

ROOT = Path(__file__).parents[1]
STUDY = ROOT / "examples" / "studies" / "shafei_drops.py"
RESULTS = ROOT / "benchmarks" / "results" / "drops.json"
PAGE = ROOT / "docs" / "sweeps.md"
BEGIN, END = "<!-- drops: written by benchmarks/drops.py -->\n", "<!-- end of drops -->"
PICTURE = ROOT / "docs" / "images" / "drops.png"
IMPACTS, MEAN, FIRST = "impacts", "mean number of impacts", "time of the first impact, s"
IMPULSE, ENERGY, UNFINISHED = "largest impulse, N s", "largest change of energy, J", "not finished"
COMPARED = "compared with undisturbed drops"
SUBSET_SIZE = 2000  # drops that are computed again
DRAWN_IMPACTS = (1, 2, 4, 8, 16)  # numbers of the impacts whose times are drawn


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "drops")
    parser.add_argument("--whole", action="store_true", help="compare with a complete second sweep")
    parser.add_argument("--draw", type=Path, help="only draw the figure of this store")
    options = parser.parse_args()
    if options.draw is not None:
        draw(ap.sweeps.open(options.draw), PICTURE)
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    out, start = options.folder / f"drops-{options.jobs}.zarr", time.monotonic()
    stored = (ap.sweeps.open(out).status != 0).mean() if out.exists() else 0.0
    kills = [kill for kill in KILLS if kill[1] > stored]
    done = InterruptedSweep(STUDY, out, options.jobs, kills=kills).run(lambda line: print(line, flush=True))
    seconds = time.monotonic() - start
    results = ap.sweeps.open(out)
    print(f"{results.summary} in {seconds:.0f} s; comparing", flush=True)
    compared, wrong = compare_all(results, options.folder) if options.whole else compare_subset(results)
    figures = {
        "drops": len(results),
        "kills": [{"what": kill.what, "blocks stored": kill.stored} for kill in done],
        "drops a block": results.block,
        "seconds": seconds,
        COMPARED: compared,
        "arrays that differ": wrong,
        **distributions(results),
    }
    print(json.dumps(figures, indent=1))
    if wrong:
        raise SystemExit(1)
    if stored or json.loads(RESULTS.read_text("utf-8"))["drops"] > len(results):
        print("the run was incomplete or has fewer drops than the published one; published results are kept")
        return
    RESULTS.write_text(json.dumps({"machine": machine(), "versions": versions(), **figures}, indent=1) + "\n")
    head, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    PAGE.write_text(head + BEGIN + text() + END + rest.partition(END)[2], "utf-8")
    draw(results, PICTURE)


def compare_subset(results: ap.sweeps.SweepResults) -> tuple[int, list[str]]:
    """Compute random drops again; return their number and the arrays that differ in any bit."""
    study = runpy.run_path(str(STUDY))["study"]
    numbers = np.random.default_rng(0).permutation(len(results))[:SUBSET_SIZE]
    again = [study(seed_of(0, int(k))) for k in numbers]
    wrong = [
        name for name in results if np.array([x[name] for x in again]).tobytes() != results[name][numbers].tobytes()
    ]
    return len(numbers), wrong + ["status"] * bool(not results.done.all())


def compare_all(results: ap.sweeps.SweepResults, folder: Path) -> tuple[int, list[str]]:
    """Compute all drops again in an undisturbed sweep; return their number and the arrays that differ."""
    study = runpy.run_path(str(STUDY))["study"]
    again = ap.sweep(study, len(results), folder / f"undisturbed-{len(results)}.zarr", workers=2)
    return len(again), differences(results, again)


def distributions(results: ap.sweeps.SweepResults) -> dict[str, object]:
    """Return the minimum, 5 % quantile, median, 95 % quantile and maximum of some results."""
    parts, done = (0.0, 0.05, 0.5, 0.95, 1.0), results.done
    columns = {IMPACTS: results["impacts"], FIRST: results["times"][:, 0], IMPULSE: results["largest_impulse"]}
    return {
        **{name: np.quantile(column[done], parts).tolist() for name, column in columns.items()},
        MEAN: float(results["impacts"][done].mean()),
        ENERGY: float(np.abs(results["energy_change"][done]).max()),
        UNFINISHED: int((~results["finished"][done]).sum()),
    }


def text() -> str:
    """Return the paragraph of the documentation, with the measured figures."""
    data = json.loads(RESULTS.read_text("utf-8"))
    impacts, first, impulse = (data[name] for name in (IMPACTS, FIRST, IMPULSE))
    kills = ", ".join(f"the {kill['what']} with {kill['blocks stored']:,} blocks stored" for kill in data["kills"])
    blocks, minutes = -(-data["drops"] // data["drops a block"]), data["seconds"] / 60
    lines = [
        f"**{data['drops']:,} drops**: {data[MEAN]:.1f} impacts on average, "
        f"{impacts[1]:.0f} to {impacts[3]:.0f} in nine of ten drops, at most {impacts[4]:.0f}.",
        f"**First impact**: after {first[1]:.2f} to {first[3]:.2f} s in nine of ten drops, median {first[2]:.2f} s.",
        f"**Largest impulse** of a drop: median {impulse[2]:.0f} N s; one drop in twenty exceeds {impulse[3]:.0f} N s; "
        f"the maximum is {impulse[4]:.0f} N s.",
        f"**Energy** changes by at most {data[ENERGY]:.1g} J; {data[UNFINISHED]} runs ended early.",
        f"**Killed** with signal 9 during the sweep: {kills}, of {blocks:,}. "
        f"{data[COMPARED]:,} drops were compared with undisturbed ones: no bit differs.",
        f"**{minutes:.0f} minutes** on two workers; {data['machine']['cpu']}.",
    ]
    return "\n".join(textwrap.fill(f"- {line}", 120, subsequent_indent="  ") for line in lines) + "\n"


def draw(results: ap.sweeps.SweepResults, path: Path) -> None:
    """Draw the distributions of the number of impacts, of the times of some impacts, and of the largest impulse."""
    done = results.done
    impacts, times, impulse = (results[name][done] for name in ("impacts", "times", "largest_impulse"))
    with styled():
        figure = new_figure(FIGURE_WIDTH_IN, 3.2)
        counts, when, sizes = figure.subplots(1, 3)
        numbers = np.arange(impacts.max() + 1)
        counts.bar(numbers, 100.0 * np.bincount(impacts) / len(impacts), color=BLUE, width=0.9)
        counts.set(xlabel="impacts in 1.5 s", ylabel=label("drops", "%"), title=f"{len(impacts):,} drops")
        bins = int(np.clip(0.5 * len(impacts) ** 0.5, 20, 75))
        edges = np.linspace(0.0, 1.5, bins + 1)
        for order, color in zip(DRAWN_IMPACTS, COLORS, strict=False):
            occurred = times[:, order - 1][impacts >= order]
            density = np.histogram(occurred, edges)[0] / len(impacts) / np.diff(edges)
            when.plot(0.5 * (edges[1:] + edges[:-1]), density, color=color, label=f"impact {order}")
        when.set(xlabel=label("time t", "s"), ylabel=label("density", "1/s"), title="times of impacts")
        when.legend(loc="upper left", bbox_to_anchor=(0.55, 1.0))
        sizes.hist(impulse, bins=np.linspace(0.0, np.quantile(impulse, 0.999), bins + 1), density=True, color=BLUE)
        sizes.set(
            xlabel=label("largest impulse", "N s"), ylabel=label("density", "1/(N s)"), title="largest impulse per drop"
        )
        save(figure, path, overwrite=True)


if __name__ == "__main__":
    main()
