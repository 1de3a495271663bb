"""Operation counts: the tables of the papers with the published polynomials beside those counted on our tapes."""

from __future__ import annotations

import numpy as np

from appell.compile.tape.count import OpCount
from appell.describe.load import load_tree
from appell.formulate.formulations import INVERSE_DYNAMICS, MASS_MATRIX
from appell.formulate.tree import Tree
from appell.progress import counted
from appell_lab.counts.clock import nanoseconds
from appell_lab.counts.growth import Growth, growth, products
from appell_lab.counts.kernels import kernel
from appell_lab.counts.literal import (
    GAH_STEPS,
    INVERSE_STEPS,
    PRINTED_TABLES,
    agreeing,
    explained,
    operations,
)
from appell_lab.counts.measure import INERTIA, INVERSE, as_written, simplified
from appell_lab.counts.published import (
    MATA_1,
    MATA_2,
    MATA_3,
    MATA_4,
    PROVENZANO_1,
    TABLES,
    VALERA_3,
    PublishedCount,
)
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
        polynomials: list[list[object]] = []
        numbers: list[list[object]] = []
        remarks: list[str] = []
        for row in counted(table.rows, table.title, "rows"):
            written, simple = growth(as_written, row.method, row.quantity), growth(simplified, row.method, row.quantity)
            polynomials += _polynomials(row, written, simple)
            numbers.append(_numbers(row, written, simple))
            remarks += _remarks(row, written)
        page.table(table.title, ["", "", "published", "as written", "simplified"], polynomials)
        page.table(
            f"{table.title}, M + A of six joints",
            ["", "published", "as written", "simplified", "ratio", "PUMA", "ns"],
            numbers,
            note="\n".join(dict.fromkeys(remarks)),
        )
    _printed_numbers(page)
    _measures(page)
    _conclusions(page)
    counts_valera.show(page)
    counts_crossover.show(page)


def _polynomials(row: PublishedCount, written: Growth, simple: Growth) -> list[list[object]]:
    """Return the counts as polynomials in n, one row for M and one for A."""
    published = [str(p) if p.coefficients else "" for p in (row.mul, row.add)]
    return [
        [row.label, "M", published[0], str(written.mul), str(simple.mul)],
        ["", "A", published[1], str(written.add), str(simple.add)],
    ]


def _numbers(row: PublishedCount, written: Growth, simple: Growth) -> list[object]:
    """Return the counts of six joints, the ratio of published to ours, and the count and time of the PUMA."""
    puma = kernel(load_tree("puma"), row.method, row.quantity)
    printed, ours = _n6(row.mul) + _n6(row.add), written.counts[JOINTS]
    return [
        row.label,
        f"{_n6(row.mul)} + {_n6(row.add)}" if printed else "",
        _count(ours),
        _count(simple.counts[JOINTS]),
        f"{printed / (products(ours) + ours.add):.2f}" if printed else "",
        _count(puma.count()),
        f"{nanoseconds(puma):.0f}",
    ]


def _n6(published) -> int:
    return int(published(JOINTS))


def _count(count: OpCount) -> str:
    return f"{products(count)} + {count.add}"


def _remarks(row: PublishedCount, written: Growth) -> list[str]:
    """Return a sentence if our count exceeds the printed one, with the step that causes it."""
    ours = written.counts[JOINTS]
    exceeding = [name for name, a, b in (("M", products(ours), row.mul(6)), ("A", ours.add, row.add(6))) if b and a > b]
    if not exceeding:
        return []
    return [f"{row.label} needs more {' and '.join(exceeding)} than printed. {row.remark}"]


def _printed_numbers(page: Page) -> None:
    """Show every printed count for six joints beside what follows from print and our count, with an explanation."""
    rows, numbers, agreed = [], 0, 0
    for table in PRINTED_TABLES:
        for row, explanation in explained(table):
            ours = growth(as_written, row.method, row.quantity).counts[JOINTS]
            literal = explanation.literal
            cells = [
                f"{_n6(row.mul)} + {_n6(row.add)}",
                "" if literal is None else " + ".join(map(str, map(_n6, literal))),
            ]
            name = f"{table.title.partition(':')[0]}: {row.label}"
            rows.append([name, *cells, f"{products(ours)} + {ours.add}", explanation.text])
            numbers += 2
            agreed += agreeing([(row, explanation)])
    page.table(
        f"All {numbers} printed counts for six joints: {agreed} follow from the printed steps and sums",
        ["M + A", "printed", "from print", "ours", "explanation"],
        rows,
        note="'From print' adds up loops with their printed costs per step, or printed parts. 'Ours' is the "
        "algorithm as written, counted on its tape without products with structural zeros and ones.",
    )


def _measures(page: Page) -> None:
    """Measure what the ledgers judge."""
    gah = PROVENZANO_1.rows[2]
    off = [abs(ours - float(p(n))) for n in range(2, 11) for ours, p in _zipped(operations(GAH_STEPS, n), gah)]
    page.measure("largest difference of the GAH counts from the printed loops, n = 2 to 10", max(off))
    slopes = np.subtract(operations(INVERSE_STEPS, 7), operations(INVERSE_STEPS, 6))
    tensor = MATA_1.rows[3]
    page.measure(
        "difference of the slopes of inverse dynamics from the printed steps",
        max(abs(slope - float(p(7) - p(6))) for slope, p in _zipped(slopes, tensor)),
    )
    total, parts = MATA_3.rows[-1], [float(p(n)) for n in range(2, 11) for p in _sums(MATA_3.rows[:-1])]
    printed = [float(p(n)) for n in range(2, 11) for p in (total.mul, total.add)]
    page.measure(
        "difference of the printed total from the sum of its printed parts, n = 2 to 10",
        max(abs(a - b) for a, b in zip(parts, printed, strict=True)),
    )
    vector, steps = VALERA_3.rows[1], explained(VALERA_3)[1][1].literal
    assert steps is not None
    page.measure(
        "difference of the vector form from the sum of its printed steps, n = 2 to 10",
        max(
            abs(float(p(n) - q(n))) for n in range(2, 11) for p, q in zip(steps, (vector.mul, vector.add), strict=True)
        ),
    )
    cholesky, literal = explained(MATA_3)[2]
    assert literal.literal is not None
    page.measure(
        "difference of Cholesky's additions from print, six joints", float(literal.literal[1](6) - cholesky.add(6))
    )
    parts_of_tables = {
        "Provenzano, Table 1, CRBM and NOC: numbers of 4 that agree": explained(PROVENZANO_1)[:2],
        "Mata 2002, Table 1: numbers of 8 that agree": explained(MATA_1),
        "Mata 2002, Table 2, CRBA and NOC: numbers of 4 that agree": explained(MATA_2)[:2],
        "Mata 2002, Table 3, bias and back-substitution: numbers of 4 that agree": explained(MATA_3)[1:4:2],
        "Valera 2003, Table 3, Luh, Walker and Paul: numbers of 2 that agree": explained(VALERA_3)[:1],
        "Mata 2002, Table 4: numbers of ABA and GA (4) that follow from printed polynomials": explained(MATA_4)[1::2],
        "Mata 2002, Table 4: numbers of CRBA and NOC (4) that follow from printed polynomials": explained(MATA_4)[::2],
    }
    for quantity, rows in parts_of_tables.items():
        written = sum(_as_printed(row) for row, _ in rows)
        page.measure(quantity, max(agreeing(rows), written))
    hessian = growth(as_written, gah.method, INERTIA)
    page.measure("degree of the GAH counts", max(len(hessian.mul.coefficients), len(hessian.add.coefficients)) - 1)
    tree, q = Tree.of(load_tree("puma")), np.random.default_rng(0).uniform(-1.5, 1.5, 6).tolist()
    one, other = (np.array(MASS_MATRIX[name](tree, q), float) for name in ("hessian-loops", "gibbs-hessian"))
    page.measure(
        "relative difference of GAH from the Hessian of the Gibbs function, PUMA",
        np.abs(one - other).max() / np.abs(other).max(),
    )
    sums, times = [], []
    for row in MATA_4.rows:
        count = growth(as_written, row.method, row.quantity).counts[JOINTS]
        sums.append(products(count) + count.add)
        times.append(nanoseconds(kernel(load_tree("puma"), row.method, row.quantity)))
    for quantity, values in (
        ("operations of Gibbs-Appell, as written, over the fewest of CRBA and ABA, six joints", sums),
        ("time of Gibbs-Appell, compiled, over the shortest of CRBA and ABA, PUMA", times),
    ):
        page.measure(quantity, values[3] / min(values[:2]))
    newton, vectors = (growth(as_written, row.method, INVERSE) for row in VALERA_3.rows)
    costs = [products(x.counts[JOINTS]) + x.counts[JOINTS].add for x in (newton, vectors)]
    page.measure("operations of the vector form over Newton-Euler, as written, six joints", costs[1] / costs[0])
    tensors = growth(as_written, INVERSE_DYNAMICS["gibbs-appell"], INVERSE)
    page.measure(
        "slope of the products, tensor form over vector form",
        float(tensors.mul.coefficients[1] / vectors.mul.coefficients[1]),
    )


def _zipped(numbers, row: PublishedCount):
    return zip(numbers, (row.mul, row.add), strict=True)


def _sums(rows: tuple[PublishedCount, ...]):
    mul, add = rows[0].mul, rows[0].add
    for row in rows[1:]:
        mul, add = mul + row.mul, add + row.add
    return mul, add


def _as_printed(row: PublishedCount) -> int:
    """Return how many of M and A, counted as written for six joints, equal the printed ones."""
    ours = growth(as_written, row.method, row.quantity).counts[JOINTS]
    return (products(ours) == row.mul(JOINTS)) + (ours.add == row.add(JOINTS))


def _conclusions(page: Page) -> None:
    limit = next(row for row in MATA_1.rows if row.method.name == "balafoutis-patel")
    rows: list[list[object]] = []
    for name in ("gibbs-appell", "gibbs-appell-vector", "gibbs-gradient", "gibbs-appell-4x4"):
        counted_growth = growth(simplified, INVERSE_DYNAMICS[name], limit.quantity)
        within = all(
            products(count) <= limit.mul(n) and count.add <= limit.add(n)
            for n, count in counted_growth.counts.items()
            if n > 1
        )
        rows += [
            [name, "M", str(counted_growth.mul), str(limit.mul), "yes" if within else "no"],
            ["", "A", str(counted_growth.add), str(limit.add), ""],
        ]
    page.table(
        "Gibbs-Appell after the simplifier against Balafoutis and Patel as published",
        ["", "", "simplified", "Balafoutis, Patel", "no more, n = 2..12"],
        rows,
        note="The tensor form and the gradient of S reduce to the same operations. The form with 4x4 matrices moves "
        "every body in world coordinates (T, T', T'' with 12 numbers per link), which folding cannot undo.",
    )
