"""Constrained robots in time, against motions that were computed by quadrature, closed forms or other programs.

The reference says of every number how far two methods agree (`checks`); tolerances here are ten times that, and not
below what steps of rtol 1e-12 add up to in the time of the run, 1e-12 of the state a radian or so.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import appell as ap
from appell.model.constraint import Rolling, Velocities
from constrained_cases import CASES, constrained, independent_part

ACCURATE = {"solver": ap.Solver(rtol=1e-12, atol=1e-12), "progress": False}
MAX_VIOLATION = 1e-12  # what the simulator promises of gaps, and of rates relative to speeds


dynamics = cache(lambda name: ap.Dynamics(constrained(name)))  # of a case


def moved(name, **given):
    """The record of a case's motion, its points, and the catalogue."""
    case, dyn = CASES[name], dynamics(name)
    trajectory = case.get("trajectory", case)
    points = trajectory["points"]
    run = ap.simulate(dyn, trajectory["q0"], trajectory["v0"], points[-1]["t"], **(ACCURATE | given))
    return run, points, dyn


def is_kept(dyn, record):
    """Gaps and rates of all rows are rounding, in every row of a record and between them."""
    between = np.linspace(record.t[0], record.t[-1], 101)
    for q in (record.q, record(between)[0]):
        if dyn.system.map.holonomic:
            assert np.abs(dyn.gap(q)).max() <= MAX_VIOLATION
    assert np.abs(dyn.row_rates(record.q, record["w"])).max() <= MAX_VIOLATION * max(1.0, np.abs(record["w"]).max())
    v = dyn.independent_velocity(record.q, record["w"])
    np.testing.assert_array_equal(v, record.v)


def test_a_four_bar_turns_as_computed_by_quadrature():
    case, dyn = CASES["simulated-fourbar"], dynamics("simulated-fourbar")
    run = ap.simulate(dyn, case["q0"], case["v0"], case["t"], **ACCURATE)
    crank = dyn.system.tree.velocity_names.index("crank")
    assert abs(run.q[-1, crank] - float(case["crank"])) <= 3e-11
    assert abs(run["w"][-1, crank] - float(case["crank_rate"])) <= 2e-10
    np.testing.assert_allclose(run.energy, case["energy"], rtol=3e-12)
    is_kept(dyn, run)


def test_bricards_linkage_moves_although_a_row_is_implied():
    """Off the manifold the implied row looks independent; taken in, it would stop the linkage."""
    run, points, dyn = moved("simulated-bricard")
    for point in points:
        np.testing.assert_allclose(run(point["t"])[0], point["q"], rtol=0, atol=1e-12)
    is_kept(dyn, run)


def test_a_bicycle_leans_and_steers():
    run, points, dyn = moved("simulated-bicycle")
    for point in points:
        q, v = run(point["t"])
        np.testing.assert_allclose(q, point["q"], rtol=0, atol=1e-11)
        np.testing.assert_allclose(v, independent_part(dyn.system, point["v"]), rtol=0, atol=1e-10)
    np.testing.assert_allclose(run.energy, CASES["simulated-bicycle"]["energy"], rtol=1e-12)
    is_kept(dyn, run)


@pytest.mark.parametrize("name", ["chaplygin-sleigh", "rolling-disk"])
def test_sleigh_and_disk_follow_their_reduced_equations(name):
    run, points, dyn = moved(name)
    for point in points:
        q, v = run(point["t"])
        np.testing.assert_allclose(q, point["q"], rtol=0, atol=2e-11)
        np.testing.assert_allclose(v, independent_part(dyn.system, point["v"]), rtol=0, atol=1e-10)
    np.testing.assert_allclose(run.energy, run.energy[0], rtol=1e-11)
    is_kept(dyn, run)


def test_a_ball_on_a_turntable_goes_round_a_circle():
    run, points, dyn = moved("ball-on-turntable")
    for point in points:
        np.testing.assert_allclose(run(point["t"])[0][:2], point["centre"], rtol=0, atol=2e-10)
    is_kept(dyn, run)


def test_a_snakeboard_is_driven_by_its_rotor_and_wheels():
    def torque(t, q, v):
        rotor, (front, back) = 0.3 * np.sin(2 * t), (q[4] - 0.4 * np.cos(2 * t), q[5] + 0.4 * np.cos(2 * t))
        return [
            0,
            0,
            0,
            rotor,
            -0.6 * front - 0.1 * v[names.index("front")],
            -0.6 * back - 0.1 * v[names.index("back")],
        ]

    names = constrained("snakeboard").velocity_names
    run, points, dyn = moved("snakeboard", torque=torque)
    for point in points:
        q, v = run(point["t"])
        np.testing.assert_allclose(q, point["q"], rtol=0, atol=1e-11)
        velocities = [v[names.index(name)] for name in ("board_vx", "rotor", "front", "back")]
        np.testing.assert_allclose(velocities, [point["vx"], *point["rates"]], rtol=0, atol=1e-11)
    is_kept(dyn, run)


@pytest.mark.parametrize("name", ["simulated-fourbar", "rolling-disk"])
def test_neither_energy_nor_constraints_drift_in_a_hundred_seconds(name):
    case, dyn = CASES[name], dynamics(name)
    start = case.get("trajectory", case)
    run = ap.simulate(dyn, start["q0"], start["v0"], 100.0, solver=ap.Solver(rtol=1e-11, atol=1e-12), progress=False)
    assert run.finished
    np.testing.assert_allclose(run.energy, run.energy[0], rtol=1e-8)
    assert np.abs(dyn.gap(run.q)).max() <= 1e-8
    is_kept(dyn, run)


@pytest.mark.parametrize("method", ["RK45", "RK23", "Radau"])
def test_every_method_keeps_its_order_under_projection(method):
    """A coarser method is as near to a fine run as its tolerance lets it be, and on the manifold all the same."""
    case, dyn = CASES["simulated-fourbar"], dynamics("simulated-fourbar")
    fine = ap.simulate(dyn, case["q0"], case["v0"], 0.3, **ACCURATE)
    run = ap.simulate(
        dyn, case["q0"], case["v0"], 0.3, solver=ap.Solver(method=method, rtol=1e-7, atol=1e-8), progress=False
    )
    np.testing.assert_allclose(run.q[-1], fine.q[-1], rtol=0, atol=1e-4)
    is_kept(dyn, run)


def test_rows_at_requested_times_are_on_the_manifold():
    case, dyn = CASES["simulated-fourbar"], dynamics("simulated-fourbar")
    times = np.linspace(0.01, 0.99, 57)
    run = ap.simulate(dyn, case["q0"], case["v0"], 1.0, t_eval=times, progress=False)
    assert np.abs(dyn.gap(run.q)).max() <= MAX_VIOLATION
    assert np.abs(dyn.row_rates(run.q, run["w"])).max() <= MAX_VIOLATION * np.abs(run["w"]).max()


def test_a_record_of_a_constrained_robot_is_written_and_read(tmp_path):
    case, dyn = CASES["simulated-fourbar"], dynamics("simulated-fourbar")
    run = ap.simulate(dyn, case["q0"], case["v0"], 0.2, progress=False)
    run.write(tmp_path / "run.npz")
    again = ap.Record.read(tmp_path / "run.npz")
    np.testing.assert_array_equal(again["w"], run["w"])
    np.testing.assert_allclose(again(0.1)[0], run(0.1)[0], rtol=0, atol=1e-6)
    assert again(0.1)[1].shape == (1,)


def test_a_linkage_passes_the_configurations_where_its_independent_velocity_is_singular():
    """The crank of this four-bar turns back at a dead centre, where it stands still while all else moves."""
    dyn = dynamics("fourbar-non-grashof")
    case = CASES["fourbar-non-grashof"]["states"][0]
    run = ap.simulate(dyn, case["q"], [12.0], 2.0, **ACCURATE)
    assert run.finished
    crank, others = run["w"][:, 0], np.abs(run["w"][:, 1:]).max(axis=1)
    turns = np.flatnonzero(np.diff(np.sign(crank)))
    assert any(others[k] > 1.0 for k in turns)  # it stood still, and the linkage did not
    np.testing.assert_allclose(run.energy, run.energy[0], rtol=1e-10)
    assert np.abs(dyn.gap(run.q)).max() <= MAX_VIOLATION


def test_a_disk_on_a_carrier_without_mass_rolls_as_a_free_one_does():
    """The tree's own inertia matrix is singular then; its motion is that of the disk on a floating joint."""
    trajectory = CASES["rolling-disk"]["trajectory"]
    disk = CASES["rolling-disk"]["model"]["links"][0]
    radius = CASES["rolling-disk"]["model"]["closures"][0]["radius"]
    made = ap.Builder("carried disk", root=None, gravity=CASES["rolling-disk"]["model"]["gravity"])
    made.link("carrier", ap.Floating(), joint_name="carrier", mass=0)
    matter = {key: disk[key] for key in ("mass", "com", "inertia")}
    made.link("disk", ap.Revolute((0, 1, 0)), parent="carrier", joint_name="disk", **matter)
    robot = made.build()
    q0, w0 = np.array([*trajectory["q0"], 0.0]), np.array([*trajectory["v0"], 0.0])
    w0[4], w0[6] = 0.0, w0[4]  # the carrier does not spin, the disk does
    upright = Velocities(lambda q: ([[0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]], [0.0]), name="no spin")
    carried = ap.Dynamics(robot.with_loops(Rolling("disk", radius), upright, home=q0))
    run = ap.simulate(carried, q0, w0, trajectory["points"][0]["t"], **ACCURATE)
    position = carried.pose("disk")(run.q[-1])[:3, 3]
    np.testing.assert_allclose(position[:2], trajectory["points"][0]["centre"], rtol=0, atol=1e-10)
