"""Operation counts: the tables of the papers with the published polynomials beside those counted on our tapes."""

from __future__ import annotations

from appell.compile.tape.count import OpCount
from appell.describe.load import load_tree
from appell.formulate.formulations import INVERSE_DYNAMICS
from appell.progress import counted
from appell_lab.counts.clock import nanoseconds
from appell_lab.counts.growth import Growth, growth, products
from appell_lab.counts.kernels import kernel
from appell_lab.counts.measure import as_written, simplified
from appell_lab.counts.published import MATA_1, TABLES, PublishedCount
from appell_lab.papers import counts_crossover, counts_valera
from appell_lab.papers.page import Page

JOINTS = 6

RULE = (
    "Rule of counting. The robot is an upright arm of n revolute joints in Craig's convention, with a symbol for every "
    "twist, length, offset and inertial parameter. Operations on these constants alone are done off-line and are not "
    "counted; sines and cosines of the joints are given. M counts products, divisions and roots. 'As written' counts "
    "every operation of the algorithm except products with a literal 0 or 1. 'Simplified' counts the tape that is "
    "compiled: equal expressions are shared, vector products are grouped by constants, and base parameters are used "
    "where the method allows. 'PUMA' is this tape with the numbers of the PUMA, and 'ns' its time per sample in a "
    "batch on one core."
)


def run(page: Page) -> None:
    page.note(RULE)
    for table in TABLES:
        rows, remarks = [], []
        for row in counted(table.rows, table.title, "rows"):
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
    counts_valera.show(page)
    counts_crossover.show(page)


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
    """Return a sentence if our count exceeds the printed one, with the step that causes it."""
    ours = written.counts[JOINTS]
    exceeding = [name for name, a, b in (("M", products(ours), row.mul(6)), ("A", ours.add, row.add(6))) if b and a > b]
    if not exceeding:
        return []
    return [f"{row.label} needs more {' and '.join(exceeding)} than printed. {row.remark}"]


def _conclusions(page: Page) -> None:
    limit = next(row for row in MATA_1.rows if row.method.name == "balafoutis-patel")
    rows = []
    for name in ("gibbs-appell", "gibbs-appell-vector", "gibbs-gradient", "gibbs-appell-4x4"):
        counted_growth = growth(simplified, INVERSE_DYNAMICS[name], limit.quantity)
        within = all(
            products(count) <= limit.mul(n) and count.add <= limit.add(n)
            for n, count in counted_growth.counts.items()
            if n > 1
        )
        ours, published = _pair(counted_growth.mul, counted_growth.add), _pair(limit.mul, limit.add)
        rows.append([name, ours, published, "yes" if within else "no"])
    page.table(
        "Gibbs-Appell after the simplifier against Balafoutis and Patel as published",
        ["M over A", "simplified", "Balafoutis, Patel", "no more, n = 2..12"],
        rows,
        note="The tensor form and the gradient of S reduce to the same operations. The form with 4x4 matrices moves "
        "every body in world coordinates (T, T', T'' with 12 numbers per link), which folding cannot undo.",
    )
