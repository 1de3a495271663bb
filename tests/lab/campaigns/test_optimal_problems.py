"""A fixed sample of the campaign of random optimal control problems; the whole runs in `optimal_problems.py`."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pinocchio")
pytest.importorskip("casadi")
from appell_lab.campaigns.optimal_problems import INFEASIBLE_CHECKS, OUTCOMES, Family, Problems, families, run_family

SAMPLE = (
    Family("planar-2r", 40, seed=1, steps=15, limits="all", tight=0.6),
    Family("planar-2r", 20, seed=2, steps=12, limits="torque", exact=True),
    Family(
        "two-body", 16, seed=485765565, steps=37, dt=0.01, exact=True
    ),  # 8 of 15 without full steps after short ones
    Family("pendulum", 20, seed=3, steps=20, method="rk4", limits="torque", tight=0.5),
)


@pytest.mark.parametrize("family", SAMPLE, ids=lambda family: f"{family.robot}-{family.method}-{family.limits}")
def test_random_problems_converge_or_state_why_not_and_solutions_pass_independent_checks(family):
    finding = run_family(family)
    assert not finding.problems
    assert set(finding.outcomes) <= {"converged", *OUTCOMES.values()}
    reachable = 0.9 if family.robot == "two-body" else 0.5  # some goals cannot be reached in time
    assert finding.outcomes["converged"] >= reachable * family.members
    by_ipopt = sum(count for name, count in finding.judged.items() if "IPOPT" in name)
    assert by_ipopt == min(INFEASIBLE_CHECKS, finding.outcomes["infeasible, with the row"])
    assert sum(finding.judged.values()) - by_ipopt == finding.outcomes["converged"]


def test_a_wrong_solution_is_found_by_the_campaign(monkeypatch):
    solve = Problems.solve

    def wrong(self, members):
        records = solve(self, members)
        records.blocks["tau"][..., 0] *= 1.0 + 1e-3
        return records

    monkeypatch.setattr(Problems, "solve", wrong)
    assert any("defect" in text for text in run_family(SAMPLE[0]).problems)


def test_the_families_of_a_seed_are_the_same_in_every_run():
    first, second = (list(families(1000, seed=5)) for _ in range(2))
    assert first == second
    assert sum(family.members for family in first) == 1000
    assert len({family.robot for family in first}) > 3
    assert np.unique([family.seed for family in first]).size == len(first)
