"""The number of joints from which articulated bodies cost less than an inertia matrix, by operations and by time.

Provenzano and Mata 2002 quote from the literature that O(n) methods win only beyond nine bodies.
"""

from __future__ import annotations

import numpy as np

from appell.progress import counted
from appell.show.plot.style import COLORS, INK, label, legend_below
from appell_lab.counts.clock import nanoseconds
from appell_lab.counts.crossover import CUBIC, LINEAR, Crossover, crossover
from appell_lab.counts.kernels import kernel
from appell_lab.counts.measure import FORWARD, as_written, simplified
from appell_lab.papers.dynamics import general_arm
from appell_lab.papers.page import Page

SIZES = (3, 4, 6, 8, 9, 10, 12, 16)
QUOTED = 9  # joints, in both papers
TIMED = ("ABA, link coordinates", "CRBA, Featherstone", "Gibbs-Appell")


def show(page: Page) -> None:
    """Show the table and the figure."""
    written, simple = crossover(as_written), crossover(simplified)
    times = _times()
    for other, cubic in (("composite bodies", "CRBA, Featherstone"), ("Gibbs-Appell", "Gibbs-Appell")):
        first = written.first("ABA, link coordinates", cubic)
        page.measure(f"crossover of ABA and {other}, as written [joints]", np.inf if first is None else first)
    rows = []
    for linear in LINEAR:
        for cubic in CUBIC:
            clock = _first_faster(times[linear], times[cubic]) if {linear, cubic} <= set(TIMED) else ""
            rows.append([f"{linear} below {cubic}", *(_name(x.first(linear, cubic)) for x in (written, simple)), clock])
    page.table(
        "The crossover: number of joints from which O(n) costs less than O(n³)",
        ["", "as written", "simplified", "by the clock"],
        rows,
        note=f"Both papers quote {QUOTED}, for Featherstone's method against composite bodies. As written, in link "
        "coordinates, this is reproduced; against Gibbs-Appell it is one more, and in base coordinates about twice as "
        "many. The times are those of compiled code of an arm in general position, in batches on one core, for "
        f"{', '.join(map(str, SIZES))} joints.",
    )
    page.figure("crossover", lambda figure: _draw(figure, written, times))


def _times() -> dict[str, dict[int, float]]:
    times: dict[str, dict[int, float]] = {name: {} for name in TIMED}
    for n in counted(SIZES, "arms of many joints", "arms"):
        robot = general_arm(n)
        for name in TIMED:
            times[name][n] = nanoseconds(kernel(robot, (LINEAR | CUBIC)[name], FORWARD), samples=512)
    return times


def _first_faster(linear: dict[int, float], cubic: dict[int, float]) -> str:
    slower = [n for n in SIZES if linear[n] >= cubic[n]]
    faster = [n for n in SIZES if n > max(slower, default=0)]
    return str(faster[0]) if faster else f"> {SIZES[-1]}"


def _name(joints: int | None) -> str:
    return "never" if joints is None else str(joints)


def _draw(figure, written: Crossover, times: dict[str, dict[int, float]]) -> None:
    left, right = figure.subplots(1, 2)
    n = range(3, 21)
    for k, name in enumerate(written.growths):
        style = "-" if name in LINEAR else "--"
        left.plot(n, [written.operations(name, x) / x for x in n], style, color=COLORS[k], label=name)
        if name in times:
            right.plot(SIZES, [times[name][x] / x for x in SIZES], style, color=COLORS[k], marker="o")
    for axes in (left, right):
        axes.axvline(QUOTED, color=INK, linewidth=1, linestyle=":", label="nine links, quoted in both papers")
        axes.set(xlabel="joints", ylim=(0, 900 if axes is left else None))
        axes.set_xticks([3, 6, 9, 12, 16, 20][: 6 if axes is left else 5])
    left.set(title="Multiplications and additions, as written", ylabel="operations per joint")
    right.set(title="Compiled code, measured", ylabel=label("time per joint", "ns"))
    legend_below(figure, left, 3)
