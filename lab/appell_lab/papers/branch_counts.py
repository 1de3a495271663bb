"""Shafei 2018, Table 1 and Figures 12 and 13: operations of a branched robot, printed and counted."""

from __future__ import annotations

from collections.abc import Callable

from appell.show.plot.style import COLORS, legend_below
from appell_lab.counts.appendix import appendix_steps
from appell_lab.counts.branches import BRANCHES, ROWS, Line, branch_growth, times
from appell_lab.counts.polynomial import Polynomial
from appell_lab.papers.page import Page

SIZES = range(2, 7)


def show_counts(page: Page) -> None:
    _steps(page)
    _table(page)
    for number, parameter, label in (
        (12, "links", "links in each of 4 branches"),
        (13, "branches", "branches of 4 links"),
    ):
        page.figure(f"shafei-figure-{number}", _figure(parameter, label))


def _steps(page: Page) -> None:
    printed = ROWS["Appendix, 3x3 and 4x4"][1]
    assert printed is not None
    lines = {**appendix_steps(), "printed in Table 1": printed}
    page.table(
        "The Appendix step by step, as printed, for one branch of n links with full matrices",
        ["step", "M", "A", "n = 4, M", "n = 4, A"],
        [[step, str(mul), str(add), _at(mul), _at(add)] for step, (mul, add) in lines.items()],
        note="A product of 4x4 matrices counts 64 M and 48 A, of 3x3 matrices 27 M and 18 A, including zeros. Counted "
        "this way, the additions start with the printed 146n² and are within a few per cent of the print if (30) is "
        "left out, as in the Appendix. The multiplications are 58n² lower than printed. Steps 1 and 2 compute T and R "
        "of all pairs of links; steps 3 to 7 use those of neighbours, and Tᵢ.",
    )


def _at(operations: Polynomial, n: int = 4) -> str:
    return f"{float(operations(n)):g}"


def _table(page: Page) -> None:
    rows = []
    for line in branch_growth():
        ours = [int(p(4)) for p in line.ours]
        printed = [int(p(4)) for p in line.published or ()]
        rows.append(
            [
                line.label,
                _pair(*line.published) if line.published else "",
                _pair(*line.ours),
                _pair(*printed) if printed else "",
                _pair(*ours),
                f"{sum(printed) / sum(ours):.1f}" if printed else "",
            ]
        )
    full = times(BRANCHES, appendix_steps()["all but (30)"])
    rows.append(["Appendix, full matrices, without (30)", "", _pair(*full), "", _pair(*(int(p(4)) for p in full)), ""])
    page.table(
        "Shafei 2018, Table 1: inertia matrix and right side of a tree of n_b branches with n_m links",
        ["M over A", "published, n_b = 4", "ours, n_b = 4", "published, 4 x 4", "ours, 4 x 4", "ratio"],
        rows,
        note="n is n_m. Ours are counted as written, with structural zeros and ones left out except in the last line, "
        "for branches that meet in one point that moves in the plane. The Appendix is counted as printed, one branch "
        "after the other; 'one pass' is our own algorithm with such matrices, which visits every link once.",
    )


def _pair(mul: object, add: object) -> str:
    return f"{mul}\n{add}"


def _figure(parameter: str, label: str) -> Callable:
    def draw(figure):
        axes = figure.subplots(1, 2, sharey=True)
        ways = [(BRANCHES, n) if parameter == "links" else (n, 4) for n in SIZES]
        full = appendix_steps()["all but (30)"]
        for k, (panel, kind) in enumerate(zip(axes, ("multiplications", "additions"), strict=True)):
            for colour, line in zip(COLORS, _published(), strict=False):
                ours, printed = [line.at(*way)[k] for way in ways], [line.printed(*way)[k] for way in ways]
                panel.plot(SIZES, printed, color=colour, linestyle="--", label=f"{line.label}, printed")
                panel.plot(SIZES, ours, color=colour, marker="o", label=f"{line.label}, ours")
            full_counts = [branches * float(full[k](links)) for branches, links in ways]
            panel.plot(
                SIZES,
                full_counts,
                color=COLORS[3],
                marker="s",
                markerfacecolor="white",
                label="Appendix, full matrices, without (30)",
            )
            panel.set(xlabel=label, ylabel=kind, yscale="log", xticks=list(SIZES))
            panel.tick_params(labelleft=True)
        legend_below(figure, axes[0], 2)

    return draw


def _published() -> list[Line]:
    return [line for line in branch_growth() if line.published]
