"""A hundred thousand drops of the figure of Shafei under three kills: python benchmarks/drops.py [--whole].

Starts a Dask scheduler and two workers, kills a worker, the scheduler and the client with signal 9 on the way, goes on
each time with the same command, and compares the store with undisturbed drops: a random subset computed anew in this
process, or with --whole all of them in a second sweep on two workers. Writes the results, the picture and the paragraph
of the documentation. A run that was broken off goes on where it stopped, but publishes nothing. --draw STORE only draws
the picture.
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
from appell_lab.campaigns.interrupted_sweep import KILLS, BesiegedSweep, differences

ROOT = Path(__file__).parents[1]
STUDY = ROOT / "examples" / "studies" / "shafei_drops.py"
RESULTS = ROOT / "benchmarks" / "results" / "drops.json"
PAGE = ROOT / "docs" / "sweeps.md"
BEGIN, END = "<!-- drops: written by benchmarks/drops.py -->\n", "<!-- end of drops -->"
PICTURE = ROOT / "docs" / "images" / "drops.png"
IMPACTS, MEAN, FIRST = "impacts", "mean number of impacts", "time of the first impact, s"
IMPULSE, ENERGY, SHORT = "largest impulse, N s", "largest change of energy, J", "not finished"
COMPARED = "compared with undisturbed drops"
SUBSET = 2000
ORDERS = (1, 2, 4, 8, 16)  # impacts whose times are drawn


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "drops")
    parser.add_argument("--whole", action="store_true", help="compare with a whole second sweep")
    parser.add_argument("--draw", type=Path, help="draw this store, and do nothing else")
    given = parser.parse_args()
    if given.draw is not None:
        draw(ap.sweeps.open(given.draw), PICTURE)
        return
    given.folder.mkdir(parents=True, exist_ok=True)
    out, begun = given.folder / f"drops-{given.jobs}.zarr", time.monotonic()
    stored = (ap.sweeps.open(out).status != 0).mean() if out.exists() else 0.0
    kills = [kill for kill in KILLS if kill[1] > stored]
    done = BesiegedSweep(STUDY, out, given.jobs, kills=kills).run(lambda line: print(line, flush=True))
    seconds = time.monotonic() - begun
    results = ap.sweeps.open(out)
    print(f"{results.told} in {seconds:.0f} s; compare", flush=True)
    compared, wrong = whole(results, given.folder) if given.whole else subset(results)
    figures = {
        "drops": len(results),
        "kills": [{"what": kill.what, "blocks stored": kill.stored} for kill in done],
        "drops a block": results.block,
        "seconds": seconds,
        COMPARED: compared,
        "arrays that differ": wrong,
        **told(results),
    }
    print(json.dumps(figures, indent=1))
    if wrong:
        raise SystemExit(1)
    if stored or json.loads(RESULTS.read_text("utf-8"))["drops"] > len(results):
        print("a part of a run, or fewer drops than are published: nothing is written over")
        return
    RESULTS.write_text(json.dumps({"machine": machine(), "versions": versions(), **figures}, indent=1) + "\n")
    head, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    PAGE.write_text(head + BEGIN + text() + END + rest.partition(END)[2], "utf-8")
    draw(results, PICTURE)


def subset(results: ap.sweeps.SweepResults) -> tuple[int, list[str]]:
    """Random drops computed anew, one by one; which arrays differ in any bit."""
    study = runpy.run_path(str(STUDY))["study"]
    numbers = np.random.default_rng(0).permutation(len(results))[:SUBSET]
    anew = [study(seed_of(0, int(k))) for k in numbers]
    wrong = [
        name for name in results if np.array([x[name] for x in anew]).tobytes() != results[name][numbers].tobytes()
    ]
    return len(numbers), wrong + ["status"] * bool(not results.done.all())


def whole(results: ap.sweeps.SweepResults, folder: Path) -> tuple[int, list[str]]:
    """All drops in an undisturbed sweep."""
    study = runpy.run_path(str(STUDY))["study"]
    again = ap.sweep(study, len(results), folder / f"undisturbed-{len(results)}.zarr", workers=2)
    return len(again), differences(results, again)


def told(results: ap.sweeps.SweepResults) -> dict[str, object]:
    """The distributions in a few numbers: least, 5 %, median, 95 %, most."""
    parts, done = (0.0, 0.05, 0.5, 0.95, 1.0), results.done
    columns = {IMPACTS: results["impacts"], FIRST: results["times"][:, 0], IMPULSE: results["largest_impulse"]}
    return {
        **{name: np.quantile(column[done], parts).tolist() for name, column in columns.items()},
        MEAN: float(results["impacts"][done].mean()),
        ENERGY: float(np.abs(results["energy_change"][done]).max()),
        SHORT: int((~results["finished"][done]).sum()),
    }


def text() -> str:
    """The paragraph of the documentation, from the figures that were measured."""
    found = json.loads(RESULTS.read_text("utf-8"))
    impacts, first, impulse = (found[name] for name in (IMPACTS, FIRST, IMPULSE))
    kills = ", ".join(f"the {kill['what']} with {kill['blocks stored']:,} blocks stored" for kill in found["kills"])
    blocks, minutes = -(-found["drops"] // found["drops a block"]), found["seconds"] / 60
    lines = [
        f"**{found['drops']:,} drops**: {found[MEAN]:.1f} impacts in the mean, "
        f"{impacts[1]:.0f} to {impacts[3]:.0f} in nine of ten, {impacts[4]:.0f} at most.",
        f"**The first impact** comes after {first[1]:.2f} to {first[3]:.2f} s in nine of ten, "
        f"{first[2]:.2f} s in the median.",
        f"**The largest impulse** of a drop is {impulse[2]:.0f} N s in the median; "
        f"{impulse[3]:.0f} N s are passed by one of twenty, and {impulse[4]:.0f} N s is the hardest of all.",
        f"**Energy** changes by {found[ENERGY]:.1g} J at most; {found[SHORT]} runs ended before their time.",
        f"**Killed** with signal 9 on the way: {kills}, of {blocks:,}. "
        f"{found[COMPARED]:,} drops were compared with undisturbed ones: no bit differs.",
        f"**{minutes:.0f} minutes** on two workers; {found['machine']['cpu']}.",
    ]
    return "\n".join(textwrap.fill(f"- {line}", 120, subsequent_indent="  ") for line in lines) + "\n"


def draw(results: ap.sweeps.SweepResults, path: Path) -> None:
    """Number of impacts, times of some of them, largest impulse."""
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
        for order, color in zip(ORDERS, COLORS, strict=False):
            found = times[:, order - 1][impacts >= order]
            density = np.histogram(found, edges)[0] / len(impacts) / np.diff(edges)
            when.plot(0.5 * (edges[1:] + edges[:-1]), density, color=color, label=f"impact {order}")
        when.set(xlabel=label("time t", "s"), ylabel=label("density", "1/s"), title="when they come")
        when.legend(loc="upper left", bbox_to_anchor=(0.55, 1.0))
        sizes.hist(impulse, bins=np.linspace(0.0, np.quantile(impulse, 0.999), bins + 1), density=True, color=BLUE)
        sizes.set(
            xlabel=label("largest impulse", "N s"), ylabel=label("density", "1/(N s)"), title="the hardest of each drop"
        )
        save(figure, path, overwrite=True)


if __name__ == "__main__":
    main()
