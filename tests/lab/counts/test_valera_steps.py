"""The six steps of Valera 2003: the counted method is inverse dynamics, and its slopes are the published ones."""

from __future__ import annotations

import numpy as np
import pytest

from appell.compile.tape.evaluate import evaluate
from appell.describe.dh import DH, from_dh
from appell.dynamics import Dynamics
from appell_lab.counts.valera_steps import (
    PAUL,
    PUBLISHED,
    PUBLISHED_PAUL,
    SEPARATE,
    TOGETHER,
    Variant,
    step_costs,
    tape,
    torques,
    total,
)
from appell_lab.counts.valera_text import Paul
from appell_lab.references.oracle import relative_error

SIZES = tuple(range(2, 8))
VARIANTS = (SEPARATE, TOGETHER, PAUL, Variant(Paul(), together=True))


def arm(variant: Variant, n: int, rng) -> tuple[list[DH], np.ndarray]:
    """Return a random table in the convention, and the same as symbols."""
    rows, symbols = [], []
    for i in range(n):
        craig = variant.convention.name == "Craig"
        twist, length, offset = np.zeros(3) if craig and i == 0 else rng.uniform(-1, 1, 3)
        mass, com, moments = rng.uniform(1, 2), rng.uniform(-0.1, 0.1, 3), (0.1, 0.12, 0.15)
        rows.append(DH(twist, length, offset, mass=mass, com=com, inertia=moments))
        c, s = np.cos(twist), np.sin(twist)
        position = (length, -offset * s, offset * c) if craig else (length, offset * s, offset * c)
        xx, yy, zz = moments
        symbols += [c, s, *position, mass, *com, xx, 0.0, 0.0, yy, 0.0, zz]
    return rows, np.array(symbols)


@pytest.mark.parametrize(
    "variant", VARIANTS, ids=lambda variant: f"{variant.convention.name}, together={variant.together}"
)
def test_the_counted_method_is_inverse_dynamics_in_either_convention(variant):
    rng = np.random.default_rng(1)
    rows, symbols = arm(variant, 4, rng)
    state = rng.normal(size=(3, 4))
    computed = evaluate(tape(variant, 4, torques), symbols, *state)[0]
    convention = "modified" if variant.convention.name == "Craig" else "standard"
    assert relative_error(computed, Dynamics(from_dh(rows, convention=convention)).inverse_dynamics(*state)) < 1e-12


def test_slopes_of_table_2_are_those_of_moments_accumulated_together():
    computed = step_costs(TOGETHER, SIZES)
    for k in (2, 4, 5):
        assert [p.coefficients[1] for p in computed[k]] == [p.coefficients[1] for p in PUBLISHED[k]]
    assert computed[4] == PUBLISHED[4]  # to the last digit
    assert str(total(computed)[0]) == "121n-142"


def test_the_printed_equations_accumulate_them_separately_and_rotate_one_more_vector():
    separate, together = step_costs(SEPARATE, SIZES), step_costs(TOGETHER, SIZES)
    assert [p.coefficients[1] - o.coefficients[1] for p, o in zip(separate[4], together[4], strict=True)] == [8, 7]


def test_the_count_in_pauls_convention_has_the_published_slopes():
    computed = total(step_costs(PAUL, SIZES))
    assert [p.coefficients[1] for p in computed] == [p.coefficients[1] for p in PUBLISHED_PAUL] == [133, 97]
    assert all(ours(6) <= printed(6) for ours, printed in zip(computed, PUBLISHED_PAUL, strict=True))


def test_published_steps_add_up_to_the_published_total():
    assert [str(p) for p in total(PUBLISHED)] == ["121n-136", "91n-116"]
