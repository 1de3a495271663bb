"""Counts of Valera 2003: its survey of algorithms, its six steps, two frame conventions, and its A_j and B_j."""

from __future__ import annotations

from functools import partial

import numpy as np

from appell.compile.tape.evaluate import evaluate
from appell.describe.load import load_tree
from appell.dynamics import Dynamics
from appell.formulate.formulations import INVERSE_DYNAMICS
from appell.model.robot import Robot
from appell_lab.counts.growth import growth, products
from appell_lab.counts.measure import INVERSE, as_written, simplified
from appell_lab.counts.polynomial import polynomial
from appell_lab.counts.valera_steps import (
    NAMES,
    PAUL,
    PUBLISHED,
    PUBLISHED_PAUL,
    SEPARATE,
    TOGETHER,
    Cost,
    step_costs,
    tape,
    total,
)
from appell_lab.papers.page import Page

SURVEY = (  # Table 1: authors, principle, variables, resolution, and the corresponding method of appell
    ("Hollerbach 1980", "Lagrange", "matrices", "numbers", "hollerbach"),
    ("Luh, Walker, Paul 1980", "Newton-Euler", "vectors", "numbers", "newton-euler"),
    ("Angeles, Ma, Rojas 1989", "Kane", "tensors", "numbers", "kane"),
    ("Balafoutis, Patel 1991", "Newton-Euler", "tensors", "numbers", "balafoutis-patel"),
    ("Khalil, Kleinfinger 1987", "Newton-Euler", "vectors", "symbols", "newton-euler"),
    ("Lee, Chang 1986", "Newton-Euler", "vectors", "parallel", ""),
)
COUNTED_BY = {  # M and A of Luh, Walker and Paul's algorithm, as collected in the introduction
    "Hollerbach": (polynomial(-48, 150), polynomial(-48, 131)),
    "Fu, Gonzalez, Lee": (polynomial(-24, 117), polynomial(-21, 103)),
    "Zomaya": (polynomial(0, 150), polynomial(0, 116)),
    "Craig": (polynomial(-99, 126), polynomial(-92, 106)),
    "Valera, its Table 3": (polynomial(-112, 121), polynomial(-82, 90)),
}


def show(page: Page) -> None:
    """Show all tables of this module."""
    _survey(page)
    _one_algorithm(page)
    _steps(page)
    _paul(page)
    _shares(page)


def _survey(page: Page) -> None:
    rows, six = [], {}
    for authors, principle, variables, resolution, name in SURVEY:
        if not name:
            rows.append([authors, principle, variables, resolution, "", "", "not run"])
            continue
        mode = simplified if resolution == "symbols" else as_written
        counted_growth = growth(mode, INVERSE_DYNAMICS[name], INVERSE)
        count = counted_growth.counts[6]
        six[authors] = products(count) + count.add
        cells = [str(counted_growth.mul), str(counted_growth.add), f"{products(count)} + {count.add}"]
        rows.append([authors, principle, variables, resolution, *cells])
    ratio = six["Hollerbach 1980"] / six["Luh, Walker, Paul 1980"]
    page.measure("algorithms of the survey that are run", len({name for *_, name in SURVEY if name}))
    page.measure("operations of Hollerbach over Luh, Walker and Paul", ratio)
    page.table(
        "Valera 2003, Table 1: the algorithms that can be run here, counted on the same symbolic arm",
        ["", "principle", "variables", "resolution", "M", "A", "n = 6"],
        rows,
        note="All are recursive. Khalil and Kleinfinger's is a symbolic program that writes out the equations of one "
        "robot with base parameters; Newton-Euler after our simplifier represents it. Lee and Chang's is for parallel "
        f"processors. Hollerbach's, here with 4x4 matrices, costs {ratio:.1f} times as much as Luh, Walker and Paul's; "
        "the paper states three times, for his form with 3x3 matrices.",
    )


def _one_algorithm(page: Page) -> None:
    ours = growth(as_written, INVERSE_DYNAMICS["newton-euler"], INVERSE)
    counted = {**COUNTED_BY, "appell, as written": (ours.mul, ours.add)}
    page.measure(
        "different counts of one algorithm in print", len({(str(mul), str(add)) for mul, add in COUNTED_BY.values()})
    )
    page.table(
        "One algorithm, many counts: Luh, Walker and Paul's, by different authors",
        ["counted by", "M", "A", "n = 6"],
        [[author, str(mul), str(add), f"{int(mul(6))} + {int(add(6))}"] for author, (mul, add) in counted.items()],
        note="They differ in which products with 0 and 1 are left out, as the paper states. Here one rule applies to "
        "all.",
    )


def _steps(page: Page) -> None:
    together, apart = step_costs(TOGETHER), step_costs(SEPARATE)
    page.measure(
        "largest difference of the slopes of the steps 2, 4 and 5",
        max(_differences(PUBLISHED[k], together[k], 1) for k in (2, 4, 5)),
    )
    page.table(
        "Valera 2003, Table 2: the six steps as written, Craig's frames",
        ["step", "published M", "A", "α - β as one, M", "A", "α and β separate, M", "A"],
        [
            *([NAMES[k], *_text(PUBLISHED[k]), *_text(together[k]), *_text(apart[k])] for k in NAMES),
            ["total", *_text(total(PUBLISHED)), *_text(total(together)), *_text(total(apart))],
        ],
        note="The published steps are those with α - β accumulated as one vector: 24n-23 and 18n-18 to the last digit. "
        "The printed equations (17) and (25) accumulate α and β separately, which rotates one more vector per link, 8 "
        "M and 7 A. With α - β as one vector, step 6 adds nothing. Step 1 is not needed: a rotation is applied as two "
        "planar ones, 8 M and 4 A, which the published slope of step 2 implies too. Constants differ by what is taken "
        "as zero at the first link.",
    )


def _paul(page: Page) -> None:
    apart, together = step_costs(PAUL), step_costs(TOGETHER)
    page.measure("difference of the slopes in Paul's convention", _differences(PUBLISHED_PAUL, total(apart), 1))
    page.measure("difference of the constants in Paul's convention", _differences(PUBLISHED_PAUL, total(apart), 0))
    page.table(
        "Valera 2003: the same in Paul's convention, α and β separate",
        ["step", "published M", "A", "ours, M", "A"],
        [
            *([NAMES[k], "", "", *_text(apart[k])] for k in NAMES),
            ["total", *_text(PUBLISHED_PAUL), *_text(total(apart))],
            ["n = 6", *_six(PUBLISHED_PAUL), *_six(total(apart))],
        ],
        note="The slopes 133n and 97n are reproduced with α and β accumulated separately and A_j, B_j as products with "
        f"the axis (0, sin, cos). The {total(together)[0].coefficients[1]}n and 91n of Table 3 hold for α - β as one "
        "vector: this causes most of the difference between the two conventions, 8 M and 4 A, not the frames.",
    )


def _shares(page: Page) -> None:
    robot = load_tree("puma")
    dyn, rng = Dynamics(robot), np.random.default_rng(0)
    q, v = rng.uniform(-1.5, 1.5, (2, robot.nv))
    parts = partial(_parts, robot, q)
    still, zero = np.zeros(robot.nv), np.zeros(robot.nv)
    rest, moving = parts(still, zero), parts(v, zero)
    unit = np.array([parts(still, e) - rest for e in np.eye(robot.nv)])  # unit acceleration, A or B, joint
    M, h = dyn.mass_matrix(q), dyn.bias(q, v)
    difference = max(np.abs(unit.sum(axis=1) - M).max(), np.abs(moving.sum(axis=0) - h).max())
    diagonal = np.einsum("kpk->pk", unit)
    page.measure("largest share of B_j in M_jj", np.abs(diagonal[1] / np.diag(M)).max())
    page.measure("largest share of A_j in the bias", np.abs(moving[0] / h).max())
    page.table(
        "Valera 2003, A_j and B_j: shares of the PUMA's inertia matrix and bias in one state",
        ["", "M_jj", "from A_j", "from B_j", "bias", "from A_j", "from B_j"],
        [
            [f"joint {j + 1}", *(f"{x:.4f}" for x in (M[j, j], *diagonal[:, j], h[j], *moving[:, j]))]
            for j in range(robot.nv)
        ],
        note="The paper computes 'with the A_j term the mass matrix M(q)' and the bias 'employing the B_j term'. A_j "
        "are the moments of rotation, B_j the forces of the centres of mass, and both contain accelerations as well as "
        "velocities. M is A_j + B_j for unit accelerations at v = 0, minus gravity; the bias is A_j + B_j at q̈ = 0. "
        f"The sums agree with M and bias to {difference:.0e}. A controller needs neither: one inverse dynamics with q̈ "
        ":= v of equation (29) gives the torque.",
    )


def _parts(robot: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return A and B of every joint, as rows."""
    symbols = []
    for link in robot.links:
        placement, body = link.joint.placement, link.body
        if body is None:
            continue
        cosine, sine = placement.rotation[1, 1], placement.rotation[2, 1]
        symbols += [cosine, sine, *placement.translation, body.mass, *body.com, *body.inertia.upper]
    parts = evaluate(tape(SEPARATE, robot.nv, lambda _, steps: [steps.A, steps.B]), np.array(symbols), q, v, a)[0]
    return np.asarray(parts, float)


def _differences(one: Cost, other: Cost, order: int) -> float:
    """Return the largest difference of the coefficients of this order in M and A."""
    pairs = [[float((*p.coefficients, 0, 0)[order]) for p in cost] for cost in (one, other)]
    return max(abs(a - b) for a, b in zip(*pairs, strict=True))


def _text(cost: Cost) -> list[str]:
    return [str(p) for p in cost]


def _six(cost: Cost) -> list[str]:
    return [str(int(p(6))) for p in cost]
