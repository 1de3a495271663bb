"""Operation counts: the papers' tables with the published polynomials beside those measured from our tapes."""

from __future__ import annotations

from collections.abc import Callable

from rich.progress import track

from appell.compile.count import OpCount
from appell.describe.load import load_tree
from appell.formulate.methods import INVERSE_DYNAMICS
from appell.lab.counts.branches import branch_growth
from appell.lab.counts.clock import nanoseconds
from appell.lab.counts.growth import Growth, growth, products
from appell.lab.counts.kernels import kernel
from appell.lab.counts.measure import as_written, simplified
from appell.lab.counts.published import MATA_1, TABLES, PublishedCount
from appell.lab.counts.valera_steps import valera_steps
from appell.lab.papers.page import Page

JOINTS = 6

RULE = (
    "How it is counted. An arm of n revolute joints in Craig's convention with every twist, length, offset and "
    "inertial parameter a symbol, upright; work on these constants alone is off-line, and sines and cosines of "
    "the joints are given. M counts products, divisions and roots. 'As written' is every operation of the "
    "algorithm's text but products with a literal 0 or 1; 'simplified' is the tape that is compiled: equal "
    "expressions shared, vector products collected by constants, base parameters where the method allows. 'PUMA' "
    "is that tape with the PUMA's numbers, and its time for one sample of a batch on one core."
)


def run(page: Page) -> None:
    page.note(RULE)
    for table in TABLES:
        rows, remarks = [], []
        for row in track(table.rows, description=table.title, console=page.console, transient=True):
            written, simple = growth(as_written, row.method, row.quantity), growth(simplified, row.method, row.quantity)
            rows.append(_cells(row, written, simple))
            remarks += _remarks(row, written)
        page.table(
            table.title,
            [
                "M over A",
                "published",
                "as written",
                "simplified",
                "n = 6",
                "written",
                "simplified",
                "ratio",
                "PUMA",
                "ns",
            ],
            rows,
            note="\n".join(dict.fromkeys(remarks)),
        )
    _conclusions(page)
    _steps(page)
    _branches(page)


def _cells(row: PublishedCount, written: Growth, simple: Growth) -> list[object]:
    puma = kernel(load_tree("puma"), row.method, row.quantity)
    printed = bool(row.mul.coefficients)
    six = _n6(row.mul), _n6(row.add)
    ours = written.counts[JOINTS]
    ratio = f"{sum(six) / (products(ours) + ours.add):.2f}" if printed else ""
    return [
        row.label,
        _pair(row.mul, row.add) if printed else "",
        _pair(written.mul, written.add),
        _pair(simple.mul, simple.add),
        _pair(*six) if printed else "",
        _count(ours),
        _count(simple.counts[JOINTS]),
        ratio,
        _count(puma.count()),
        f"{nanoseconds(puma):.0f}",
    ]


def _n6(published) -> int:
    return int(published(JOINTS))


def _pair(mul: object, add: object) -> str:
    return f"{mul}\n{add}"


def _count(count: OpCount) -> str:
    return _pair(products(count), count.add)


def _remarks(row: PublishedCount, written: Growth) -> list[str]:
    """A sentence where ours costs more than is printed, with the step that causes it."""
    ours = written.counts[JOINTS]
    dearer = [name for name, a, b in (("M", products(ours), row.mul(6)), ("A", ours.add, row.add(6))) if b and a > b]
    if not dearer:
        return []
    return [f"{row.label} needs more {' and '.join(dearer)} than printed. {row.remark}"]


def _conclusions(page: Page) -> None:
    limit = next(row for row in MATA_1.rows if row.method.name == "balafoutis-patel")
    rows = []
    for name in ("gibbs-appell", "gibbs-appell-vector", "gibbs-gradient", "gibbs-appell-4x4"):
        found = growth(simplified, INVERSE_DYNAMICS[name], limit.quantity)
        within = all(
            products(count) <= limit.mul(n) and count.add <= limit.add(n) for n, count in found.counts.items() if n > 1
        )
        rows.append([name, _pair(found.mul, found.add), _pair(limit.mul, limit.add), "yes" if within else "no"])
    page.table(
        "Gibbs-Appell after the simplifier against Balafoutis and Patel as published",
        ["M over A", "simplified", "Balafoutis, Patel", "no more, n = 2..12"],
        rows,
        note="Tensor form and the plain gradient of S come down to the same operations. The form with 4x4 matrices "
        "moves every body in world coordinates (T, T', T'' of 12 numbers a link), which no folding takes back.",
    )


def _steps(page: Page) -> None:
    page.table(
        "Valera 2003, Table 2: the vector form step by step, as written",
        ["step", "published M", "published A", "ours M", "ours A"],
        valera_steps(),
        note="Step 1 is gone: a rotation is applied as two planar ones, 8 M and 4 A, and its matrix is never formed.",
    )


def _branches(page: Page) -> None:
    found = branch_growth()
    page.table(
        "Shafei 2018, Table 1: inertia matrix and right side of a tree of n_b branches with n_m links, as written",
        ["M over A", "published, n_b = 4", "ours, n_b = 4", "published, 4 x 4", "ours, 4 x 4", "ratio"],
        [
            [
                line.label,
                _pair(*line.published),
                _pair(*line.ours),
                _pair(*(int(p(4)) for p in line.published)),
                _pair(*(int(p(4)) for p in line.ours)),
                f"{float(sum(p(4) for p in line.published) / sum(p(4) for p in line.ours)):.1f}",
            ]
            for line in found
        ],
        note="n is n_m. How the printed numbers were counted is not stated; structural zeros cannot have been left "
        "out as in ours. Ours are of branches that meet in one point, which moves in the plane as in the paper.",
    )
    for number, parameter, label in (
        (12, "links", "links in each of 4 branches"),
        (13, "branches", "branches of 4 links"),
    ):
        page.figure(f"shafei-figure-{number}", _figure(parameter, label))


def _figure(parameter: str, label: str) -> Callable:
    def draw(figure):
        sizes = range(2, 7)
        axes = figure.subplots(1, 2)
        for k, (panel, kind) in enumerate(zip(axes, ("multiplications", "additions"), strict=True)):
            for colour, line in zip(("C0", "C1", "C2"), branch_growth(), strict=True):
                ways = [(4, n) if parameter == "links" else (n, 4) for n in sizes]
                ours, printed = [line.at(*way)[k] for way in ways], [line.printed(*way)[k] for way in ways]
                panel.plot(sizes, ours, color=colour, marker="o", label=f"{line.label}, ours")
                panel.plot(sizes, printed, color=colour, linestyle="--", label=f"{line.label}, printed")
            panel.set(xlabel=label, ylabel=kind, yscale="log", xticks=list(sizes))
            panel.grid(alpha=0.3, which="both")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)

    return draw
