"""Talos and Go2 on sets of contacts, compared with the reference numbers of contact_sets.json."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import appell as ap
from answers import interpreted
from contact_cases import CASES, DEGENERATE, REGULAR, arguments, contacts_of, reordered, robot, stacked, standing

EXACT = 1e-12  # of values, relative to the largest entry; the reference agrees with Pinocchio to 2e-14
DERIVATIVE = 1e-9  # of derivatives on regular sets
FLAGS = {32: 1, 33: 1, 34: 1, 38: 1, 39: 1, 40: 2}
ARGUMENTS = {"q": "q", "v": "v", "tau": "tau", "feet": "footholds"}


def close(ours, theirs, tolerance=EXACT):
    theirs = np.asarray(theirs)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * max(1.0, np.abs(theirs).max(initial=0.0)))


@cache
def batch(name: str) -> tuple[list[int], list[np.ndarray]]:
    """Return the regular cases of a robot, and their arguments as one batch, for which one kernel is compiled."""
    numbers = [number for number in REGULAR if CASES[number]["robot"] == name]
    return numbers, [np.array(values) for values in zip(*map(arguments, numbers), strict=True)]


@pytest.mark.parametrize("name", ["talos", "go2"])
def test_accelerations_and_forces_of_regular_sets(name):
    numbers, given = batch(name)
    con = standing(name)
    for number, a, force, flag in zip(numbers, *con.forward_dynamics(*given), strict=True):
        case = CASES[number]
        close(a, reordered(number, case["a"]))
        close(stacked(con, force), case["lambda"])
        assert flag == 0
        assert not force[np.array(case["mask"]) == 0].any()


@pytest.mark.parametrize("number", DEGENERATE)
def test_forces_of_least_norm_of_degenerate_sets(number):
    con, case = contacts_of(number), CASES[number]
    a, force, flag = interpreted(con.least_norm_dynamics, *arguments(number))
    close(a, reordered(number, case["a"]))
    close(stacked(con, force), case["lambda"])
    assert flag == FLAGS[number] == interpreted(con.forward_dynamics, *arguments(number))[2]


def test_solve_computes_flagged_samples_of_a_batch_again():
    numbers = [number for number in CASES if CASES[number]["robot"] == "go2"]
    con = contacts_of(numbers[0])
    batch = [np.array(values) for values in zip(*map(arguments, numbers), strict=True)]
    a, force, flag = con.solve(*batch)
    for k, number in enumerate(numbers):
        assert flag[k] == FLAGS.get(number, 0)
        close(a[k], CASES[number]["a"])
        close(stacked(con, force[k]), CASES[number]["lambda"])


@pytest.mark.parametrize("number", [8, 11, 16, 31, 32])
def test_impulses(number):
    con, case = contacts_of(number), CASES[number]
    q, v, _, footholds, active, _ = arguments(number)
    after, impulse, _ = interpreted(con.impulse, q, v, footholds, active, case["impulse"]["restitution"])
    close(after, reordered(number, case["impulse"]["v_plus"]))
    close(stacked(con, impulse), case["impulse"]["impulse"], 3 * EXACT)


@pytest.mark.parametrize("name", ["talos", "go2"])
def test_derivatives_of_regular_sets_also_off_the_footholds(name):
    numbers, given = batch(name)
    con = standing(name)
    function = con.derivatives(*ARGUMENTS.values())
    results = function(*given)
    assert results._fields[:5] == ("a", "force", "flag", "da_dq", "dforce_dq")
    for k, number in enumerate(numbers):
        for name, argument in ARGUMENTS.items():
            expected = CASES[number]["along"][name]
            direction = expected["direction"] if name == "feet" else reordered(number, expected["direction"])
            da, dforce = (getattr(results, f"{kind}_d{argument}")[k] @ direction for kind in ("da", "dforce"))
            close(da, reordered(number, expected["a"]), DERIVATIVE)
            close(stacked(con, dforce), expected["lambda"], DERIVATIVE)


@pytest.mark.parametrize("number", [8, 11, 20, 26, 31])
def test_gradients_by_the_adjoint(number):
    con, case = contacts_of(number), CASES[number]
    back, gradient = case["back"], con.gradient(*ARGUMENTS.values())
    weights = np.zeros((len(con.rows), max(row.size for row in con.rows)))
    starts = np.cumsum([0, *(row.size for row in con.rows)])
    for k, row in enumerate(con.rows):
        weights[k, : row.size] = back["weights_lambda"][starts[k] : starts[k + 1]]
    gradients = interpreted(gradient, *arguments(number), reordered(number, back["weights_a"]), weights)
    for (name, _), values in zip(ARGUMENTS.items(), gradients[3:], strict=True):
        close(values, back[name] if name == "feet" else reordered(number, back[name]), DERIVATIVE)


@pytest.mark.parametrize("number", [9, 31])
def test_derivatives_by_inertial_parameters(number):
    case, tree = CASES[number], robot("go2")
    given = case["by_parameters"]
    joint = given["joint"]
    body = next(link.name for link in tree.links if joint in (link.joint.name, "root_joint"))
    kinds = {name: ap.Touch(f"{name}_foot") for name in ("FL", "FR", "RL", "RR")}
    con = ap.Dynamics(tree.with_free(body)).contacts(**kinds)
    parameters = tree.bodies[body].parameters
    derivatives = interpreted(con.derivatives("parameters"), *arguments(number), parameters)
    close(derivatives[3] @ given["direction"], given["a"], DERIVATIVE)
    close(stacked(con, derivatives[4] @ given["direction"]), given["lambda"], DERIVATIVE)
