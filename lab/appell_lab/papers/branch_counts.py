"""Shafei 2018, Table 1 and Figures 12 and 13: operations of a branched robot, printed and counted."""

from __future__ import annotations

from collections.abc import Callable

from appell.show.plot.style import COLORS, legend_below
from appell_lab.counts.appendix import appendix_steps
from appell_lab.counts.branches import BRANCHES, ROWS, Line, branch_growth, times
from appell_lab.counts.polynomial import Polynomial
from appell_lab.papers.page import Page

SIZES = range(2, 7)
CURVE_TOLERANCE = 0.05  # relative, for four branches of four links


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
    mul, add = lines["all but (30)"]
    page.measure("leading coefficient of the Appendix's multiplications", mul.coefficients[2])
    page.measure("leading coefficient of the Appendix's additions", add.coefficients[2])
    page.measure("additions of the Appendix over print, four links", add(4) / printed[1](4))
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
    _measures(page, full)
    rows.append(["Appendix, full matrices, without (30)", "", _pair(*full), "", _pair(*(int(p(4)) for p in full)), ""])
    page.table(
        "Shafei 2018, Table 1: inertia matrix and right side of a tree of n_b branches with n_m links",
        ["M over A", "published, n_b = 4", "ours, n_b = 4", "published, 4 x 4", "ours, 4 x 4", "ratio"],
        rows,
        note="n is n_m. Ours are counted as written, with structural zeros and ones left out except in the last line, "
        "for branches that meet in one point that moves in the plane. The Appendix is counted as printed, one branch "
        "after the other; 'one pass' is our own algorithm with such matrices, which visits every link once.",
    )


def _measures(page: Page, full: tuple[Polynomial, Polynomial]) -> None:
    """Measure what the ledger judges: our counts over the printed ones, and the ranking of the formulations."""
    lines = {line.label: line for line in _published()}
    sums = {label: sum(float(p(4)) for p in line.ours) for label, line in lines.items()}
    for label, name in (("Lagrange, 4x4", "Lagrange with 4x4"), ("Gibbs-Appell, 3x3", "Gibbs-Appell with 3x3")):
        printed = sum(float(p(4)) for p in lines[label].published or ())
        page.measure(f"operations of {name} matrices over print, 4 x 4", sums[label] / printed)
    appendix = sums["Appendix, 3x3 and 4x4"]
    page.measure("operations of the Appendix over 3x3 matrices", appendix / sums["Gibbs-Appell, 3x3"])
    page.measure("operations of 4x4 matrices over the Appendix", sums["Lagrange, 4x4"] / appendix)
    agree = sum(
        abs(float(ours[k](4)) / float(line.published[k](4)) - 1.0) <= CURVE_TOLERANCE
        for label, line in lines.items()
        for k in (0, 1)
        if line.published is not None
        for ours in (full if label.startswith("Appendix") else line.ours,)
    )
    page.measure("curves of Figures 12 and 13 (6) that agree", agree)


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
